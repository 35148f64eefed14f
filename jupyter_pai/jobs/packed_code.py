"""The code of a job, packed: where its archive is, and the folder of the job that gets it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import NotFound, SourceGone
from ..core.i18n import _
from .job import Job
from .state_dir import JobFolder

__all__ = ["Code", "code_of", "write_folder"]


@dataclass(frozen=True)
class Code:
    """The code of a job, packed, and what is to be said of it. `of`: the earlier job whose code it is."""

    archive: Path
    digest: str
    hashes: Mapping[str, str]
    files: int
    bytes: int
    notes: tuple[str, ...] = ()
    of: str = ""


def code_of(job: Job, folder: JobFolder) -> Code:
    """The code of an earlier job, as it was packed.

    Raises:
        NotFound: if its files are gone.
    """
    try:
        hashes = json.loads((folder.path / "manifest.json").read_text("utf-8"))
        folder.source.stat()
    except (OSError, ValueError) as error:
        raise NotFound(
            _("The code of the job {job} cannot be read: {error}.").format(job=job.id, error=error),
            fix=_("Name a folder of code with --source."),
        ) from None
    return Code(folder.source, job.source_digest, hashes, job.source_files, job.source_bytes, of=job.id)


def write_folder(folder: JobFolder, job: Job, code: Code) -> None:
    """What a job's folder has from the beginning."""
    folder.spec.write_text(job.spec.model_dump_json(indent=1), "utf-8")
    (folder.path / "manifest.json").write_text(json.dumps(dict(code.hashes)), "utf-8")
    try:
        os.link(code.archive, folder.source)
    except FileNotFoundError as error:
        raise SourceGone(
            _("The code that was packed is gone: {error}.").format(error=error), fix=_("Try again.")
        ) from None
    except OSError:
        shutil.copyfile(code.archive, folder.source)
