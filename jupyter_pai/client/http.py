"""The client of a Jupyter server on this machine, over HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..api.route import PREFIX
from ..api.routes import ROUTES
from ..core.discovery import ServerInfo
from ..core.errors import EngineError, PaiError, ServerUnreachable
from ..core.i18n import _, language
from .base import Client

if TYPE_CHECKING:
    from .streams import Stream

_TIME_OUT = 60.0


class HttpClient(Client):
    """Calls the server extension of a Jupyter server on this machine."""

    embedded = False

    def __init__(self, info: ServerInfo) -> None:
        self.info = info
        self.parts = urlsplit(info.url)

    def call(self, verb: str, *, body: object = None, **arguments: object) -> Any:
        with self._request(verb, body, arguments) as reply:
            return json.load(reply)

    def url(self, address: str) -> str:
        return f"{self.parts.scheme}://{self.parts.netloc}{address}"

    def read(self, verb: str, **arguments: object) -> Iterator[bytes]:
        with self._request(verb, None, arguments) as reply:
            while data := reply.read1(1 << 18):
                yield data

    def open_stream(self, send: Callable[[str], None], closed: Callable[[], None]) -> Stream:
        from .streams import ServerStream

        return ServerStream(self.info, send, closed)

    @contextlib.contextmanager
    def _request(self, verb: str, body: object, arguments: dict[str, object]) -> Iterator[http.client.HTTPResponse]:
        """Send a request. The reply is open within the block."""
        route = ROUTES[verb]
        headers = {
            "Authorization": f"{self.info.scheme} {self.info.secret}",
            "Accept-Language": language(),
            "Content-Type": "application/json",
        }
        path = f"{self.parts.path.rstrip('/')}/{PREFIX}{route.url(arguments)}"
        data = None if body is None else json.dumps(body).encode()
        connection = self._connection(None if arguments.get("follow") else _TIME_OUT)
        try:
            connection.request(route.method, path, data, headers)
            with connection.getresponse() as reply:
                if reply.status >= 400:
                    raise _error_of(reply)
                yield reply
        # A reply that was cut off within its headers looks complete, and a proxy may reply with a page: not JSON.
        except (OSError, http.client.HTTPException, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ServerUnreachable(
                _("The Jupyter server at {url} is unreachable: {error}.").format(url=self.info.url, error=error),
                fix=_("Jobs continue without it. Restart it, then see %pai list."),
            ) from error
        finally:
            connection.close()

    def _connection(self, timeout: float | None) -> http.client.HTTPConnection:
        host, port = self.parts.hostname or "127.0.0.1", self.parts.port
        if self.info.socket:
            return _SocketConnection(self.info.socket, timeout)
        if self.parts.scheme == "https":
            # The certificate is issued for the server's public name; we connect to the loopback address.
            context = ssl.create_default_context(cafile=self.info.certificate or None)
            context.check_hostname = False
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        return http.client.HTTPConnection(host, port, timeout=timeout)


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over the Unix socket of a server that was started with --sock."""

    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _error_of(reply: http.client.HTTPResponse) -> PaiError:
    try:
        reason = dict(json.load(reply))
    except (TypeError, ValueError):  # Not a JSON object.
        reason = {}
    if "code" in reason:
        return PaiError.from_json(reason)
    return EngineError(
        _("The Jupyter server replied {status}: {message}").format(
            status=reply.status, message=reason.get("message") or reply.reason
        )
    )
