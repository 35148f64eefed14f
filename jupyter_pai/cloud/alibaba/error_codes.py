"""Mapping of Alibaba Cloud's error responses to exceptions, with message, code, request id and fix.

The error code decides if there is one, otherwise the HTTP status, because throttling is reported with 400, 429 and 503.
The codes are from the services' documentation and clients. Unknown codes are shown unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.errors import (
    BackendError,
    BucketError,
    ClockError,
    Conflict,
    CredentialsError,
    ImageError,
    NotFound,
    PaiError,
    PermissionDenied,
    QuotaExceeded,
    Refused,
    RegionError,
    SoldOut,
    Throttled,
    Unsupported,
)
from ...core.i18n import N_, _
from ..http import Refusal
from ..keys import AccessKey
from ..signed_call import clock_skew_error

if TYPE_CHECKING:
    import httpx

# Maximum clock skew accepted by the services, in minutes.
_TOLERANCE = 15

_KEYS_FIX = N_(
    "Check the keys: `%pai profile login NAME`, `aliyun configure`, or ALIBABA_CLOUD_ACCESS_KEY_ID and "
    "ALIBABA_CLOUD_ACCESS_KEY_SECRET; then `%pai doctor`."
)
_ROLE_FIX = N_(
    "Ask an administrator of the account for the permission and for the developer role in the "
    "workspace. `%pai doctor` shows this account's permissions."
)

# The first matching pattern determines the exception and fix.
_CODES: list[tuple[str, type[PaiError], str]] = [
    (r"Throttling|TooManyRequests|FlowControl|RequestLimitExceeded", Throttled, N_("Try again in a minute.")),
    (r"SignatureNonceUsed", BackendError, N_("Try again.")),
    (r"InvalidTimeStamp|RequestTimeTooSkewed", ClockError, N_("Set the clock of this machine, for example by NTP.")),
    (
        r"Signature|InvalidAccessKey|AccessKeyDisabled|SecurityToken|InvalidCredential|InvalidBearerToken",
        CredentialsError,
        _KEYS_FIX,
    ),
    (
        r"InvalidApi\.NotFound|InvalidAction\.NotFound|InvalidVersion|Region",
        RegionError,
        N_("Check the profile's `region_id`. PAI is not available in every region."),
    ),
    (
        r"NoSuchBucket|Bucket",
        BucketError,
        N_("Check the profile's `oss_bucket_name`. The bucket must exist in the region of the profile."),
    ),
    (
        r"Image.*(NotFound|NotExist|Invalid|Pull)|(Invalid|NoSuch).*Image",
        ImageError,
        N_("List available images: `%pai images`"),
    ),
    (r"Forbidden|NoPermission|AccessDenied|Unauthorized|NoAuth", PermissionDenied, _ROLE_FIX),
    (
        r"SoldOut|NoStock|OutOfStock|ResourceNotEnough|InsufficientResource|InsufficientCapacity|NotOnSale",
        SoldOut,
        N_("Use another instance type (`%pai instances`) or a spot instance, or try again later."),
    ),
    (
        r"Quota|LimitExceed|ExceedLimit|Arrear|Balance",
        QuotaExceeded,
        N_("Stop unused jobs, or request a higher quota."),
    ),
    (r"NotFound|NotExist|NOT_FOUND", NotFound, ""),
    (r"Conflict|AlreadyExist|Duplicate|InvalidStatus", Conflict, ""),
]
_STATUSES: dict[int, type[PaiError]] = {
    401: CredentialsError,
    403: PermissionDenied,
    404: NotFound,
    409: Conflict,
    429: Throttled,
    501: Unsupported,
}


def read_refusal(response: httpx.Response, what: str, key: AccessKey) -> Refusal:
    """Map an error response. `what` names the operation. `key` signed the request and is masked in messages."""
    body = _fields(response.text)
    request_id = str(body.get("RequestId", "")) or response.headers.get("x-acs-request-id", "")
    milliseconds = response.headers.get("x-acs-retry-after", "")
    wait = int(milliseconds) / 1000 if milliseconds.isdecimal() and int(milliseconds) else None
    code = str(body.get("Code", ""))
    error = clock_error(code, response.headers.get("date", "")) or error_of(
        response.status_code if wait is None else 429,
        code,
        key.mask(str(body.get("Message", "")) or response.reason_phrase),
        what=what,
        request_id=request_id,
        http_status=response.status_code,
    )
    denied = body.get("AccessDeniedDetail")
    action = str(denied.get("AuthAction") or "") if isinstance(denied, Mapping) else ""
    if isinstance(error, PermissionDenied) and action:  # An administrator has to grant it.
        error.details["action"] = action
        error.fix = _("Ask an administrator of the account for the RAM action `{action}`.").format(action=action)
    # A server that failed while it executed the call may also say how long to wait.
    is_refused = response.status_code in (400, 429, 503)
    not_executed = is_refused and (isinstance(error, Throttled) or code == "ServiceUnavailable")
    # A proxy may have sent the request twice: the first one was executed.
    return Refusal(error, not_executed, wait, unclear=code == "SignatureNonceUsed")


def error_of(
    status: int, code: str, message: str, *, what: str, request_id: str = "", http_status: int | None = None
) -> PaiError:
    """Return the error for a platform's code, or for the HTTP status if there is none. OSS uses the same codes."""
    kind, fix = _kind(status, code)
    codes = ", ".join(filter(None, (code or f"HTTP {status}", request_id and f"request {request_id}")))
    return kind(
        f"{what}: {message.rstrip('. ')} ({codes}).",
        fix=_(fix) if fix else "",
        code=code,
        request_id=request_id,
        status=http_status or status,
    )


def clock_error(code: str, date: str) -> ClockError | None:
    """Return an error with the clock skew of this machine, if it caused the refusal.

    `date` is a header of the response. A skewed signature may be reported as expired or as invalid.
    """
    is_skew = re.search(r"TimeStamp|Timestamp|Signature|TooSkewed", code)
    return clock_skew_error(date, _TOLERANCE, code) if is_skew else None


def _kind(status: int, code: str) -> tuple[type[PaiError], str]:
    if status == 429:
        return Throttled, _CODES[0][2]
    for pattern, kind, fix in _CODES:
        if code and re.search(pattern, code) and not (status >= 500 and issubclass(kind, NotFound | Conflict)):
            return kind, fix
    kind = _STATUSES.get(status) or (BackendError if status >= 500 or status < 400 else Refused)
    return kind, next((fix for _pattern, known, fix in _CODES if known is kind), "")


def _fields(text: str) -> dict[str, Any]:
    """Return the fields of an error response by their capitalized names: JSON with names in either case, or XML."""
    try:
        content = json.loads(text)
    except ValueError:
        content = {name: value.strip() for name, value in re.findall(r"<(\w+)>([^<]*)</\1>", text)}
    pairs = content.items() if isinstance(content, dict) else ()
    return {name[:1].upper() + name[1:]: value for name, value in pairs if value}
