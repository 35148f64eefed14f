"""The REST API of a cluster (version 2), as the user of one profile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from ...cloud.http import Call, Refusal, Retries, Transport
from ...config.credentials import own_credentials
from ...core.errors import CredentialsError, SettingsError
from ...core.i18n import _
from .options import OpenPaiCredentials, OpenPaiSettings
from .replies import read_reply
from .site import Site, find_site

if TYPE_CHECKING:
    import httpx

__all__ = ["OpenPaiClient", "check_encryption", "is_usable"]

# The part of the requests that may be lists of jobs: the server accepts 60 of 600 per minute by default.
_LISTS = 0.1
_RETRIES = Retries()
# The node of a log may be gone, and the next poll asks again.
_LOG_RETRIES = Retries(attempts=3)


class OpenPaiClient:
    """The calls of one profile. The address is found with the first one."""

    def __init__(
        self, settings: OpenPaiSettings, credentials: OpenPaiCredentials | None = None, site: Site | None = None
    ) -> None:
        self.settings = settings
        self._credentials = credentials
        self._site = site
        self._lock = asyncio.Lock()

    async def site(self) -> Site:
        """Return the cluster.

        Raises:
            Unreachable: if it does not respond.
            Unsupported: if it is too old.
        """
        async with self._lock:
            if self._site is not None:
                return self._site
            site = await find_site(self.settings)
            if is_usable(self.settings, site):  # Otherwise HTTPS may respond at the next call.
                self._site = site
            return site

    async def credentials(self) -> OpenPaiCredentials:
        """Return the login.

        Raises:
            CredentialsError: if the profile has none, or that of another cluster.
        """
        if self._credentials is None:
            self._credentials = await asyncio.to_thread(own_credentials, self.settings, OpenPaiCredentials)
        if self._credentials is None:
            raise CredentialsError(
                _("The profile has no login for OpenPAI at {host}.").format(host=self.settings.host),
                fix=_("Log in: jupyter pai profile login NAME"),
            )
        if self._credentials.host not in ("", self.settings.host):
            raise CredentialsError(
                _("The login of the profile is that of {host}, and is not sent to {other}.").format(
                    host=self._credentials.host, other=self.settings.host
                ),
                fix=_("Log in: jupyter pai profile login NAME"),
            )
        return self._credentials

    async def username(self) -> str:
        """Return the user whose jobs are meant."""
        return self.settings.username or (await self.credentials()).username

    async def get(self, path: str, query: Mapping[str, object] | None = None, retries: Retries = _RETRIES) -> Any:
        """Return the JSON reply to a GET request, such as `/virtual-clusters`."""
        return await self._send("GET", path, query, retries=retries)

    async def post(self, path: str) -> Any:
        """Return the JSON reply to a POST request without a body, which may be repeated."""
        return await self._send("POST", path)

    async def delete(self, path: str) -> Any:
        """Return the JSON reply to a DELETE request."""
        return await self._send("DELETE", path)

    async def put(self, path: str, body: Mapping[str, object]) -> Any:
        """Return the JSON reply to a PUT request, which may be repeated."""
        return await self._send("PUT", path, body=json.dumps(body).encode(), kind="application/json")

    async def submit(self, document: str) -> None:
        """Submit a job document, once.

        Raises:
            Conflict: if the user has a job of this name.
            ReplyLost: if it is unknown whether the job was created.
            PaiError: as the server refuses it.
        """
        await self._send("POST", "/jobs", body=document.encode(), kind="text/yaml", repeat=False)

    async def job(self, remote_id: str) -> dict[str, Any]:
        """Return the detail of a job, by `user~job`.

        Raises:
            NotFound: if the cluster does not have it.
        """
        reply = await self.get(job_path(remote_id))
        return reply if isinstance(reply, dict) else {}

    async def stop(self, remote_id: str) -> None:
        """Request the end of a job. Does nothing to an ended one."""
        await self.put(f"{job_path(remote_id)}/executionType", {"value": "STOP"})

    async def document(self, remote_id: str) -> str:
        """Return the document of a job: YAML, or JSON text. Values of its secrets are hidden.

        Raises:
            NotFound: if the cluster does not have it.
        """
        return str(await self._send("GET", f"{job_path(remote_id)}/config", as_text=True))

    async def jobs(self, **query: object) -> list[dict[str, Any]]:
        """Return rows of the user's jobs, newest first."""
        return (await self.job_page(**query))[0]

    async def job_page(self, **query: object) -> tuple[list[dict[str, Any]], int | None]:
        """Return rows of the user's jobs, newest first, and the number of all; None if the server does not count."""
        fields = {"username": await self.username(), "withTotalCount": "true", **query}
        reply = await self._send("GET", "/jobs", fields, action="jobs")
        total = reply.get("totalCount") if isinstance(reply, dict) else None
        rows = reply.get("data") if isinstance(reply, dict) else reply
        found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        return found, total if isinstance(total, int) else None

    async def fetch_log(self, uri: str, first: int, last: int) -> httpx.Response:
        """Return bytes of a log file of the list of a task: the response (200, 206, 403, 404 or 416)."""
        site = await self.site()
        if "://" in uri:
            url = uri
        elif site.origin:
            url = site.origin + uri
        else:  # Without the gateway, the log manager of the node has the rest of the path.
            url = "http://" + uri.removeprefix("/log-manager/")
        headers = {"range": f"bytes={first}-{last}", "accept": "*/*"}
        return await self._transport(site, _accept_log).fetch(Call("GET", url, headers=headers, retries=_LOG_RETRIES))

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] | None = None,
        *,
        body: bytes = b"",
        kind: str = "",
        repeat: bool = True,
        retries: Retries = _RETRIES,
        action: str = "",
        as_text: bool = False,
    ) -> Any:
        site = await self.site()
        check_encryption(self.settings, site)
        text = urlencode({name: value for name, value in (query or {}).items() if value is not None}, quote_via=quote)
        url = f"{site.rest}/api/v2{path}" + (f"?{text}" if text else "")
        headers = {"content-type": kind} if kind else {}
        pace = _LISTS * self.settings.requests_per_second if action == "jobs" else 0
        call = Call(method, url, self._auth, body, headers, repeat, retries, action, pace)
        transport = self._transport(site, read_reply)
        return (await transport.fetch(call)).text if as_text else await transport.send(call)

    def _transport(self, site: Site, read: Callable[[httpx.Response], Refusal | None]) -> Transport:
        account = f"openpai {site.rest} {self.settings.own_credentials}"
        return Transport(account, read, self.settings.requests_per_second, self.settings.ca_file)

    async def _auth(self) -> Callable[[httpx.Request], httpx.Request]:
        token = (await self.credentials()).token.get_secret_value()

        def authorize(request: httpx.Request) -> httpx.Request:
            request.headers["authorization"] = f"Bearer {token}"
            return request

        return authorize


def job_path(remote_id: str) -> str:
    """Return the path of a job."""
    return f"/jobs/{quote(remote_id, safe='~')}"


def is_usable(settings: OpenPaiSettings, site: Site) -> bool:
    """Return whether a password or token may be sent to a cluster."""
    return site.is_encrypted or (settings.allow_http and settings.endpoint.startswith("http://"))


def check_encryption(settings: OpenPaiSettings, site: Site) -> None:
    """Check that a password or token may be sent to a cluster.

    Raises:
        SettingsError: if it would not be encrypted, and the user has not agreed to that.
    """
    if is_usable(settings, site):
        return
    text = _("OpenPAI at {host} responds over http:// only. A password or token would be sent unencrypted.")
    fix = _("If you agree: set the profile's `endpoint` to {url}, and `allow_http` to true.")
    raise SettingsError(text.format(host=settings.host), fix=fix.format(url=site.address)).at("allow_http")


def _accept_log(response: httpx.Response) -> Any:
    return None if response.status_code in (200, 206, 403, 404, 416) else read_reply(response)
