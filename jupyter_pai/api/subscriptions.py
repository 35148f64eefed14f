"""Subscriptions of a page, over a WebSocket of the server or a kernel's comm.

The page sends ``{"type": "subscribe", "id": …, "topic": …, …}`` and ``{"type": "unsubscribe", "id": …}``. A
``{"type": "ping"}`` is answered by ``{"type": "pong"}``. Topics:

``jobs``       all changes of jobs: ``{"type": "jobs", "jobs": [...], "deleted": [...], "ended": [...], "event": n}``.
               `ended` has the ids of the jobs that have just ended. The first message has no jobs: it names the event
               after which the topic starts, so that a list fetched afterwards misses nothing
``job``        changes of one job and its logs: ``{"type": "job", "job": {...}}``, until it has ended; with `stay` until
               it is deleted, since it may be pinned or labelled after its end
``instances``  the instances of a job, again after each change until it has ended:
               ``{"type": "instances", "instances": [{...}]}``, without unknown values
``log``        the log of a job from `offset` on, or its last `tail` lines, at most 256 KiB:
               ``{"type": "log", "instance": …, "offset": n, "end": n, "text": …}``
``metrics``    the points of a job, for each metric after the first `counts`:
               ``{"type": "metrics", "metrics": {name: {source, start, end, step, value, time}}}``; with `points`,
               longer series are downsampled to this many points from `start` up to `end`. If a better source of a
               metric replaces the one in `sources`, its points start at 0 again

Each message has the `id` of its subscription. The last one is ``{"type": "end"}`` or ``{"type": "error", code, message,
fix}``. Positions are byte offsets and point counts: a page that reconnects continues from the last `end` of a log or
metric, without gaps or repetitions. A page that reads slowly receives fewer messages: the next one is built after the
previous one was sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..core.errors import EngineError, NotFound, PaiError, UsageError
from ..core.i18n import _
from ..engine.service import JobService
from ..engine.watcher.waiting import pause
from ..jobs.instances import Instance, instances_to_json
from ..jobs.job import Job, JobStatus
from ..jobs.logs.file import decode_prefix, instances
from .endpoint import Context

_logger = logging.getLogger(__name__)

_MOST_SUBSCRIPTIONS = 200
_POLL_INTERVAL = 0.1
# There may be thousands.
_INSTANCES_POLL_INTERVAL = 0.5
# After its end, a job changes only by user actions.
_ENDED_POLL_INTERVAL = 1.0
# Maximum bytes of a tail, since lines may have any length.
_TAIL_BYTES = 1 << 18


class Subscribe(BaseModel):
    """A subscription to a topic."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["subscribe"]
    id: int | str = Field(description="Id of the subscription, chosen by the page. Each of its messages has it.")
    topic: Literal["jobs", "job", "instances", "log", "metrics"] = Field(description="Topic of the subscription.")
    job: str = Field("", description="For all topics but `jobs`: an id, the beginning of an id, a name, or `last`.")
    instance: str = Field("", description="For `log`: the instance. Default: the first one.")
    offset: int = Field(0, ge=0, lt=1 << 62, description="For `log`: first byte.")
    tail: int = Field(0, ge=0, lt=1 << 62, description="For `log`: start with this many last lines instead.")
    latest: int = Field(
        0, ge=0, lt=1 << 62, description="For `log`: if more bytes are available, send only the last lines."
    )
    counts: dict[str, Annotated[int, Field(ge=0, lt=1 << 62)]] = Field(
        default={}, description="For `metrics`: number of known points of each metric."
    )
    sources: dict[str, str] = Field(default={}, description="For `metrics`: source of the known points of each metric.")
    points: int = Field(0, ge=0, lt=1 << 62, description="For `metrics`: downsample longer series to this many points.")
    system: bool = Field(False, description="For `metrics`: include the resource metrics.")
    stay: bool = Field(False, description="For `job`: continue after its end.")
    after: int | None = Field(None, ge=0, lt=1 << 62, description="For `jobs`: start after this event.")


class Subscriptions:
    """The subscriptions of one page. They run in the engine's event loop.

    `send` returns after a message was sent, and raises ConnectionError if the page is closed.
    """

    def __init__(self, context: Callable[[], Awaitable[Context]], send: Callable[[str], Awaitable[None]]) -> None:
        self._context, self._send = context, send
        self._tasks: dict[int | str, asyncio.Task[None]] = {}
        self._is_closed = False

    async def receive(self, message: str | bytes) -> None:
        """Process a message of the page."""
        if self._is_closed:
            return
        try:
            request = json.loads(message)
            match request:
                case {"type": "unsubscribe"}:
                    self._drop(request.get("id"))
                case {"type": "ping"}:
                    await self._reply(request.get("id"), {"type": "pong"})
                case _:
                    await self._start(Subscribe.model_validate(request))
        except (ValueError, RecursionError) as error:
            await self._refuse(None, UsageError(_("Invalid message: {error}").format(error=error)))
        except ConnectionError:
            pass  # The page is closed.

    async def _start(self, subscription: Subscribe) -> None:
        self._drop(subscription.id)
        if len(self._tasks) >= _MOST_SUBSCRIPTIONS:
            await self._refuse(subscription.id, UsageError(_("Too many subscriptions.")))
        else:
            self._tasks[subscription.id] = asyncio.create_task(self._serve(subscription))

    def close(self) -> None:
        """Cancel all subscriptions."""
        self._is_closed = True
        for task in self._tasks.values():
            task.cancel()

    def _drop(self, subscription_id: object) -> None:
        if isinstance(subscription_id, (int, str)) and (task := self._tasks.pop(subscription_id, None)):
            task.cancel()

    async def _serve(self, subscription: Subscribe) -> None:
        """Send the messages of a subscription until it ends."""
        try:
            service = (await self._context()).service
            async for message in _TOPICS[subscription.topic](service, subscription):
                await self._reply(subscription.id, message)
            await self._reply(subscription.id, {"type": "end"})
        except PaiError as error:
            await self._refuse(subscription.id, error)
        except ConnectionError:
            pass  # The page is closed.
        except Exception:
            _logger.exception("jupyter-pai: a subscription failed: %s", subscription)
            await self._refuse(subscription.id, unexpected())
        finally:
            if self._tasks.get(subscription.id) is asyncio.current_task():
                del self._tasks[subscription.id]

    async def _refuse(self, subscription_id: object, error: PaiError) -> None:
        with contextlib.suppress(ConnectionError):
            await self._reply(subscription_id, error.as_json() | {"type": "error"})

    async def _reply(self, subscription_id: object, message: dict[str, Any]) -> None:
        # Waits until the message was sent: a slow page delays only its own subscriptions.
        await self._send(json.dumps({"id": subscription_id} | message))


