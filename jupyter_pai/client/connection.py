"""Connections to a Jupyter server on this machine. The server proves its identity on each connection before anything
else is sent."""

from __future__ import annotations

import hmac
import http.client
import json
import os
import secrets
import socket
import ssl
import struct
import time
from urllib.parse import urlsplit

from ..api.route import PREFIX, PROOF
from ..core.cleanup import on_failure
from ..core.discovery import NONCE, ServerInfo

# Seconds to wait for a server, and between attempts to get a proof from a busy one.
TIMEOUT, _PAUSE = 60.0, 0.1
_LARGEST_PROOF = 1000


class NotProved(ConnectionError):
    """The process at the address of a server is not this server."""


def connect_to(info: ServerInfo, timeout: float | None = TIMEOUT) -> http.client.HTTPConnection:
    """Return a connection to a server that has proved its identity. `timeout` is in seconds; None waits forever after
    the proof.

    Raises:
        NotProved: if another process responds.
        OSError: if the server does not respond.
        http.client.HTTPException: if the response is not HTTP.
    """
    connection = _connection(info)
    with on_failure(connection.close):
        connection.connect()
        connection.auto_open = 0  # A connection that is opened again may lead to another process.
        _check(info, connection)
        connection.sock.settimeout(timeout)
    return connection


def path_of(info: ServerInfo, address: str) -> str:
    """Return the path of an address below our prefix."""
    return f"{urlsplit(info.url).path.rstrip('/')}/{PREFIX}{address}"


def _connection(info: ServerInfo) -> http.client.HTTPConnection:
    parts = urlsplit(info.url)
    if info.socket:
        return _SocketConnection(info.socket, TIMEOUT)
    host, port = parts.hostname or "127.0.0.1", parts.port
    if parts.scheme == "https":
        # The certificate is issued for the server's public name; we connect to the loopback address.
        context = ssl.create_default_context(cafile=info.certificate or None)
        context.check_hostname = False
        return http.client.HTTPSConnection(host, port, timeout=TIMEOUT, context=context)
    return http.client.HTTPConnection(host, port, timeout=TIMEOUT)


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over the Unix socket of a server that was started with --sock, as this user."""

    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
        # A relay has no address of its own here, but an owner.
        if hasattr(socket, "SO_PEERCRED"):
            peer = struct.unpack("3i", self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if peer[1] != os.geteuid():
                raise NotProved


def _check(info: ServerInfo, connection: http.client.HTTPConnection) -> None:
    """Request the proof of the server.

    Raises:
        NotProved: if it is wrong, or if the server has none.
    """
    nonce = secrets.token_hex(NONCE)
    expected = info.proof(nonce, connection.sock.getsockname())
    path = path_of(info, f"{PROOF}?nonce={nonce}")
    end = time.monotonic() + TIMEOUT
    while True:
        connection.request("GET", path)
        with connection.getresponse() as response:
            text = response.read(_LARGEST_PROOF)
        if response.status != http.client.TOO_MANY_REQUESTS or time.monotonic() > end:
            break
        time.sleep(_PAUSE)
    try:
        proof = str(json.loads(text)["proof"]).encode()
    except (ValueError, KeyError, TypeError, RecursionError):
        proof = b""
    if response.status != http.client.OK or not hmac.compare_digest(proof, expected.encode()):
        raise NotProved
