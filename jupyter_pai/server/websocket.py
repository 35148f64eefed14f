"""The stream: a WebSocket of a browser tab, with any number of `api.subscriptions`."""

from __future__ import annotations

from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado import web
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from ..api.subscriptions import Subscribe, Subscriptions
from ..core.errors import PaiError
from ..core.i18n import use_language
from ..engine.service import JobService
from .handlers import AUTH_RESOURCE, KernelAccess, unexpected


class StreamHandler(KernelAccess, WebSocketMixin, WebSocketHandler, JupyterHandler):
    """The WebSocket of a browser tab."""

    auth_resource = AUTH_RESOURCE
    subscriptions: Subscriptions | None = None

    def set_default_headers(self) -> None:
        """Set none: those of JupyterHandler do not apply to a WebSocket."""

    def get_compression_options(self) -> Any:
        return self.settings.get("websocket_compression_options")

    @ws_authenticated
    async def get(self, *args: Any, **kwargs: Any) -> None:
        allowed = await ensure_async(self.authorizer.is_authorized(self, self.current_user, "read", AUTH_RESOURCE))
        if not allowed:
            raise web.HTTPError(403)
        self.subscriptions = Subscriptions(self._service, self._send, self._unexpected)
        await super().get(*args, **kwargs)

    def open(self, *args: Any, **kwargs: Any) -> None:
        super().open(*args, **kwargs)

    async def on_message(self, message: str | bytes) -> None:
        if self.subscriptions:
            with use_language(self.request.headers.get("Accept-Language")):
                await self.subscriptions.receive(message)

    def on_close(self) -> None:
        if self.subscriptions:
            self.subscriptions.close()

    async def _service(self) -> JobService:
        service: JobService = (await self.settings["jupyter_pai_engine"].api()).service
        return service

    async def _send(self, text: str) -> None:
        try:
            await self.write_message(text)
        except WebSocketClosedError:
            raise ConnectionError from None

    def _unexpected(self, subscription: Subscribe) -> PaiError:
        self.log.exception("jupyter-pai: a subscription failed: %s", subscription)
        return unexpected()
