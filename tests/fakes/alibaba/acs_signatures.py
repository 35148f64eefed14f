"""Signatures of the OpenAPI services: ACS3-HMAC-SHA256, and the older one of ROA (HMAC-SHA1) that the SDK uses."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64encode
from calendar import timegm
from email.utils import parsedate_to_datetime
from time import strptime
from urllib.parse import quote, unquote

from .calls import Call
from .clock import Clock
from .keys import Key, Keyring
from .service_errors import Refusal

__all__ = ["Nonces", "check"]

_SKEW = 15 * 60
_ACS3 = "ACS3-HMAC-SHA256"
_HEADER = re.compile(_ACS3 + r" Credential=([^,]+),SignedHeaders=([^,]+),Signature=([0-9a-f]+)")


class Nonces:
    """Nonces that were used, kept by key while a date is valid."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._seen = clock, dict[tuple[str, str], float]()

    def use(self, key_id: str, nonce: str) -> None:
        """Record a nonce. Raises Refusal if it was used before."""
        now = self._clock.now()
        if not nonce or now - self._seen.get((key_id, nonce), 0) < 2 * _SKEW:
            message = "Specified signature nonce was used already."
            raise Refusal(400, "SignatureNonceUsed", message)
        self._seen[key_id, nonce] = now


def check(call: Call, body: bytes, keyring: Keyring, clock: Clock, nonces: Nonces) -> Key:
    """Return the signing key. Raises Refusal like the gateway."""
    written = call.headers.get("authorization", "")
    if match := _HEADER.fullmatch(written):
        key = _key(call, match[1], keyring)
        _check_time(_moment(call.headers.get("x-acs-date", "")), clock)
        expected, text = _acs3(call, body, match[2].split(";"), key)
        signature = match[3]
    elif written.startswith("acs "):
        key_id, _, signature = written[4:].partition(":")
        key = _key(call, key_id, keyring)
        _check_time(_moment_of_http(call.headers.get("date", "")), clock)
        expected, text = _roa(call, body, key)
    else:
        raise Refusal(400, "MissingSignature", "Signature is mandatory for this action.")
    if not hmac.compare_digest(expected, signature):
        message = f"Specified signature is not matched with our calculation. server string to sign is:{text}"
        raise Refusal(403, "SignatureDoesNotMatch", message)
    if keyring.expired(key):
        raise Refusal(403, "InvalidSecurityToken.Expired", "Specified SecurityToken is expired.")
    nonces.use(key.id, call.headers.get("x-acs-signature-nonce", ""))
    return key


def _key(call: Call, key_id: str, keyring: Keyring) -> Key:
    key = keyring.find(key_id)
    if key is None:
        raise Refusal(404, "InvalidAccessKeyId.NotFound", "Specified access key is not found.")
    if not key.active:
        raise Refusal(403, "InvalidAccessKeyId.Inactive", "Specified access key is disabled.")
    token = call.headers.get("x-acs-security-token", "")
    if token and token != key.token:
        code = "MismatchWithAccessKey" if any(token == other.token for other in keyring) else "Malformed"
        raise Refusal(400, f"InvalidSecurityToken.{code}", "Specified SecurityToken is not good for this access key.")
    if key.token and not token:
        raise Refusal(400, "MissingSecurityToken", "SecurityToken is mandatory for this action.")
    return key


def _acs3(call: Call, body: bytes, names: list[str], key: Key) -> tuple[str, str]:
    digest = hashlib.sha256(body).hexdigest()
    if call.headers.get("x-acs-content-sha256") != digest:
        raise Refusal(400, "InvalidContentSha256", "The specified x-acs-content-sha256 is not that of the body.")
    signed = {"host", *(["content-type"] if "content-type" in call.headers else [])}
    signed |= {name for name in call.headers if name.startswith("x-acs-")}
    if names != sorted(names) or not signed <= set(names):
        raise Refusal(400, "InvalidSignedHeaders", f"These headers must be signed, in order: {sorted(signed)}")
    query = "&".join(f"{name}={quote(value, safe='~')}" for name, value in sorted(call.query.items()))
    headers = "".join(f"{name}:{call.headers.get(name, '').strip()}\n" for name in names)
    request = "\n".join([call.method, call.path, query, headers, ";".join(names), digest])
    text = f"{_ACS3}\n{hashlib.sha256(request.encode()).hexdigest()}"
    return hmac.new(key.secret.encode(), text.encode(), hashlib.sha256).hexdigest(), text


def _roa(call: Call, body: bytes, key: Key) -> tuple[str, str]:
    headers = call.headers
    if headers.get("x-acs-signature-method") != "HMAC-SHA1" or headers.get("x-acs-signature-version") != "1.0":
        raise Refusal(400, "InvalidSignatureMethod", "Specified signature method is not supported.")
    md5 = headers.get("content-md5", "")
    if md5 and md5 != b64encode(hashlib.md5(body).digest()).decode():
        raise Refusal(400, "ContentMD5NotMatched", "Specified Content-MD5 is not that of the body.")
    lines = [call.method, headers.get("accept", ""), md5, headers.get("content-type", ""), headers.get("date", "")]
    lines += [f"{name}:{value.strip()}" for name, value in sorted(headers.items()) if name.startswith("x-acs-")]
    query = "&".join(f"{name}={value}" if value else name for name, value in sorted(call.query.items()))
    text = "\n".join([*lines, unquote(call.path) + (f"?{query}" if query else "")])
    return b64encode(hmac.new(key.secret.encode(), text.encode(), hashlib.sha1).digest()).decode(), text


def _moment(date: str) -> float:
    try:
        return timegm(strptime(date, "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        message = "Specified time stamp or date value is not well formatted."
        raise Refusal(400, "InvalidTimeStamp.Format", message) from None


def _moment_of_http(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp()
    except ValueError:
        message = "Specified time stamp or date value is not well formatted."
        raise Refusal(400, "InvalidTimeStamp.Format", message) from None


def _check_time(moment: float, clock: Clock) -> None:
    if abs(moment - clock.now()) > _SKEW:
        message = "Specified time stamp or date value is expired."
        raise Refusal(400, "InvalidTimeStamp.Expired", message)
