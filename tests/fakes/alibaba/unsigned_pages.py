"""What is reached without a signature: TensorBoards, terminals, and a source of credentials as machines have one."""

from __future__ import annotations

from aiohttp import web

from .clock import iso
from .keys import Keyring
from .tensorboards import Tensorboards
from .terminals import Terminals

__all__ = ["Pages"]


class Pages:
    """`/credentials?seconds=60` gives a new key of STS each time, in the form that `ALIBABA_CLOUD_CREDENTIALS_URI` is
    asked in; `/terminal/` leads to a terminal; all else is a TensorBoard's."""

    def __init__(self, boards: Tensorboards, terminals: Terminals, keyring: Keyring) -> None:
        self._boards, self._terminals, self._keyring = boards, terminals, keyring

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """A page."""
        if request.path.startswith("/terminal/"):
            return await self._terminals.handle(request)
        if request.path != "/credentials":
            return await self._boards.handle(request)
        key = self._keyring.sts(float(request.query.get("seconds", 3600)))
        told = {"Code": "Success", "AccessKeyId": key.id, "AccessKeySecret": key.secret, "SecurityToken": key.token}
        return web.json_response(told | {"Expiration": iso(key.expires or 0)})
