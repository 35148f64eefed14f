"""Between a view in a notebook's page and the engine: messages of a comm on one side, a `Client` on the other.

Many pages may show one view; each has a name of its own (`page`) and hears only what is for it. A page sends

``{"type": "open", page, stream}``        begin a stream; its number grows, and the page's former one ends
``{"type": "send", page, stream, text}``  a text for the stream, as a WebSocket would take it (`topics.py`)
``{"type": "close", page, stream}``       end it
``{"type": "here", page}``                the page is still there
``{"type": "call", page, id, verb, parameters, body}``

and gets ``opened``, ``said`` (numbered by `n`, so that it sees when one was lost), ``alive`` every few seconds with the
last `n`, ``closed``, ``answer`` with `value`, ``failure`` with `message`, `fix`, `code`, `details`,
`status`.
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

__all__ = ["Bridge", "is_for_views"]

# Seconds between two signs of life; pages wait for three of them.
_ALIVE = 5.0
# So many ticks without a word from a page, and it is taken for closed.
_PATIENCE = 4
_OF_NO_JOB = frozenset({"about", "list_jobs", "events", "instances", "schema"})
_BOARDS = frozenset({"platform_boards", "open_platform_board", "stop_platform_board"})

Send = Callable[[dict[str, Any]], None]
# Calls a verb with a body and arguments.
Perform = Callable[[Client, str, Any, dict[str, Any]], Any]


@dataclass
class _Line:
    """The stream of one page."""

    number: int
    stream: Stream | None = None
    said: int = 0
    missed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Bridge:
    """`send` takes a message for all pages, from any thread. `allows` tells which verbs a page may call, and `perform`
    calls one, in a thread of its own."""

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
        self._lines: dict[str, _Line] = {}
        self._lock = threading.Lock()
        # Calls wait for the engine: off the kernel's own thread, so that cells and other messages go on.
        self._callers = ThreadPoolExecutor(8, "jupyter-pai call")
        # How many calls of each page are in progress.
        self._pending: Counter[str] = Counter()
        self._pulse: threading.Thread | None = None

    @property
    def pages(self) -> int:
        """How many pages have a stream."""
        return len(self._lines)

    def receive(self, message: Mapping[str, Any]) -> None:
        """What a page sent. Returns at once."""
        page, kind, number = message.get("page"), message.get("type"), message.get("stream")
        if not isinstance(page, str):
            return
        if line := self._lines.get(page):
            line.missed = 0
        if kind == "call":
            with self._lock:
                self._pending[page] += 1
            self._callers.submit(self._answer, page, message)
            self._beat()
        elif kind == "open" and isinstance(number, int):
            self._open(page, number)
        elif kind == "close" and line and line.number == number:
            self._drop(page, line)
        elif kind == "send" and line and line.number == number and line.stream:
            line.stream.receive(str(message.get("text")))

    def tick(self) -> bool:
        """Time has passed in which pages could be heard; who was not heard for long is dropped. Whether any is left."""
        for page, line in list(self._lines.items()):
            line.missed += 1
            if line.missed > _PATIENCE:
                self._drop(page, line)
        return bool(self._lines)

    def _open(self, page: str, number: int) -> None:
        former = self._lines.get(page)
        if former:
            if former.number >= number:
                return
            self._drop(page, former)
        line = _Line(number)

        def say(text: str) -> None:
            with line.lock:  # In order, though from several threads.
                line.said += 1
                self._send({"type": "said", "page": page, "stream": number, "n": line.said, "text": text})

        def closed() -> None:
            if self._lines.get(page) is line:
                del self._lines[page]
                self._send({"type": "closed", "page": page, "stream": number})
                self._reconnect()

        self._lines[page] = line
        self._send({"type": "opened", "page": page, "stream": number})
        line.stream = self._client.open_stream(say, closed)
        self._beat()

    def _drop(self, page: str, line: _Line) -> None:
        self._lines.pop(page, None)
        if line.stream:
            line.stream.close()

    def _beat(self) -> None:
        """Send heartbeats while there are streams or calls in progress, also when the kernel runs a cell."""
        with self._lock:
            if self._pulse is None:
                self._pulse = threading.Thread(target=self._live, name="jupyter-pai alive", daemon=True)
                self._pulse.start()

    def _live(self) -> None:
        rest = threading.Event()
        while not rest.wait(_ALIVE):
            with self._lock:
                if not self._lines and not self._pending:
                    self._pulse = None
                    return
                calling = self._pending.keys() - self._lines.keys()
            for page in calling:
                self._send({"type": "alive", "page": page})
            for page, line in list(self._lines.items()):
                with line.lock:
                    self._send({"type": "alive", "page": page, "stream": line.number, "n": line.said})

    def _answer(self, page: str, message: Mapping[str, Any]) -> None:
        said: dict[str, Any]
        try:
            said = {"type": "answer", "value": self._call(message)}
        except PaiError as error:
            shown = error.as_json()
            said = {"type": "failure", "status": error.status} | shown
        except Exception as error:
            said = {"type": "failure", "status": 500, "message": f"{type(error).__name__}: {error}"}
        with self._lock:
            self._pending -= Counter([page])
        self._send(said | {"page": page, "id": message.get("id")})

    def _call(self, message: Mapping[str, Any]) -> Any:
        verb = message.get("verb")
        if not isinstance(verb, str) or verb not in ROUTES:
            raise UsageError(_("There is no verb `{verb}`.").format(verb=verb))
        route = ROUTES[verb]
        if not self._allows(verb) or route.sends_bytes:
            raise Unsupported(_("`{verb}` is not for views that a kernel feeds.").format(verb=verb))
        given = _checked(route, message.get("parameters") or {})
        try:
            return self._perform(self._client, verb, message.get("body"), given)
        except ServerUnreachable:
            self._reconnect()
            # What was asked may have been done: only questions are asked twice.
            if route.method != "GET":
                raise
            return self._perform(self._client, verb, message.get("body"), given)

    def _reconnect(self) -> None:
        """The server has gone: the one that we find now."""
        if not self._client.embedded:
            self._client = connect(again=True)


def _perform(client: Client, verb: str, body: object, arguments: dict[str, Any]) -> Any:
    return client.call(verb, body=body, **arguments)


def is_for_views(verb: str) -> bool:
    """Whether a page may ask for a verb by way of a kernel: what concerns jobs, and neither settings nor secrets."""
    return verb in _OF_NO_JOB | _BOARDS or ROUTES[verb].path.startswith("/jobs/{job}")


def _checked(route: Route, parameters: object) -> dict[str, Any]:
    """Parameters that the route has, each of its kind.

    Raises:
        UsageError: naming one that is not.
    """
    kinds: dict[str, type] = dict.fromkeys(route.names, str) | dict(route.parameters)
    given = parameters if isinstance(parameters, dict) else {"parameters": parameters}
    for name, value in given.items():
        kind = kinds.get(name)
        if kind is None:
            raise UsageError(_("There is no parameter `{name}`.").format(name=name))
        fits = isinstance(value, kind) and (kind is not int or not isinstance(value, bool))
        if not fits or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
            raise UsageError(_("The parameter `{name}` is no {kind}.").format(name=name, kind=kind.__name__))
    return given
