"""Errors about the job's own files: modules and paths that are packed elsewhere, or that were excluded."""

from __future__ import annotations

import posixpath
import re
import shlex
from pathlib import Path

from ...core.i18n import _
from ...jobs.spec import STORED, JobSpec
from ...jobs.state_dir import JobFolder, Packing, read_manifest
from ...source.paths import beside, excluded
from ...source.paths.fixes import fixes
from .known_errors import Known

# The folder of the code in a job.
CODE = re.compile(r"^.*/(?:usercode|ml/code)/")
# The folder around it, which has the other folders of the training contract too.
_AROUND = re.compile(r"^(?:.*/jobs/[^/]+)?/ml/(?!(?:usercode|code|input|output)(?:/|$))")


def explain(error: Known, folder: JobFolder) -> tuple[str, str] | None:
    """Return the reason and fix of an error about a module or a path that the user's machine has; None for others."""
    if not (error.module or error.path):
        return None
    try:
        spec = JobSpec.model_validate_json(folder.spec.read_text("utf-8"), context=STORED)
    except (OSError, ValueError):
        return None
    return _missing_module(error.module, folder, spec) if error.module else _missing_file(error.path, folder, spec)


def _missing_file(path: str, folder: JobFolder, spec: JobSpec) -> tuple[str, str] | None:
    name = _AROUND.sub("../", CODE.sub("", path))
    if name.startswith("/"):
        place = posixpath.normpath(name)
        if not (fix := beside.fixes(spec, place) if beside.is_of_machine(place) else ""):
            return None
        return _("File `{path}` not found: the job does not see this path of your machine.").format(path=path), fix
    name = posixpath.normpath(posixpath.join(beside.working_folder(spec) if name == path else "", name))
    if name.startswith("../"):
        fix = beside.fixes(spec, beside.path_outside(spec, name, path))
        general = _("To pack a folder with it: --source FOLDER. To pass it as an input: --input NAME=PATH.")
        return _("File `{path}` not found: it is outside of the packed folder.").format(path=path), fix or general
    if not (one := excluded.find(name, Packing.read(folder).excluded)):
        return None
    reason = _("File `{path}` not found: it was excluded ({why}).").format(path=path, why=one.why)
    return reason, fixes(one, spec.source.folder, name, {*spec.inputs})


def _missing_module(name: str, folder: JobFolder, spec: JobSpec) -> tuple[str, str] | None:
    try:
        files = sorted(read_manifest(folder))
    except (OSError, ValueError):
        return None
    packing = Packing.read(folder)
    for root in ("", *packing.import_paths):
        for end in (".py", "/__init__.py", "/"):
            path = posixpath.normpath(posixpath.join(root, name.replace(".", "/") + end))
            if one := excluded.find(path, packing.excluded):
                reason = _("The module `{name}` was excluded ({why}).").format(name=name, why=one.why)
                return reason, fixes(one, spec.source.folder, name, {*spec.inputs})
    head, _dot, rest = name.partition(".")
    places = [place for path in files if (place := _place_of(head, path)) is not None]
    if not places:
        return _module_around(head, spec.source.folder)
    place = min(places, key=lambda place: place.count("/"))
    found = posixpath.join(place, head)
    if rest and place in ("", *packing.import_paths):
        return (
            _("The module `{name}` is missing. The job's code has `{found}` without it.").format(
                name=name, found=found
            ),
            _("Check the spelling. A module of the same name as an installed package hides that package."),
        )
    return (
        _("The module `{name}` is in the job's code (`{found}`), but not on the import path.").format(
            name=name, found=found
        ),
        _("Add its folder to the path: --env PYTHONPATH={folder}").format(
            folder=posixpath.relpath(place or ".", beside.working_folder(spec) or ".")
        ),
    )


def _module_around(name: str, folder: str) -> tuple[str, str] | None:
    """Return the reason and fix for a module of the user's project that is outside of the packed folder."""
    home = Path.home()
    for root in Path(folder).parents if folder else ():
        if root == home or not root.name:
            return None
        for place in (".", "src"):
            path = root / place / name
            if path.with_suffix(".py").is_file() or any(path.glob("*.py")):
                text = _("The module `{name}` is in your project ({path}), but not in the packed folder {folder}.")
                fix = _("Pack its project: {options}").format(
                    options=shlex.join(["--source", str(root), "--env", f"PYTHONPATH={place}"])
                )
                return text.format(name=name, path=path, folder=folder), fix
        if any((root / mark).exists() for mark in ("pyproject.toml", ".git")):
            return None
    return None


def _place_of(name: str, path: str) -> str | None:
    """Return the folder from which a file makes a module of this name importable; None if it does not."""
    parts = path.split("/")
    if parts[-1] == f"{name}.py":
        return "/".join(parts[:-1])
    if path.endswith(".py") and name in parts[:-1]:
        return "/".join(parts[: parts.index(name)])
    return None
