"""Error responses of COS. The official client reads neither their date nor those without a body."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import requests

__all__ = ["CosRefusal", "check_response"]


class CosRefusal(Exception):
    """An error response: its HTTP status, code, message, request id and Date header. Each text may be empty."""

    def __init__(self, status: int, code: str, message: str, request_id: str, date: str) -> None:
        super().__init__(f"{status} {code} {message}")
        self.status, self.code, self.message, self.request_id, self.date = status, code, message, request_id, date


def check_response(response: requests.Response, *_arguments: Any, **_options: Any) -> None:
    """Check a response. A copy, the end of an upload and a deletion can fail with the status 200.

    Raises:
        CosRefusal: if it is an error.
    """
    is_done = response.status_code < 300
    if is_done and (response.request.method not in ("POST", "PUT") or b"<Error>" not in response.content):
        return
    text = response.text
    code, message = _field(text, "Code"), _field(text, "Message")
    if code == "AccessDenied" and "expired" in message:
        code = "RequestIsExpired"  # The signature has ended, since the clock of this machine is slow.
    request_id = response.headers.get("x-cos-request-id", "") or _field(text, "RequestId")
    status = 500 if is_done and code == "InternalError" else response.status_code
    raise CosRefusal(status, code, message or response.reason or "", request_id, response.headers.get("date", ""))


def _field(text: str, name: str) -> str:
    match = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return unescape(match[1]).strip() if match else ""
