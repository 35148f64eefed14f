"""Error responses of the REST server.

Source: `rest-server` 1.8.1. A body is `{code, message}`; some errors of the YAML parser have the status 500 and no
code, a limited rate is an HTML page, and wrong passwords have the status 400.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...cloud.http import Refusal
from ...core.errors import (
    BackendError,
    Conflict,
    CredentialsError,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    Refused,
    Throttled,
    Unreachable,
)
from ...core.i18n import _

if TYPE_CHECKING:
    import httpx

__all__ = ["is_gone", "moved", "read_reply"]

_GONE = ("NoJobError", "NoJobConfigError")


def read_reply(response: httpx.Response) -> Refusal | None:
    """Return the meaning of a response; None for success."""
    status = response.status_code
    if status < 300:
        return None
    if status < 400:
        return Refusal(moved(response))
    code, message = _error(response)
    details: dict[str, Any] = {"status": status, "code": code}
    host = response.url.netloc.decode()
    said = _("OpenPAI at {host} refuses the request: {message}").format(host=host, message=message or status)
    if status == 429:
        wait = _seconds(response.headers.get("retry-after", ""))
        text = _("OpenPAI at {host} limits the rate of requests.").format(host=host)
        fix = _("Try again in {n:.0f} seconds.").format(n=wait) if wait else _("Try again later.")
        return Refusal(Throttled(text, fix=fix, wait=wait, **details), not_executed=True, wait=wait)
    if status == 401:
        text = _("OpenPAI at {host} does not accept the token: it was revoked, or has expired.").format(host=host)
        fix = _("Log in again: jupyter pai profile login NAME. Jobs continue without it.")
        return Refusal(CredentialsError(text, fix=fix, **details))
    if status == 403:
        return Refusal(PermissionDenied(said, fix=_("Ask the administrators of the cluster."), **details))
    if status == 404:
        return Refusal(NotFound(said, **details))
    if status == 409:
        return Refusal(Conflict(said, **details))
    if status == 413:
        return Refusal(Refused(said, fix=_("Move code and data out of the job document."), **details))
    if code == "NoEnoughQuotaError":
        return Refusal(QuotaExceeded(said, fix=_("Wait until your other jobs have ended."), **details))
    if status < 500:
        return Refusal(Refused(said, **details))
    text = _("OpenPAI at {host} failed with the status {status}: {message}")
    text = text.format(host=host, status=status, message=message or code or response.reason_phrase)
    return Refusal(BackendError(text, fix=_("Try again later. Jobs continue."), **details))


def moved(response: httpx.Response) -> Unreachable:
    """Return the error for a redirect, which is not followed: a token goes to the address of the profile only."""
    target = urlsplit(response.headers.get("location", ""))
    url = f"{target.scheme or response.url.scheme}://{target.netloc or response.url.netloc.decode()}"
    text = _("{host} redirects to {url}.").format(host=response.url.netloc.decode(), url=url)
    fix = _("If that is the cluster, set the profile's `endpoint` to {url}.").format(url=url)
    return Unreachable(text, fix=fix, sent=True, moved=True)


def is_gone(error: NotFound) -> bool:
    """Return whether the server does not have a job. A gateway without its server returns the same status."""
    return error.details.get("code") in _GONE


def _error(response: httpx.Response) -> tuple[str, str]:
    """Return code and message of an error; empty where there is none."""
    try:
        reply = response.json()
    except ValueError:
        return "", ""
    if not isinstance(reply, dict):
        return "", ""
    return str(reply.get("code") or ""), _plain(str(reply.get("message") or ""))


def _plain(message: str) -> str:
    """Return a message as text: faults of a document come as a JSON list."""
    try:
        faults = json.loads(message)
    except ValueError:
        return message[:2000]
    if not isinstance(faults, list):
        return message[:2000]
    rows = [fault for fault in faults if isinstance(fault, dict)]
    return "; ".join(f"{row.get('dataPath', '')} {row.get('message', '')}".strip() for row in rows)[:2000]


def _seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None
