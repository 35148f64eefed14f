"""What a page can subscribe to, and one page's subscriptions: over a WebSocket of the server, or a kernel's comm.

The page sends ``{"type": "subscribe", "id": …, "topic": …, …}`` and ``{"type": "unsubscribe", "id": …}``; and
``{"type": "ping"}``, which is answered by ``{"type": "pong"}``, to learn whether anybody is there. Topics:

``jobs``     every change to any job: ``{"type": "jobs", "jobs": [...], "deleted": [...], "ended": [...], "event": n}``,
             where `ended` are the ids of those that came to their end. The first one has no jobs: it says after which
             event the topic begins, so that who then asks for a list misses nothing
``job``      one job, with its instances, whenever it changes: ``{"type": "job", "job": {...}}``, until it has ended;
             with `stay` until it is deleted: what is pinned or labelled later is told as well
``log``      a job's log from `offset` on, or its last `tail` lines, at most 256 KiB:
             ``{"type": "log", "instance": …, "offset": n, "end": n, "text": …}``
``metrics``  a job's points, of each metric those after the first `counts`:
             ``{"type": "metrics", "metrics": {name: {start, end, step, value, time}}}``; with `points`, where more
             than so many come at once, so many that stand for all from `start` up to `end`

Each message has the `id` of its subscription. ``{"type": "end"}`` is the last one; ``{"type": "error", code, message,
fix}`` as well. Positions are byte offsets and point counts, so a page that connects again says where it stood (the last
`end` of the log or of each metric), and misses and repeats nothing. A page that reads slowly is sent less at a time:
nothing is read for it before what was sent has left.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..core.errors import NotFound, PaiError, UsageError
from ..core.i18n import _
from ..engine.service import JobService
from ..jobs.events import JobEvent
from ..jobs.job import Job, JobStatus
from ..jobs.logs.file import decode_prefix

__all__ = ["Subscribe", "Subscriptions"]

_MOST_SUBSCRIPTIONS = 200
_NAP = 0.1
# After a job's end, only people change something.
_LONG_NAP = 1.0
# A page that asks for the last lines is not sent more than this of them: a line may be of any length.
_LONGEST_TAIL = 1 << 18


class Subscribe(BaseModel):
    """What a page may ask for."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["subscribe"]
    id: int | str = Field(description="Of your own choice: each message of the subscription has it.")
    topic: Literal["jobs", "job", "log", "metrics"] = Field(description="What to be told of.")
    job: str = Field("", description="For all but `jobs`: an id, the beginning of one, a name, or `last`.")
    instance: str = Field("", description="For `log`: the instance whose log is meant; the first if empty.")
    offset: int = Field(0, ge=0, lt=1 << 62, description="For `log`: where to begin, in bytes.")
    tail: int = Field(0, ge=0, lt=1 << 62, description="For `log`: the last so many lines to begin with instead.")
    latest: int = Field(0, ge=0, lt=1 << 62, description="For `log`: of more bytes at once, only the last lines.")
    counts: dict[str, Annotated[int, Field(ge=0, lt=1 << 62)]] = Field(
        default={}, description="For `metrics`: how many points of each are known already."
    )
    points: int = Field(
        0, ge=0, lt=1 << 62, description="For `metrics`: where more come at once, so many that stand for all."
    )
    system: bool = Field(False, description="For `metrics`: those of the machine's use as well.")
    stay: bool = Field(False, description="For `job`: also after its end.")
    after: int | None = Field(None, ge=0, lt=1 << 62, description="For `jobs`: begin after this event.")


