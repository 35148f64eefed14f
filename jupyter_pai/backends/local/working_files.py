"""The files that a job writes beside its code. At its end, they become the output channel `files`."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...core import contract
from ...jobs.spec import STORED, JobSpec
from ...jobs.state_dir import JobFolder
from ...source import archive, ignore
from .workspace import output_folders

_log = logging.getLogger(__name__)


def keep(folder: JobFolder) -> None:
    """Link the files that a finished job wrote in its working folder into the channel, once. Files on another disk are
    copied. Packages that the job installed for itself are removed. Never raises: a file that cannot be kept stays where
    it is."""
    done = folder.path / "kept"
    if done.exists():
        return
    shutil.rmtree(folder.path / "packages", ignore_errors=True)
    try:
        spec = JobSpec.model_validate_json(folder.spec.read_text("utf-8"), context=STORED)
        packed = json.loads(folder.manifest.read_text("utf-8"))
        channel = output_folders(spec, folder).get(contract.FILES)
        # An earlier version did not create the channel.
        if contract.FILES in spec.channels and channel and channel.is_dir():
            work = folder.path / "ml" / spec.layout
            for path in _written(work, packed):
                _link(work / path, channel / path)
        done.touch()
    except (OSError, ValueError) as error:
        _log.warning("Cannot keep the files that job %s wrote beside its code: %s", folder.id, error)


def _written(work: Path, packed: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths of new and changed files. Links, and names that a submit excludes by default, are skipped."""
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            entries = sorted(os.scandir(work / below), key=lambda entry: entry.name)
        except OSError as error:
            _log.warning("Cannot read a folder of a job: %s", error)
            continue
        if below and ignore.is_environment([entry.name for entry in entries]):
            continue
        for entry in entries:
            path = below + entry.name
            if ignore.is_excluded(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{path}/")
            elif entry.is_file(follow_symlinks=False) and (
                path not in packed or entry.stat().st_mtime != archive.MTIME
            ):
                yield path


def _link(path: Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # Of an earlier job in a shared output folder.
        try:
            os.link(path, target)
        except OSError:
            shutil.copy2(path, target)
    except OSError as error:
        _log.warning("Cannot keep a file that a job wrote: %s", error)
