"""The stream: one WebSocket for a browser tab, with any number of subscriptions.

The tab sends ``{"type": "subscribe", "id": …, "topic": …, …}`` and ``{"type": "unsubscribe", "id": …}``. Topics:

``jobs``     every change to any job: ``{"type": "jobs", "jobs": [...], "deleted": [...], "event": n}``
``job``      one job, with its instances, whenever it changes: ``{"type": "job", "job": {...}}``, until it has ended
``log``      a job's log from `offset` on, or its last `tail` lines, at most 256 KiB:
             ``{"type": "log", "instance": …, "offset": n, "end": n, "text": …}``
``metrics``  a job's points, of each metric those after the first `counts`:
             ``{"type": "metrics", "metrics": {name: {start, end, step, value, time}}}``; with `points`, where more
             than so many come at once, so many that stand for all from `start` up to `end`

Each message has the `id` of its subscription. ``{"type": "end"}`` is the last one; ``{"type": "error", code, message,
fix}`` as well. Positions are byte offsets and point counts, so a tab that connects again says where it stood (the last
`end` of the log or of each metric), and misses and repeats nothing. A tab that reads slowly is sent less at a time:
nothing is read for it before what was sent has left.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tornado import web
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from ..api import Api
from ..errors import NotFound, PaiError, UsageError
from ..i18n import _, speak
from ..logs import text_of
from .handlers import AUTH_RESOURCE, KernelAccess, unexpected

__all__ = ["StreamHandler", "Subscribe"]

_MOST_SUBSCRIPTIONS = 200
_NAP = 0.1
# A tab that asks for the last lines is not sent more than this of them: a line may be of any length.
_LONGEST_TAIL = 1 << 18


class Subscribe(BaseModel):
    """What a tab may ask for."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["subscribe"]
    id: int | str
    topic: Literal["jobs", "job", "log", "metrics"]
    job: str = ""
    instance: str = ""
    offset: int = Field(0, ge=0, lt=1 << 62)
    tail: int = Field(0, ge=0, lt=1 << 62)
    counts: dict[str, Annotated[int, Field(ge=0, lt=1 << 62)]] = {}
    points: int = Field(0, ge=0, lt=1 << 62)
    system: bool = Field(False, description="For `metrics`: those of the machine's use as well.")
    after: int | None = Field(None, ge=0, lt=1 << 62, description="For `jobs`: begin after this event.")


class StreamHandler(KernelAccess, WebSocketMixin, WebSocketHandler, JupyterHandler):
    """The socket of one tab."""

    auth_resource = AUTH_RESOURCE

    def set_default_headers(self) -> None:
        """JupyterHandler's make no sense for a socket."""

    def get_compression_options(self) -> Any:
        return self.settings.get("websocket_compression_options")

    @ws_authenticated
    async def get(self, *args: Any, **kwargs: Any) -> None:
        allowed = await ensure_async(self.authorizer.is_authorized(self, self.current_user, "read", AUTH_RESOURCE))
        if not allowed:
            raise web.HTTPError(403)
        self.tasks: dict[int | str, asyncio.Task[None]] = {}
        await super().get(*args, **kwargs)

    def open(self, *args: Any, **kwargs: Any) -> None:
        super().open(*args, **kwargs)

    async def on_message(self, message: str | bytes) -> None:
        with speak(self.request.headers.get("Accept-Language")):
            try:
                asked = json.loads(message)
                if isinstance(asked, dict) and asked.get("type") == "unsubscribe":
                    self._drop(asked.get("id"))
                    return
                wanted = Subscribe.model_validate(asked)
            except (ValueError, ValidationError, RecursionError) as error:
                await self._send(
                    None, UsageError(_("Not understood: {error}").format(error=error)).as_json() | {"type": "error"}
                )
                return
            self._drop(wanted.id)
            if len(self.tasks) >= _MOST_SUBSCRIPTIONS:
                await self._send(wanted.id, UsageError(_("Too many subscriptions.")).as_json() | {"type": "error"})
                return
            self.tasks[wanted.id] = asyncio.create_task(self._serve(wanted))

    def on_close(self) -> None:
        for task in getattr(self, "tasks", {}).values():
            task.cancel()

    def _drop(self, subscription: object) -> None:
        if isinstance(subscription, (int, str)) and (task := self.tasks.pop(subscription, None)):
            task.cancel()

    async def _serve(self, wanted: Subscribe) -> None:
        """Send what a subscription brings, until it ends."""
        try:
            api = await self.settings["jupyter_pai_engine"].api()
            async for said in _TOPICS[wanted.topic](api, wanted):
                await self._send(wanted.id, said)
            await self._send(wanted.id, {"type": "end"})
        except PaiError as error:
            await self._send(wanted.id, error.as_json() | {"type": "error"})
        except WebSocketClosedError:
            pass
        except Exception:
            self.log.exception("jupyter-pai: a subscription broke: %s", wanted)
            await self._send(wanted.id, unexpected().as_json() | {"type": "error"})
        finally:
            if self.tasks.get(wanted.id) is asyncio.current_task():
                del self.tasks[wanted.id]

    async def _send(self, subscription: object, said: dict[str, Any]) -> None:
        # Waits until it has left: a slow tab holds up its own subscriptions and nothing else.
        await self.write_message(json.dumps({"id": subscription} | said))


async def _jobs(api: Api, wanted: Subscribe) -> AsyncIterator[dict[str, Any]]:
    service = api.service
    async for events in service.follow_events(wanted.after):
        changed: dict[str, dict[str, Any] | None] = {}
        for event in events:
            try:
                changed[event.job_id] = service.describe(service.store.get(event.job_id))
            except NotFound:
                changed[event.job_id] = None
        yield {
            "type": "jobs",
            "event": events[-1].id,
            "jobs": [job for job in changed.values() if job],
            "deleted": [job_id for job_id, job in changed.items() if not job],
        }


async def _job(api: Api, wanted: Subscribe) -> AsyncIterator[dict[str, Any]]:
    service = api.service
    job = service.find(wanted.job)
    last: dict[str, Any] = {}
    with service.feed.watch(job.id):
        while True:
            now = service.describe(job) | {"instances": service.log_instances(job)}
            if now != last:
                yield {"type": "job", "job": now}
                last = now
            if job.status.ended:
                return
            await asyncio.sleep(_NAP)
            job = service.store.get(job.id)


async def _log(api: Api, wanted: Subscribe) -> AsyncIterator[dict[str, Any]]:
    service = api.service
    job = service.find(wanted.job)
    log = service.log(job, wanted.instance)
    place = log.last_lines(wanted.tail, _LONGEST_TAIL) if wanted.tail else wanted.offset
    rest = b""
    async for chunk in service.follow_log(job, wanted.instance, place):
        data = rest + chunk.data
        text, used = text_of(data)
        rest = data[used:]
        if text:
            yield {"type": "log", "instance": chunk.instance, "offset": place, "end": place + used, "text": text}
            place += used
    if rest:
        text = rest.decode("utf-8", "replace")
        yield {"type": "log", "instance": log.path.name, "offset": place, "end": place + len(rest), "text": text}


async def _metrics(api: Api, wanted: Subscribe) -> AsyncIterator[dict[str, Any]]:
    job = api.service.find(wanted.job)
    async for found in api.service.follow_metrics(job, wanted.counts, wanted.points, system=wanted.system):
        yield {"type": "metrics", "metrics": found}


_TOPICS = {"jobs": _jobs, "job": _job, "log": _log, "metrics": _metrics}