class Subscriptions:
    """Those of one page. Lives in the engine's event loop.

    `send` takes a message and returns when it has left; ConnectionError says that the page has gone. `broken` is told
    of an error of our own, and gives the one that is said.
    """

    def __init__(
        self,
        service: Callable[[], Awaitable[JobService]],
        send: Callable[[str], Awaitable[None]],
        broken: Callable[[Subscribe], PaiError],
    ) -> None:
        self._service, self._send, self._broken = service, send, broken
        self._tasks: dict[int | str, asyncio.Task[None]] = {}
        self._is_closed = False

    async def receive(self, message: str | bytes) -> None:
        """What the page sent."""
        if self._is_closed:
            return
        try:
            asked = json.loads(message)
            if isinstance(asked, dict) and asked.get("type") == "unsubscribe":
                self._drop(asked.get("id"))
                return
            if isinstance(asked, dict) and asked.get("type") == "ping":
                with contextlib.suppress(ConnectionError):
                    await self._say(asked.get("id"), {"type": "pong"})
                return
            wanted = Subscribe.model_validate(asked)
        except (ValueError, ValidationError, RecursionError) as error:
            await self._refuse(None, UsageError(_("Not understood: {error}").format(error=error)))
            return
        self._drop(wanted.id)
        if len(self._tasks) >= _MOST_SUBSCRIPTIONS:
            await self._refuse(wanted.id, UsageError(_("Too many subscriptions.")))
            return
        self._tasks[wanted.id] = asyncio.create_task(self._serve(wanted))

    def close(self) -> None:
        """The page has gone."""
        self._is_closed = True
        for task in self._tasks.values():
            task.cancel()

    def _drop(self, subscription: object) -> None:
        if isinstance(subscription, (int, str)) and (task := self._tasks.pop(subscription, None)):
            task.cancel()

    async def _serve(self, wanted: Subscribe) -> None:
        """Send what a subscription brings, until it ends."""
        try:
            service = await self._service()
            async for said in _TOPICS[wanted.topic](service, wanted):
                await self._say(wanted.id, said)
            await self._say(wanted.id, {"type": "end"})
        except PaiError as error:
            await self._refuse(wanted.id, error)
        except ConnectionError:
            pass  # The page has gone.
        except Exception:
            await self._refuse(wanted.id, self._broken(wanted))
        finally:
            if self._tasks.get(wanted.id) is asyncio.current_task():
                del self._tasks[wanted.id]

    async def _refuse(self, subscription: object, error: PaiError) -> None:
        with contextlib.suppress(ConnectionError):
            await self._say(subscription, error.as_json() | {"type": "error"})

    async def _say(self, subscription: object, said: dict[str, Any]) -> None:
        # Waits until it has left: a slow page holds up its own subscriptions and nothing else.
        await self._send(json.dumps({"id": subscription} | said))


async def _jobs(service: JobService, wanted: Subscribe) -> AsyncIterator[dict[str, Any]]:
    place = service.store.events.last_id() if wanted.after is None else wanted.after
    yield {"type": "jobs", "event": place, "jobs": [], "deleted": [], "ended": []}
    async for events in service.follow_events(place):
        changed: dict[str, dict[str, Any] | None] = {}
        for event in events:
            try:
                changed[event.job_id] = service.describe(service.store.jobs.get(event.job_id))
            except NotFound:
                changed[event.job_id] = None
        yield {
            "type": "jobs",
            "event": events[-1].id,
            "jobs": [job for job in changed.values() if job],
            "deleted": [job_id for job_id, job in changed.items() if not job],
            "ended": sorted({event.job_id for event in events if _tells_an_end(event)}),
        }


def _tells_an_end(event: JobEvent) -> bool:
    return event.kind == "status" and JobStatus(event.data["status"]).ended


async def _job(service: JobService, wanted: Subscribe) -> AsyncIterator[dict[str, Any]]:
    job = service.find(wanted.job)
    last: dict[str, Any] = {}
    with service.feed.watch(job.id):
        while True:
            now = _with_instances(service, job)
            if now != last:
                yield {"type": "job", "job": now}
                last = now
            if job.status.ended:
                break
            await asyncio.sleep(_NAP)
            job = service.store.jobs.get(job.id)
    while wanted.stay:
        await asyncio.sleep(_LONG_NAP)
        before, job = job, service.store.jobs.get(job.id)
        if job != before:
            yield {"type": "job", "job": _with_instances(service, job)}


def _with_instances(service: JobService, job: Job) -> dict[str, Any]:
    return service.describe(job) | {"instances": service.log_instances(job)}


async def _log(service: JobService, wanted: Subscribe) -> AsyncIterator[dict[str, Any]]:
    job = service.find(wanted.job)
    log = service.log(job, wanted.instance)
    place = log.last_lines(wanted.tail, _LONGEST_TAIL) if wanted.tail else wanted.offset
    rest = b""
    async for chunk in service.follow_log(job, wanted.instance, place, wanted.latest):
        if chunk.offset > place + len(rest):
            place, rest = chunk.offset, b""  # What is in between was left out.
        data = rest + chunk.data
        text, used = decode_prefix(data)
        rest = data[used:]
        if text:
            yield {"type": "log", "instance": chunk.instance, "offset": place, "end": place + used, "text": text}
            place += used
    if rest:
        text = rest.decode("utf-8", "replace")
        yield {"type": "log", "instance": log.path.name, "offset": place, "end": place + len(rest), "text": text}


async def _metrics(service: JobService, wanted: Subscribe) -> AsyncIterator[dict[str, Any]]:
    job = service.find(wanted.job)
    async for found in service.follow_metrics(job, wanted.counts, wanted.points, system=wanted.system):
        yield {"type": "metrics", "metrics": found}


_TOPICS: dict[str, Callable[[JobService, Subscribe], AsyncIterator[dict[str, Any]]]] = {
    "jobs": _jobs,
    "job": _job,
    "log": _log,
    "metrics": _metrics,
}
