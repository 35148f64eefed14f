"""Client for Alibaba Cloud's OpenAPI services, and the signature of requests.

Hosts follow one pattern per service. The tables of the official clients are not used, because some of their hosts end
in a tab or deviate from the pattern. `endpoint` replaces all hosts, for a private cloud or a test.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

from ...core.errors import RegionError, Unreachable
from ...core.i18n import _
from ..http import Call, Retries, Transport
from ..keys import AccessKey
from ..signed_call import SignedCall
from .error_codes import read_refusal

if TYPE_CHECKING:
    import httpx

    from ..http import Refusal

ALGORITHM = "ACS3-HMAC-SHA256"
# The regions of PAI, from the services' metadata. Only used for messages; new regions work as well.
REGIONS = (
    "cn-beijing cn-wulanchabu cn-hangzhou cn-shanghai cn-shenzhen cn-guangzhou cn-hongkong ap-southeast-1 "
    "ap-southeast-3 ap-southeast-5 ap-northeast-1 ap-northeast-2 us-east-1 us-west-1 eu-central-1 cn-shanghai-finance-1"
).split()


@dataclass(frozen=True)
class Service:
    """A service: its name in errors, API version, and hosts with ``{region}`` placeholders."""

    name: str
    version: str
    public: str
    vpc: str

    def host(self, region: str, network: str) -> str:
        """Return the host in a region. `network` is ``public`` or ``vpc``."""
        return (self.vpc if network == "vpc" else self.public).format(region=region)


STUDIO = Service("PaiStudio", "2022-01-12", "pai.{region}.aliyuncs.com", "pai-vpc.{region}.aliyuncs.com")
DLC = Service("PAI-DLC", "2020-12-03", "pai-dlc.{region}.aliyuncs.com", "pai-dlc-vpc.{region}.aliyuncs.com")
WORKSPACE = Service(
    "AIWorkSpace", "2021-02-04", "aiworkspace.{region}.aliyuncs.com", "aiworkspace-vpc.{region}.aliyuncs.com"
)
DSW = Service("PAI-DSW", "2022-01-01", "pai-dsw.{region}.aliyuncs.com", "pai-dsw-vpc.{region}.aliyuncs.com")
STS = Service("STS", "2015-04-01", "sts.{region}.aliyuncs.com", "sts-vpc.{region}.aliyuncs.com")


class OpenApi:
    """The services of one account in one region.

    `key` returns the signing key for each attempt, and `drop` discards a rejected one. `network` returns ``vpc`` or
    ``public``. `endpoint` is the base URL of all services, if set. `ca_file` has further trusted certificates.
    """

    def __init__(
        self,
        region: str,
        key: Callable[[], Awaitable[AccessKey]],
        drop: Callable[[AccessKey], None],
        network: Callable[[], Awaitable[str]],
        *,
        endpoint: str = "",
        account: str = "",
        pace: float = 10,
        ca_file: str = "",
    ) -> None:
        self.region = region
        self.endpoint = endpoint.rstrip("/")
        self.key = key
        self._drop = drop
        self._network = network
        self._account = f"{account}@{endpoint or region}"
        self._pace = pace
        self._ca_file = ca_file

    async def call(
        self,
        service: Service,
        action: str,
        method: str,
        path: str,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
        *,
        repeat: bool = True,
        retries: Retries | None = None,
    ) -> dict[str, Any]:
        """Call an operation and return its response. `path` is not encoded.

        In the query, None is omitted, lists are joined by commas, and mappings become JSON. Pass `repeat=False` for an
        operation that is not idempotent: it is not retried, and the caller checks its effect if the response is lost.

        Raises:
            PaiError: as mapped by `jupyter_pai.cloud.alibaba.error_codes`.
            Unreachable: if no response is received.
            ReplyLost: if a non-idempotent operation may have been executed.
        """
        what = f"{service.name} {action}"
        signed = SignedCall(self.key, self._drop, lambda key, request: sign(key, action, service.version, request))
        transport = Transport(
            self._account, lambda response: _refusal(response, what, signed.key), self._pace, self._ca_file
        )
        url = await self._url(service, path, query or {})
        content = json.dumps(body).encode() if body is not None else b""
        headers = {"content-type": "application/json; charset=utf-8"} if content else {}
        call = Call(method, url, signed.auth, content, headers, repeat, retries or Retries())
        try:
            answer: dict[str, Any] = await signed.send(transport, call)
        except Unreachable as error:
            raise self._wrong_region() or error from None
        return answer

    async def _url(self, service: Service, path: str, query: Mapping[str, object]) -> str:
        base = self.endpoint or f"https://{service.host(self.region, await self._network())}"
        words = {name: _word(value) for name, value in query.items() if value is not None}
        return f"{base}{quote(path, safe='/~')}" + (f"?{query_string(words)}" if words else "")

    def _wrong_region(self) -> RegionError | None:
        """Return an error for an unknown region, whose hosts do not exist. Checked only after a failure, because
        regions are added."""
        if self.endpoint or self.region in REGIONS:
            return None
        near = get_close_matches(self.region, REGIONS, 1)
        return RegionError(
            _("No response from services in the region `{region}`.").format(region=self.region),
            fix=_("Did you mean `{name}`?").format(name=near[0])
            if near
            else _("Set the profile's `region_id`, for example to cn-hangzhou."),
        )


def _refusal(response: httpx.Response, what: str, key: AccessKey) -> Refusal | None:
    if response.is_success:
        if response.content.lstrip()[:1] not in (b"{", b""):
            raise ValueError("no JSON object")
        return None
    return read_refusal(response, what, key)


def _word(value: object) -> str:
    """Format a value of a query like the official clients."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else str(value)


def sign(key: AccessKey, action: str, version: str, request: httpx.Request) -> httpx.Request:
    """Sign a request as a call of `action` in an API's `version` with ACS3-HMAC-SHA256.

    The signed text consists of the method, path, query, selected headers and a digest of the body. The headers are our
    own, the host and the content type; proxies may rewrite others. A signature contains a nonce and expires after 15
    minutes, so each attempt needs a new one. Source: "Request structure and signature V3" of Alibaba Cloud's OpenAPI
    documentation; test vectors in ``tests/unit/cloud/test_signing.py``.
    """
    ours = {
        "x-acs-action": action,
        "x-acs-version": version,
        "x-acs-date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "x-acs-signature-nonce": secrets.token_hex(16),
        "x-acs-content-sha256": hashlib.sha256(request.content).hexdigest(),
    }
    if key.token:
        ours |= {"x-acs-accesskey-id": key.id, "x-acs-security-token": key.token.open()}
    request.headers.update(ours)
    standard = {name: request.headers[name] for name in ("host", "content-type") if name in request.headers}
    path, _, query = request.url.raw_path.decode("ascii").partition("?")
    request.headers["authorization"] = authorization(key, request.method, path, query, ours | standard)
    return request


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
