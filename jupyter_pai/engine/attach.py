"""Attaching a submit to the earlier job of the same cell: only if the packed files are the same.

The notebook itself does not count, since the code of its cell is part of the spec, nor do files written by jobs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ..backends.base import Capability
from ..core.errors import BadInput
from ..core.file_uri import local_path
from ..core.i18n import _
from ..jobs.job import Job
from ..jobs.state_dir import Home
from ..jobs.store.query import JobFilter
from ..jobs.store.store import Store
from .compare import hashes
from .data.downloads import downloaded
from .submit_plan import SubmitPlan

# Suffixes of code and its settings; all other files are data.
_CODE = (".py", ".sh", ".toml", ".yaml", ".yml", ".json", ".cfg", ".ini", ".gin", ".txt", ".c", ".cu", ".cpp", ".h")
_CODE_NAMES = ("Makefile", "Dockerfile")
# Changed files that a note names.
_MOST_NAMED = 3
# Jobs of a notebook whose outputs are known.
_MOST_JOBS = 500


def attach(plan: SubmitPlan, store: Store, home: Home) -> tuple[Job | None, SubmitPlan]:
    """Return the job to attach a packed plan to, if any. Otherwise return the plan with a note that names the changed
    files; if they are only data, and the job will be billed, with a question. May block."""
    earlier = store.jobs.attachable(plan.request.attach_key)
    if not earlier:
        return None, plan
    changed = [path for path in _changed(plan, earlier, home) if not _is_ignored(plan, path)]
    if changed:
        written = set(_written_by_jobs(plan, store, changed)) | downloaded(home, plan.spec.source.folder, changed)
        changed = [path for path in changed if path not in written]
    return (earlier, plan) if not changed else (None, _with_reason(plan, earlier, changed))


def _changed(plan: SubmitPlan, earlier: Job, home: Home) -> list[str]:
    """Return the files that differ from those of an earlier job."""
    code = plan.packed
    before = code.hashes if earlier.source_digest == code.digest else hashes(home.job(earlier.id))
    paths = before.keys() | code.hashes.keys()
    return sorted(path for path in paths if before.get(path) != code.hashes.get(path))


def _is_ignored(plan: SubmitPlan, path: str) -> bool:
    notebook = plan.request.notebook or plan.spec.notebook
    is_notebook = bool(notebook) and os.path.realpath(os.path.join(plan.spec.source.folder, path)) == notebook
    return is_notebook and path != plan.spec.entry_point


def _written_by_jobs(plan: SubmitPlan, store: Store, paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths inside an output location of a job of the same notebook."""
    if not (notebook := plan.request.notebook or plan.spec.notebook):
        return
    jobs, _total = store.jobs.page(JobFilter(limit=_MOST_JOBS, notebook=notebook))
    uris = {uri for job in jobs for uri in (*job.outputs.values(), job.spec.output_path) if uri}
    places = [Path(os.path.realpath(path)) for uri in uris if (path := _local_path(uri)).startswith("/")]
    for path in paths:
        real = Path(os.path.realpath(os.path.join(plan.spec.source.folder, path)))
        if any(real.is_relative_to(place) for place in places):
            yield path


def _local_path(uri: str) -> str:
    with suppress(BadInput):  # That of an earlier release.
        return local_path(uri)
    return ""


def _with_reason(plan: SubmitPlan, earlier: Job, changed: list[str]) -> SubmitPlan:
    files = ", ".join(changed[:_MOST_NAMED]) + (", …" if len(changed) > _MOST_NAMED else "")
    note = _("Not attached to {job}: {files} changed.").format(job=earlier.id, files=files)
    check = plan.check
    if not any(path.endswith(_CODE) or os.path.basename(path) in _CODE_NAMES for path in changed):
        fix = _("To ignore a data file, exclude it: --exclude {file}, or a line in .paiignore.")
        note += " " + fix.format(file=changed[0])
        if Capability.PAID in plan.backend.capabilities:
            question = _("{note} To submit a new job: --again.").format(note=note)
            check = replace(check, questions=(*check.questions, question))
    return replace(plan, check=replace(check, notes=(*check.notes, note)))
