"""Pages without signatures: TensorBoards, terminals, and a credentials URI."""

from __future__ import annotations

from aiohttp import web

from .clock import iso
from .keys import Keyring
from .tensorboards import Tensorboards
from .terminals import Terminals

__all__ = ["Pages"]


class Pages:
    """`/credentials?seconds=60` returns a new temporary key in the format of `ALIBABA_CLOUD_CREDENTIALS_URI`;
    `/terminal/` is a terminal; all else is a TensorBoard."""

    def __init__(self, boards: Tensorboards, terminals: Terminals, keyring: Keyring) -> None:
        self._boards, self._terminals, self._keyring = boards, terminals, keyring

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """A page."""
        if request.path.startswith("/terminal/"):
            return await self._terminals.handle(request)
        if request.path != "/credentials":
            return await self._boards.handle(request)
        key = self._keyring.sts(float(request.query.get("seconds", 3600)))
        reply = {"Code": "Success", "AccessKeyId": key.id, "AccessKeySecret": key.secret, "SecurityToken": key.token}
        return web.json_response(reply | {"Expiration": iso(key.expires or 0)})
