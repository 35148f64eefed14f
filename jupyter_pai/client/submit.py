"""`submit`: a job from Python code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core.i18n import _
from ..source import notebook as notebooks
from ..source.entry_point import default_entry_point, locate, script_of
from . import job_files
from .base import Client
from .connect import connect
from .context import follow_notebook
from .interrupts import explain_submit, new_key
from .job import JobHandle
from .parameters import FIELDS, absolute, check_names, parameter_names, plain
from .printing import print_line
from .summary import packed


def submit(
    target: str | os.PathLike[str] = "",
    *,
    source: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    backend: str = "",
    wait: bool = False,
    confirmed: bool = False,
    anyway: bool = False,
    as_script: bool = False,
    **fields: Any,
) -> JobHandle:
    """Submit a job: ``submit("train.py", hyperparameters={"lr": 0.1})``.

    Args:
        target: A script, a notebook, a job file of a platform, or a folder. Default: the script `train.py`, `main.py`
            or `run.py` of the folder, or its only script, unless a `command` or an `entry_point` is set.
        source: The folder of code, or a table with `folder`, `include`, `exclude`, `gitignore`, `allow_secret`.
            Default: for a script the nearest folder with `pyproject.toml` or `.git`, otherwise the folder of the
            target, or the current folder. `""` packs no folder.
        backend: Run on this backend's default profile.
        wait: Print the log, and return when the job has ended.
        confirmed: Accept the cost, and answer other questions with yes.
        anyway: Submit although the script will reject its hyperparameters or arguments.
        as_script: Convert a notebook to a script and run that.
        fields: Fields of `JobSpec`: `name`, `hyperparameters`, `inputs`, `outputs`, `instance_type`, `requirements` …
            Relative paths start at the current folder.

    An interrupt is not silent: it prints that no job was submitted, or the id of the job and how to stop it.

    Raises:
        BadInput: naming the invalid parameter and the fix.
        Unconfirmed: stating the cost, if it must be confirmed.
    """
    client, key = None, new_key()
    try:
        with parameter_names():
            check_names(fields, {*FIELDS, "target", "backend", "wait", "confirmed", "anyway", "as_script"})
            fields |= {} if source is None else {"source": source}
            notebook = absolute(target) if as_script else ""
            client = connect()
            follow_notebook(client.call)
            if read := read_job_file(client, target, fields, backend=backend):
                fields, target, backend = read, "", ""
            spec = spec_of(target, fields, as_script=as_script)
            reply = client.submit(spec, backend=backend, confirmed=confirmed, anyway=anyway, notebook=notebook, key=key)
            if target and not source and "/" in spec["entry_point"]:
                print_line(packed(reply["job"]))
        handle = JobHandle(reply["job"], client)
        return handle.wait(logs=True) if wait else handle
    except KeyboardInterrupt as interrupt:
        explain_submit(interrupt, client.call if client else None, key)
        raise


def read_job_file(
    client: Client, target: str | os.PathLike[str], fields: Mapping[str, Any], *, backend: str = ""
) -> dict[str, Any]:
    """Return the fields of a platform's job file, with these fields in their place; {} for another target. Print the
    notes on the file."""
    profile = str(fields.get("profile") or "")
    read = job_files.read(client, Path(absolute(target)), profile=profile, backend=backend) if target else None
    for note in read.notes if read else ():
        print_line(_("note: {note}").format(note=note))
    return {**read.spec, **fields} if read else {}


def spec_of(target: str | os.PathLike[str], fields: Mapping[str, Any], *, as_script: bool = False) -> dict[str, Any]:
    """Return the spec of a submit: of a target, which is a folder, script or notebook, and of fields.

    The folder of code is that of `source`; without it, that of `code_folder` for a script or notebook, the target if it
    is a folder, or the current folder. An empty folder packs nothing but files of the spec.

    Raises:
        UsageError: if the target does not exist or cannot run.
        NotebookError: if the notebook to run is invalid.
    """
    spec = plain(fields)
    source = dict(spec.get("source") or {}) if isinstance(spec.get("source", {}), Mapping) else {}
    if spec.get("source", {}) != source:
        return spec  # Of a wrong type, which the engine reports.
    if source.get("folder") == "" and not target:
        return spec
    folder = Path(source.get("folder") or absolute("."))
    if target:
        chosen = source.get("folder", "")
        folder, spec["entry_point"] = locate(os.fspath(target), chosen, lambda text: Path(absolute(text)), spec)
    if not spec.get("command") and not spec.get("entry_point"):
        spec["entry_point"] = default_entry_point(folder)
    if as_script:
        spec["entry_point"], text = script_of(folder, spec["entry_point"])
        source["files"] = {**source.get("files", {}), spec["entry_point"]: text}
    elif target and spec["entry_point"].endswith(".ipynb"):
        notebooks.read(folder / spec["entry_point"])
    return spec | {"source": {**source, "folder": str(folder)}}
