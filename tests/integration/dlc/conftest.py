"""An engine whose profile `dlc` is the stand-in."""

from __future__ import annotations

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...fakes.alibaba import StandIn
from ..pai import conftest as pai_jobs
from ..pai.conftest import engine, timings  # noqa: F401  # Fixtures.

IMAGE = "example.com/image:1"


@pytest.fixture
def pai(platform: StandIn, home: Home, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The stand-in, its bucket empty, with a profile for it."""
    for name, value in platform.environment().items():
        monkeypatch.setenv(name, value)
    write_profile(platform)
    platform.clear()
    return platform


def write_profile(platform: StandIn, **more: object) -> None:
    """Write the settings of a user."""
    pai_jobs.write_profile(platform, "dlc", **{"backend": "dlc", **more})
