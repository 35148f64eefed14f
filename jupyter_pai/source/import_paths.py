"""The folders of a project from which its own packages are imported.

A script at the top of the folder finds the modules beside it. Packages below `src/`, or in the folders that
`pyproject.toml` declares, are found only after an installation, which a job does not have.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

# Bytes of a `pyproject.toml` that is read.
LARGEST = 1_000_000


def import_paths(files: Iterable[str], pyproject: str) -> tuple[str, ...]:
    """Return the folders to add to the import path, relative to the code ("." for the code's folder).

    `files` are the packed files; `pyproject` is the text of `pyproject.toml`, empty without one.
    """
    known = set(files)
    return tuple(root for root in roots(pyproject) if _has_modules(root, known))


def roots(pyproject: str) -> tuple[str, ...]:
    """Return the folders that may contain packages: `src`, and the ones declared in `pyproject.toml`."""
    project: dict[str, Any] = {}
    if pyproject:
        with suppress(ValueError, ImportError):  # An installer reports the error. Python 3.10 has no such module.
            import tomllib

            project = tomllib.loads(pyproject)
    declared = (posixpath.normpath(root or ".") for root in _declared(project))
    inside = [root for root in declared if not root.startswith(("..", "/"))]
    is_project = bool(project.keys() & {"project", "build-system"} or _table(project, "tool", "poetry"))
    return tuple(dict.fromkeys(["src", *inside, *(["."] if is_project else [])]))


def _declared(project: dict[str, Any]) -> Iterator[str]:
    """Yield the package folders in the settings of setuptools, Hatch, Poetry, PDM, uv and Maturin."""
    setuptools = _table(project, "tool", "setuptools")
    yield from _texts(_table(setuptools, "package-dir").values())
    yield from _texts(_table(setuptools, "packages", "find").get("where"))
    wheel = _table(project, "tool", "hatch", "build", "targets", "wheel")
    yield from (posixpath.dirname(path) for path in _texts(wheel.get("packages")))
    yield from _texts(wheel.get("sources"))
    packages = _table(project, "tool", "poetry").get("packages")
    tables = packages if isinstance(packages, list) else []
    yield from _texts(one.get("from") for one in tables if isinstance(one, dict))
    yield from _texts([_table(project, "tool", "pdm", "build").get("package-dir")])
    yield from _texts([_table(project, "tool", "uv", "build-backend").get("module-root")])
    yield from _texts([_table(project, "tool", "maturin").get("python-source")])


def _table(value: Any, *names: str) -> dict[str, Any]:
    """Return the nested table of these names; an empty one if a part is missing or not a table."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _texts(values: object) -> Iterator[str]:
    if isinstance(values, Iterable) and not isinstance(values, (str, dict)):
        yield from (value for value in values if isinstance(value, str))


def _has_modules(root: str, files: set[str]) -> bool:
    """Return whether a folder contains packages or modules, and is not a package itself."""
    prefix = "" if root == "." else f"{root}/"
    if f"{prefix}__init__.py" in files:
        return False
    below = (path.removeprefix(prefix) for path in files if path.startswith(prefix) and path.endswith(".py"))
    return any(path.count("/") <= 1 for path in below)
