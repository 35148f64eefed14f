"""The meaning of error responses of WebHDFS: ``{"RemoteException": {"exception", "javaClassName", "message"}}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...cloud.http import Refusal
from ...core.errors import (
    BackendError,
    Conflict,
    CredentialsError,
    NotFound,
    PaiError,
    PermissionDenied,
    QuotaExceeded,
    Refused,
    Throttled,
    Unreachable,
)
from ...core.i18n import _

if TYPE_CHECKING:
    import httpx

__all__ = ["is_unknown_operation", "read_reply"]

_TAKEN = ("FileAlreadyExistsException", "ParentNotDirectoryException", "PathIsNotEmptyDirectoryException")


def read_reply(response: httpx.Response, what: str, *, may_redirect: bool = False) -> Refusal | None:
    """Return the meaning of a response to a request about `what`, None for success. Only the first request of a
    transfer is answered by a redirect. Any other one, as to a page for a login, did nothing."""
    if response.status_code < (400 if may_redirect else 300):
        return None
    exception, message = _remote_exception(response)
    if exception:
        return Refusal(
            _error(exception, message, what, response.status_code), not_executed=exception == "RetriableException"
        )
    details: dict[str, Any] = {"status": response.status_code}
    host = response.url.netloc.decode()
    if response.status_code == 401:
        return Refusal(
            CredentialsError(
                _("HDFS at {host} requires a login (Kerberos), which is not supported.").format(host=host),
                fix=_("Ask its administrator for a gateway without Kerberos, or copy the files by other means."),
                **details,
            )
        )
    if response.status_code == 429:
        text = _("{host} limits the rate of requests.").format(host=host)
        return Refusal(Throttled(text, fix=_("Try again."), **details), not_executed=True)
    if response.status_code >= 500:
        text = _("{host} failed with the status {status}.").format(host=host, status=response.status_code)
        return Refusal(BackendError(text, fix=_("Try again."), **details))
    return Refusal(
        Refused(
            _("{host} rejected the request with the status {status}.").format(host=host, status=response.status_code),
            fix=_("Check that the profile's `hdfs` is the address of WebHDFS, such as http://HOST:9870/webhdfs/v1."),
            **details,
        )
    )


def is_unknown_operation(error: PaiError) -> bool:
    """Return whether a server is too old for an operation."""
    return error.details.get("code") in ("IllegalArgumentException", "UnsupportedOperationException")


def _remote_exception(response: httpx.Response) -> tuple[str, str]:
    """Return the name and the first line of the message, which is followed by a stack trace. Empty if there is none."""
    try:
        reply = response.json()["RemoteException"]
        return str(reply["exception"]), (str(reply.get("message") or "").strip().splitlines() or [""])[0][:500]
    except (ValueError, KeyError, TypeError):
        return "", ""


def _error(exception: str, message: str, what: str, status: int) -> PaiError:
    details: dict[str, Any] = {"code": exception, "status": status}
    match exception:
        case "FileNotFoundException":
            return NotFound(
                _("{uri} does not exist.").format(uri=what), fix=_("List the files: %pai ls URI"), **details
            )
        case "AccessControlException" | "SecurityException":
            return PermissionDenied(
                _("HDFS denies access to {uri}: {why}").format(uri=what, why=message),
                fix=_("Use a folder of your own, set the profile's `hdfs_user`, or ask the owner for permission."),
                **details,
            )
        case "SafeModeException":
            return Conflict(
                _("HDFS is in safe mode: nothing can be written to {uri}.").format(uri=what),
                fix=_("Wait until it has started. If that does not help, ask its administrator."),
                **details,
            )
        case "StandbyException":
            return Unreachable(
                _("The NameNode of {uri} is in standby.").format(uri=what),
                fix=_("Use the host of the active NameNode."),
                **details,
            )
        case "DSQuotaExceededException" | "NSQuotaExceededException" | "QuotaExceededException":
            return QuotaExceeded(
                _("The quota of HDFS is exceeded at {uri}: {why}").format(uri=what, why=message),
                fix=_("Delete files, or ask the administrator for a larger quota."),
                **details,
            )
        case _ if exception in _TAKEN:
            return Conflict(_("{file} already exists.").format(file=what), fix=_("Choose another name."), **details)
        case _ if "replicated to 0 nodes" in message or "written to 0 of the" in message:
            return BackendError(
                _("HDFS has no space for {uri}: {why}").format(uri=what, why=message),
                fix=_("Delete files, or ask the administrator for more space."),
                **details,
            )
    text = _("HDFS rejects {uri}: {why}").format(uri=what, why=f"{exception}: {message}")
    return BackendError(text, **details) if status >= 500 else Refused(text, **details)
