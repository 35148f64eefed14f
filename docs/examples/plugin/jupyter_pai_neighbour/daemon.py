"""The neighbour itself: takes jobs by HTTP, and runs them as jupyter-pai's own local backend does.

A plug-in for a platform that exists has no such file. Jobs outlive it: one that is started again finds them.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hmac
import json
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter
from tornado.http1connection import HTTP1Connection
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler, stream_request_body

from jupyter_pai import (
    Caller,
    Home,
    InstanceType,
    Job,
    JobFolder,
    JobStatus,
    PlatformEvent,
    Quota,
    Report,
    Secret,
    errors,
    parse_options,
)
from jupyter_pai.backends.local.backend import LocalBackend
from jupyter_pai.backends.local.options import LocalSettings
from jupyter_pai.jobs.logs.file import LogFile, instances
from jupyter_pai.jobs.metrics.resource_samples import RECORD

from .backend import NeighbourOptions
from .place import Note, Place
from .shelves import Shelves

__all__ = ["Neighbour", "main"]

_PIECE = 1 << 18
_MOST, _LARGEST_CODE = 1 << 40, 1 << 30
_REPORTS, _INSTANCES = TypeAdapter(dict[str, Report]), TypeAdapter(list[InstanceType])
_EVENTS, _QUOTAS = TypeAdapter(list[PlatformEvent]), TypeAdapter(list[Quota])


class Neighbour:
    """The jobs of one shared folder."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.home = Home(place.home).create()
        self.local = LocalBackend(LocalSettings(backend="local"), self.home)
        self.shelves = Shelves(place)
        self._taking = asyncio.Lock()
        self._asked: Counter[str] = Counter()

    async def take(self, job: Job, code: bytes, values: Mapping[str, Secret]) -> None:
        """Start a job with its packed code, unless it exists: a client without a reply sends it again."""
        folder = self.home.job(job.id)
        async with self._taking:
            if folder.record.exists():
                return
            options = parse_options(NeighbourOptions, job.spec.options)
            # The local backend knows none of ours.
            run = job.model_copy(update={"spec": job.spec.model_copy(update={"options": {}})})
            check = await self.local.check(run.spec, Caller(sys.executable))
            run = run.model_copy(update={"python": check.python})
            try:
                folder.path.mkdir(parents=True, exist_ok=True)
                folder.source.write_bytes(code)
                prepared = await self.local.prepare(run, folder)
            except (OSError, errors.PaiError):
                shutil.rmtree(folder.path, ignore_errors=True)
                raise
            outcome = {"python": check.python, "outputs": prepared.outputs}
            folder.record.write_text(job.model_copy(update=outcome).model_dump_json(exclude={"name"}), "utf-8")
            await self._start(run.model_copy(update=outcome), folder, values, options.nice)

    async def _start(self, job: Job, folder: JobFolder, values: Mapping[str, Secret], nice: int) -> None:
        """In a thread of its own: on Linux each has its niceness, which the processes inherit that it starts."""

        def start() -> None:
            os.nice(nice)
            asyncio.run(self.local.submit(job, folder, values))

        with ThreadPoolExecutor(1) as thread:
            await asyncio.wrap_future(thread.submit(start))

    def folder(self, job_id: str) -> JobFolder:
        """The folder of a job that is here.

        Raises:
            errors.NotFound: if there is none.
        """
        folder = self.home.job(job_id)
        if not folder.record.exists():
            raise errors.NotFound(f"There is no job `{job_id}` in {self.place.path}.")
        return folder

    async def report(self, job_id: str) -> Report:
        return (await self.local.poll([job_id]))[job_id]

    async def described(self, folder: JobFolder) -> dict[str, Any]:
        return {
            "job": json.loads(folder.record.read_text("utf-8")),
            "report": _REPORTS.dump_python(await self.local.poll([folder.id]), mode="json")[folder.id],
        }

    async def events(self, job_id: str) -> list[PlatformEvent]:
        """Return the events of a job. The last one is counted up: it replaces the earlier one."""
        job = Job.model_validate_json(self.folder(job_id).record.read_text("utf-8"))
        report = await self.report(job.id)
        told = [PlatformEvent(f"{socket.gethostname()} took the job", job.submitted_at)]
        if report.started_at:
            told.append(PlatformEvent("begun", report.started_at, instance="worker-0"))
        if report.ended_at:
            failed = report.status is not JobStatus.SUCCEEDED
            told.append(PlatformEvent(f"ended: {report.status}", report.ended_at, warning=failed))
        self._asked[job_id] += 1
        told.append(PlatformEvent(f"asked for events {self._asked[job_id]} times", key="asked"))
        return told

    def latest(self, before: datetime | None, limit: int) -> list[JobFolder]:
        """The newest jobs first; with `before`, older ones."""
        found = []
        for path in self.home.jobs.glob("*/job.json"):
            when = datetime.fromisoformat(json.loads(path.read_text("utf-8"))["submitted_at"])
            if before is None or when < before:
                found.append((when, path.parent.name))
        return [self.home.job(name) for _when, name in sorted(found, reverse=True)[:limit]]


class _Handler(RequestHandler):
    neighbour: Neighbour
    token: str

    def initialize(self, neighbour: Neighbour, token: str) -> None:
        self.neighbour, self.token = neighbour, token

    def prepare(self) -> None:
        given = self.request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            raise errors.CredentialsError("The neighbour does not know this token.", fix="Read its note anew.")

    def write_error(self, status_code: int, **more: Any) -> None:
        error = more["exc_info"][1]
        said = error if isinstance(error, errors.PaiError) else errors.EngineError(f"The neighbour failed: {error}")
        self.set_status(said.status)
        self.finish(said.as_json())

    def log_exception(self, *error: Any) -> None:
        if not isinstance(error[1], errors.PaiError):
            super().log_exception(*error)


