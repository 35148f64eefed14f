"""Signature of requests to Tencent Cloud's API: TC3-HMAC-SHA256.

Only the content type, the host and the digest of the body are signed, with the time. The token of a temporary key is
sent unsigned. A signature is valid for five minutes, so each attempt needs a new one.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..keys import AccessKey

if TYPE_CHECKING:
    import httpx

__all__ = ["ALGORITHM", "authorization", "sign"]

ALGORITHM = "TC3-HMAC-SHA256"
_SIGNED = "content-type;host"


def sign(key: AccessKey, service: str, request: httpx.Request) -> httpx.Request:
    """Sign a POST request to `service` with the current time. Its host and content type must be set."""
    timestamp = int(time.time())
    headers = request.headers
    headers["x-tc-timestamp"] = str(timestamp)
    if key.token:
        headers["x-tc-token"] = key.token.open()
    headers["authorization"] = authorization(
        key, service, timestamp, headers["host"], headers["content-type"], request.content
    )
    return request


def authorization(key: AccessKey, service: str, timestamp: int, host: str, content_type: str, body: bytes) -> str:
    """Return the Authorization header of a POST request to the path ``/`` without a query.

    `timestamp` is in Unix seconds. `host` and `content_type` are the values of the headers as they are sent.
    """
    canonical = "\n".join(
        ["POST", "/", "", f"content-type:{content_type}", f"host:{host}", "", _SIGNED, hashlib.sha256(body).hexdigest()]
    )
    date = datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d")
    scope = f"{date}/{service}/tc3_request"
    to_sign = "\n".join([ALGORITHM, str(timestamp), scope, hashlib.sha256(canonical.encode()).hexdigest()])
    digest = f"TC3{key.secret.open()}".encode()
    for word in (date, service, "tc3_request"):
        digest = hmac.digest(digest, word.encode(), "sha256")
    signature = hmac.new(digest, to_sign.encode(), "sha256").hexdigest()
    return f"{ALGORITHM} Credential={key.id}/{scope}, SignedHeaders={_SIGNED}, Signature={signature}"
