"""All errors raised by jupyter-pai, each with a message and a suggested fix.

    PaiError
    ├── BadInput             invalid input                                400
    │   ├── UsageError       a magic or command line                      400
    │   ├── SpecError        a field of a job's specification             400
    │   ├── ArgumentsRefused the script would reject its arguments        400
    │   ├── SourceError      the folder of code                           400
    │   ├── NotebookError    a notebook or a cell                         400
    │   ├── SettingsError    the settings file                            400
    │   ├── NotAllowed       forbidden by the administrator's policy      400
    │   └── Refused          rejected by a platform                       400
    │       ├── CredentialsError  keys are missing, invalid or expired    400
    │       ├── PermissionDenied  the account lacks a permission          400
    │       ├── RegionError  unknown or wrong region                      400
    │       ├── BucketError  unknown bucket, or in another region         400
    │       └── ImageError   unknown image, or it cannot be pulled        400
    ├── NotFound             unknown job, profile, channel                404
    │   └── SourceGone       packed code was removed with its last job    404
    ├── Conflict             not possible in the current state            409
    │   ├── JobFailed        an awaited job did not succeed               409
    │   ├── QuotaExceeded    a limit of the account is reached            409
    │   ├── SoldOut          temporarily out of stock on the platform     409
    │   └── Unconfirmed      must be confirmed by the user                409
    ├── Unsupported          not supported by a backend or storage        400
    └── EngineError          an internal or platform failure              500
        ├── BackendError     a failure of a backend                       502
        │   ├── Throttled    rate limit exceeded                          503
        │   └── Unreachable  no response                                  503
        │       └── ReplyLost  the request may have been executed         503
        ├── ClockError       the clock of this machine is wrong           500
        ├── StateError       the state folder cannot be used              503
        └── ServerUnreachable  no response from the Jupyter server        503

An error crosses HTTP as ``{code, message, fix, details}`` and is raised with the same class on the other side. Its
status is never 401, 403 or 407, which JupyterLab takes for a lost login to its own server. `details` holds a platform's
`code`, `request_id` and `status` unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from .text import plain

if TYPE_CHECKING:
    from typing import Self  # Absent from Python 3.10, with which a job may run.

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


# What reading a stored file or row may raise if it is damaged: unreadable, no text, no JSON, nested too deeply, or with
# values of other types.
DAMAGED = (OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


class PaiError(Exception):
    """An error with a `message` and a suggested `fix`.

    `details` holds JSON values for programs, such as a line number or a job id. `details["faults"]` maps the paths of
    invalid fields of a spec (`name`, `inputs.train`, `options.spot.strategy`) to messages.
    """

    status: ClassVar[int] = 500

    def __init__(self, message: str, *, fix: str = "", **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.details = details

    @property
    def code(self) -> str:
        """The name of the class, which identifies the error in JSON."""
        return type(self).__name__

    def at(self, *fields: str) -> Self:
        """Attach this error to fields of a spec, beside which a form shows it. Returns the error itself."""
        faults = self.details.get("faults")
        known = faults if isinstance(faults, dict) else {}
        self.details["faults"] = known | {field: str(self).removeprefix(f"{field}: ") for field in fields}
        return self

    def __str__(self) -> str:
        # Two messages stay translatable. Python prints the text in tracebacks: it may name files and jobs of others.
        return plain(self.message + " " + self.fix if self.fix else self.message)

    def _render_traceback_(self) -> list[str]:
        """Show the message in a notebook without the traceback of internal frames."""
        return [plain(text) for text in (f"{self.code}: {self.message}", self.fix) if text]

    def as_json(self) -> dict[str, object]:
        """Return the JSON representation sent over HTTP."""
        return {"code": self.code, "message": self.message, "fix": self.fix, "details": self.details}

    @staticmethod
    def from_json(reply: Mapping[str, object]) -> PaiError:
        """Return the error represented by `as_json`. An unknown code becomes an `EngineError`."""
        kind = _by_code(PaiError).get(str(reply.get("code")), EngineError)
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


class ArgumentsRefused(BadInput):
    """The script certainly rejects its command line. ``details["faults"]`` has the errors by field of the spec."""


class SourceError(BadInput):
    pass


class NotebookError(BadInput):
    pass


class SettingsError(BadInput):
    pass


class NotAllowed(BadInput):
    """`details` has `rule`, the key of the policy, and `contact`, the person to ask."""


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
    """The archive was removed together with the last other job that used it."""


class Conflict(PaiError):
    status = 409


class JobFailed(Conflict, RuntimeError):
    """A job that the caller waited for finished without success.

    `details` has `job_id`, `status`, `exit_code`, `reason` and `tail`, the last lines of its log.
    """


class QuotaExceeded(Conflict):
    pass


class SoldOut(Conflict):
    pass


class Unconfirmed(Conflict):
    """A submit that needs the user's confirmation first, because of its cost or of excluded files.

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
    """`details` may have `sent`: False if no part of the request was sent."""

    status = 503


class ReplyLost(Unreachable):
    """The request may have been executed. Check before retrying."""


class ClockError(EngineError):
    """`details` has `seconds`: the difference between this machine's clock and the platform's, positive if this one is
    ahead."""


class StateError(EngineError):
    status = 503


class ServerUnreachable(EngineError):
    status = 503


def _by_code(kind: type[PaiError]) -> dict[str, type[PaiError]]:
    codes = {kind.__name__: kind}
    for below in kind.__subclasses__():
        codes = _by_code(below) | codes  # The names of the SDK have classes of the same names below these.
    return codes
