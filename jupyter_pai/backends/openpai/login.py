"""Login: a password or a pasted token is exchanged for a token of an application, which alone is stored.

Sessions end after a week. Tokens of applications never expire, and may submit and read jobs, but change no account.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from ...cloud.http import Call, Refusal, Transport
from ...core.errors import BackendError, CredentialsError, PaiError, PermissionDenied, Refused
from ...core.i18n import _
from .client import OpenPaiClient, check_encryption
from .options import OpenPaiCredentials, OpenPaiLogin, OpenPaiSettings
from .replies import read_reply
from .site import Site, find_site

if TYPE_CHECKING:
    import httpx

__all__ = ["log_in"]

# What a header may have.
_HEADER = re.compile(r"[!-~]+")


async def log_in(settings: OpenPaiSettings, login: OpenPaiLogin) -> OpenPaiCredentials:
    """Return the credentials to store for what a user typed.

    Raises:
        SettingsError: if they would not be encrypted, and the user has not agreed to that.
        CredentialsError: naming the wrong field.
        Unreachable: if the cluster does not respond.
        Unsupported: if it is too old.
    """
    site = await find_site(settings)
    check_encryption(settings, site)
    if token := login.token.get_secret_value():
        return await _checked(settings, site, token)
    if not site.takes_passwords:
        text = _("The cluster takes no passwords: it has a company login ({kind}).").format(kind=site.login)
        raise CredentialsError(text, fix=site.token_help).at("password")
    token = await _session(settings, site, login)
    client = OpenPaiClient(settings, OpenPaiCredentials(username=login.username, token=SecretStr(token)), site)
    try:
        return OpenPaiCredentials(username=login.username, token=await _application(client), host=settings.host)
    finally:
        with suppress(PaiError):  # It ends by itself, in a week.
            await client.delete("/authn/basic/logout")


async def _session(settings: OpenPaiSettings, site: Site, login: OpenPaiLogin) -> str:
    """Return a token of a session for user and password."""
    body = json.dumps({"username": login.username, "password": login.password.get_secret_value()}).encode()
    call = Call(
        "POST", f"{site.rest}/api/v2/authn/basic/login", None, body, {"content-type": "application/json"}
    )  # fmt: skip
    transport = Transport(f"openpai {site.rest}", _read_login, settings.requests_per_second, settings.ca_file)
    return _token(await transport.send(call))


def _read_login(response: httpx.Response) -> Refusal | None:
    """Return the meaning of a reply to a login. Wrong names and passwords have the status 400."""
    refusal = read_reply(response)
    if refusal is None or response.status_code not in (400, 401, 403, 404):
        return refusal
    code = str(refusal.error.details.get("code"))
    texts = {
        "IncorrectPasswordError": ("password", _("The password is wrong.")),
        "NoUserError": ("username", _("The cluster does not know this user.")),
    }
    message = refusal.error.message
    field, text = texts.get(code, ("password" if "password" in message else "username", message))
    return Refusal(CredentialsError(text, status=response.status_code, code=code).at(field))


async def _checked(settings: OpenPaiSettings, site: Site, token: str) -> OpenPaiCredentials:
    """Return the credentials for a token that a user pasted: one of an application for one of a session."""
    client = OpenPaiClient(settings, OpenPaiCredentials(username="", token=SecretStr(token)), site)
    text = _("The cluster does not accept this token: it is incomplete, was revoked, or has expired.")
    refused = CredentialsError(text, fix=site.token_help).at("token")
    if not _HEADER.fullmatch(token):
        raise refused
    try:
        claims = await client.get("/tokens/check")
    except Refused:
        raise refused from None
    if not isinstance(claims, dict) or not claims.get("username"):
        raise _unexpected()
    kept = SecretStr(token)
    if not claims.get("application"):
        with suppress(PermissionDenied):
            kept = await _application(client)
    return OpenPaiCredentials(username=str(claims["username"]), token=kept, host=settings.host)


async def _application(client: OpenPaiClient) -> SecretStr:
    """Return a new token of an application."""
    return SecretStr(_token(await client.post("/tokens/application")))


def _token(reply: Any) -> str:
    token = reply.get("token") if isinstance(reply, dict) else None
    if not isinstance(token, str) or not token:
        raise _unexpected()
    return token


def _unexpected() -> BackendError:
    return BackendError(_("The cluster's reply to the login has no token."), fix=_("Try again."))
