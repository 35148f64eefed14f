"""The page on plug-ins: its generated parts are those of the code, its snippets run, and its names are exported."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pydantic
import pytest

import jupyter_pai
from docs.site.reference.plugins import PAGES, updated
from jupyter_pai import Home, ProfileSettings

from ..unit.jobs.test_store import job

NAMES = [*" ".join(jupyter_pai._PLUGIN_HOMES.values()).split(), *jupyter_pai._MODULES, "Job", "JobSpec", "JobStatus"]
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@pages
def test_signatures_and_fields_are_those_of_the_code(page: Path) -> None:
    assert page.read_text("utf-8") == updated(page), "run python -m docs.site.reference.plugins"


def test_all_classes_of_the_page_are_described() -> None:
    text = PAGES[0].read_text("utf-8")
    for name in (
        "Report Instance Check Prepared Submission RemoteJob InstanceType Sample Call Refusal Site RemoteBackend"
    ).split():
        assert f"\nclass {name}:\n" in text, name


@pages
def test_snippets_run(page: Path, home: Home) -> None:
    """A snippet that uses names of another one runs after it."""
    text = re.sub(r"<!-- \w+: generated .*?<!-- end -->", "", page.read_text("utf-8"), flags=re.DOTALL)
    waiting = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(waiting) > 5
    known = _names(home)
    while waiting:
        failed: dict[str, str] = {}
        for code in waiting:
            try:
                exec(compile(code, page.name, "exec"), known)
            except NameError as error:
                failed[code] = f"{error}:\n{code}"
        assert len(failed) < len(waiting), "\n".join(failed.values())
        waiting = [*failed]


def _names(home: Home) -> dict[str, Any]:
    """Return the names that the page introduces: those of the package, of pydantic and pytest, and a job."""
    folder = home.job("aaaa")
    folder.path.mkdir(parents=True)
    with tarfile.open(folder.source, "w:gz"):
        pass
    known = {name: getattr(jupyter_pai, name) for name in NAMES}
    known |= {name: getattr(pydantic, name) for name in ("BaseModel", "ConfigDict", "Field", "SecretStr")}
    own = SimpleNamespace(settings=ProfileSettings(backend="mine"))
    more = {"pytest": pytest, "Any": Any, "Sequence": Sequence, "self": own, "job": job(), "folder": folder}
    return {"__name__": "my_package", **known, **more}


@pages
def test_stable_names_are_exported(page: Path) -> None:
    text = page.read_text("utf-8")
    (table,) = [part for part in text.split("\n## ") if "`parse_options` |" in part]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("| ") and "`" in line]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert len(names) > 50
    assert sorted(name for name in {*NAMES, "report"} if name not in names) == []
    assert [name for name in names if getattr(jupyter_pai, name, None) is None] == []
