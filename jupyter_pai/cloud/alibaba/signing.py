"""Alibaba Cloud's signature of requests, ACS3-HMAC-SHA256.

What is signed is a text made of the request as it is sent (method, path, query, the headers that are ours, a digest of
the body). A signature is good once, since it holds a nonce, and for a quarter of an hour: each attempt needs its own.
Source: "Request structure and signature V3" of Alibaba Cloud's OpenAPI documentation; test vectors in
``tests/unit/cloud/test_signing.py``.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Generator, Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote

import httpx

from .access_key import AccessKey

__all__ = ["Acs3", "authorization", "query_string"]

ALGORITHM = "ACS3-HMAC-SHA256"


class Acs3(httpx.Auth):
    """Signs each request anew, as one of `action` in an API's `version`.

    Of the headers it signs its own, the host and the content's type: a proxy may rewrite any other.
    """

    requires_request_body = True

    def __init__(self, key: AccessKey, action: str, version: str) -> None:
        self.key = key
        self.action = action
        self.version = version

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        ours = {
            "x-acs-action": self.action,
            "x-acs-version": self.version,
            "x-acs-date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "x-acs-signature-nonce": secrets.token_hex(16),
            "x-acs-content-sha256": hashlib.sha256(request.content).hexdigest(),
        }
        if self.key.token:
            ours["x-acs-accesskey-id"] = self.key.id
            ours["x-acs-security-token"] = self.key.token.open()
        request.headers.update(ours)
        given = {name: request.headers[name] for name in ("host", "content-type") if name in request.headers}
        path, _, query = request.url.raw_path.decode("ascii").partition("?")
        request.headers["authorization"] = authorization(self.key, request.method, path, query, ours | given)
        yield request


def authorization(key: AccessKey, method: str, path: str, query: str, headers: Mapping[str, str]) -> str:
    """The header of this name, for a request with these headers, all of which are signed.

    `path` and `query` are percent-encoded, as they are sent. `headers` have lower-case names, ``x-acs-content-sha256``
    with the digest of the body among them.
    """
    names = ";".join(sorted(headers))
    canonical = "\n".join(
        [
            method,
            path or "/",
            query_string(dict(parse_qsl(query, keep_blank_values=True))),
            *(f"{name}:{headers[name].strip()}" for name in sorted(headers)),
            "",
            names,
            headers["x-acs-content-sha256"],
        ]
    )
    to_sign = f"{ALGORITHM}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signature = hmac.new(key.secret.open().encode(), to_sign.encode(), hashlib.sha256).hexdigest()
    return f"{ALGORITHM} Credential={key.id},SignedHeaders={names},Signature={signature}"


def query_string(query: Mapping[str, str]) -> str:
    """A query in the one form that is signed, and that is to be sent: sorted, everything but ``-_.~`` encoded."""
    return "&".join(f"{quote(name, safe='~')}={quote(query[name], safe='~')}" for name in sorted(query))
