"""The errors of the PAI SDK, by the names that `except` clauses use. They also have a `fix` and `details`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..client.parameters import parameter_names
from ..core.errors import BadInput, Conflict, JobFailed, PaiError as PAIException

__all__ = [
    "DuplicatedMountException",
    "JobUnsuccessful",
    "MountPathIsOccupiedException",
    "PAIException",
    "PredictionException",
    "UnexpectedStatusException",
    "sdk_errors",
]


class UnexpectedStatusException(Conflict):
    """A job or a TensorBoard that did not reach the awaited status. `status` is its status, by PAI's word."""

    # The name of the SDK, in place of the status of HTTP: no server sends these errors.
    status: str  # type: ignore[assignment,misc]

    def __init__(self, message: str, status: str = "", *, fix: str = "", **details: object) -> None:
        super().__init__(message, fix=fix, **details)
        self.status = status


class JobUnsuccessful(UnexpectedStatusException, JobFailed):
    """A job that the caller waited for failed."""


class PredictionException(PAIException):
    """Raised by the SDK only: models are not deployed from here."""


class DuplicatedMountException(PAIException):
    """Raised by the SDK only: models are not deployed from here."""


class MountPathIsOccupiedException(PAIException):
    """Raised by the SDK only: models are not deployed from here."""


@contextmanager
def sdk_errors(names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Raise errors of this block as the SDK does: bad input as a `ValueError` too. `names` maps parameters of `submit`
    to the caller's."""
    try:
        with parameter_names(names):
            yield
    except BadInput as error:
        kind = type(error)
        if not issubclass(kind, ValueError | RuntimeError):
            kind = type(kind.__name__, (kind, ValueError), {"__module__": kind.__module__, "__doc__": kind.__doc__})
        raise kind(error.message, fix=error.fix, **error.details).with_traceback(error.__traceback__) from None
