"""The platform's own job files, such as batch scripts: read as a spec, and shown as they would be sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar

from ..core.errors import SpecError, Unsupported
from ..core.i18n import _, join
from ..core.secret import Secret
from ..jobs.spec import JobSpec

# Bytes of the longest job file that is read.
LONGEST_JOB_FILE = 1 << 20


@dataclass(frozen=True)
class JobFile:
    """A job file that was read: the fields of a spec as JSON, and notes on what the platform would do differently.

    `here`: the same job on this machine, if other fields than `options` differ there.
    """

    spec: dict[str, Any]
    notes: tuple[str, ...] = ()
    here: JobFile | None = None


@dataclass(frozen=True)
class Problem:
    """A fault of a document. `line`: from 1; 0 if unknown. `path`: the place in the document, such as `roles[0].name`;
    empty for the whole. `fix`: how to repair it. `is_error`: the platform refuses it; otherwise it is a warning."""

    line: int
    path: str
    text: str
    fix: str
    is_error: bool

    def __str__(self) -> str:
        line = _("Line {line}").format(line=self.line) if self.line else ""
        return join(": ", filter(None, [line, self.path, join(" ", filter(None, [self.text, self.fix]))]))


def refusal(problems: Sequence[Problem], name: str = "") -> SpecError:
    """Return the error for the errors among these problems: all of them in one message. `name`: of their file."""
    errors = [one for one in problems if one.is_error]
    if len(errors) == 1 and not name:
        return SpecError(str(replace(errors[0], fix="")), fix=errors[0].fix).at("options.document")
    head = [_("{name} has errors:").format(name=name)] if name else []
    return SpecError("\n".join([*head, *map(str, errors)])).at("options.document")


@dataclass(frozen=True)
class Document:
    """The text that a platform would be sent, without values of secrets. `language`: `yaml`, `bash` or `json`.

    `mended`: the text with the repairs that its warnings offer; empty if there are none.
    """

    name: str
    text: str
    language: str
    mended: str = ""


class JobFiles:
    """The part of a backend that concerns the platform's own job files. By default, there are none."""

    # Globs of the names of these files, such as `*.job.yaml`.
    job_files: ClassVar[Sequence[str]] = ()

    @classmethod
    def is_job_file(cls, path: Path) -> bool:
        """Return whether a file is one of the platform's job files. May read its beginning."""
        return any(fnmatchcase(path.name, pattern) for pattern in cls.job_files)

    @classmethod
    def read_job_file(cls, path: Path, text: str) -> JobFile:
        """Return the spec of a job file with this text. For backends with `job_files`. Sends no requests.

        Raises:
            SpecError: naming the line that cannot be meant here, and the fix.
        """
        raise Unsupported(_("{path} is not a job file.").format(path=path))

    @classmethod
    def job_file_secrets(cls, spec: JobSpec) -> Mapping[str, Secret]:
        """Return the secrets in the job file of a spec, by name; none if the file is gone. They are masked in all that
        is fetched, as stored ones are. May block."""
        return {}

    async def document(self, spec: JobSpec) -> Document | None:
        """Return what the platform would be sent for a resolved spec; None if there is nothing to show. Submits
        nothing."""
        return None
