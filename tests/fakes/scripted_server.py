"""A real server on this machine that answers as scripted by a test, or fails like a network."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Answers", "Seen", "answering", "cut", "refuse", "reply", "reset", "silence"]

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Answers:
    """The requests of a server and its scripted answers, in turn; the last one is repeated."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    turns: deque[Answer] = field(default_factory=deque)
    released: threading.Event = field(default_factory=threading.Event)

    def say(self, *answers: Answer) -> None:
        self.turns = deque(answers)

    def next(self) -> Answer:
        return self.turns.popleft() if len(self.turns) > 1 else self.turns[0]


def reply(status: int = 200, body: object = None, **headers: str) -> Answer:
    """An answer; `body` is text or becomes JSON. Headers are named with underscores."""
    text = body if isinstance(body, str) else json.dumps({} if body is None else body)

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        if "date" in headers:
            # The server has sent its own: what is asked for is to be the only one.
            handler._headers_buffer[:] = [  # type: ignore[attr-defined]
                line
                for line in handler._headers_buffer  # type: ignore[attr-defined]
                if not line.lower().startswith(b"date:")
            ]
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("content-length", str(len(text.encode())))
        handler.end_headers()
        handler.wfile.write(text.encode())

    return answer


def refuse(status: int, code: str, message: str = "No.", **headers: str) -> Answer:
    """A refusal as Alibaba Cloud's services put it."""
    return reply(status, {"Code": code, "Message": message, "RequestId": "request-1"}, **headers)


def cut(handler: BaseHTTPRequestHandler) -> None:
    """Half of an answer, then the end of the connection."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"TrainingJobId"')
    handler.close_connection = True


def reset(handler: BaseHTTPRequestHandler) -> None:
    """The connection breaks."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def silence(answers: Answers) -> Answer:
    """No answer, for as long as the test lasts."""

    def wait(_handler: BaseHTTPRequestHandler) -> None:
        answers.released.wait(60)

    return wait


@contextmanager
def answering(tls: ssl.SSLContext | None = None) -> Iterator[Answers]:
    """The server, for a block; by HTTPS with the certificate of `tls`."""
    answers = Answers()
    answers.say(reply())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answers.seen.append(Seen(self.command, self.path, headers, body))
            answers.next()(self)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do

        def log_message(self, *words: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *words: Any) -> None:
            """A client that goes, and a connection that was broken on purpose, are no news."""

    with Server(("127.0.0.1", 0), Handler) as server:
        answers.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield answers
        finally:
            answers.released.set()
            server.shutdown()
            thread.join()
