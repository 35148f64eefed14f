"""The transport of a platform whose API differs from Alibaba Cloud's: errors in answers of success, texts, ranges and
redirects, limits of single actions, and certificates."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509

from jupyter_pai.cloud.http import Call, Refusal, Retries, Transport
from jupyter_pai.core.errors import BackendError, ReplyLost, SettingsError, Unreachable

from ...fakes.alibaba.proxy import certificate
from ...fakes.scripted_server import Answers, answering, reply
from ...support.connections import run_and_close as run
from .test_http import server as server  # a fixture

SHORT_WAITS = Retries(first_wait=0.01, longest_wait=0.05, jitter=0.02)
BUSY = reply(200, {"Response": {"Error": {"Code": "Busy"}}})
DONE = reply(200, {"Response": {"Id": "1"}})


async def anonymous() -> httpx.Auth:
    return httpx.Auth()


def read(response: httpx.Response) -> Refusal | None:
    """Return the error of a platform that reports errors with the status 200, and answers by redirects."""
    if response.headers.get("content-type") == "text/plain" or response.status_code in (206, 307):
        return None
    if response.status_code != 200:
        return Refusal(BackendError(f"status {response.status_code}"))
    answer = response.json()
    code = answer.get("Response", {}).get("Error", {}).get("Code") if isinstance(answer, dict) else ""
    return Refusal(BackendError(code), not_executed=code == "Throttled", unclear=code == "Busy") if code else None


def call(server: Answers, *, repeat: bool = True, **fields: Any) -> Call:
    return Call("GET", server.url + "/", anonymous, repeat=repeat, retries=SHORT_WAITS, **fields)


def test_error_in_an_answer_of_success_is_retried(server: Answers) -> None:
    server.say(BUSY, BUSY, DONE)
    assert run(lambda: Transport("a", read).send(call(server))) == {"Response": {"Id": "1"}}
    assert len(server.seen) == 3


def test_unclear_error_of_a_creating_call_is_a_lost_reply(server: Answers) -> None:
    server.say(BUSY, DONE)
    with pytest.raises(ReplyLost):
        run(lambda: Transport("a", read).send(call(server, repeat=False)))
    assert len(server.seen) == 1


def test_creating_call_that_was_not_sent_is_retried(server: Answers) -> None:
    """After a refused connection, no reply is lost."""
    server.say(DONE)
    creating = call(server, repeat=False)
    attempts: list[httpx.URL] = []
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{closed.getsockname()[1]}/"

        class Redirecting(httpx.Auth):
            """Sends the second attempt to the server."""

            def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
                request.url = httpx.URL(server.url + "/" if attempts else nowhere)
                attempts.append(request.url)
                yield request

        async def auth() -> httpx.Auth:
            return Redirecting()

        answer = run(lambda: Transport("a", read).send(replace(creating, auth=auth)))
    assert (answer, len(attempts), len(server.seen)) == ({"Response": {"Id": "1"}}, 2, 1)


def test_throttled_creating_call_is_retried(server: Answers) -> None:
    server.say(reply(200, {"Response": {"Error": {"Code": "Throttled"}}}), DONE)
    assert run(lambda: Transport("a", read).send(call(server, repeat=False))) == {"Response": {"Id": "1"}}


def test_clear_error_in_an_answer_of_success_is_raised_at_once(server: Answers) -> None:
    server.say(reply(200, {"Response": {"Error": {"Code": "Unknown"}}}))
    with pytest.raises(BackendError, match="Unknown"):
        run(lambda: Transport("a", read).send(call(server)))
    assert len(server.seen) == 1


def test_answer_that_cannot_be_read_is_incomplete(server: Answers) -> None:
    server.say(reply(200, '{"Response": {"I'), DONE)
    assert run(lambda: Transport("a", read).send(call(server))) == {"Response": {"Id": "1"}}
    server.say(reply(200, '{"Response": {"I'))
    with pytest.raises(ReplyLost, match="incomplete"):
        run(lambda: Transport("a", read).send(call(server, repeat=False)))


@pytest.mark.parametrize("value", [[1, {"a": None}], "text", 3, None, {}])
def test_any_json_value_is_an_answer(server: Answers, value: object) -> None:
    server.say(reply(200, json.dumps(value)))
    assert run(lambda: Transport("a", read).send(call(server))) == value


def test_text_ranges_and_redirects_are_answers_of_the_caller(server: Answers) -> None:
    server.say(
        reply(200, "line 1\nline 2\n", content_type="text/plain"),
        reply(206, "ine", content_range="bytes 1-3/14"),
        reply(307, "", location="http://elsewhere.invalid/"),
    )

    async def work() -> list[httpx.Response]:
        fetch = Transport("a", read).fetch
        return [await fetch(call(server, headers={"range": "bytes=1-3"})) for _ in range(3)]

    text, part, redirect = run(work)
    assert text.text == "line 1\nline 2\n"
    assert (part.content, part.headers["content-range"]) == (b"ine", "bytes 1-3/14")
    assert redirect.headers["location"] == "http://elsewhere.invalid/"
    assert [seen.headers["range"] for seen in server.seen] == ["bytes=1-3"] * 3


def test_rate_limit_of_an_action_delays_no_other_action(server: Answers) -> None:
    server.say(DONE)
    done: list[str] = []

    async def one(action: str, pace: float) -> None:
        await Transport("a", read, pace=1000).send(call(server, action=action, pace=pace))
        done.append(action)

    async def work() -> None:
        # One in 100 seconds.
        slow = [asyncio.create_task(one("Slow", 0.01)) for _ in range(10)]
        await asyncio.gather(*(one("Fast", 0) for _ in range(10)))
        assert done.count("Fast") == 10
        assert done.count("Slow") <= 1
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)

    run(work)


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Answers]:
    """A server whose certificate is signed by an authority of its own; `ca.pem` has it."""
    with answering(certificate(tmp_path, [x509.IPAddress(ip_address("127.0.0.1"))])) as answers:
        yield answers


def test_own_authority_needs_its_file(secure: Answers, tmp_path: Path) -> None:
    secure.say(DONE)
    with pytest.raises(Unreachable, match=r"certificate of 127.0.0.1:[0-9]+ is not trusted") as caught:
        run(lambda: Transport("a", read).send(call(secure)))
    assert "ca_file" in caught.value.fix
    assert secure.seen == []
    trusting = Transport("a", read, ca_file=str(tmp_path / "ca.pem"))
    assert run(lambda: trusting.send(call(secure))) == {"Response": {"Id": "1"}}


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_unreadable_file_of_authorities_is_named(server: Answers, tmp_path: Path, content: str | None) -> None:
    if content:
        (tmp_path / "ca.pem").write_text(content)
    with pytest.raises(SettingsError, match=f"ca_file: cannot read certificates from {tmp_path}/ca.pem"):
        run(lambda: Transport("a", read, ca_file=str(tmp_path / "ca.pem")).send(call(server)))
