"""The engine's verbs over HTTP. One handler serves them all: `routes.ROUTES` says which is where."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Mapping
from http import HTTPStatus
from typing import Any

from jupyter_server.auth import AllowAllAuthorizer, Authorizer, IdentityProvider, User
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado import web
from tornado.httputil import HTTPOutputError
from tornado.iostream import StreamClosedError

from ..api.api import encode
from ..api.route import PREFIX, Route
from ..api.routes import ROUTES
from ..core.errors import EngineError, NotFound, PaiError, UsageError
from ..core.i18n import _, use_language

__all__ = ["KernelAccess", "PaiHandler", "UnknownHandler", "VerbHandler", "unexpected"]

AUTH_RESOURCE = "jupyter_pai"


class _KernelIdentity(IdentityProvider):
    """Who holds the secret of the server's own file: a kernel or a terminal that this server started."""

    def get_user(self, handler: web.RequestHandler) -> User:
        return User(username="jupyter-pai-kernel", name="kernel")

    def is_token_authenticated(self, handler: web.RequestHandler) -> bool:
        return True


class KernelAccess:
    """Lets in who has our secret, as well as whom the server lets in.

    The secret is good for this extension only. Who has it runs code as the server's user, and could run the engine
    without us: it is allowed what we can do.
    """

    settings: dict[str, Any]
    request: Any

    @property
    def has_secret(self) -> bool:
        scheme, _space, given = self.request.headers.get("Authorization", "").partition(" ")
        secret = self.settings["jupyter_pai_engine"].secret
        return scheme == "jupyter-pai" and hmac.compare_digest(given.encode(), secret.encode())

    @property
    def identity_provider(self) -> IdentityProvider:
        known: IdentityProvider = super().identity_provider  # type: ignore[misc]  # JupyterHandler's, in the subclass
        return _KernelIdentity(parent=known.parent) if self.has_secret else known

    @property
    def authorizer(self) -> Authorizer:
        known: Authorizer = super().authorizer  # type: ignore[misc]  # JupyterHandler's, in the subclass
        return AllowAllAuthorizer(parent=known.parent) if self.has_secret else known

    def check_xsrf_cookie(self) -> None:
        """No other site's page can send our secret. (JupyterHub puts a check of its own into Jupyter's handlers.)"""
        if not self.has_secret:
            super().check_xsrf_cookie()  # type: ignore[misc]  # JupyterHandler's, in the subclass


class PaiHandler(KernelAccess, APIHandler):
    """One place that answers errors."""

    auth_resource = AUTH_RESOURCE
    # A browser tab that is left open asks now and then; that is nobody at work.
    _track_activity = False

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        if isinstance(error, PaiError):
            said = error.as_json()
        elif isinstance(error, web.HTTPError):
            phrase = HTTPStatus(status_code).phrase if status_code in HTTPStatus._value2member_map_ else ""
            said = EngineError(error.log_message or error.reason or phrase).as_json()
        else:
            said = unexpected().as_json()
        self.set_status(status_code)
        self.finish(json.dumps(said))

    async def answer(self, reply: Awaitable[Any]) -> Any:
        """The reply, with our errors as HTTP has them."""
        try:
            return await reply
        except PaiError as error:
            self.set_status(error.status)
            self.write_error(error.status, exc_info=(type(error), error, None))
            raise web.Finish from None


def unexpected() -> EngineError:
    """What is said of an error of our own."""
    message = _("Something unexpected went wrong; the server's log has the details.")
    return EngineError(message, fix=_("Please report it with them."))


class VerbHandler(PaiHandler):
    """The verbs of one path."""

    def initialize(self, verbs: dict[str, str]) -> None:
        self.verbs = verbs
        self.serving: asyncio.Task[Any] | None = None

    @web.authenticated
    @authorized
    async def get(self, *words: str) -> None:
        await self.serve(words)

    @web.authenticated
    @authorized
    async def post(self, *words: str) -> None:
        await self.serve(words)

    @web.authenticated
    @authorized
    async def put(self, *words: str) -> None:
        await self.serve(words)

    @web.authenticated
    @authorized
    async def delete(self, *words: str) -> None:
        await self.serve(words)

    @web.authenticated
    @authorized
    async def patch(self, *words: str) -> None:
        await self.serve(words)

    async def serve(self, words: tuple[str, ...]) -> None:
        """Call the verb, and write what it gives."""
        verb = self.verbs.get(self.request.method or "")
        if verb is None:
            raise web.HTTPError(405)
        with use_language(self.request.headers.get("Accept-Language")):
            await self.answer(self._call(verb, ROUTES[verb], words))

    async def _call(self, verb: str, route: Route, words: tuple[str, ...]) -> None:
        arguments: dict[str, Any] = dict(zip(route.names, words, strict=True))
        arguments |= _query(route, {name: self.get_query_arguments(name) for name in self.request.query_arguments})
        if route.body:
            arguments["body"] = _json(self.request.body)
        if route.takes_bytes:
            arguments["content"] = self.request.body
        api = await self.settings["jupyter_pai_engine"].api()
        result = await api.call(verb, **arguments)
        if route.sends_bytes:
            await self._stream(result)
        else:
            self.set_header("Server-Timing", f"engine;dur={self.request.request_time() * 1000:.2f}")
            self.finish(encode(result))

    async def _stream(self, pieces: Any) -> None:
        """Write pieces of a log or a file as they come, until there are no more or nobody listens."""
        self.serving = asyncio.current_task()
        self.set_header("Content-Type", "application/octet-stream")
        try:
            async for chunk in pieces:
                if not self._headers_written:
                    for name, value in chunk.headers().items():
                        self.set_header(name, value)
                self.write(chunk.data)
                await self.flush()
            self.finish(set_content_type="application/octet-stream")
        except (StreamClosedError, HTTPOutputError):
            pass  # Nobody listens, or a file became shorter: the connection is cut, so nobody takes it for whole.
        finally:
            self.serving = None
            await pieces.aclose()

    def on_connection_close(self) -> None:
        if self.serving:
            self.serving.cancel()


class UnknownHandler(PaiHandler):
    """Every other address below ours."""

    @web.authenticated
    @authorized
    async def get(self, *words: str) -> None:
        await self.answer(self._unknown())

    post = put = delete = patch = get

    async def _unknown(self) -> None:
        raise NotFound(
            _("There is nothing at {path}.").format(path=self.request.path),
            fix=_("See {path} for what there is.").format(path=f"{self.base_url}{PREFIX}/openapi.json"),
        )


def _query(route: Route, query: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the query parameters of a route, converted to their kinds. Unknown ones, as browsers and proxies add, are
    ignored."""
    names = [name for name in route.parameters if query.get(name)]
    return {name: _value(name, route.parameters[name], query[name]) for name in names}


def _value(name: str, kind: type, texts: list[str]) -> object:
    if kind is list:
        return texts
    text = texts[-1]
    if kind is int:
        if not text.lstrip("-").isdecimal() or len(text) > 19:
            raise UsageError(_("Invalid value of `{name}`: `{text}` is not an integer.").format(name=name, text=text))
        return int(text)
    if kind is bool:
        if text not in ("true", "false", "1", "0"):
            raise UsageError(
                _("Invalid value of `{name}`: `{text}` is not true or false.").format(name=name, text=text)
            )
        return text in ("true", "1")
    return text


def _json(body: bytes) -> object:
    try:
        return json.loads(body) if body else None
    except (ValueError, RecursionError) as error:
        raise UsageError(_("The request's body is not JSON: {error}").format(error=error)) from None
