"""Every error that jupyter-pai raises: what happened, and how to mend it.

    PaiError
    ├── BadInput             what the user gave cannot be used            400
    │   ├── UsageError       a magic or command line                      400
    │   ├── SpecError        a field of a job's specification             400
    │   ├── SourceError      the folder of code                           400
    │   ├── NotebookError    a notebook or a cell                         400
    │   ├── SettingsError    the settings file                            400
    │   ├── NotAllowed       the administrator's policy forbids it        400
    │   └── Refused          a platform does not take it                  400
    │       ├── CredentialsError  keys are missing, wrong or expired      400
    │       ├── PermissionDenied  this account may not do that            400
    │       ├── RegionError  not there, or not what is meant              400
    │       ├── BucketError  no such bucket, or not in this region        400
    │       └── ImageError   no such image, or it cannot be pulled        400
    ├── NotFound             no such job, profile, channel                404
    │   └── SourceGone       packed code went with its last job           404
    ├── Conflict             not possible in the state things are in      409
    │   ├── JobFailed        a job that was waited for did not succeed    409
    │   ├── QuotaExceeded    a limit of the account is used up            409
    │   ├── SoldOut          the platform has none of it just now         409
    │   └── Unconfirmed      it costs, and nobody has agreed to that      409
    ├── Unsupported          a backend or storage that cannot do this     400
    └── EngineError          our side of the fence                        500
        ├── BackendError     a backend did not do what it should          502
        │   ├── Throttled    it is asked too often                        503
        │   └── Unreachable  it does not answer                           503
        │       └── ReplyLost  whether it did what was asked is unknown   503
        ├── ClockError       the clock of this machine is wrong           500
        ├── StateError       the state folder cannot be used              503
        └── ServerUnreachable  no answer from the Jupyter server          503

An error crosses HTTP as ``{code, message, fix, details}`` and is raised again, with the same class, on the other
side. Its status is never 401, 403 or 407: those are between a page and its Jupyter server, and JupyterLab takes them
for a lost login. What a platform said is in `details`: `code`, `request_id` and `status` as they came from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

__all__ = [
    "BackendError",
    "BadInput",
    "BucketError",
    "ClockError",
    "Conflict",
    "CredentialsError",
    "EngineError",
    "ImageError",
    "JobFailed",
    "NotAllowed",
    "NotFound",
    "NotebookError",
    "PaiError",
    "PermissionDenied",
    "QuotaExceeded",
    "Refused",
    "RegionError",
    "ReplyLost",
    "ServerUnreachable",
    "SettingsError",
    "SoldOut",
    "SourceError",
    "SourceGone",
    "SpecError",
    "StateError",
    "Throttled",
    "Unconfirmed",
    "Unreachable",
    "Unsupported",
    "UsageError",
]


class PaiError(Exception):
    """What happened and where (`message`), and what to do about it (`fix`).

    `details` holds plain JSON values for programs: the line of a settings file, the id of a job. `faults` among
    them are what is wrong with fields of a spec, by their paths (`name`, `inputs.train`, `options.spot.strategy`).
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

    def at(self, *fields: str) -> Self:
        """The same error, about fields of a spec: beside each of them a form shows what happened and what to do."""
        faults = self.details.get("faults")
        known = faults if isinstance(faults, dict) else {}
        self.details["faults"] = known | {field: str(self).removeprefix(f"{field}: ") for field in fields}
        return self

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


class NotAllowed(BadInput):
    """`details` has `rule`, the key of the policy, and `contact`, whom to ask."""


class Refused(BadInput):
    pass


class CredentialsError(Refused):
    pass


class PermissionDenied(Refused):
    pass


class RegionError(Refused):
    pass


class BucketError(Refused):
    pass


class ImageError(Refused):
    pass


class NotFound(PaiError):
    status = 404


class SourceGone(NotFound):
    """The archive was removed, with the last other job that had it, since it was found."""


class Conflict(PaiError):
    status = 409


class JobFailed(Conflict):
    """A job that was waited for ended, but not with success.

    `details` has `job_id`, `status`, `exit_code`, `reason` and `tail`, the last lines of its log.
    """


class QuotaExceeded(Conflict):
    pass


class SoldOut(Conflict):
    pass


class Unconfirmed(Conflict):
    """Something that the user is to agree to first: what a submit costs.

    `details` has `questions`, each a sentence.
    """


class Unsupported(PaiError):
    status = 400


class EngineError(PaiError):
    pass


class BackendError(EngineError):
    status = 502


class Throttled(BackendError):
    status = 503


class Unreachable(BackendError):
    """`details` may have `sent`: False where nothing of the request has left this machine."""

    status = 503


class ReplyLost(Unreachable):
    """What was asked for may have been done. Look before it is asked for once more."""


class ClockError(EngineError):
    """`details` has `seconds`: how far this machine's clock is ahead of the platform's."""


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
