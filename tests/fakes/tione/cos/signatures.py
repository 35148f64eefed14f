"""Signatures of COS (`q-sign`), in the header and in presigned addresses."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any
from urllib.parse import parse_qsl, quote

from ...alibaba.calls import Call
from ...alibaba.clock import Clock
from ...alibaba.keys import Key
from ...alibaba.service_errors import Refusal
from ..keys import Keys

__all__ = ["check"]

_FIELDS = ("sign-algorithm", "ak", "sign-time", "key-time", "header-list", "url-param-list", "signature")


def check(call: Call, path: str, keys: Keys, clock: Clock) -> Key:
    """Return the signing key of a request for a path without percent signs. Raises Refusal."""
    written = call.headers.get("authorization", "")
    fields = dict(parse_qsl(written, keep_blank_values=True)) if written else call.query
    values = {name: fields.get(f"q-{name}", "") for name in _FIELDS}
    if not values["ak"]:
        raise Refusal(403, "AccessDenied", "Access Denied.")
    if values["sign-algorithm"] != "sha1" or not values["signature"]:
        raise Refusal(403, "InvalidArgument", "The authorization is not of the form q-sign-algorithm=sha1&….")
    key = keys.find(values["ak"])
    if key is None or not key.active:
        raise Refusal(403, "InvalidAccessKeyId", "The Access Key Id you provided does not exist in our records")
    _check_times(values, clock)
    if values["signature"] not in _signatures(call, path, values, key):
        message = (
            "The request signature we calculated does not match the signature you provided. "
            "Check your key and signing method."
        )
        raise Refusal(403, "SignatureDoesNotMatch", message)
    _check_token(call, key, keys)
    return key


def _check_times(values: dict[str, str], clock: Clock) -> None:
    try:
        spans = [[int(word) for word in values[name].split(";")] for name in ("sign-time", "key-time")]
        (start, end), (first, last) = spans
    except ValueError:
        raise Refusal(403, "InvalidArgument", "The times of the signature are invalid.") from None
    if max(start, first) > clock.now():
        message = "The difference between the request time and the server's time is too large."
        raise Refusal(403, "RequestTimeTooSkewed", message)
    if min(end, last) < clock.now():
        raise Refusal(403, "AccessDenied", "Request has expired")


def _check_token(call: Call, key: Key, keys: Keys) -> None:
    token = call.headers.get("x-cos-security-token") or call.query.get("x-cos-security-token", "")
    if token != key.token:
        raise Refusal(403, "InvalidSecurityToken", "The security token you provided is invalid.")
    if keys.expired(key):
        raise Refusal(403, "ExpiredToken", "The security token you provided has expired.")


def _signatures(call: Call, path: str, values: dict[str, str], key: Key) -> set[str]:
    """Return the right signatures: the host may be signed with its port or without."""
    host = call.headers.get("host", "")
    return {_signature(call, path, values, key, name) for name in (host, host.rpartition(":")[0] or host)}


def _signature(call: Call, path: str, values: dict[str, str], key: Key, host: str) -> str:
    headers = call.headers | {"host": host}
    query = {_quoted(name).lower(): value for name, value in call.query.items()}
    parameters = _pairs(values["url-param-list"], query)
    signed = _pairs(values["header-list"], {_quoted(name).lower(): value for name, value in headers.items()})
    text = f"{call.method.lower()}\n{path}\n{parameters}\n{signed}\n"
    digest = hashlib.sha1(text.encode(errors="surrogateescape")).hexdigest()
    signing = hmac.new(key.secret.encode(), values["key-time"].encode(), hashlib.sha1).hexdigest()
    return hmac.new(signing.encode(), f"sha1\n{values['sign-time']}\n{digest}\n".encode(), hashlib.sha1).hexdigest()


def _pairs(names: str, values: dict[str, Any]) -> str:
    return "&".join(f"{name}={_quoted(values.get(name, ''))}" for name in sorted(filter(None, names.split(";"))))


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")