def unexpected() -> EngineError:
    """Return the error to show for an internal error, which is logged."""
    return EngineError(_("Unexpected error. See the log for details."), fix=_("Please report it with the log."))


async def _jobs(service: JobService, subscription: Subscribe) -> AsyncIterator[dict[str, Any]]:
    last_event = service.store.events.last_id() if subscription.after is None else subscription.after
    yield {"type": "jobs", "event": last_event, "jobs": [], "deleted": [], "ended": []}
    async for events in service.follow_events(last_event):
        changed: dict[str, dict[str, Any] | None] = {}
        for event in events:
            try:
                changed[event.job_id] = service.describe(service.store.jobs.get(event.job_id), listed=True)
            except NotFound:
                changed[event.job_id] = None
        yield {
            "type": "jobs",
            "event": events[-1].id,
            "jobs": [job for job in changed.values() if job],
            "deleted": [job_id for job_id, job in changed.items() if not job],
            "ended": sorted(
                {event.job_id for event in events if event.kind == "status" and JobStatus(event.data["status"]).ended}
            ),
        }


async def _job(service: JobService, subscription: Subscribe) -> AsyncIterator[dict[str, Any]]:
    job = service.store.jobs.find(subscription.job)
    last: dict[str, Any] = {}
    with service.watcher.watch(job.id) as end:
        while True:
            now = _with_instances(service, job)
            if now != last:
                yield {"type": "job", "job": now}
                last = now
            if job.status.ended:
                break
            await pause(end, _POLL_INTERVAL)
            job = service.store.jobs.get(job.id)
    while subscription.stay:
        await asyncio.sleep(_ENDED_POLL_INTERVAL)
        before, job = job, service.store.jobs.get(job.id)
        if job != before:
            yield {"type": "job", "job": _with_instances(service, job)}


def _with_instances(service: JobService, job: Job) -> dict[str, Any]:
    return service.describe(job) | {"instances": instances(service.home.job(job.id).log)}


async def _instances(service: JobService, subscription: Subscribe) -> AsyncIterator[dict[str, Any]]:
    job = service.store.jobs.find(subscription.job)
    last: Sequence[Instance] | None = None
    with service.watcher.watch(job.id, details=False) as end:
        while True:
            # Read before the instances: those of a finished job are complete.
            ended = service.watcher.has_ended(job.id)
            now = await service.instances(job)
            if now != last:
                yield {"type": "instances", "instances": instances_to_json(now)}
                last = now
            if ended:
                return
            await pause(end, _INSTANCES_POLL_INTERVAL)


async def _log(service: JobService, subscription: Subscribe) -> AsyncIterator[dict[str, Any]]:
    job = service.store.jobs.find(subscription.job)
    log = service.log(job, subscription.instance)
    offset = log.last_lines(subscription.tail, _TAIL_BYTES) if subscription.tail else subscription.offset
    rest = b""
    async for chunk in service.follow_log(job, subscription.instance, offset, subscription.latest):
        if chunk.offset > offset + len(rest):
            offset, rest = chunk.offset, b""  # The bytes in between are skipped.
        data = rest + chunk.data
        text, used = decode_prefix(data)
        rest = data[used:]
        if text:
            yield {"type": "log", "instance": chunk.instance, "offset": offset, "end": offset + used, "text": text}
            offset += used
    if rest:
        text = rest.decode("utf-8", "replace")
        yield {"type": "log", "instance": log.path.name, "offset": offset, "end": offset + len(rest), "text": text}


async def _metrics(service: JobService, subscription: Subscribe) -> AsyncIterator[dict[str, Any]]:
    job = service.store.jobs.find(subscription.job)
    async for points in service.follow_metrics(
        job,
        subscription.counts,
        subscription.points,
        sources=subscription.sources,
        system=subscription.system,
    ):
        yield {"type": "metrics", "metrics": points}


_TOPICS: dict[str, Callable[[JobService, Subscribe], AsyncIterator[dict[str, Any]]]] = {
    "jobs": _jobs,
    "job": _job,
    "instances": _instances,
    "log": _log,
    "metrics": _metrics,
}
