"""The proxy of the conformance suite passes requests on unchanged, and loses the right replies."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncIterator

import httpx
import pytest

from jupyter_pai.engine.testing.lossy_proxy import LossyProxy


class Platform:
    """Replies with the text of each body, and keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []

    async def serve(self, client: asyncio.StreamReader, reply: asyncio.StreamWriter) -> None:
        head = await client.readuntil(b"\r\n\r\n")
        chunked = b"chunked" in head.lower()
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0] or 0)
        body = await (client.readuntil(b"0\r\n\r\n") if chunked else client.readexactly(size))
        self.requests.append(head + body)
        reply.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
        reply.close()


async def _pieces() -> AsyncIterator[bytes]:
    yield b"one aa"
    yield b"aa two"


async def _send(executed: bool) -> list[bytes]:
    platform = Platform()
    server = await asyncio.start_server(platform.serve, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with LossyProxy(address, "mine", executed=executed) as proxy, httpx.AsyncClient(trust_env=False) as client:
        proxy.losing = 1
        assert (await client.get(f"{proxy.url}/mine")).text == "ok"
        assert (await client.post(f"{proxy.url}/other", content=b"x" * 200_000)).text == "ok"
        assert (await client.post(f"{proxy.url}/other", content=_pieces())).text == "ok"
        with pytest.raises(httpx.TransportError):
            await client.post(f"{proxy.url}/jobs", content=b"this is mine")
        assert (await client.put(f"{proxy.url}/mine", content=b"again")).text == "ok"
        assert proxy.requests == 2
    server.close()
    return platform.requests


@pytest.mark.parametrize("executed", [True, False])
def test_one_reply_to_a_change_with_the_word_is_lost(executed: bool) -> None:
    requests = asyncio.run(_send(executed))
    assert [one.partition(b" HTTP")[0] for one in requests] == [
        b"GET /mine",
        b"POST /other",
        b"POST /other",
        *([b"POST /jobs"] if executed else []),
        b"PUT /mine",
    ]
    assert requests[1].endswith(b"x" * 200_000)
    assert requests[2].endswith(b"6\r\none aa\r\n6\r\naa two\r\n0\r\n\r\n")


@pytest.mark.parametrize("turns", range(6))
def test_end_closes_connections_in_any_state(turns: int) -> None:
    """An unclosed one would be an error of the test that runs when it is collected."""

    async def connect() -> None:
        async with LossyProxy("http://127.0.0.1:9", "x", executed=False) as proxy:
            with socket.create_connection(("127.0.0.1", int(proxy.url.rpartition(":")[2]))):
                for _turn in range(turns):
                    await asyncio.sleep(0)

    asyncio.run(connect())
    gc.collect()
