"""OpenApi: Alibaba Cloud's OpenAPI services, called by the names of their operations.

Hosts follow one pattern a service. The tables that official clients bring along are not used: some of their hosts end
in a tabulator, or lie outside the pattern. An `endpoint` takes the place of all hosts: a private cloud's, or a test's.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ...core.errors import CredentialsError, RegionError, Unreachable
from ...core.i18n import _
from ..http import Call, Transport
from .access_key import AccessKey
from .error_codes import read_refusal

if TYPE_CHECKING:
    import httpx

    from ..http import Refusal

__all__ = ["DLC", "DSW", "REGIONS", "STS", "STUDIO", "WORKSPACE", "OpenApi", "Service"]

# Those that PAI is in, of the services' metadata. A new one works as well: the list is for messages only.
REGIONS = (
    "cn-beijing cn-wulanchabu cn-hangzhou cn-shanghai cn-shenzhen cn-guangzhou cn-hongkong ap-southeast-1 "
    "ap-southeast-3 ap-southeast-5 ap-northeast-1 ap-northeast-2 us-east-1 us-west-1 eu-central-1 cn-shanghai-finance-1"
).split()


@dataclass(frozen=True)
class Service:
    """A service: how errors call it, its version, its hosts with ``{region}`` in them."""

    name: str
    version: str
    public: str
    vpc: str

    def host(self, region: str, network: str) -> str:
        """The host in a region; `network` is ``public`` or ``vpc``."""
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

    `key` gives the key to sign with, and is asked for each attempt; `drop` is told of one that was refused. `network`
    says whether hosts are those of the VPC. `endpoint` is the base URL of all services, if they are elsewhere.
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
    ) -> None:
        self.region = region
        self.endpoint = endpoint.rstrip("/")
        self._key = key
        self._drop = drop
        self._network = network
        self._account = f"{account}@{endpoint or region}"
        self._pace = pace

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
    ) -> dict[str, Any]:
        """What an operation answers. `path` is plain text. Of the query, None is left out, lists are joined by commas
        and maps are JSON. `repeat=False` for what makes something: it is asked for once, and looked up by the caller
        if the answer is lost.

        Raises:
            PaiError: as `jupyter_pai.cloud.alibaba.error_codes` reads what the service said.
            Unreachable: if there is no answer.
            ReplyLost: if an operation that is not to be repeated may have been carried out.
        """
        asked = _Asked(self, service, action)
        transport = Transport(self._account, asked.refusal, self._pace)
        url = await self._url(service, path, query or {})
        content = json.dumps(body).encode() if body is not None else b""
        headers = {"content-type": "application/json; charset=utf-8"} if content else {}
        call = Call(method, url, asked.auth, content, headers, repeat)
        try:
            try:
                return await transport.send(call)
            except CredentialsError:
                # A key that was lent may have ended since it was fetched. If there is a newer one, it is tried once.
                if not await self._renewed(asked.key):
                    raise
                return await transport.send(call)
        except Unreachable as error:
            raise self._wrong_region() or error from None

    async def _url(self, service: Service, path: str, query: Mapping[str, object]) -> str:
        from .signing import query_string

        base = self.endpoint or f"https://{service.host(self.region, await self._network())}"
        words = {name: _word(value) for name, value in query.items() if value is not None}
        return f"{base}{quote(path, safe='/~')}" + (f"?{query_string(words)}" if words else "")

    async def _renewed(self, refused: AccessKey | None) -> bool:
        if refused is None:
            return False
        self._drop(refused)
        return not (await self._key()).same(refused)

    def _wrong_region(self) -> RegionError | None:
        """A name that is no region has no hosts. Only then is it said to be wrong: regions are added."""
        if self.endpoint or self.region in REGIONS:
            return None
        near = get_close_matches(self.region, REGIONS, 1)
        return RegionError(
            _("No service answers in the region `{region}`.").format(region=self.region),
            fix=_("Did you mean `{name}`?").format(name=near[0])
            if near
            else _("Set the profile's `region_id`, for example to cn-hangzhou."),
        )

    async def key(self) -> AccessKey:
        """The key that requests are signed with now."""
        return await self._key()


class _Asked:
    """One operation that is asked for: remembers the key, which answers may quote."""

    def __init__(self, api: OpenApi, service: Service, action: str) -> None:
        self.api = api
        self.service = service
        self.action = action
        self.key: AccessKey | None = None

    async def auth(self) -> httpx.Auth:
        from .signing import Acs3

        self.key = await self.api.key()
        return Acs3(self.key, self.action, self.service.version)

    def refusal(self, response: httpx.Response) -> Refusal:
        assert self.key
        return read_refusal(response, f"{self.service.name} {self.action}", self.key)


def _word(value: object) -> str:
    """A value of a query, as the official clients send it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else str(value)
