"""A proxy that cuts connections between a client and its server."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

__all__ = ["CUTS", "cutting_proxy"]

# Within the request, after it and before its answer, within the answer.
CUTS = ["request", "no answer", "answer"]


@contextlib.contextmanager
def cutting_proxy(port: int, cut: str) -> Iterator[int]:
    """Yield a port that forwards to a port of this machine. The first copy of each request is cut."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_serve, args=(listener, port, cut), daemon=True).start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def _serve(listener: socket.socket, port: int, cut: str) -> None:
    seen: set[bytes] = set()
    while True:
        try:
            client, _address = listener.accept()
        except OSError:
            return  # The test is over.
        threading.Thread(target=_forward, args=(client, port, cut, seen), daemon=True).start()


def _forward(client: socket.socket, port: int, cut: str, seen: set[bytes]) -> None:
    with client, socket.create_connection(("127.0.0.1", port)) as server:
        request = _request(client)
        cut = "" if request in seen else cut
        seen.add(request)
        server.sendall(request[: len(request) // 2] if cut == "request" else request)
        if cut in ("request", "no answer"):
            client.shutdown(socket.SHUT_RDWR)
            client.close()
            if cut == "no answer":
                server.recv(1)  # The server has executed the request, and answers.
            return
        # The answer of a submit is longer than this, and comes in one piece or several.
        with contextlib.suppress(OSError):
            while data := server.recv(64 if cut else 1 << 16):
                client.sendall(data)
                if cut:
                    return


def _request(client: socket.socket) -> bytes:
    """Return a complete request."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += client.recv(1 << 16)
    head, _blank, body = data.partition(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    while len(body) < length:
        body += client.recv(1 << 16)
    return head + b"\r\n\r\n" + body
