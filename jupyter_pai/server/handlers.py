"""The verbs over HTTP: one handler for all routes of `api.routes`; and the WebSocket of a browser tab."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from contextlib import nullcontext
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.auth import AllowAllAuthorizer, Authorizer, IdentityProvider, User
from jupyter_server.auth.decorator import allow_unauthenticated, authorized, ws_authenticated
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado import web
from tornado.httputil import HTTPOutputError
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from ..api.api import call
from ..api.endpoint import check_text, encode
from ..api.route import PREFIX, Route
from ..api.routes import ROUTES
from ..api.subscriptions import Subscriptions, unexpected
from ..core.discovery import NONCE
from ..core.errors import EngineError, NotFound, PaiError, UsageError
from ..core.i18n import _, use_language
from ..core.text import show_size

AUTH_RESOURCE = "jupyter_pai"
# Bytes of the JSON of a request. Its parser lets no other request run.
LARGEST_BODY, _LARGE = 2_500_000, 64_000
# Tabs and line breaks are accepted: names of files and lines of logs contain them.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class _KernelIdentity(IdentityProvider):
    """The identity of a kernel or terminal of this server: it has the secret of the server's file."""

    def get_user(self, handler: web.RequestHandler) -> User:
        return User(username="jupyter-pai-kernel", name="kernel")

    def is_token_authenticated(self, handler: web.RequestHandler) -> bool:
        return True


class KernelAccess:
    """Accepts the extension's secret besides the server's own logins.

    The secret is valid for this extension only. A process that has it runs as the server's user and could run the
    engine itself, so every verb is allowed.
    """

    settings: dict[str, Any]
    request: Any

    @property
    def has_secret(self) -> bool:
        scheme, _space, secret = self.request.headers.get("Authorization", "").partition(" ")
        engine = self.settings["jupyter_pai_engine"]
        return scheme == "jupyter-pai" and hmac.compare_digest(secret.encode(), engine.secret.encode())

    @property
    def identity_provider(self) -> IdentityProvider:
        provider: IdentityProvider = super().identity_provider  # type: ignore[misc]  # JupyterHandler's
        return _KernelIdentity(parent=provider.parent) if self.has_secret else provider

    @property
    def authorizer(self) -> Authorizer:
        authorizer: Authorizer = super().authorizer  # type: ignore[misc]  # JupyterHandler's
        return AllowAllAuthorizer(parent=authorizer.parent) if self.has_secret else authorizer

    def check_xsrf_cookie(self) -> None:
        """Skip the check for requests with the secret, which pages of other sites cannot send. JupyterHub replaces the
        check of Jupyter's handlers."""
        if not self.has_secret:
            super().check_xsrf_cookie()  # type: ignore[misc]  # JupyterHandler's


class PaiHandler(KernelAccess, APIHandler):
    """Writes every error as JSON."""

    auth_resource = AUTH_RESOURCE
    # Polling by an open browser tab is not user activity.
    _track_activity = False

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        if isinstance(error, web.HTTPError):
            phrase = HTTPStatus(status_code).phrase if status_code in HTTPStatus._value2member_map_ else ""
            self.refuse(EngineError(error.log_message or error.reason or phrase), status_code)
        else:
            self.refuse(unexpected(), status_code)

    def refuse(self, error: PaiError, status: int) -> None:
        """Reply with an error."""
        self.set_status(status)
        self.finish(json.dumps(error.as_json()))


class VerbHandler(PaiHandler):
    """The verbs of one path."""

    def initialize(self, verbs: dict[str, str]) -> None:
        self.verbs = verbs
        self.serving: asyncio.Task[Any] | None = None

    async def serve(self, *words: str) -> None:
        """Call the verb and write its reply."""
        verb = self.verbs.get(self.request.method or "")
        if verb is None:
            raise web.HTTPError(405)
        with use_language(self.request.headers.get("Accept-Language")):
            try:
                await self._call(verb, ROUTES[verb], words)
            except PaiError as error:
                self.refuse(error, error.status)

    # `authorized` takes the action from the first request, so reads and writes need a function each.
    get = web.authenticated(authorized("read")(serve))
    post = put = delete = patch = web.authenticated(authorized("write")(serve))

    async def _call(self, verb: str, route: Route, words: tuple[str, ...]) -> None:
        arguments: dict[str, Any] = dict(zip(route.names, words, strict=True))
        # Unknown parameters, as browsers and proxies add, are ignored.
        query = {name: self._texts(name) for name in route.parameters}
        arguments |= {name: _value(name, route.parameters[name], texts) for name, texts in query.items() if texts}
        engine = self.settings["jupyter_pai_engine"]
        turn = engine.turn if len(self.request.body) > _LARGE else nullcontext()
        context = replace(await engine.context(), may_execute=self._may_execute, turn=turn)
        if route.body:
            arguments["body"] = await context.read(_json, self.request.body)
        if route.takes_bytes:
            arguments["content"] = self.request.body
        result = await call(context, verb, **arguments)
        if route.sends_bytes:
            await self._stream(result)
        else:
            self.set_header("Server-Timing", f"engine;dur={self.request.request_time() * 1000:.2f}")
            self.finish(encode(result))

    def _texts(self, name: str) -> list[str]:
        """Return the values of a query parameter unchanged. (`get_query_arguments` replaces control characters.)

        Raises:
            UsageError: if one has control characters.
        """
        texts = [self.decode_argument(value, name) for value in self.request.query_arguments.get(name, [])]
        if any(map(_CONTROL.search, texts)):
            raise UsageError(_("Invalid value of `{name}`: it contains control characters.").format(name=name))
        return texts

    async def _may_execute(self) -> bool:
        """Return whether the user has the permission to execute code, which no route requires as a whole."""
        allowed = self.authorizer.is_authorized(self, self.current_user, "execute", AUTH_RESOURCE)
        return bool(await ensure_async(allowed))

    async def _stream(self, chunks: Any) -> None:
        """Stream chunks of a log or a file until they end or the client disconnects."""
        self.serving = asyncio.current_task()
        self.set_header("Content-Type", "application/octet-stream")
        try:
            async for chunk in chunks:
                if not self._headers_written:
                    for name, value in chunk.headers().items():
                        self.set_header(name, value)
                self.write(chunk.data)
                await self.flush()
            self.finish(set_content_type="application/octet-stream")
        except (StreamClosedError, HTTPOutputError):
            pass  # The client left, or a file shrank. The connection is cut, so that the reply counts as incomplete.
        finally:
            self.serving = None
            await chunks.aclose()

    def on_connection_close(self) -> None:
        if self.serving:
            self.serving.cancel()


