"""Alibaba Cloud's request signature, ACS3-HMAC-SHA256.

The signed text consists of the method, path, query, selected headers and a digest of the body. A signature contains a
nonce and expires after 15 minutes, so each attempt needs a new one. Source: "Request structure and signature V3" of
Alibaba Cloud's OpenAPI documentation; test vectors in ``tests/unit/cloud/test_signing.py``.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Generator, Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote

import httpx

from .credentials import AccessKey

ALGORITHM = "ACS3-HMAC-SHA256"


class Acs3(httpx.Auth):
    """Signs each request as a call of `action` in an API's `version`.

    It signs its own headers, the host and the content type. Proxies may rewrite others.
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
        standard = {name: request.headers[name] for name in ("host", "content-type") if name in request.headers}
        path, _, query = request.url.raw_path.decode("ascii").partition("?")
        request.headers["authorization"] = authorization(self.key, request.method, path, query, ours | standard)
        yield request


def authorization(key: AccessKey, method: str, path: str, query: str, headers: Mapping[str, str]) -> str:
    """Return the Authorization header of a request, signing all given headers.

    `path` and `query` are percent-encoded. `headers` have lower-case names and include ``x-acs-content-sha256`` with
    the digest of the body.
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
    """Return a query in canonical form: sorted, all characters except ``-_.~`` encoded."""
    return "&".join(f"{quote(name, safe='~')}={quote(query[name], safe='~')}" for name in sorted(query))
