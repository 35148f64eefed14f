"""The WebSocket: topics, positions, slow readers, and what is not understood."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from ...support.waiting import PATIENCE
from .conftest import PREFIX
from .test_rest import ask, run


class Tab:
    """A browser tab's end of the stream."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket

    async def send(self, reply: object) -> None:
        await self.socket.write_message(reply if isinstance(reply, str) else json.dumps(reply))

    async def subscribe(self, number: int, topic: str, **fields: Any) -> None:
        await self.send({"type": "subscribe", "id": number, "topic": topic} | fields)

    async def read(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            text = await self.socket.read_message()
        assert text is not None, "the stream closed"
        return dict(json.loads(text))

    async def until_end(self, number: int) -> list[dict[str, Any]]:
        """All messages of a subscription up to its last."""
        results = []
        while True:
            reply = await self.read()
            if reply["id"] == number:
                results.append(reply)
                if reply["type"] in ("end", "error"):
                    return results


async def open_tab(jp_ws_fetch: Any) -> Tab:
    return Tab(await jp_ws_fetch(*PREFIX, "stream"))


async def submit(jp_fetch: Any, spec: dict[str, Any], command: str) -> str:
    return str((await ask(jp_fetch, "POST", "jobs", body={"spec": spec | {"command": command}}))["job"]["id"])


async def test_job_and_log_are_streamed_live(jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any]) -> None:
    tab = await open_tab(jp_ws_fetch)
    job = await submit(jp_fetch, spec, "for i in 1 2 3; do echo $i; sleep 0.1; done")
    await tab.subscribe(1, "job", job=job)
    await tab.subscribe(2, "log", job=job)
    waiting, seen = {1, 2}, []
    while waiting:
        seen.append(reply := await tab.read())
        if reply["type"] == "end":
            waiting.discard(reply["id"])
    states = [reply["job"]["status"] for reply in seen if reply["type"] == "job"]
    assert states[-1] == "succeeded"
    log = [reply for reply in seen if reply["type"] == "log"]
    assert len(log) > 1
    assert "".join(reply["text"] for reply in log) == "1\n2\n3\n"
    assert [reply["offset"] for reply in log[1:]] == [reply["end"] for reply in log[:-1]]
    assert log[0]["instance"] == "worker-0"


async def test_changes_of_an_ended_job_are_streamed(jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any]) -> None:
    job = (await run(jp_fetch, spec))["id"]
    tab = await open_tab(jp_ws_fetch)
    await tab.subscribe(1, "job", job=job, stay=True)
    assert (await tab.read())["job"]["labels"] == {}
    await ask(jp_fetch, "PATCH", "jobs", job, "labels", body={"best": "yes"})
    assert (await tab.read())["job"]["labels"] == {"best": "yes"}
    await ask(jp_fetch, "DELETE", "jobs", job)
    assert [(reply["type"], reply["code"]) for reply in await tab.until_end(1)] == [("error", "NotFound")]


async def test_instances_are_streamed_after_each_change(
    jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any], tmp_path: Path
) -> None:
    tab = await open_tab(jp_ws_fetch)
    command = f"[ $RANK = 0 ] || until [ -e {tmp_path}/go ]; do sleep 0.01; done"
    job = await submit(jp_fetch, spec | {"instance_count": 2}, command)
    await tab.subscribe(1, "instances", job=job)
    states: list[list[str]] = []
    while states[-1:] != [["succeeded", "running"]]:
        states.append([one["status"] for one in (await tab.read())["instances"]])
    (tmp_path / "go").touch()
    *_changes, last, end = await tab.until_end(1)
    assert ([one["exit_code"] for one in last["instances"]], end["type"]) == ([0, 0], "end")
    # Those of an ended job come once, without unknown values.
    await tab.subscribe(2, "instances", job=job)
    again, end = await tab.until_end(2)
    assert (again["instances"], end["type"]) == (last["instances"], "end")
    assert "address" not in again["instances"][0]


async def test_reconnected_stream_continues_without_gaps_or_repeats(
    jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any]
) -> None:
    job = await submit(
        jp_fetch, spec, "for i in $(seq 300); do echo 行 $i; [ $((i%50)) = 0 ] && sleep 0.05; done; true"
    )
    text, offset = "", 0
    while True:
        tab = await open_tab(jp_ws_fetch)
        await tab.subscribe(1, "log", job=job, offset=offset)
        reply = await tab.read()
        if reply["type"] == "end":
            break
        text, offset = text + reply["text"], reply["end"]
        tab.socket.close()
    assert text == "".join(f"行 {n}\n" for n in range(1, 301))


