"""TensorBoards behind the Jupyter server: its login, its address, nothing of its cookies.

A TensorBoard finds its own addresses relative to the page, so it is right under any base URL.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from tornado import web
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.httputil import HTTPHeaders, parse_response_start_line
from tornado.simple_httpclient import SimpleAsyncHTTPClient

from ..core.errors import NotFound
from ..core.i18n import use_language
from ..engine.tensorboard.tensorboards import TensorBoard
from .handlers import AUTH_RESOURCE, KernelAccess

__all__ = ["PATH", "TensorBoardHandler"]

PATH = "pai/tensorboard"
# What a TensorBoard needs to know of a request, and a browser of an answer. All else stays here: cookies, tokens, and
# what proxies in front of the server add.
_ASKED = ("Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Range", "If-None-Match", "If-Modified-Since")
_ASKED_ABOUT = "X-Tensorboard-"
_ANSWERED = ("Content-Type", "Content-Encoding", "Content-Disposition", "Content-Range", "Accept-Ranges")
_KEPT = ("Cache-Control", "Expires", "Etag", "Last-Modified", "Vary")
# Nothing from other hosts, for answers of which TensorBoard itself does not say it.
_POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; form-action 'self'; base-uri 'self'"
_CONNECT, _ANSWER = 10.0, 600.0
_LARGEST = 1 << 40
# What Tornado says instead of an answer.
_BROKEN = 599


class TensorBoardHandler(KernelAccess, JupyterHandler):
    """Hands requests to a TensorBoard, and its answers back as they come."""

    auth_resource = AUTH_RESOURCE
    # A tab that is left open asks now and then; that is nobody at work.
    _track_activity = False

    is_left = False

    def on_connection_close(self) -> None:
        """Nobody waits for the answer any more."""
        self.is_left = True

    def get_login_url(self) -> str:
        """For a page of its own. To data, or in a frame, a page to log in is no answer."""
        if self.request.headers.get("Sec-Fetch-Dest") != "document":
            raise web.HTTPError(403)
        return super().get_login_url()

    def check_xsrf_cookie(self) -> None:
        """TensorBoard's own scripts send no XSRF token; that they are ours the browser says itself."""
        if not hasattr(self, "_jupyter_current_user"):
            return  # Tornado asks before it is known who is there; Jupyter asks again.
        if self.has_secret or self.token_authenticated or self.settings.get("disable_check_xsrf", False):
            return
        if not self._is_of_this_site():
            raise web.HTTPError(403, "Blocking a request of another site.")

    def _is_of_this_site(self) -> bool:
        headers = self.request.headers
        site = headers.get("Sec-Fetch-Site")
        if site in ("same-origin", "none"):
            return True
        is_read = self.request.method in ("GET", "HEAD")
        if site is not None:
            # A link on another site's page may lead here; whatever else it asks for, it may not.
            return is_read and (headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")) == (
                "navigate",
                "document",
            )
        origin = headers.get("Origin")
        return is_read if origin is None else urlsplit(origin).netloc == self.request.host

    @web.authenticated
    @authorized
    async def get(self, board_id: str, path: str | None) -> None:
        self.check_xsrf_cookie()  # Jupyter asks for it only where something is changed.
        await self._serve(board_id, path)

    @web.authenticated
    @authorized
    async def head(self, board_id: str, path: str | None) -> None:
        self.check_xsrf_cookie()
        await self._serve(board_id, path)

    @web.authenticated
    @authorized
    async def post(self, board_id: str, path: str | None) -> None:
        await self._serve(board_id, path)

    async def _serve(self, board_id: str, path: str | None) -> None:
        if path is None:
            self.redirect(f"{self.request.path}/")
            return
        with use_language(self.request.headers.get("Accept-Language")):
            try:
                board = self.settings["jupyter_pai_engine"].boards.find(board_id)
            except NotFound as error:
                self._say(404, str(error))
                return
        board.touch()
        try:
            await self._forward(board)
        except (OSError, HTTPClientError) as error:  # A stream that was closed is an OSError as well.
            if self.is_left:
                return
            self.log.warning("jupyter-pai: TensorBoard %s does not answer: %s", board.id, error)
            if not self._headers_written:
                raise web.HTTPError(502) from None
            self.request.connection.close()  # It must not seem a whole answer.
        finally:
            board.touch()

    async def _forward(self, board: TensorBoard) -> None:
        asked = {name: value for name, value in self.request.headers.get_all() if _is_asked(name)}
        head = _Head(self, board.address)
        client = SimpleAsyncHTTPClient(force_instance=True, max_body_size=_LARGEST)
        try:
            reply = await client.fetch(
                HTTPRequest(
                    f"{board.url}/{self._rest()}",
                    method=self.request.method or "GET",
                    headers=HTTPHeaders(asked),
                    body=self.request.body if self.request.method == "POST" else None,
                    follow_redirects=False,
                    decompress_response=False,
                    connect_timeout=_CONNECT,
                    request_timeout=_ANSWER,
                    header_callback=head,
                    streaming_callback=self._pass_on,
                ),
                raise_error=False,
            )
            if reply.code == _BROKEN:
                raise reply.error or OSError()
            self.finish()
        finally:
            client.close()

    def _rest(self) -> str:
        """What is asked of the TensorBoard, letter by letter: after our own part of the address."""
        before = self.base_url.count("/") + 2
        return (self.request.uri or "").split("/", before + 1)[-1]

    def _pass_on(self, chunk: bytes) -> Any:
        """Write a piece; the next one is read when it has left."""
        self.write(chunk)
        return self.flush()

    def _say(self, status: int, text: str) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(text)


class _Head:
    """Takes the head of an answer line by line, and gives a handler of it what the browser needs."""

    def __init__(self, handler: TensorBoardHandler, address: str) -> None:
        self.handler = handler
        self.address = address
        self.headers = HTTPHeaders()

    def __call__(self, line: str) -> None:
        if line.startswith("HTTP/"):
            self.headers = HTTPHeaders()
            self.status = parse_response_start_line(line.strip()).code
        elif line.strip():
            self.headers.parse_line(line)
        else:
            self._give()

    def _give(self) -> None:
        self.handler.set_status(self.status)
        if "Location" in self.headers:  # Of old addresses, to the page; it has the secret in it.
            self.handler.set_header("Location", self.address)
        for name in (*_ANSWERED, *_KEPT):
            if name in self.headers:
                self.handler.set_header(name, self.headers[name])
        # Beside Jupyter's own, which says who may have it in a frame: all of them count.
        for policy in [*self.headers.get_list("Content-Security-Policy"), _POLICY]:
            self.handler.add_header("Content-Security-Policy", policy)
        self.handler.set_header("Referrer-Policy", "same-origin")


def _is_asked(name: str) -> bool:
    return name in _ASKED or name.startswith(_ASKED_ABOUT)
