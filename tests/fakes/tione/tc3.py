"""Signatures of API 3.0 (TC3-HMAC-SHA256)."""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import UTC, datetime

from ..alibaba.calls import Call
from ..alibaba.clock import Clock
from ..alibaba.keys import Key
from ..alibaba.service_errors import Refusal
from .keys import Keys

__all__ = ["check", "signature"]

_SKEW = 300
_FORM = re.compile(
    r"TC3-HMAC-SHA256 Credential=(?P<id>[^/\s]+)/(?P<date>[\d-]+)/(?P<service>\w+)/tc3_request, ?"
    r"SignedHeaders=(?P<names>[\w;-]+), ?Signature=(?P<signature>[0-9a-f]{64})\Z"
)


def check(call: Call, body: bytes, keys: Keys, clock: Clock) -> Key:
    """Return the signing key of a request. Raises Refusal."""
    match = _FORM.match(call.headers.get("authorization", ""))
    if match is None:
        raise Refusal(200, "AuthFailure.InvalidAuthorization", "The header Authorization does not have its form.")
    moment = _moment(call, clock)
    key = keys.find(match["id"])
    if key is None:
        raise Refusal(200, "AuthFailure.SecretIdNotFound", "The SecretId is not found, please ensure it is correct.")
    if not key.active:
        raise Refusal(200, "AuthFailure.InvalidSecretId", "The SecretId is disabled.")
    _check_signature(call, body, key, match, moment)
    if call.headers.get("x-tc-token", "") != key.token or keys.expired(key):
        raise Refusal(200, "AuthFailure.TokenFailure", "The token is invalid or has expired.")
    return key


def _moment(call: Call, clock: Clock) -> int:
    text = call.headers.get("x-tc-timestamp", "")
    if not text.isdigit():
        raise Refusal(200, "MissingParameter", "The request is missing a required parameter `X-TC-Timestamp`.")
    if abs(int(text) - clock.now()) > _SKEW:
        message = "The signature has expired: the time of the request and that of the server differ by over 5 minutes."
        raise Refusal(200, "AuthFailure.SignatureExpire", message)
    return int(text)


def _check_signature(call: Call, body: bytes, key: Key, match: re.Match[str], moment: int) -> None:
    message = "The provided credentials could not be validated. Please check your signature is correct."
    refusal = Refusal(200, "AuthFailure.SignatureFailure", message)
    names = match["names"].split(";")
    date = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
    if not {"content-type", "host"} <= set(names) or match["date"] != date or match["service"] != call.service:
        raise refusal
    unsigned = call.headers.get("x-tc-content-sha256") == "UNSIGNED-PAYLOAD"
    headers = {name: call.headers.get(name, "").strip() for name in names}
    expected = signature(
        call.method, headers, b"UNSIGNED-PAYLOAD" if unsigned else body, key.secret, moment, call.service
    )
    if not hmac.compare_digest(expected, match["signature"]):
        raise refusal


def signature(method: str, headers: dict[str, str], body: bytes, secret: str, moment: int, service: str) -> str:
    """Return the signature of a request for `/` by its signed headers, in their order, and the body.

    `moment` is in seconds since 1970.
    """
    block = "".join(f"{name}:{value}\n" for name, value in headers.items())
    request = "\n".join([method, "/", "", block, ";".join(headers), hashlib.sha256(body).hexdigest()])
    date = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"TC3-HMAC-SHA256\n{moment}\n{date}/{service}/tc3_request\n{digest}"
    key = f"TC3{secret}".encode()
    for word in (date, service, "tc3_request"):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
