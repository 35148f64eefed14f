"""The addresses of a cluster: its gateway or its REST server, by HTTPS or HTTP, and its version.

Requests of this module carry no credentials. Source: the routes of `rest-server` and of the gateway `pylon`, 1.8.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...cloud.http import Call, Refusal, Retries, Transport
from ...core.errors import BackendError, Throttled, Unreachable, Unsupported
from ...core.i18n import _
from .options import OpenPaiSettings
from .replies import moved, read_reply

if TYPE_CHECKING:
    import httpx

__all__ = ["OLDEST", "Site", "clock_skew", "find_site"]

OLDEST = (1, 4)
# Part of the name that a REST server gives itself.
_NAME = "PAI RESTful API"
_REST_PORT = 9186
_ATTEMPTS = 3
_PROBE = Retries(attempts=1, attempt_timeout=8)


@dataclass(frozen=True)
class Site:
    """A cluster that was found.

    `rest`: the address of the REST server, without `/api/v2`. `origin`: that of the gateway; empty if only the REST
    server was reached. `version`: empty if the server does not tell it. `login`: `basic` for user and password, `OIDC`
    for a company login.
    """

    rest: str
    origin: str
    version: str
    login: str

    @property
    def address(self) -> str:
        """The address that a profile has: that of the gateway, else of the REST server."""
        return self.origin or self.rest

    @property
    def is_encrypted(self) -> bool:
        return self.rest.startswith("https:")

    @property
    def takes_passwords(self) -> bool:
        return self.login == "basic"

    @property
    def token_help(self) -> str:
        """How to get a token."""
        if not self.origin:
            return _("Copy a token from the profile page of the portal, and log in with it.")
        text = _("Open {url} in a browser, copy a token of an application, and log in with it.")
        return text.format(url=f"{self.origin}/profile.html")


async def find_site(settings: OpenPaiSettings) -> Site:
    """Return the cluster at the address of a profile.

    An address without a scheme is tried by HTTPS, then by HTTP. A certificate that is not trusted ends the search.

    Raises:
        Unreachable: if none of the addresses is one of OpenPAI.
        Throttled: if it limits the rate of requests.
        Unsupported: if the server is too old.
    """
    failures: list[BackendError] = []
    for place in _places(settings.endpoint):
        found = await _at(place, settings)
        if isinstance(found, Site):
            return found
        failures += [found] if found else []
        if found and _is_sent(found) and place[0][1].startswith("https:"):
            break  # It is the right address, and fails: no search elsewhere, without encryption.
    text = _("No OpenPAI responds at {host}.").format(host=settings.host)
    raise Unreachable(
        text + " " + failures[0].message if failures else text,
        fix=_("Check the network and the profile's `endpoint`: the address that opens the portal in a browser."),
        sent=not failures or any(map(_is_sent, failures)),
    )


async def _at(place: list[tuple[str, str]], settings: OpenPaiSettings) -> Site | BackendError | None:
    """Return the cluster at a host and port, or why it failed; None if there is another server."""
    failure: BackendError | None = None
    for origin, rest in place:
        try:
            info = await _info(rest, settings)
        except Throttled:
            raise
        except Unreachable as error:
            if error.details.get("untrusted") or error.details.get("moved"):
                raise
            return error  # The other addresses are of the same host and port.
        except BackendError as error:
            failure = error
        else:
            if info is not None:
                return _site(rest, origin, info)
    return failure


def _is_sent(failure: BackendError) -> bool:
    return failure.details.get("sent") is not False


def _places(endpoint: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the addresses to try, by host and port: each is a pair of a gateway's address, empty for none, and of the
    REST server's."""
    schemes = ("",) if "://" in endpoint else ("https://", "http://")
    for scheme in schemes:
        base = scheme + endpoint
        yield [(base, f"{base}/rest-server"), ("", base)]
        parts = urlsplit(base)
        if parts.port is None and parts.scheme == "http":
            yield [("", f"http://{parts.netloc}:{_REST_PORT}")]


async def _info(rest: str, settings: OpenPaiSettings) -> dict[str, Any] | None:
    """Return what a REST server says about itself; None if there is another server.

    Raises:
        Unreachable: if nothing responds.
        Unsupported: if it is an OpenPAI without version 2 of the REST API.
    """
    response = await _get(f"{rest}/api/v2/info", settings)
    reply = _json(response)
    if response.is_redirect and "://" in response.headers.get("location", ""):
        raise moved(response)
    if response.status_code == 200 and _NAME in str(reply.get("name")):
        return reply
    # Before version 1.0 there is only /api/v1.
    old = _json(await _get(f"{rest}/api/v1", settings))
    if _NAME in f"{old.get('name')} {old.get('message')}":
        raise _too_old(str(old.get("version") or "") or "0.x")
    return None


async def _get(url: str, settings: OpenPaiSettings) -> httpx.Response:
    """Return a response; after a failure of one that was connected, try again."""
    transport = Transport(f"openpai {settings.endpoint}", _read, settings.requests_per_second, settings.ca_file)
    for attempt in range(_ATTEMPTS):
        try:
            return await transport.fetch(Call("GET", url, retries=_PROBE))
        except BackendError as error:
            if attempt == _ATTEMPTS - 1 or not _is_sent(error):
                raise
    raise AssertionError


def _site(rest: str, origin: str, info: dict[str, Any]) -> Site:
    version = str(info.get("version") or "").removeprefix("v")
    match = re.match(r"(\d+)\.(\d+)", version)
    if match and (int(match[1]), int(match[2])) < OLDEST:
        raise _too_old(version)
    return Site(rest, origin, version, str(info.get("authnMethod") or "basic"))


def _too_old(version: str) -> Unsupported:
    oldest = ".".join(map(str, OLDEST))
    return Unsupported(
        _("The cluster runs OpenPAI {version}. Version {oldest} or newer is required.").format(
            version=version, oldest=oldest
        ),
        fix=_("Ask its administrators to upgrade it. Older versions have no logs and events in their REST API."),
    )


async def clock_skew(settings: OpenPaiSettings, site: Site) -> float | None:
    """Return the seconds by which the clock of a cluster is ahead of that of this machine; None if unknown.

    Raises:
        Unreachable: if the cluster does not respond.
    """
    response = await _get(f"{site.rest}/api/v2/info", settings)
    try:
        return parsedate_to_datetime(response.headers.get("date", "")).timestamp() - time.time()
    except ValueError:
        return None


def _json(response: httpx.Response) -> dict[str, Any]:
    try:
        reply = response.json()
    except ValueError:
        return {}
    return reply if isinstance(reply, dict) else {}


def _read(response: httpx.Response) -> Refusal | None:
    """Accept what any server may answer to a probe."""
    if response.status_code == 429:
        return read_reply(response)
    if response.status_code < 500:
        return None
    text = _("{host} failed with the status {status}.")
    host = response.url.netloc.decode()
    return Refusal(BackendError(text.format(host=host, status=response.status_code), status=response.status_code))
