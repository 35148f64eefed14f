"""Proxy for TensorBoards behind the login and address of the Jupyter server. Cookies are not forwarded.

TensorBoard's addresses are relative to its page, so that any base URL works.
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

PATH = "pai/tensorboard"
# Forwarded headers of requests and responses. Others are dropped: cookies, tokens, and those that proxies add.
_REQUEST_HEADERS = (
    "Accept",
    "Accept-Encoding",
    "Accept-Language",
    "Content-Type",
    "Range",
    "If-None-Match",
    "If-Modified-Since",
)
_REQUEST_PREFIX = "X-Tensorboard-"
_RESPONSE_HEADERS = {
    "Content-Type",
    "Content-Encoding",
    "Content-Disposition",
    "Content-Range",
    "Accept-Ranges",
    "Cache-Control",
    "Expires",
    "Etag",
    "Last-Modified",
    "Vary",
}
# Blocks other hosts, also in responses without a policy of TensorBoard.
_POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; form-action 'self'; base-uri 'self'"
_CONNECT_TIMEOUT, _REQUEST_TIMEOUT = 10.0, 600.0
_MAX_BODY = 1 << 40
# Tornado's status of a request without a response.
_NO_RESPONSE = 599


class TensorBoardHandler(KernelAccess, JupyterHandler):
    """Forwards requests to a TensorBoard, and streams the responses back."""

    auth_resource = AUTH_RESOURCE
    # Polling by an open tab is not user activity.
    _track_activity = False

    is_disconnected = False

    def on_connection_close(self) -> None:
        """Record that the client disconnected."""
        self.is_disconnected = True

    def get_login_url(self) -> str:
        """Redirect only top-level pages to the login. Requests for data and frames are refused."""
        if self.request.headers.get("Sec-Fetch-Dest") != "document":
            raise web.HTTPError(403)
        return super().get_login_url()

    def check_xsrf_cookie(self) -> None:
        """Check the origin that the browser reports, since TensorBoard's scripts send no XSRF token."""
        if not hasattr(self, "_jupyter_current_user"):
            return  # Tornado checks before the login; Jupyter checks again.
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
            # Other sites may link to the page, and request nothing else.
            target = (headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest"))
            return is_read and target == ("navigate", "document")
        origin = headers.get("Origin")
        return is_read if origin is None else urlsplit(origin).netloc == self.request.host

    async def serve(self, board_id: str, path: str | None) -> None:
        """Forward a request."""
        self.check_xsrf_cookie()  # Jupyter skips the check for reads.
        if path is None:
            self.redirect(f"{self.request.path}/")
            return
        try:
            with use_language(self.request.headers.get("Accept-Language")):
                board = self.settings["jupyter_pai_engine"].boards.find(board_id)
        except NotFound as error:
            self.set_status(404)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish(str(error))
            return
        board.touch()
        try:
            await self._forward(board)
        except (OSError, HTTPClientError) as error:  # A closed stream is an OSError as well.
            if self.is_disconnected:
                return
            self.log.warning("jupyter-pai: TensorBoard %s does not respond: %s", board.id, error)
            if not self._headers_written:
                raise web.HTTPError(502) from None
            self.request.connection.close()  # An incomplete response must not seem complete.
        finally:
            board.touch()

    get = head = web.authenticated(authorized("read")(serve))
    post = web.authenticated(authorized("write")(serve))

    async def _forward(self, board: TensorBoard) -> None:
        headers = {
            name: value
            for name, value in self.request.headers.get_all()
            if name in _REQUEST_HEADERS or name.startswith(_REQUEST_PREFIX)
        }
        # The part of the address below the TensorBoard's, unchanged.
        path = (self.request.uri or "").split("/", self.base_url.count("/") + 3)[-1]
        response_head = _ResponseHead(self, board.address)
        client = SimpleAsyncHTTPClient(force_instance=True, max_body_size=_MAX_BODY)
        try:
            response = await client.fetch(
                HTTPRequest(
                    f"{board.url}/{path}",
                    method=self.request.method or "GET",
                    headers=HTTPHeaders(headers),
                    body=self.request.body if self.request.method == "POST" else None,
                    follow_redirects=False,
                    decompress_response=False,
                    connect_timeout=_CONNECT_TIMEOUT,
                    request_timeout=_REQUEST_TIMEOUT,
                    header_callback=response_head,
                    streaming_callback=self._write_chunk,
                ),
                raise_error=False,
            )
            if response.code == _NO_RESPONSE:
                raise response.error or OSError()
            self.finish()
        finally:
            client.close()

    def _write_chunk(self, chunk: bytes) -> Any:
        """Write a chunk. The next one is read after it was sent."""
        self.write(chunk)
        return self.flush()


class _ResponseHead:
    """Parses the head of a response line by line, and copies the forwarded headers to a handler."""

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
            self.handler.set_status(self.status)
            if "Location" in self.headers:  # A redirect of an old address contains the secret.
                self.handler.set_header("Location", self.address)
            for name in _RESPONSE_HEADERS & self.headers.keys():
                self.handler.set_header(name, self.headers[name])
            # Besides Jupyter's policy, which restricts frames. Browsers apply all policies.
            for policy in [*self.headers.get_list("Content-Security-Policy"), _POLICY]:
                self.handler.add_header("Content-Security-Policy", policy)
            self.handler.set_header("Referrer-Policy", "same-origin")
