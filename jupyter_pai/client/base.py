"""The engine's verbs for kernels, scripts and the command line: over HTTP where a Jupyter server started us, else by an
engine in this process. `connect` decides.

Kept light: with a server, neither pydantic nor an HTTP library beyond the standard one is loaded.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import sys
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..api.routes import PREFIX, ROUTES
from ..core import discovery as server_info
from ..core.discovery import ServerInfo
from ..core.errors import EngineError, PaiError, ServerUnreachable
from ..core.i18n import _, language
from ..source.dataframes import is_frame, save_frame
from .context import notebook_here
from .transfers import finish_copy

if TYPE_CHECKING:
    from .streams import Stream

__all__ = ["Client", "EmbeddedClient", "HttpClient", "connect"]

_TIME_OUT = 60.0


class Client(ABC):
    """Calls verbs of the engine (`routes.ROUTES`) with plain JSON values."""

    # Whether the engine lives in this process, and ends with it.
    embedded: bool

    @abstractmethod
    def call(self, verb: str, *, body: object = None, **arguments: object) -> Any:
        """The JSON answer to a verb.

        Raises:
            PaiError: as the engine raised it.
        """

    def url(self, address: str) -> str:
        """Where a browser on this machine finds what the server has at an address."""
        return address

    @abstractmethod
    def read(self, verb: str, **arguments: object) -> Iterator[bytes]:
        """The bytes that a verb answers, piece by piece.

        Raises:
            PaiError: as the engine raised it.
        """

    def follow_log(self, job: str, *, instance: str = "", offset: int = 0) -> Iterator[bytes]:
        """The log as it grows, until the job has ended; an empty piece now and then while nothing comes."""
        return self.read("log", job=job, instance=instance, offset=offset, follow=True)

    def read_log(self, job: str, **arguments: object) -> Iterator[bytes]:
        """The log as it is now."""
        return self.read("log", job=job, **arguments)

    @abstractmethod
    def open_stream(self, send: Callable[[str], None], closed: Callable[[], None]) -> Stream:
        """What moves, for a view (`topics.py`). `send` and `closed` (it broke) are called from another thread."""

    def submit(
        self,
        spec: dict[str, Any],
        *,
        backend: str = "",
        attach: bool = False,
        notebook: str = "",
        confirmed: bool = False,
        progress: Callable[[int, int], object] | None = None,
        script_if_needed: bool = False,
    ) -> dict[str, Any]:
        """Submit a job: `{job, attached, changed}`. Repeated once if the answer is lost, which makes no second job.
        `notebook` is the path of the one that the job is of, if it is another than that of this kernel; `confirmed`:
        the user knows what it costs; `progress` is told how far its inputs are on their way, in bytes;
        `script_if_needed`: a notebook's code goes as a script where no notebooks run."""
        body = {
            "spec": self._plain(spec),
            "backend": backend,
            "python": sys.executable,
            "key": uuid.uuid4().hex,
            "attach": attach,
            "notebook": notebook or notebook_here(),
            "confirmed": confirmed,
            "script_if_needed": script_if_needed,
        }
        if spec.get("inputs"):
            # They may take longer to bring than anybody waits for one answer.
            finish_copy(lambda verb, number: self._twice(verb, copy=number), self._twice("bring", body=body), progress)
        return self._twice("submit", body=body)

    def _plain(self, spec: dict[str, Any]) -> dict[str, Any]:
        """A spec as JSON can have it: data frames among its inputs become files."""
        frames = {name: value for name, value in (spec.get("inputs") or {}).items() if is_frame(value)}
        if not frames:
            return spec
        folder = Path(self.call("about")["home"]) / "inputs"
        saved = {name: str(save_frame(frame, name, folder)) for name, frame in frames.items()}
        return spec | {"inputs": spec["inputs"] | saved}

    def preview(self, spec: dict[str, Any], *, backend: str = "") -> dict[str, Any]:
        """What `submit` would do."""
        body = {"spec": self._plain(spec), "backend": backend, "python": sys.executable}
        return dict(self.call("preview", body=body))

    def inspect(self, spec: dict[str, Any]) -> dict[str, Any]:
        """The hyperparameters that the code of a spec declares, and doubts about those that it has."""
        return dict(self.call("inspect", body={"spec": self._plain(spec)}))

    def rerun(
        self,
        job: str,
        changes: dict[str, Any] | None = None,
        *,
        backend: str = "",
        resume: bool = False,
        confirmed: bool = False,
    ) -> dict[str, Any]:
        """Submit the spec and code of a job once more, with changes; `resume` gives it the checkpoints of the job."""
        body = {"key": uuid.uuid4().hex, "changes": changes or {}, "backend": backend, "resume": resume}
        body["confirmed"] = confirmed
        return self._twice("rerun", job=job, body=body)

    def _twice(self, verb: str, **arguments: Any) -> dict[str, Any]:
        try:
            return dict(self.call(verb, **arguments))
        except ServerUnreachable:
            return dict(self.call(verb, **arguments))


