"""Mapping of Tencent Cloud's error responses to exceptions, with message, code, request id and fix.

Errors of the services come with the status 200 and a code. Another status is a fault of the gateway, or of a proxy in
front of it. Unknown codes are shown unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.errors import ClockError, PaiError, PermissionDenied
from ...core.i18n import _
from ..http import Refusal
from ..keys import AccessKey
from ..signed_call import clock_skew_error
from .error_table import meaning_of

if TYPE_CHECKING:
    import httpx

__all__ = ["answer_of", "clock_error", "error_of", "read_refusal"]

# Maximum clock skew accepted by the services, in minutes.
_TOLERANCE = 5


def answer_of(reply: object) -> dict[str, Any]:
    """Return the object `Response` of a reply.

    Raises:
        ValueError: if the reply has none, as a page of a proxy or a part of a reply.
    """
    answer = reply.get("Response") if isinstance(reply, Mapping) else None
    if not isinstance(answer, dict):
        raise ValueError("no object `Response`")
    return answer


def read_refusal(response: httpx.Response, what: str, key: AccessKey) -> Refusal | None:
    """Return the meaning of an error response, None for an answer. `what` names the action. `key` signed the request
    and is masked in messages. The content type does not count: the gateway sends errors with several.

    Raises:
        ValueError: if a response with the status 200 is incomplete.
    """
    try:
        answer = answer_of(json.loads(response.content))
    except ValueError:
        if response.is_success:
            raise
        answer = {}
    error = answer.get("Error")
    fields = error if isinstance(error, Mapping) else {}
    code = str(fields.get("Code") or "")
    if response.is_success and not code:
        return None
    meaning = meaning_of(code, response.status_code)
    date = response.headers.get("date", "")
    refused = clock_error(code, date) or error_of(
        code,
        key.mask(str(fields.get("Message") or "") or response.reason_phrase),
        what=what,
        request_id=str(answer.get("RequestId") or ""),
        status=response.status_code,
    )
    return Refusal(refused, meaning.not_executed, unclear=meaning.unclear)


def error_of(code: str, message: str, *, what: str, request_id: str = "", status: int = 200) -> PaiError:
    """Return the error for a platform's code, or for the HTTP status if there is none. The codes of COS are among them.

    Its message is the meaning of the code, followed by what the platform said of `what`.
    """
    meaning = meaning_of(code, status)
    codes = ", ".join(filter(None, (code or f"HTTP {status}", request_id and f"request {request_id}")))
    said = f"{what}: {' '.join(message.split()).rstrip('. 。')} ({codes})."
    error = meaning.kind(
        _(meaning.text) + f" {said}" if meaning.text else said,
        fix=_(meaning.fix) if meaning.fix else "",
        code=code,
        request_id=request_id,
        status=status,
    )
    action = re.search(r"operation \(([\w-]+:\w+)\)", message)
    if isinstance(error, PermissionDenied) and action:  # An administrator has to grant it.
        error.details["action"] = action[1]
        error.fix = _("Ask an administrator of the account for the CAM action `{action}`.").format(action=action[1])
    return error


def clock_error(code: str, date: str) -> ClockError | None:
    """Return an error with the clock skew of this machine, if it caused the refusal.

    `date` is a header of the response. A skewed signature may be reported as expired or as invalid.
    """
    is_skew = re.search(r"Signature|TooSkewed|IsExpired", code)
    return clock_skew_error(date, _TOLERANCE, code) if is_skew else None
