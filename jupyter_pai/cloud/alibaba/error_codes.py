"""What Alibaba Cloud's refusals mean, as errors of ours: message, code, request id, and the fix.

The code decides where there is one, else the HTTP status: throttling comes as 400 as well as 429 and 503. Codes are
those of the services' documents and of their clients; one that is not known is shown as it came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
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
)
from ...core.i18n import N_, _
from ..http import Refusal
from .access_key import AccessKey

if TYPE_CHECKING:
    import httpx

__all__ = ["clock_error", "error_of", "read_refusal"]

# Seconds that the services' clocks and ours may be apart.
_TOLERANCE = 15 * 60

_KEYS_FIX = N_(
    "Check the keys: `%pai profile login NAME`, `aliyun configure`, or ALIBABA_CLOUD_ACCESS_KEY_ID and "
    "ALIBABA_CLOUD_ACCESS_KEY_SECRET; then `%pai doctor`."
)
_ROLE_FIX = N_(
    "Ask an administrator of the account for the permission, and for the role developer in the workspace; "
    "`%pai doctor` shows what this account may do."
)

# The first pattern that a code matches tells what it means.
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
        N_("Check the profile's `region_id`: PAI is not in every region."),
    ),
    (
        r"NoSuchBucket|Bucket",
        BucketError,
        N_("Check the profile's `oss_bucket_name`: it must exist, in the region of the profile."),
    ),
    (
        r"Image.*(NotFound|NotExist|Invalid|Pull)|(Invalid|NoSuch).*Image",
        ImageError,
        N_("`%pai images` lists images that there are."),
    ),
    (r"Forbidden|NoPermission|AccessDenied|Unauthorized|NoAuth", PermissionDenied, _ROLE_FIX),
    (
        r"SoldOut|NoStock|OutOfStock|ResourceNotEnough|InsufficientResource|InsufficientCapacity|NotOnSale",
        SoldOut,
        N_("Take another instance type (`%pai instances`) or a spot instance, or try again later."),
    ),
    (r"Quota|LimitExceed|ExceedLimit|Arrear|Balance", QuotaExceeded, N_("Stop what you do not need, or ask for more.")),
    (r"NotFound|NotExist|NOT_FOUND", NotFound, ""),
    (r"Conflict|AlreadyExist|Duplicate|InvalidStatus", Conflict, ""),
]
_STATUSES: dict[int, type[PaiError]] = {
    401: CredentialsError,
    403: PermissionDenied,
    404: NotFound,
    409: Conflict,
    429: Throttled,
}


def read_refusal(response: httpx.Response, what: str, key: AccessKey) -> Refusal:
    """What an answer of a service means that is no success. `what` names the operation, `key` is what it was signed
    with, and is masked wherever the answer quotes it."""
    said = _Body(response)
    request_id = str(said.get("RequestId")) or response.headers.get("x-acs-request-id", "")
    wait = _milliseconds(response.headers.get("x-acs-retry-after", ""))
    code = str(said.get("Code"))
    error = clock_error(code, response.headers.get("date", "")) or error_of(
        response.status_code if wait is None else 429,
        code,
        key.mask(str(said.get("Message")) or response.reason_phrase),
        what=what,
        request_id=request_id,
        http_status=response.status_code,
    )
    _name_action(error, said.get("AccessDeniedDetail"))
    return Refusal(error, isinstance(error, Throttled) or code == "SignatureNonceUsed", wait)


def error_of(
    status: int, code: str, message: str, *, what: str, request_id: str = "", http_status: int | None = None
) -> PaiError:
    """The error for a platform's code, or for the HTTP status where there is none. OSS has codes of the same kind."""
    kind, fix = _kind(status, code)
    told = ", ".join(filter(None, (code or f"HTTP {status}", request_id and f"request {request_id}")))
    return kind(
        f"{what}: {message.rstrip('. ')} ({told}).",
        fix=_(fix) if fix else "",
        code=code,
        request_id=request_id,
        status=http_status or status,
    )


def clock_error(code: str, date: str) -> ClockError | None:
    """An error that says by how much this machine's clock is off, if that is why a request was refused.

    `date` is the header of the answer. A signature of another time may be called expired, or simply wrong.
    """
    if not re.search(r"TimeStamp|Timestamp|Signature|TooSkewed", code):
        return None
    try:
        ahead = (datetime.now(UTC) - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError):
        return None
    if abs(ahead) < _TOLERANCE - 60:
        return None
    text = (
        _("This machine's clock is {minutes} minutes fast: the platform takes no request that is off by more than 15.")
        if ahead > 0
        else _(
            "This machine's clock is {minutes} minutes slow: the platform takes no request that is off by more than 15."
        )
    )
    return ClockError(
        text.format(minutes=round(abs(ahead) / 60)),
        fix=_("Set the clock of this machine, for example by NTP."),
        seconds=round(ahead),
        code=code,
    )


def _kind(status: int, code: str) -> tuple[type[PaiError], str]:
    if status == 429:
        return Throttled, _CODES[0][2]
    for pattern, kind, fix in _CODES:
        if code and re.search(pattern, code) and not (status >= 500 and issubclass(kind, NotFound | Conflict)):
            return kind, fix
    kind = _STATUSES.get(status) or (BackendError if status >= 500 or status < 400 else Refused)
    return kind, next((fix for _pattern, known, fix in _CODES if known is kind), "")


class _Body:
    """The fields of an error's body: JSON with either spelling of its names, or XML."""

    def __init__(self, response: httpx.Response) -> None:
        self.text = response.text
        try:
            found = json.loads(self.text)
        except ValueError:
            found = {}
        self.json: Mapping[str, Any] = found if isinstance(found, dict) else {}

    def get(self, name: str) -> Any:
        """A field, by its name with a capital; empty if it is not there."""
        if value := self.json.get(name) or self.json.get(name[0].lower() + name[1:]):
            return value
        tagged = re.search(rf"<{name}>([^<]*)</{name}>", self.text)
        return tagged[1].strip() if tagged else ""


def _milliseconds(text: str) -> float | None:
    """The seconds of a header that counts milliseconds; None for nothing that is more than zero."""
    return int(text) / 1000 if text.isdecimal() and int(text) > 0 else None


def _name_action(error: PaiError, denied: object) -> None:
    """What was denied, where the service tells: that is what an administrator has to be asked for."""
    action = str(denied.get("AuthAction") or "") if isinstance(denied, Mapping) else ""
    if isinstance(error, PermissionDenied) and action:
        error.details["action"] = action
        error.fix = _("Ask an administrator of the account for the RAM action `{action}`.").format(action=action)