async def test_stream_never_splits_characters(jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any]) -> None:
    job = await submit(jp_fetch, spec, r"printf '\344\270'; sleep 0.3; printf '\255\n\377\n\344'")
    tab = await open_tab(jp_ws_fetch)
    await tab.subscribe(1, "log", job=job)
    assert "".join(reply["text"] for reply in (await tab.until_end(1))[:-1]) == "中\n�\n�"


async def test_tail_streams_the_last_lines(jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any]) -> None:
    job = await run(jp_fetch, spec | {"command": "seq 100"})
    tab = await open_tab(jp_ws_fetch)
    await tab.subscribe(1, "log", job=job["id"], tail=2)
    first, end = await tab.until_end(1)
    assert (first["text"], end["type"]) == ("99\n100\n", "end")


async def test_latest_limits_the_first_message(jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any]) -> None:
    job = await run(jp_fetch, spec | {"command": "seq 100000"})
    tab = await open_tab(jp_ws_fetch)
    await tab.subscribe(1, "log", job=job["id"], offset=6, latest=19)
    reply, end = await tab.until_end(1)
    assert (reply["text"], reply["end"] - reply["offset"], end["type"]) == ("99999\n100000\n", 13, "end")
    await tab.subscribe(2, "log", job=job["id"], offset=reply["offset"], latest=19)
    assert (await tab.until_end(2))[0]["text"] == reply["text"]


async def test_metrics_stream_starts_after_known_points(jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any]) -> None:
    definitions = [{"name": "n", "regex": r"^(\d+)$"}]
    job = await run(jp_fetch, spec | {"command": "seq 5; echo x", "metric_definitions": definitions})
    tab = await open_tab(jp_ws_fetch)
    await tab.subscribe(1, "metrics", job=job["id"], counts={"n": 3})
    first = (await tab.until_end(1))[0]
    assert (first["metrics"]["n"]["start"], first["metrics"]["n"]["value"]) == (3, [4.0, 5.0])


async def test_streamed_metrics_are_downsampled_with_right_positions(
    jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any], tmp_path: Any
) -> None:
    count = 40_000
    command = f"seq 0 {count - 1}; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; seq {count} {count + 9}"
    definitions = [{"name": "n", "regex": r"^(\d+)$"}]
    job = await submit(jp_fetch, spec | {"metric_definitions": definitions}, command)
    async with asyncio.timeout(PATIENCE):
        while (seen := await ask(jp_fetch, "GET", "jobs", job))["metrics"].get("n", {}).get("step") != count - 1:
            print({name: seen[name] for name in ("status", "reason", "metrics", "notes")})
            await asyncio.sleep(0.1)
    tab = await open_tab(jp_ws_fetch)
    await tab.subscribe(1, "metrics", job=job, points=100)
    first = (await tab.read())["metrics"]["n"]
    assert (first["start"], first["end"], len(first["step"])) == (0, count, 100)
    (tmp_path / "go").touch()
    again = await open_tab(jp_ws_fetch)
    await again.subscribe(2, "metrics", job=job, points=100, counts={"n": first["end"]})
    rest = [reply["metrics"]["n"] for reply in (await again.until_end(2))[:-1]]
    assert [step for part in rest for step in part["step"]] == list(range(count, count + 10))
    assert [part["start"] for part in rest] == [count, *(part["end"] for part in rest[:-1])]
    await again.subscribe(3, "metrics", job=job)
    whole = [reply["metrics"]["n"] for reply in (await again.until_end(3))[:-1]]
    assert len(whole) > 1
    assert [value for part in whole for value in part["value"]] == list(range(count + 10))


async def test_every_tab_receives_all_changes(jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any]) -> None:
    tabs = [await open_tab(jp_ws_fetch) for _ in range(3)]
    for tab in tabs:
        await tab.subscribe(7, "jobs", after=0)
    job = await run(jp_fetch, spec)
    await ask(jp_fetch, "DELETE", "jobs", job["id"])
    for tab in tabs:
        states, deleted = [], False
        while not deleted:
            reply = await tab.read()
            states += [result["status"] for result in reply["jobs"]]
            deleted = job["id"] in reply["deleted"]
        assert set(states) <= {"starting", "running", "succeeded"}


