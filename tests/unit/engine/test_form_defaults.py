"""Default values of a form: the default profile, unless the policy forbids it."""

from __future__ import annotations

import pytest

from jupyter_pai.config.policy import Policy, PolicyRules
from jupyter_pai.config.settings import DiskSettings, Profile, ProfileSettings, Settings, TensorBoardSettings
from jupyter_pai.engine.form_defaults import place_of


@pytest.mark.parametrize(
    ("rules", "place"),
    [
        (PolicyRules(), {}),
        (PolicyRules(local=False), {"profile": "far"}),
        (PolicyRules(profiles=("team",)), {"profile": "team"}),
        (PolicyRules(profiles=("none",)), {}),
    ],
)
def test_form_starts_with_an_allowed_profile(rules: PolicyRules, place: dict[str, str]) -> None:
    backends = {"local": "local", "far": "pai", "team": "pai"}
    profiles = {name: Profile(name, ProfileSettings(backend=backend)) for name, backend in backends.items()}
    settings = Settings(profiles, "local", DiskSettings(), TensorBoardSettings(), {}, Policy(rules), frozenset())
    assert place_of(settings) == place
