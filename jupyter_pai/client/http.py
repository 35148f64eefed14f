"""The client of a Jupyter server on this machine, over HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..api.routes import ROUTES
from ..core.discovery import ServerInfo
from ..core.errors import EngineError, PaiError, ServerUnreachable
from ..core.i18n import _, language
from .base import Client
from .connection import TIMEOUT, NotProved, connect_to, path_of

if TYPE_CHECKING:
    from .streams import Stream


class HttpClient(Client):
    """Calls the server extension of a Jupyter server on this machine."""

    embedded = False

    def __init__(self, info: ServerInfo) -> None:
        self.info = info
        self.parts = urlsplit(info.url)

    def _call(self, verb: str, body: object, arguments: Mapping[str, object]) -> Any:
        with self._request(verb, body, arguments) as reply:
            return json.load(reply)

    def url(self, address: str) -> str:
        return f"{self.parts.scheme}://{self.parts.netloc}{address}"

    def _read(self, verb: str, arguments: Mapping[str, object]) -> Iterator[bytes]:
        with self._request(verb, None, arguments) as reply:
            while data := reply.read1(1 << 18):
                yield data

    def open_stream(self, send: Callable[[str], None], closed: Callable[[], None]) -> Stream:
        from .streams import ServerStream

        return ServerStream(self.info, send, closed)

    @contextlib.contextmanager
    def _request(self, verb: str, body: object, arguments: Mapping[str, object]) -> Iterator[http.client.HTTPResponse]:
        """Send a request. The reply is open within the block."""
        route = ROUTES[verb]
        headers = {
            "Authorization": f"jupyter-pai {self.info.secret}",
            "Accept-Language": language(),
            "Content-Type": "application/json",
        }
        data = None if body is None else json.dumps(body).encode()
        try:
            connection = connect_to(self.info, None if arguments.get("follow") else TIMEOUT)
            with contextlib.closing(connection):
                connection.request(route.method, path_of(self.info, route.url(arguments)), data, headers)
                with connection.getresponse() as reply:
                    if reply.status >= 400:
                        raise _error_of(reply)
                    yield reply
        except NotProved:
            raise ServerUnreachable(
                _("The program at {url} is not the Jupyter server that started this process.").format(
                    url=self.info.url
                ),
                fix=_("Nothing was sent to it. Restart the server, then see %pai list."),
            ) from None
        # A reply that was cut off within its headers looks complete, and a proxy may reply with a page: not JSON.
        except (OSError, http.client.HTTPException, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ServerUnreachable(
                _("The Jupyter server at {url} is unreachable: {error}.").format(url=self.info.url, error=error),
                fix=_("Jobs continue without it. Restart it, then see %pai list."),
            ) from error


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