class _Jobs(_Handler):
    async def get(self) -> None:
        before = self.get_query_argument("before", "")
        limit = int(self.get_query_argument("limit", "50"))
        folders = self.neighbour.latest(datetime.fromisoformat(before) if before else None, limit)
        self.finish({"jobs": [await self.neighbour.described(folder) for folder in folders]})


class _Reports(_Handler):
    async def get(self) -> None:
        ids = self.get_query_argument("ids").split(",")
        here = [job_id for job_id in ids if self.neighbour.home.job(job_id).record.exists()]
        self.finish(_REPORTS.dump_python(await self.neighbour.local.poll(here), mode="json"))


class _Job(_Handler):
    async def get(self, job_id: str) -> None:
        self.finish(await self.neighbour.described(self.neighbour.folder(job_id)))

    async def put(self, job_id: str) -> None:
        body = json.loads(self.request.body)
        values = {name: Secret(value) for name, value in body["secrets"].items()}
        await self.neighbour.take(Job.model_validate(body["job"]), base64.b64decode(body["code"]), values)
        record = json.loads(self.neighbour.folder(job_id).record.read_text("utf-8"))
        self.finish({"outputs": record["outputs"]})


class _Part(_Handler):
    async def get(self, job_id: str, part: str) -> None:
        folder = self.neighbour.folder(job_id)
        if part == "events":
            self.finish({part: _EVENTS.dump_python(await self.neighbour.events(job_id), mode="json")})
        elif part == "instances":
            self.finish({part: instances(folder.log)})
        else:
            after = float(self.get_query_argument("after"))
            taken = folder.usage.read_bytes() if folder.usage.exists() else b""
            whole = taken[: len(taken) // RECORD.size * RECORD.size]
            self.finish({part: [one for one in RECORD.iter_unpack(whole) if one[0] > after]})


class _Log(_Handler):
    def get(self, job_id: str, instance: str) -> None:
        log, start = LogFile(self.neighbour.folder(job_id).log, instance), int(self.get_query_argument("start"))
        data = log.read(start, _PIECE)
        times = [(max(offset - start, 0), time) for offset, time in log.times() if offset < start + len(data)]
        # Of those up to the start, the last one has the time of the first byte.
        times = times[max(sum(offset == 0 for offset, _time in times) - 1, 0) :]
        self.finish({"data": base64.b64encode(data).decode(), "more": len(data) == _PIECE, "times": times})


class _Stop(_Handler):
    async def post(self, job_id: str) -> None:
        await self.neighbour.local.stop(self.neighbour.folder(job_id).id)
        self.finish({})


@stream_request_body
class _Files(_Handler):
    """One call of the storage: its words in the query, bytes in the body, which may be more than there is memory."""

    def prepare(self) -> None:
        super().prepare()
        cast(HTTP1Connection, self.request.connection).set_max_body_size(_MOST)
        self.sent = tempfile.NamedTemporaryFile(dir=self.neighbour.place.path, prefix=".sent-")

    def data_received(self, chunk: bytes) -> None:
        self.sent.write(chunk)

    async def post(self) -> None:
        self.sent.flush()
        asked = json.loads(self.get_query_argument("q"))
        self.finish(await asyncio.to_thread(self.neighbour.shelves.answer, asked, Path(self.sent.name)))
        self.sent.close()

    def on_connection_close(self) -> None:
        self.sent.close()


class _Machine(_Handler):
    async def get(self) -> None:
        found = _INSTANCES.dump_python(await self.neighbour.local.instance_types(), mode="json")
        free = _QUOTAS.dump_python(await self.neighbour.local.quotas(), mode="json")
        self.finish({"host": socket.gethostname(), "instances": found, "quotas": free})


def _application(neighbour: Neighbour, token: str) -> Application:
    given = {"neighbour": neighbour, "token": token}
    routes: list[tuple[str, type[RequestHandler]]] = [
        (r"/jobs", _Jobs),
        (r"/reports", _Reports),
        (r"/machine", _Machine),
        (r"/files", _Files),
        (r"/jobs/([\w-]+)", _Job),
        (r"/jobs/([\w-]+)/stop", _Stop),
        (r"/jobs/([\w-]+)/(events|instances|samples)", _Part),
        (r"/jobs/([\w-]+)/instances/([\w-]+)", _Log),
    ]
    return Application([(path, handler, given) for path, handler in routes])


async def _serve(place: Place, host: str, port: int, url: str) -> None:
    listening = bind_sockets(port, host)
    port = listening[0].getsockname()[1]
    note = Note(url or f"http://{host}:{port}", secrets.token_urlsafe(32))
    server = HTTPServer(_application(Neighbour(place), note.token), max_body_size=_LARGEST_CODE)
    server.add_sockets(listening)
    place.announce(note)
    print(f"The neighbour works in {place.path}, and listens at {note.url}", flush=True)
    end = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    await end.wait()
    place.note.unlink(missing_ok=True)
    server.stop()
    await server.close_all_connections()


def main() -> None:
    """Work in a folder until a signal comes."""
    parser = argparse.ArgumentParser("jupyter-pai-neighbour", description="Run jobs of jupyter-pai on this machine.")
    parser.add_argument("folder", help="the folder that this machine shares with those that submit")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen")
    parser.add_argument("--port", type=int, default=0, help="where to listen; 0 for any that is free")
    parser.add_argument("--url", default="", help="what the others are to call, where that is something else")
    asked = parser.parse_args()
    asyncio.run(_serve(Place(asked.folder), asked.host, asked.port, asked.url))


if __name__ == "__main__":
    main()
