"""Findings of `doctor` that platforms share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Literal

from ..cloud import http as transport
from ..cloud.keys import AccessKey
from ..core.errors import PaiError
from ..core.i18n import _
from .base import Finding

__all__ = ["checked", "examined", "key_finding"]


def examined(findings: Awaitable[Finding | list[Finding]]) -> list[Finding]:
    """Return the results of checks, and close the connections that they used. Blocks: call it in a thread without an
    event loop."""

    async def closing() -> list[Finding]:
        try:
            found = await findings
            return [found] if isinstance(found, Finding) else found
        finally:
            await transport.close()

    return asyncio.run(closing())


async def checked(
    what: str, check: Awaitable[Finding], state: Literal["warn", "bad"] = "bad", fix: str = ""
) -> Finding:
    """Return the result of a check; an error becomes a finding with this state, and with `fix` if it has none."""
    try:
        return await check
    except PaiError as error:
        return Finding(state, what, error.message, error.fix or fix)


def key_finding(key: AccessKey) -> Finding:
    """Return the finding on an access key, which shows a part of its id."""
    kind = _("temporary") if key.token else _("permanent")
    return Finding("ok", _("credentials"), _("{kind} key: {id}").format(kind=kind, id=f"{key.id[:4]}…{key.id[-4:]}"))
