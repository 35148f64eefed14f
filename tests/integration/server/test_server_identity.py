"""A client sends nothing to a program that is not its server, whatever listens at the address."""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from subprocess import CompletedProcess
from typing import Any

import pytest
from aiolimiter import AsyncLimiter

from jupyter_pai.client.http import HttpClient
from jupyter_pai.core.discovery import NONCE, ServerInfo, info_path
from jupyter_pai.core.errors import ServerUnreachable

from ...conftest import until
from .conftest import PREFIX
from .real_server import RealServer

Cli = Callable[..., CompletedProcess[str]]
VALUE = "tok-" + "3n/Zt+9q" * 3
JSON = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"


@contextmanager
def impostor(port: int, body: str) -> Iterator[list[bytes]]:
    """Listen at a port, answer each request with a body, and yield the list of received bytes."""
    received: list[bytes] = []

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            while data := client.recv(1 << 16):
                received.append(data)
                client.sendall(JSON.format(length=len(body), body=body).encode())

    def listen() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", port)) as listener:
        threading.Thread(target=listen, daemon=True).start()
        try:
            yield received
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def info_of(server: RealServer) -> ServerInfo:
    info = ServerInfo.read(server.info_file)
    assert info
    return info


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("body", ["{}", "[]", '{"proof": 5}', json.dumps({"proof": "0" * 64}), "nothing"])
@pytest.mark.parametrize("road", ["JUPYTER_PAI_INFO", "JPY_PARENT_PID", "JUPYTERHUB_SERVICE_URL"])
def test_program_at_the_port_of_a_killed_server_receives_no_secret(
    server: RealServer, cli: Cli, monkeypatch: pytest.MonkeyPatch, road: str, body: str
) -> None:
    info = info_of(server)
    values = {
        "JUPYTER_PAI_INFO": str(server.info_file),
        "JPY_PARENT_PID": str(server.process.pid),
        "JUPYTERHUB_SERVICE_URL": f"http://0.0.0.0:{server.port}/",
    }
    monkeypatch.setenv(road, values[road])
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", server.token)
    server.kill()
    with impostor(server.port, body) as received:
        done = cli("secret", "set", "HF_TOKEN", stdin=None, input=VALUE)
        assert done.returncode == 0, done.stderr
        assert received
        assert all(data.startswith(b"GET /pai/api/v1/proof?nonce=") for data in received)
        text = b"".join(received).decode()
    assert "Authorization" not in text
    for secret in (VALUE, info.secret, server.token):
        assert secret not in text


def test_requests_and_streams_fail_at_another_program(server: RealServer) -> None:
    """A handle that has used the server before: the next request finds another program."""
    client = HttpClient(info_of(server))
    assert client.call("about")["version"]
    server.kill()
    closed = threading.Event()
    with impostor(server.port, "{}") as received:
        with pytest.raises(ServerUnreachable, match="is not the Jupyter server") as caught:
            client.call("set_secret", secret="HF_TOKEN", body={"value": VALUE})
        assert "Nothing was sent to it" in caught.value.fix
        stream = client.open_stream(lambda _text: None, closed.set)
        stream.receive(VALUE)
        until(closed.is_set)
        assert len(received) == 2
        assert all(data.startswith(b"GET /pai/api/v1/proof?nonce=") for data in received)


@pytest.mark.slow("server")
def test_proof_that_is_relayed_is_not_accepted(server: RealServer) -> None:
    """A program between client and server has another connection to the server, and its proof is for that one."""
    info, nonce = info_of(server), secrets.token_hex(NONCE)

    def proof(connection: socket.socket) -> tuple[Any, Any]:
        """Return the proof that comes over a connection, and the one that its client expects."""
        client = HTTPConnection("127.0.0.1")
        client.sock = connection
        client.request("GET", f"/pai/api/v1/proof?nonce={nonce}")
        with client.getresponse() as response:
            return json.load(response)["proof"], info.proof(nonce, connection.getsockname())

    with socket.create_connection(("127.0.0.1", server.port)) as direct:
        received, expected = proof(direct)
        assert received == expected
    with relay(server.port) as port, socket.create_connection(("127.0.0.1", port)) as relayed:
        received, expected = proof(relayed)
        assert received != expected


@contextmanager
def relay(port: int) -> Iterator[int]:
    """Yield a port whose first connection is forwarded, in both directions."""

    def forward(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)

    def serve() -> None:
        with listener.accept()[0] as client, socket.create_connection(("127.0.0.1", port)) as server:
            threading.Thread(target=forward, args=(server, client), daemon=True).start()
            forward(client, server)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield int(listener.getsockname()[1])


@pytest.mark.slow("server")
def test_file_that_others_can_write_or_read_is_not_used(server: RealServer) -> None:
    assert ServerInfo.read(server.info_file)
    for mode in (0o640, 0o620, 0o604, 0o602):
        server.info_file.chmod(mode)
        assert ServerInfo.read(server.info_file) is None
    server.info_file.chmod(0o600)
    link = server.info_file.with_name("link.json")
    link.symlink_to(server.info_file)
    assert ServerInfo.read(link) is None
    if os.getuid() == 0:
        os.chown(server.info_file, 1000, 1000)
        assert ServerInfo.read(server.info_file) is None


def test_file_has_the_name_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of two pods that share a home may have the same process id."""
    own = info_path(7)
    assert own.name == f"jupyter-pai-{os.uname().nodename}-7.json"
    monkeypatch.setenv("JUPYTER_PAI_HOST", "pod/2")
    assert info_path(7) == own.with_name("jupyter-pai-pod-2-7.json")


async def test_invalid_challenges_are_rejected(jp_serverapp: Any, jp_fetch: Any) -> None:
    from tornado.httpclient import HTTPClientError

    for nonce in ("", "0" * 63, "0" * 65, "G" * 64, "A" * 64, "0" * 64 + "\n"):
        with pytest.raises(HTTPClientError) as caught:
            await jp_fetch(*PREFIX, "proof", params={"nonce": nonce}, headers={"Authorization": ""})
        assert caught.value.code == 400


async def test_challenges_are_rate_limited(jp_serverapp: Any, jp_fetch: Any) -> None:
    from tornado.httpclient import HTTPClientError

    engine = jp_serverapp.web_app.settings["jupyter_pai_engine"]
    engine.info = ServerInfo("http://127.0.0.1:1/", "secret")
    engine.proofs = AsyncLimiter(1, 3600)
    params = {"nonce": "0" * 64}
    assert (await jp_fetch(*PREFIX, "proof", params=params)).code == 200
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch(*PREFIX, "proof", params=params)
    assert caught.value.code == 429


def test_client_waits_for_a_busy_server() -> None:
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        info = ServerInfo(f"http://127.0.0.1:{listener.getsockname()[1]}/", "secret")

        def serve() -> None:
            with listener.accept()[0] as client:
                for status in (429, 429, 200, 200):
                    requests.append(client.recv(1 << 16))
                    nonce = requests[-1].partition(b"nonce=")[2].partition(b" ")[0].decode()
                    body = json.dumps({"proof": info.proof(nonce, client.getpeername())})
                    client.sendall(f"HTTP/1.1 {status} x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

        server = threading.Thread(target=serve)
        server.start()
        assert HttpClient(info).call("about")["proof"]
        server.join()
    assert [b"Authorization: jupyter-pai secret" in request for request in requests] == [False, False, False, True]
