"""A proxy that cuts connections between a client and its server. It has the secret of the server's file and proves its
identity as the server does; a client sends nothing to other proxies."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

from jupyter_pai.core.discovery import ServerInfo

__all__ = ["CUTS", "cutting_proxy"]

# Within the request, after it and before its answer, within the answer.
CUTS = ["request", "no answer", "answer"]


@contextlib.contextmanager
def cutting_proxy(server: ServerInfo, cut: str) -> Iterator[ServerInfo]:
    """Yield the address of a proxy of a server. The first copy of each request is cut."""
    port = urlsplit(server.url).port
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own = dataclasses.replace(server, url=f"http://127.0.0.1:{listener.getsockname()[1]}/")
        threading.Thread(target=_serve, args=(listener, own, port, cut), daemon=True).start()
        try:
            yield own
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def _serve(listener: socket.socket, own: ServerInfo, port: int | None, cut: str) -> None:
    seen: set[bytes] = set()
    while True:
        try:
            client, _address = listener.accept()
        except OSError:
            return  # The test is over.
        threading.Thread(target=_forward, args=(client, own, port, cut, seen), daemon=True).start()


def _forward(client: socket.socket, own: ServerInfo, port: int | None, cut: str, seen: set[bytes]) -> None:
    with client, socket.create_connection(("127.0.0.1", port)) as server:
        nonce = re.match(rb"GET \S+/proof\?nonce=(\w+) ", _request(client))
        assert nonce
        body = json.dumps({"proof": own.proof(nonce[1].decode(), client.getpeername())})
        client.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
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
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += client.recv(1 << 16)
    return head + b"\r\n\r\n" + body
