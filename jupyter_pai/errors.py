"""Every error that jupyter-pai raises: what happened, and how to mend it.

    PaiError
    ├── BadInput             what the user gave cannot be used            400
    │   ├── UsageError       a magic or command line                      400
    │   ├── SpecError        a field of a job's specification             400
    │   ├── SourceError      the folder of code                           400
    │   ├── NotebookError    a notebook or a cell                         400
    │   └── SettingsError    the settings file                            400
    ├── NotFound             no such job, profile, channel                404
    ├── Conflict             not possible in the state things are in      409
    │   └── JobFailed        a job that was waited for did not succeed    409
    ├── Unsupported          a backend or storage that cannot do this     400
    └── EngineError          our side of the fence                        500
        ├── BackendError     a backend did not do what it should          502
        ├── StateError       the state folder cannot be used              503
        └── ServerUnreachable  no answer from the Jupyter server          503

An error crosses HTTP as ``{code, message, fix, details}`` and is raised again, with the same class, on the other
side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

__all__ = [
    "BackendError",
    "BadInput",
    "Conflict",
    "EngineError",
    "JobFailed",
    "NotFound",
    "NotebookError",
    "PaiError",
    "ServerUnreachable",
    "SettingsError",
    "SourceError",
    "SpecError",
    "StateError",
    "Unsupported",
    "UsageError",
]


class PaiError(Exception):
    """What happened and where (`message`), and what to do about it (`fix`).

    `details` holds plain JSON values for programs: the line of a settings file, the id of a job.
    """

    status: ClassVar[int] = 500

    def __init__(self, message: str, *, fix: str = "", **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.details = details

    @property
    def code(self) -> str:
        """The class's name: how programs tell errors apart."""
        return type(self).__name__

    def __str__(self) -> str:
        return f"{self.message} {self.fix}".rstrip()

    def _render_traceback_(self) -> list[str]:
        """In a notebook a message is enough: the user's mistake needs no pages of our frames."""
        return [f"{self.code}: {self.message}"] + ([self.fix] if self.fix else [])

    def as_json(self) -> dict[str, object]:
        """As it crosses HTTP."""
        return {"code": self.code, "message": self.message, "fix": self.fix, "details": self.details}

    @staticmethod
    def from_json(reply: Mapping[str, object]) -> PaiError:
        """The error that `as_json` was made from; an unknown code becomes an `EngineError`."""
        kind = _by_code().get(str(reply.get("code")), EngineError)
        details = reply.get("details")
        return kind(
            str(reply.get("message", "")),
            fix=str(reply.get("fix", "")),
            **(details if isinstance(details, dict) else {}),
        )


class BadInput(PaiError):
    status = 400


class UsageError(BadInput):
    pass


class SpecError(BadInput):
    pass


class SourceError(BadInput):
    pass


class NotebookError(BadInput):
    pass


class SettingsError(BadInput):
    pass


class NotFound(PaiError):
    status = 404


class Conflict(PaiError):
    status = 409


class JobFailed(Conflict):
    """A job that was waited for ended, but not with success.

    `details` has `job_id`, `status`, `exit_code`, `reason` and `tail`, the last lines of its log.
    """


class Unsupported(PaiError):
    status = 400


class EngineError(PaiError):
    pass


class BackendError(EngineError):
    status = 502


class StateError(EngineError):
    status = 503


class ServerUnreachable(EngineError):
    status = 503


def _by_code() -> dict[str, type[PaiError]]:
    found: dict[str, type[PaiError]] = {}
    waiting = [PaiError]
    while waiting:
        kind = waiting.pop()
        found[kind.__name__] = kind
        waiting.extend(kind.__subclasses__())
    return found
