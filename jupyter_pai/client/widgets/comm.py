"""The messages of a comm between a view in a page and a `Client` of the engine.

Several pages may show one view. Each page has a name (`page`) and processes only its own messages. A page sends

``{"type": "open", page, stream}``        open a stream; numbers increase, and the page's previous stream is closed
``{"type": "send", page, stream, text}``  send a message to the stream (`api.subscriptions`)
``{"type": "close", page, stream}``       close it
``{"type": "ping", page}``                heartbeat: the page is still open
``{"type": "call", page, id, verb, parameters, body}``

and receives ``open-ack``; ``data``, numbered by `n` to detect lost messages; ``heartbeat`` with the last `n`;
``closed``; ``result`` with `value`; ``error`` with `message`, `fix`, `code`, `details`, `status`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...api.route import Route
from ...api.routes import ROUTES
from ...core.errors import PaiError, ServerUnreachable, Unsupported, UsageError
from ...core.i18n import _
from ..base import Client
from ..connect import connect

if TYPE_CHECKING:
    from ..streams import Stream

# Seconds between two heartbeats. A page reconnects after three missed heartbeats.
_HEARTBEAT = 5.0
# Missed heartbeats after which a page counts as closed.
_MAX_MISSED = 4
# The verbs for views, besides those of one job.
_VERBS = frozenset(
    "about events instances list_jobs open_platform_board platform_boards schema stop_platform_board".split()
)

Send = Callable[[dict[str, Any]], None]
# Calls a verb with a body and arguments.
Perform = Callable[[Client, str, Any, dict[str, Any]], Any]


@dataclass
class _Session:
    """The stream of one page."""

    number: int
    stream: Stream | None = None
    sent: int = 0
    missed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class CommServer:
    """Connects the pages of one view with the engine.

    `send` sends a message to all pages and may be called from any thread. `allows` returns whether pages may call a
    verb. `perform` calls a verb, in a worker thread.
    """

    def __init__(
        self,
        client: Client,
        send: Send,
        allows: Callable[[str], bool] | None = None,
        perform: Perform | None = None,
    ) -> None:
        self._client, self._send = client, send
        self._allows = allows or is_for_views
        self._perform = perform or _perform
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.Lock()
        # Calls block until the engine replies: in their own threads, cells and other messages are not delayed.
        self._executor = ThreadPoolExecutor(8, "jupyter-pai call")
        # The number of calls in progress, by page.
        self._pending: Counter[str] = Counter()
        self._heartbeat: threading.Thread | None = None

    @property
    def pages(self) -> int:
        """The number of pages with an open stream."""
        return len(self._sessions)

    def receive(self, message: Mapping[str, Any]) -> None:
        """Process a message from a page. Returns at once."""
        page, kind, number = message.get("page"), message.get("type"), message.get("stream")
        if not isinstance(page, str):
            return
        if session := self._sessions.get(page):
            session.missed = 0
        if kind == "call":
            with self._lock:
                self._pending[page] += 1
            self._executor.submit(self._answer, page, message)
            self._start_heartbeat()
        elif kind == "open" and isinstance(number, int):
            self._open(page, number)
        elif kind == "close" and session and session.number == number:
            self._drop(page, session)
        elif kind == "send" and session and session.number == number and session.stream:
            session.stream.receive(str(message.get("text")))

    def tick(self) -> bool:
        """Count a missed heartbeat for each page and close the streams of silent pages. Return whether any is left."""
        for page, session in list(self._sessions.items()):
            session.missed += 1
            if session.missed > _MAX_MISSED:
                self._drop(page, session)
        return bool(self._sessions)

    def _open(self, page: str, number: int) -> None:
        previous = self._sessions.get(page)
        if previous:
            if previous.number >= number:
                return
            self._drop(page, previous)
        session = _Session(number)

        def send(text: str) -> None:
            with session.lock:  # Several threads send; messages stay in order.
                session.sent += 1
                self._send({"type": "data", "page": page, "stream": number, "n": session.sent, "text": text})

        def closed() -> None:
            if self._sessions.get(page) is session:
                del self._sessions[page]
                self._send({"type": "closed", "page": page, "stream": number})
                self._reconnect()

        self._sessions[page] = session
        session.stream = self._client.open_stream(send, closed)
        # A page sends after the ack. A kernel with subshells may process that message in another thread, at once.
        self._send({"type": "open-ack", "page": page, "stream": number})
        self._start_heartbeat()

    def _drop(self, page: str, session: _Session) -> None:
        self._sessions.pop(page, None)
        if session.stream:
            session.stream.close()

    def _start_heartbeat(self) -> None:
        """Send heartbeats while streams or calls are open, in a thread: the kernel may be running a cell."""
        with self._lock:
            if self._heartbeat is None:
                self._heartbeat = threading.Thread(target=self._send_heartbeats, name="jupyter-pai alive", daemon=True)
                self._heartbeat.start()

    def _send_heartbeats(self) -> None:
        pause = threading.Event()
        while not pause.wait(_HEARTBEAT):
            with self._lock:
                if not self._sessions and not self._pending:
                    self._heartbeat = None
                    return
                calling = self._pending.keys() - self._sessions.keys()
            for page in calling:
                self._send({"type": "heartbeat", "page": page})
            for page, session in list(self._sessions.items()):
                with session.lock:
                    self._send({"type": "heartbeat", "page": page, "stream": session.number, "n": session.sent})

    def _answer(self, page: str, message: Mapping[str, Any]) -> None:
        try:
            reply: dict[str, Any] = {"type": "result", "value": self._call(message)}
        except PaiError as error:
            reply = {"type": "error", "status": error.status} | error.as_json()
        except Exception as error:
            reply = {"type": "error", "status": 500, "message": f"{type(error).__name__}: {error}"}
        with self._lock:
            self._pending -= Counter([page])
        self._send(reply | {"page": page, "id": message.get("id")})

    def _call(self, message: Mapping[str, Any]) -> Any:
        verb = message.get("verb")
        if not isinstance(verb, str) or verb not in ROUTES:
            raise UsageError(_("Unknown verb `{verb}`.").format(verb=verb))
        route = ROUTES[verb]
        if not self._allows(verb) or route.sends_bytes:
            raise Unsupported(_("The verb `{verb}` is not available to views in a notebook.").format(verb=verb))
        parameters = _checked(route, message.get("parameters") or {})
        try:
            return self._perform(self._client, verb, message.get("body"), parameters)
        except ServerUnreachable:
            self._reconnect()
            # The request may have been processed: only reads are retried.
            if route.method != "GET":
                raise
            return self._perform(self._client, verb, message.get("body"), parameters)

    def _reconnect(self) -> None:
        """Connect to another server: this one is gone."""
        if not self._client.embedded:
            self._client = connect(again=True)


def _perform(client: Client, verb: str, body: object, arguments: dict[str, Any]) -> Any:
    return client.call(verb, body=body, **arguments)


def is_for_views(verb: str) -> bool:
    """Return whether pages may call a verb: verbs about jobs are allowed, verbs about settings and secrets are not."""
    return verb in _VERBS or ROUTES[verb].path.startswith("/jobs/{job}")


def _checked(route: Route, parameters: object) -> dict[str, Any]:
    """Return the parameters if the route has them and their types match.

    Raises:
        UsageError: naming an unknown or invalid parameter.
    """
    kinds: dict[str, type] = dict.fromkeys(route.names, str) | dict(route.parameters)
    values = parameters if isinstance(parameters, dict) else {"parameters": parameters}
    for name, value in values.items():
        kind = kinds.get(name)
        if kind is None:
            raise UsageError(_("Unknown parameter `{name}`.").format(name=name))
        fits = isinstance(value, kind) and (kind is not int or not isinstance(value, bool))
        if not fits or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
            raise UsageError(_("Parameter `{name}` must be of type {kind}.").format(name=name, kind=kind.__name__))
    return values