async def test_unsubscribe_ends_the_stream(
    jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any], tmp_path: Any
) -> None:
    job = await submit(jp_fetch, spec, f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo late")
    tab = await open_tab(jp_ws_fetch)
    await tab.subscribe(1, "log", job=job)
    await tab.send({"type": "unsubscribe", "id": 1})
    await tab.subscribe(2, "log", job=job)
    (tmp_path / "go").touch()
    seen = await tab.until_end(2)
    assert seen[0]["text"] == "late\n"


async def test_ping_is_answered_with_pong(jp_ws_fetch: Any) -> None:
    tab = await open_tab(jp_ws_fetch)
    await tab.send({"type": "ping"})
    assert await tab.read() == {"id": None, "type": "pong"}


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("{", "Invalid message"),
        ("[]", "Invalid message"),
        ('{"type": "subscribe"}', "Invalid message"),
        ('{"type": "subscribe", "id": 1, "topic": "weather"}', "Invalid message"),
        ('{"type": "subscribe", "id": 1, "topic": "log", "job": "nothing"}', "`nothing`"),
        ('{"type": "subscribe", "id": 1, "topic": "log", "job": "x", "offset": -1}', "Invalid message"),
        ('{"type": "subscribe", "id": 1, "topic": "metrics", "job": "x", "counts": {"n": -1}}', "Invalid message"),
        ('{"type": "subscribe", "id": 1, "topic": "metrics", "job": "x", "points": -1}', "Invalid message"),
        ('{"type": "subscribe", "id": 1, "topic": "jobs", "after": 9223372036854775808}', "Invalid message"),
        ("[" * 100_000, "Invalid message"),
    ],
)
async def test_invalid_messages_get_an_error(jp_ws_fetch: Any, reply: str, words: str) -> None:
    tab = await open_tab(jp_ws_fetch)
    await tab.send(reply)
    answer = await tab.read()
    assert answer["type"] == "error"
    assert words in answer["message"]


async def test_jobs_topic_reports_its_start_and_ended_jobs(
    jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any]
) -> None:
    earlier = await run(jp_fetch, spec)
    tab = await open_tab(jp_ws_fetch)
    await tab.subscribe(1, "jobs")
    begin = await tab.read()
    assert (begin["jobs"], begin["deleted"], begin["ended"]) == ([], [], [])
    await ask(jp_fetch, "PUT", "jobs", earlier["id"], "pin")
    job = await submit(jp_fetch, spec, "true")
    ended: list[str] = []
    while not ended:
        reply = await tab.read()
        ended += reply["ended"]
    assert ended == [job]
    # A subscription from the start repeats all changes; one from the end repeats nothing.
    again = await open_tab(jp_ws_fetch)
    await again.subscribe(1, "jobs", after=begin["event"])
    assert (await again.read())["event"] == begin["event"]
    assert job in [one["id"] for one in (await again.read())["jobs"]]


async def test_unknown_instance_is_named(jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any]) -> None:
    job = await run(jp_fetch, spec)
    tab = await open_tab(jp_ws_fetch)
    await tab.subscribe(1, "log", job=job["id"], instance="../../spec.json")
    answer = await tab.read()
    assert answer["type"] == "error"
    assert "worker-0" in answer["fix"]


async def test_too_many_subscriptions_are_rejected(jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any]) -> None:
    tab = await open_tab(jp_ws_fetch)
    for number in range(201):
        await tab.subscribe(number, "jobs")
    while (answer := await tab.read())["type"] != "error":
        assert answer["type"] == "jobs"
    assert (answer["id"], answer["code"]) == (200, "UsageError")


async def test_slow_reader_does_not_delay_others(jp_fetch: Any, jp_ws_fetch: Any, spec: dict[str, Any]) -> None:
    job = await submit(jp_fetch, spec, "seq 400000")
    slow, quick = await open_tab(jp_ws_fetch), await open_tab(jp_ws_fetch)
    await slow.subscribe(1, "log", job=job)
    await quick.subscribe(1, "log", job=job)
    text = "".join(reply["text"] for reply in (await quick.until_end(1))[:-1])
    assert text == "".join(f"{n}\n" for n in range(1, 400_001))
    again = "".join(reply["text"] for reply in (await slow.until_end(1))[:-1])
    assert again == text


async def test_stream_without_a_token_is_rejected(jp_ws_fetch: Any) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await jp_ws_fetch(*PREFIX, "stream", headers={"Authorization": "token wrong"})
    assert caught.value.code == 403
