"""The files for users and contributors of the repository, and the README of a package index."""

from __future__ import annotations

import json
import re
import tarfile
import tomllib
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
import yaml
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ..conftest import ROOT

TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
FORMS = ROOT / ".github/ISSUE_TEMPLATE"


def read(path: str | Path) -> Any:
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def test_citation_has_the_version_and_license_of_the_package() -> None:
    package, citation = json.loads((ROOT / "package.json").read_text("utf-8")), read("CITATION.cff")
    assert [citation[name] for name in ("version", "license")] == [package[name] for name in ("version", "license")]


def test_automation_calls_targets_of_the_makefile() -> None:
    jobs = read(".github/workflows/test.yml")["jobs"].values()
    steps = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    steps += [hook["entry"] for repository in read(".pre-commit-config.yaml")["repos"] for hook in repository["hooks"]]
    called = [step for step in steps if not step.startswith("apt-get")]
    in_order = [".ci/run", "make test-all", "make test-newest", ".ci/run", "make build", "make docs", "make lint"]
    assert called == in_order
    assert {step.removeprefix("make ") for step in called} <= TARGETS | {".ci/run"}


def test_constraints_are_names_and_versions_of_all_packages() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[a-z0-9.]+", line)] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    groups = [project["dependency-groups"][name] for name in ("node", "collaboration", "mpi")]
    extras = project["project"]["optional-dependencies"].values()
    required = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    required += [text for texts in (*extras, *groups) for text in texts]
    names = {canonicalize_name(Requirement(text).name) for text in required}
    assert names - {line.partition("==")[0] for line in lines} == {"jupyter-pai"}


@pytest.mark.parametrize("form", ["bug", "feature"])
def test_issue_forms_ask_the_same_in_both_languages(form: str) -> None:
    english, chinese = (
        [(field["id"], field["type"], field.get("validations")) for field in read(FORMS / name)["body"]]
        for name in (f"{form}.yml", f"{form}.zh-CN.yml")
    )
    assert english == chinese
    assert len(english) >= 2


def project(folder: Path, **fields: object) -> ProjectMetadata[Any]:
    """Return the metadata of the project with other fields of package.json."""
    for name in ("pyproject.toml", "README.md", "LICENSE", "docs/package_readme.py", "binder/badges.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    package = json.loads((ROOT / "package.json").read_text("utf-8"))
    (folder / "package.json").write_text(json.dumps(package | fields))
    return ProjectMetadata(str(folder), PluginManager())


def links(text: str) -> list[str]:
    """Return the targets of links and pictures, without anchors of the page."""
    targets = re.findall(r'\]\(([^)#][^)]*)\)|(?:src|srcset|href)="([^"]+)"', text)
    return [one or other for one, other in targets]


def test_links_of_the_readme_are_addresses_on_a_package_index(tmp_path: Path) -> None:
    core = project(tmp_path, repository="github:an-owner/a-project").core
    assert core.urls == {"Repository": "https://github.com/an-owner/a-project"}
    version = json.loads((ROOT / "package.json").read_text("utf-8"))["version"]
    found = [link for link in links(core.readme) if "mybinder" not in link]
    assert len(found) == len(links((ROOT / "README.md").read_text("utf-8")))
    for link in found:
        kind = "raw" if link.endswith(".png") else "blob"
        path = link.removeprefix(f"https://github.com/an-owner/a-project/{kind}/v{version}/")
        assert path != link
        assert (ROOT / path.partition("#")[0]).exists(), link


def test_readme_without_a_repository_has_no_broken_links(tmp_path: Path) -> None:
    core = project(tmp_path).core
    assert core.urls == {}
    assert links(core.readme) == []
    assert "The guide describes logs" in core.readme


def test_sdist_can_build_the_front_end(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2]: name for name in sdist.getnames()}
        for name in (
            "yarn.lock",
            ".yarnrc.yml",
            "package.json",
            "labextension/src/index.ts",
            "Makefile",
            "constraints.txt",
            "SECURITY.md",
        ):
            assert name in names, name
        information = sdist.extractfile(names["PKG-INFO"])
        assert information
        assert "# jupyter-pai" in str(message_from_bytes(information.read()).get_payload())