class HttpClient(Client):
    """Talks to the server extension of a Jupyter server on this machine."""

    embedded = False

    def __init__(self, info: ServerInfo) -> None:
        self.info = info
        self.parts = urlsplit(info.url)

    def call(self, verb: str, *, body: object = None, **arguments: object) -> Any:
        with self._ask(verb, body, arguments) as reply:
            text = reply.read()
        try:
            return json.loads(text)
        except ValueError as error:
            # Cut off within its headers, an answer looks whole; nor is a proxy's page what the server said.
            raise self._unreachable(error) from None

    def url(self, address: str) -> str:
        return f"{self.parts.scheme}://{self.parts.netloc}{address}"

    def read(self, verb: str, **arguments: object) -> Iterator[bytes]:
        with self._ask(verb, None, arguments) as reply:
            while data := reply.read1(1 << 18):
                yield data

    def open_stream(self, send: Callable[[str], None], closed: Callable[[], None]) -> Stream:
        from .streams import ServerStream

        return ServerStream(self.info, send, closed)

    @contextlib.contextmanager
    def _ask(self, verb: str, body: object, arguments: dict[str, object]) -> Iterator[http.client.HTTPResponse]:
        """The reply, to be read within the block."""
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
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def _connection(self, timeout: float | None) -> http.client.HTTPConnection:
        host, port = self.parts.hostname or "127.0.0.1", self.parts.port
        if self.info.socket:
            return _SocketConnection(self.info.socket, timeout)
        if self.parts.scheme == "https":
            # The server's own certificate is for the name by which the world knows it; we go by loopback.
            context = ssl.create_default_context(cafile=self.info.certificate or None)
            context.check_hostname = False
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def _unreachable(self, error: Exception) -> ServerUnreachable:
        return ServerUnreachable(
            _("The Jupyter server at {url} does not answer: {error}.").format(url=self.info.url, error=error),
            fix=_("Jobs go on without it. Start it again, and see %pai list."),
        )


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket, for a server that was started with --sock."""

    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _error_of(reply: http.client.HTTPResponse) -> PaiError:
    text = reply.read()
    try:
        said = json.loads(text)
    except ValueError:
        said = {}
    if isinstance(said, dict) and "code" in said:
        return PaiError.from_json(said)
    message = said.get("message") if isinstance(said, dict) else None
    return EngineError(
        _("The Jupyter server answered {status}: {message}").format(
            status=reply.status, message=message or reply.reason
        )
    )


class EmbeddedClient(Client):
    """Runs the engine in this process, in a thread of its own."""

    embedded = True

    def __init__(self) -> None:
        import asyncio
        import threading

        from ..api.api import Api
        from ..engine.service import JobService

        self._asyncio = asyncio
        self._api = Api(JobService())
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="jupyter-pai engine", daemon=True)
        self._thread.start()
        try:
            self._wait(self._api.service.start())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the engine. Jobs go on."""
        self._wait(self._api.service.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, verb: str, *, body: object = None, **arguments: object) -> Any:
        given = {name: value for name, value in arguments.items() if value is not None}
        if ROUTES[verb].body:
            given["body"] = body
        # Through JSON both ways, so that the two clients cannot differ.
        return json.loads(json.dumps(self._wait(getattr(self._api, verb)(**json.loads(json.dumps(given))))))

    def read(self, verb: str, **arguments: object) -> Iterator[bytes]:
        pieces = self._wait(getattr(self._api, verb)(**arguments))
        try:
            while (chunk := self._wait(_next(pieces))) is not None:
                yield chunk.data
        finally:
            # After an interrupt it is being cancelled already, and must not be closed as well.
            with contextlib.suppress(RuntimeError):
                self._wait(pieces.aclose())

    def open_stream(self, send: Callable[[str], None], closed: Callable[[], None]) -> Stream:
        from .streams import EngineStream

        return EngineStream(self._api.service, self._loop, send)

    def _wait(self, coroutine: Any) -> Any:
        future = self._asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


async def _next(pieces: Any) -> Any:
    return await anext(pieces, None)


def connect(*, again: bool = False, here: bool = False) -> Client:
    """The engine of the Jupyter server that started this kernel or terminal; one in this process where there is none.

    Found once a process; `again` looks anew, for when the server has gone. `here` is for what only this process knows:
    its own engine, also beside a server's.
    """
    if again:
        _connected.cache_clear()
    key = tuple(os.environ.get(n) for n in (server_info.VARIABLE, "JPY_PARENT_PID", "JUPYTER_PAI_HOME"))
    found = _connected(os.getpid(), key)
    return _own(os.getpid(), key) if here and not found.embedded else found


@cache
def _connected(pid: int, key: tuple[str | None, ...]) -> Client:
    for info in server_info.find():
        client = HttpClient(info)
        try:
            client.call("about")
            return client
        except PaiError:
            continue  # Gone, or without our extension.
    return EmbeddedClient()


@cache
def _own(pid: int, key: tuple[str | None, ...]) -> Client:
    return EmbeddedClient()
