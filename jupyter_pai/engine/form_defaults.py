"""Default settings of the form for a notebook, a script or a folder.

The settings are those of the newest job of the same notebook, script or folder, whatever that job packed and ran. They
lack the values that its profile or its platform filled in, and the code of a cell. Without such a job, there is only
the entry point.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from ..backends.base import Backend
from ..config.settings import Settings
from ..core.errors import NotFound, UsageError
from ..core.i18n import _
from ..jobs import names as job_name
from ..jobs.job import Job
from ..jobs.spec import SET_BY_SUBMIT, JobSpec
from ..jobs.store.query import JobFilter
from ..source.entry_point import ENTRY_POINTS, SUFFIXES, code_folder, is_entry_point
from . import job_files, lineage

Kind = Literal["notebook", "script", "folder", "job_file"]
_NOTEBOOK = ".ipynb"
# The most entry points offered, and the most folder entries searched for them.
_MOST_ENTRIES, _MOST_SEARCHED = 200, 5_000
_NO_CODE = ("__pycache__", "node_modules")


class FormTarget(NamedTuple):
    """The target of a form: its real path and its kind, and the backend that reads it if it is a job file."""

    path: Path
    kind: Kind
    reader: type[Backend] | None = None

    @property
    def folder(self) -> Path:
        """The folder with the code."""
        if self.kind == "folder":
            return self.path
        return self.path.parent if self.kind == "job_file" else code_folder(self.path)

    def entry_in(self, folder: str) -> str:
        """The path of the target below a folder of code; empty for a folder."""
        return "" if self.kind == "folder" else os.path.relpath(self.path, os.path.realpath(folder))

    @property
    def jobs(self) -> JobFilter:
        """The query for the newest job of the target."""
        notebook, script, folder, _job_file = (str(self.path) if self.kind == kind else "" for kind in get_args(Kind))
        return JobFilter(limit=1, notebook=notebook, script=script, folder=folder)


def target_of(path: Path) -> FormTarget:
    """Return the target of a path.

    Raises:
        NotFound: if the path does not exist.
        UsageError: if the file cannot be submitted.
    """
    try:
        target = Path(os.path.realpath(path))
        mode = target.stat().st_mode
    except (OSError, ValueError):
        mode = 0
    if stat.S_ISDIR(mode):
        return FormTarget(target, "folder")
    if not stat.S_ISREG(mode):
        raise NotFound(_("{path} does not exist.").format(path=path), fix=_("Save the file, or choose another one."))
    if reader := job_files.backend_of(target):
        return FormTarget(target, "job_file", reader)
    if not is_entry_point(target):
        raise UsageError(
            _(
                "{path} is not a folder, a .py, .sh or .ipynb file, or a script that is executable or begins with `#!`."
            ).format(path=path),
            fix=_(
                "To run it otherwise, open its folder and enter the command, or pass --command. Job files are {globs}."
            ).format(globs=job_files.globs()),
        )
    return FormTarget(target, "notebook" if target.suffix == _NOTEBOOK else "script")


def entries(folder: Path) -> list[str]:
    """Return the runnable files of a folder and its direct subfolders, those of the folder first.

    May block.
    """
    return sorted(_runnable(folder), key=lambda path: (path.count("/"), path))[:_MOST_ENTRIES]


def _runnable(folder: Path) -> Iterator[str]:
    searched = 0
    waiting = [""]
    while waiting and searched < _MOST_SEARCHED:
        place = waiting.pop(0)
        items = list[os.DirEntry[str]]()
        with contextlib.suppress(OSError):
            items = list(os.scandir(folder / place))
        searched += len(items)
        if place and any(item.name in ("pyvenv.cfg", "conda-meta") for item in items):
            continue
        for item in items:
            if item.name.startswith(".") or item.name in _NO_CODE:
                continue
            if item.is_dir(follow_symlinks=False):
                waiting += [f"{item.name}/"] * (not place)
            elif item.name.endswith(SUFFIXES):
                yield place + item.name


def spec_of(target: FormTarget, runnable: list[str]) -> dict[str, Any]:
    """Return the spec of a target without a job: its entry point and folder, without a name."""
    entry = target.entry_in(str(target.folder))
    if target.kind == "folder":
        named = [name for name in ENTRY_POINTS if name in runnable]
        scripts = [path for path in runnable if path.endswith(".py") and "/" not in path]
        entry = (named or scripts)[0] if named or len(scripts) == 1 else ""  # Empty if it is ambiguous.
    return ({"entry_point": entry} if entry else {}) | {"source": {"folder": str(target.folder)}}


def settings_of(job: Job, target: FormTarget, settings: Settings, *, picks: bool) -> JobSpec:
    """Return the settings of an earlier job for a new one.

    Generated names, defaults of the profile and resumed checkpoints are dropped. `picks`: the backend selects instance
    types by size, and does so again.
    """
    spec = job.spec
    profile = settings.profiles.get(job.profile)
    update = lineage.unfilled(spec, job.name, profile.settings if profile else None)
    update["profile"] = "" if profile is None or job.profile == settings.default else job.profile
    update["name"] = _own_name(job, target)
    # Nor does a form take over that the names of the SDK have no default limit.
    if spec.max_run_time in (0, settings.policy.rules.max_run_time):
        update["max_run_time"] = None
    if picks and spec.is_sized:
        update["instance_type"] = ""
    if job.resumed_from:
        update["inputs"] = {name: uri for name, uri in spec.inputs.items() if name != lineage.CHANNEL}
    update |= {name: JobSpec.model_fields[name].default for name in SET_BY_SUBMIT}
    if spec.entry_point in spec.source.files:
        files = {name: text for name, text in spec.source.files.items() if name != spec.entry_point}
        update["source"] = spec.source.model_copy(update={"files": files})
        update["entry_point"] = target.entry_in(spec.source.folder)
    return spec.model_copy(update=update)


def place_of(settings: Settings) -> dict[str, str]:
    """Return the profile of a new form: empty for the default profile, or the first allowed one if the policy forbids
    the default."""
    policy, profiles = settings.policy, settings.profiles
    if not policy.why_not(settings.default, profiles[settings.default].backend):
        return {}
    allowed = [name for name, profile in profiles.items() if not policy.why_not(name, profile.backend)]
    return {"profile": allowed[0]} if allowed else {}


def _own_name(job: Job, target: FormTarget) -> str:
    """Return the name that a user chose for a job, without the time stamp of a rerun; otherwise empty."""
    base = job_name.base_name(job.name)
    is_generated = base != job.name and base in (target.path.stem, target.folder.name, Path(job.spec.entry_point).stem)
    return "" if is_generated else base
