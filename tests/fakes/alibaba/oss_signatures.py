"""Signatures of OSS, versions 1 and 4, in headers and in presigned addresses; all of them are really checked."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64encode
from calendar import timegm
from email.utils import parsedate_to_datetime
from time import strptime
from typing import Any
from urllib.parse import quote

from .calls import Call
from .clock import Clock, iso
from .keys import Key, Keyring
from .service_errors import Refusal

__all__ = ["check"]

_SKEW = 15 * 60
_SUBRESOURCES = frozenset(
    """acl append bucketInfo comp continuation-token delete encryption endTime lifecycle location logging objectMeta
    partNumber policy position response-cache-control response-content-disposition response-content-encoding
    response-content-language response-content-type response-expires security-token sequential startTime stat symlink
    tagging uploadId uploads versionId versioning versions website x-oss-process x-oss-traffic-limit""".split()
)
_V4 = "OSS4-HMAC-SHA256"


def check(call: Call, resource: str, keyring: Keyring, clock: Clock, region: str) -> Key:
    """Return the signing key of a request for a resource (`/bucket/key`). Raises Refusal like OSS."""
    written = call.headers.get("authorization", "")
    if written.startswith(_V4):
        return _check_v4(call, resource, keyring, clock, region, _fields(written))
    if written.startswith("OSS "):
        return _check_v1(call, resource, keyring, clock, written)
    if call.query.get("x-oss-signature-version") == _V4:
        return _check_v4_address(call, resource, keyring, clock, region)
    if "Signature" in call.query:
        return _check_v1_address(call, resource, keyring, clock)
    if written:
        raise Refusal(400, "InvalidArgument", "Authorization header is invalid.", EC="0002-00000004")
    message = "Anonymous access is forbidden for this operation."
    raise Refusal(403, "AccessDenied", message, EC="0003-00000001")


def _check_v1(call: Call, resource: str, keyring: Keyring, clock: Clock, written: str) -> Key:
    key_id, _, signature = written[4:].partition(":")
    key = _key(keyring, key_id, call.headers.get("x-oss-security-token", ""))
    date = call.headers.get("x-oss-date") or call.headers.get("date", "")
    try:
        moment = parsedate_to_datetime(date).timestamp()
    except ValueError:
        message = "OSS authentication requires a valid Date."
        raise Refusal(403, "AccessDenied", message, EC="0002-00000005") from None
    _check_time(moment, clock)
    _compare(_signature_v1(call, resource, date, key), signature, key_id)
    return _alive(keyring, key)


def _check_v1_address(call: Call, resource: str, keyring: Keyring, clock: Clock) -> Key:
    key_id, expires = call.query.get("OSSAccessKeyId", ""), call.query.get("Expires", "")
    key = _key(keyring, key_id, call.query.get("security-token", ""))
    if not expires.isdigit() or int(expires) < clock.now():
        raise _expired(clock)
    _compare(_signature_v1(call, resource, expires, key), call.query["Signature"], key_id)
    return _alive(keyring, key)


def _signature_v1(call: Call, resource: str, date: str, key: Key) -> tuple[str, str]:
    query = sorted((name, value) for name, value in call.query.items() if name in _SUBRESOURCES)
    words = "&".join(f"{name}={value}" if value else name for name, value in query)
    headers = sorted((name, value) for name, value in call.headers.items() if name.startswith("x-oss-"))
    lines = [call.method, call.headers.get("content-md5", ""), call.headers.get("content-type", ""), date]
    lines += [f"{name}:{value}" for name, value in headers]
    text = "\n".join([*lines, resource + (f"?{words}" if words else "")])
    digest = hmac.new(key.secret.encode(), text.encode(errors="surrogateescape"), hashlib.sha1).digest()
    return b64encode(digest).decode(), text


def _fields(written: str) -> dict[str, str]:
    return dict(re.findall(r"(Credential|AdditionalHeaders|Signature)=([^,\s]+)", written))


def _check_v4(call: Call, resource: str, keyring: Keyring, clock: Clock, region: str, fields: dict[str, str]) -> Key:
    key_id, *scope = fields.get("Credential", "").split("/")
    key = _key(keyring, key_id, call.headers.get("x-oss-security-token", ""))
    date = call.headers.get("x-oss-date", "")
    _check_time(_moment(date), clock)
    _check_scope(scope, date, region)
    additional = fields.get("AdditionalHeaders", "")
    _compare(_signature_v4(call, resource, date, scope, additional, key), fields.get("Signature", ""), key_id)
    return _alive(keyring, key)


def _check_v4_address(call: Call, resource: str, keyring: Keyring, clock: Clock, region: str) -> Key:
    key_id, *scope = call.query.get("x-oss-credential", "").split("/")
    key = _key(keyring, key_id, call.query.get("x-oss-security-token", ""))
    date = call.query.get("x-oss-date", "")
    if _moment(date) + int(call.query.get("x-oss-expires", 0)) < clock.now():
        raise _expired(clock)
    _check_scope(scope, date, region)
    additional = call.query.get("x-oss-additional-headers", "")
    expected = _signature_v4(call, resource, date, scope, additional, key)
    _compare(expected, call.query.get("x-oss-signature", ""), key_id)
    return _alive(keyring, key)


def _signature_v4(call: Call, resource: str, date: str, scope: list[str], additional: str, key: Key) -> tuple[str, str]:
    query = sorted((_quoted(n), _quoted(v)) for n, v in call.query.items() if n != "x-oss-signature")
    signed = {"content-type", "content-md5", *filter(None, additional.split(";"))}
    headers = sorted((n, v.strip()) for n, v in call.headers.items() if n in signed or n.startswith("x-oss-"))
    request = [
        call.method,
        quote(resource, safe="/~"),
        "&".join(f"{name}={value}" if value else name for name, value in query),
        "".join(f"{name}:{value}\n" for name, value in headers),
        additional,
        call.headers.get("x-oss-content-sha256", "UNSIGNED-PAYLOAD"),
    ]
    digest = hashlib.sha256("\n".join(request).encode(errors="surrogateescape")).hexdigest()
    text = "\n".join([_V4, date, "/".join(scope), digest])
    signing = f"aliyun_v4{key.secret}".encode()
    for word in scope:
        signing = hmac.new(signing, word.encode(), hashlib.sha256).digest()
    return hmac.new(signing, text.encode(), hashlib.sha256).hexdigest(), text


def _quoted(text: str) -> str:
    return quote(text, safe="~")


def _key(keyring: Keyring, key_id: str, token: str) -> Key:
    key = keyring.find(key_id)
    if key is None:
        message = "The OSS Access Key Id you provided does not exist in our records."
        raise Refusal(403, "InvalidAccessKeyId", message, OSSAccessKeyId=key_id, EC="0002-00000902")
    if not key.active:
        raise Refusal(403, "InvalidAccessKeyId", "The OSS Access Key Id you provided is disabled.", EC="0002-00000903")
    if key.token != token:
        raise Refusal(403, "InvalidSecurityToken", "The security token you provided is invalid.", EC="0002-00000020")
    return key


def _alive(keyring: Keyring, key: Key) -> Key:
    if keyring.expired(key):
        raise Refusal(403, "SecurityTokenExpired", "The security token you provided has expired.", EC="0002-00000024")
    return key


def _compare(expected: tuple[str, str], signature: str, key_id: str) -> None:
    if not hmac.compare_digest(expected[0], signature):
        message = (
            "The request signature we calculated does not match the signature you provided. "
            "Check your key and signing method."
        )
        more: Any = {"OSSAccessKeyId": key_id, "SignatureProvided": signature, "StringToSign": expected[1]}
        raise Refusal(403, "SignatureDoesNotMatch", message, **more, EC="0002-00000040")


def _moment(date: str) -> float:
    try:
        return timegm(strptime(date, "%Y%m%dT%H%M%SZ"))
    except ValueError:
        raise Refusal(403, "AccessDenied", "OSS authentication requires a valid Date.", EC="0002-00000005") from None


def _check_time(moment: float, clock: Clock) -> None:
    if abs(moment - clock.now()) > _SKEW:
        message = "The difference between the request time and the current time is too large."
        more: Any = {"ServerTime": iso(clock.now(), millis=True), "RequestTime": iso(moment, millis=True)}
        raise Refusal(403, "RequestTimeTooSkewed", message, **more, EC="0002-00000504")


def _check_scope(scope: list[str], date: str, region: str) -> None:
    if len(scope) != 4 or scope[0] != date[:8] or scope[2:] != ["oss", "aliyun_v4_request"]:
        raise Refusal(400, "InvalidArgument", "Invalid credential in Authorization header.", EC="0002-00000224")
    if scope[1] != region:
        message = f"Invalid signing region in Authorization header: {scope[1]}."
        raise Refusal(403, "InvalidArgument", message, EC="0002-00000226")


def _expired(clock: Clock) -> Refusal:
    return Refusal(403, "AccessDenied", "Request has expired.", ServerTime=iso(clock.now()), EC="0002-00000069")
