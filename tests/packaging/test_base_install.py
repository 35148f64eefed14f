"""The packages that `pip install jupyter-pai` installs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ..conftest import ROOT, OrdinaryUser

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# These follow versions of their own; beside them stands what they are held back for.
HELD_BACK = {"jupyter-builder", "jsonschema", "zensical"}


def pulled(requirements: Iterable[str]) -> set[str]:
    """Return the packages and their requirements, transitively, from the installed metadata. No index is used."""
    result: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        for wanted in ("", *requirement.extras):
            key = (canonicalize_name(requirement.name), wanted)
            if key not in result:
                result.add(key)
                waiting += [(Requirement(text), wanted) for text in requires(requirement.name) or ()]
    return {name for name, _extra in result}


def test_jupyterlab_environment_gains_few_packages() -> None:
    brought = pulled(PROJECT["dependencies"]) - pulled(["jupyterlab"])
    assert len(brought | {"jupyter-pai"}) < 25, sorted(brought)


def test_requirements_have_no_upper_bounds() -> None:
    extras = PROJECT["optional-dependencies"].values()
    for text in [*PROJECT["dependencies"], *(text for extra in extras for text in extra)]:
        requirement = Requirement(text)
        if requirement.name not in HELD_BACK:
            assert {specifier.operator for specifier in requirement.specifier} <= {">="}, text


def test_plain_wheel_installs_no_extras(ordinary_user: OrdinaryUser) -> None:
    """The tutorials need none of them either."""
    done = subprocess.run(
        [sys.executable, "-m", "uv", "pip", "list", "--python", str(ordinary_user.python), "--format=freeze"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    there = {canonicalize_name(line.partition("==")[0]) for line in done.stdout.splitlines()}
    assert {"jupyter-pai", "scikit-learn"} <= there
    for extra in ("pai", "keyring"):
        assert there.isdisjoint(Requirement(text).name for text in PROJECT["optional-dependencies"][extra])


PAI = "[profiles.p]\nbackend = 'pai'\nregion_id = 'cn-hangzhou'\noss_bucket_name = 'bucket'\nworkspace_id = '1'\n"


@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize(
    ("words", "modules"),
    [
        (["ls", "oss://bucket/", "--profile", "p"], "oss2, anycrc"),
        (["doctor", "--profile", "p"], "alibabacloud_credentials"),
        (["instances", "--profile", "p"], "alibabacloud_credentials"),
    ],
)
def test_missing_extra_names_its_install_command(ordinary_user: OrdinaryUser, words: list[str], modules: str) -> None:
    settings = ordinary_user.folder / "pai.toml"
    settings.write_text(PAI)
    done = ordinary_user.run(
        ordinary_user.python, "-m", "jupyter_pai", *words, env={"JUPYTER_PAI_CONFIG": str(settings)}
    )
    message = re.sub(r"\s+", " ", done.stdout + done.stderr)
    assert done.returncode != 0
    assert f"This requires {modules}" in message
    assert 'pip install "jupyter-pai[pai]"' in message
    assert "Traceback" not in message


@pytest.mark.slow("environment")
def test_secrets_without_a_keyring_are_stored_in_a_file(ordinary_user: OrdinaryUser) -> None:
    def pai(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return ordinary_user.run(ordinary_user.python, "-m", "jupyter_pai", *words, **more)

    assert pai("secret", "set", "A_TOKEN", input="a long value").returncode == 0
    listed = pai("secret", "list").stdout
    assert "A_TOKEN" in listed
    assert "not encrypted" in listed
    (file,) = ordinary_user.folder.rglob("jupyter_pai_secrets.json")
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text('{"keyring": ["B_TOKEN"], "file": {}}')
    for words in (["submit", "--command", "true", "--secret", "B_TOKEN"], ["secret", "remove", "B_TOKEN"]):
        refused = pai(*words)
        assert refused.returncode != 0
        assert 'pip install "jupyter-pai[keyring]"' in refused.stderr
    file.unlink()