class ProofHandler(PaiHandler):
    """Proves the identity of this server to a client that has its file. The only address without login: the client
    sends its secret after the proof."""

    @allow_unauthenticated
    async def get(self) -> None:
        engine, nonce = self.settings["jupyter_pai_engine"], self.get_query_argument("nonce", "")
        if not re.fullmatch(rf"[0-9a-f]{{{2 * NONCE}}}", nonce) or engine.info is None:
            raise web.HTTPError(400, "invalid nonce")
        if not engine.proofs.has_capacity():
            raise web.HTTPError(429)
        await engine.proofs.acquire()
        self.set_header("Cache-Control", "no-store")
        # The address of the connection itself, which no header can change.
        client = self.request.connection.stream.socket.getpeername()
        self.finish(json.dumps({"proof": engine.info.proof(nonce, client)}))


class UnknownHandler(PaiHandler):
    """All other addresses below the prefix."""

    @web.authenticated
    @authorized
    async def get(self, *words: str) -> None:
        error = NotFound(
            _("Nothing found at {path}.").format(path=self.request.path),
            fix=_("See {path} for all addresses.").format(path=f"{self.base_url}{PREFIX}/openapi.json"),
        )
        self.refuse(error, error.status)

    post = put = delete = patch = get


class StreamHandler(KernelAccess, WebSocketMixin, WebSocketHandler, JupyterHandler):
    """The WebSocket of a browser tab, with any number of `api.subscriptions`."""

    auth_resource = AUTH_RESOURCE
    subscriptions: Subscriptions | None = None

    def set_default_headers(self) -> None:
        """Set none: those of JupyterHandler do not apply to a WebSocket."""

    def get_compression_options(self) -> Any:
        return self.settings.get("websocket_compression_options")

    @ws_authenticated
    @authorized
    async def get(self, *args: Any, **kwargs: Any) -> None:
        self.subscriptions = Subscriptions(self.settings["jupyter_pai_engine"].context, self._send)
        await super().get(*args, **kwargs)

    async def on_message(self, message: str | bytes) -> None:
        if self.subscriptions:
            # A page cannot set headers of a WebSocket: it names its language in the address.
            tag = self.get_query_argument("language", "") or self.request.headers.get("Accept-Language")
            with use_language(tag):
                await self.subscriptions.receive(message)

    def on_close(self) -> None:
        if self.subscriptions:
            self.subscriptions.close()

    async def _send(self, text: str) -> None:
        try:
            await self.write_message(text)
        except WebSocketClosedError:
            raise ConnectionError from None


def _value(name: str, kind: type, texts: list[str]) -> object:
    if kind is list:
        return texts
    text = texts[-1]
    if kind is str:
        return text
    text = text.strip()
    if kind is int:
        if not text.removeprefix("-").isdecimal() or len(text) > 20:
            raise UsageError(_("Invalid value of `{name}`: `{text}` is not an integer.").format(name=name, text=text))
        return int(text)
    if text not in ("true", "false", "1", "0"):
        raise UsageError(_("Invalid value of `{name}`: `{text}` is not true or false.").format(name=name, text=text))
    return text in ("true", "1")


def _json(body: bytes) -> object:
    if len(body) > LARGEST_BODY:
        raise UsageError(
            _("The request is {size} large, more than {most}.").format(
                size=show_size(len(body)), most=show_size(LARGEST_BODY)
            ),
            fix=_("Pass large values in a file: an input, or a file of the code."),
        )
    check_text(body)
    try:
        return json.loads(body) if body else None
    except (ValueError, RecursionError) as error:
        raise UsageError(_("The request body is not JSON: {error}").format(error=error)) from None
