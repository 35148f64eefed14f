"""The neighbour itself: takes jobs by HTTP, and runs them as jupyter-pai's own local backend does.

A plug-in for a platform that exists has no such file. Jobs outlive it: one that is started again finds them.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import getpass
import hmac
import json
import os
import secrets
import shutil
import signal
import socket
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
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
    Instance,
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
from jupyter_pai.jobs.logs.file import LogFile
from jupyter_pai.jobs.metrics.resource_samples import RECORD

from . import points
from .backend import NeighbourOptions
from .kept_models import KeptModels
from .place import Note, Place
from .shelves import Shelves

__all__ = ["Neighbour", "main"]

_PIECE = 1 << 18
_MOST, _LARGEST_CODE = 1 << 40, 1 << 30
_REPORTS, _MACHINES = TypeAdapter(dict[str, Report]), TypeAdapter(list[InstanceType])
_INSTANCES, _QUOTAS = TypeAdapter(list[Instance]), TypeAdapter(list[Quota])
_EVENTS = TypeAdapter(list[PlatformEvent])


class Neighbour:
    """The jobs of one shared folder."""

    def __init__(self, place: Place, token: str, user: str = "", password: str = "") -> None:
        self.place = place
        # Those that it knows, until it ends.
        self.tokens = {token} - {""}
        self.user, self.password = user, password
        self.home = Home(place.home).create()
        self.local = LocalBackend(LocalSettings(backend="local"), self.home)
        self.shelves = Shelves(place)
        self.models = KeptModels(place.home / "models.json")
        self._taking = asyncio.Lock()
        self._retries: dict[str, asyncio.Task[None]] = {}
        self._asked: Counter[str] = Counter()

    def log_in(self, user: str, password: str) -> str:
        """A new token for a user.

        Raises:
            errors.SpecError: if it is not the user's password.
        """
        if not self.user:
            raise errors.Unsupported("This neighbour asks for no login.")
        if user != self.user:
            raise errors.SpecError(f"The neighbour knows no user `{user}`.").at("user")
        if not hmac.compare_digest(password.encode(), self.password.encode()):
            raise errors.SpecError("This is not the user's password.").at("password")
        token = secrets.token_urlsafe(32)
        self.tokens.add(token)
        return token

    def knows(self, token: str) -> bool:
        return any(hmac.compare_digest(token.encode(), known.encode()) for known in self.tokens)

    async def take(self, job: Job, values: Mapping[str, Secret]) -> None:
        """Start a job with its code in the shared folder, unless it exists: a client without a reply sends it again."""
        folder = self.home.job(job.id)
        async with self._taking:
            if folder.record.exists():
                return
            options = parse_options(NeighbourOptions, job.spec.options)
            if options.processor and int(options.processor) not in os.sched_getaffinity(0):
                raise errors.SpecError(f"The neighbour has no processor {options.processor}.").at("options.processor")
            # The local backend knows none of our options.
            run = job.model_copy(update={"spec": job.spec.model_copy(update={"options": {}})})
            check = await self.local.check(run.spec, Caller(sys.executable))
            run = run.model_copy(update={"python": check.python})
            try:
                folder.path.mkdir(parents=True, exist_ok=True)
                if job.source_files:
                    shutil.copy(self.place.path / "code" / job.source_digest / "source.tar.gz", folder.source)
                else:
                    tarfile.open(folder.source, "w:gz").close()
                prepared = await self.local.prepare(run, folder)
            except (OSError, errors.PaiError):
                shutil.rmtree(folder.path, ignore_errors=True)
                raise
            outcome = {"python": check.python, "outputs": prepared.outputs}
            folder.record.write_text(job.model_copy(update=outcome).model_dump_json(exclude={"name"}), "utf-8")
            run = run.model_copy(update=outcome)
            await self._start(run, folder, values, options)
            if options.retries:
                self._retries[job.id] = asyncio.create_task(self._retry(run, folder, values, options))

    async def _retry(
        self, job: Job, folder: JobFolder, values: Mapping[str, Secret], options: NeighbourOptions
    ) -> None:
        """Run a job once more if it fails, in a folder of its own. Another daemon cannot: it has no secrets of it."""
        while not (report := (await self.local.poll([folder.id]))[folder.id]).status.ended:
            await asyncio.sleep(0.1)
        if report.status is JobStatus.FAILED:
            again = self.home.job(f"{job.id}-2")
            again.path.mkdir()
            shutil.copy(folder.source, again.source)
            await self.local.prepare(job, again)
            await self._start(job, again, values, options)

    async def _start(
        self, job: Job, folder: JobFolder, values: Mapping[str, Secret], options: NeighbourOptions
    ) -> None:
        """In a thread of its own: on Linux each has its niceness and processors, which the processes inherit that it
        starts.

        Secrets are variables that are written nowhere. As on most platforms, the log shows what a job prints of them.
        """
        environment = job.spec.environment | {name: value.open() for name, value in values.items()}
        job = job.model_copy(update={"spec": job.spec.model_copy(update={"environment": environment})})

        def start() -> None:
            os.nice(options.nice)
            if options.processor:
                os.sched_setaffinity(0, {int(options.processor)})
            asyncio.run(self.local.submit(job, folder, {}))

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

    def job(self, job_id: str) -> Job:
        return Job.model_validate_json(self.folder(job_id).record.read_text("utf-8"))

    def attempts(self, job_id: str) -> list[JobFolder]:
        """The folders of a job's attempts, of the first one first."""
        first, second = self.folder(job_id), self.home.job(f"{job_id}-2")
        return [first, second] if second.path.exists() else [first]

    async def reports(self, job_ids: Sequence[str]) -> dict[str, Report]:
        """Return the states of the last attempts. A job that is yet to be run again has not ended."""
        retried = {job_id for job_id, task in self._retries.items() if not task.done()}
        last = {job_id: self.attempts(job_id)[-1].id for job_id in job_ids}
        found = await self.local.poll([*last.values()])
        reports = {job_id: found[folder] for job_id, folder in last.items()}
        waiting = {job_id for job_id in retried & reports.keys() if reports[job_id].status is JobStatus.FAILED}
        return reports | dict.fromkeys(waiting, Report(JobStatus.STARTING))

    async def described(self, folder: JobFolder) -> dict[str, Any]:
        return {
            "job": json.loads(folder.record.read_text("utf-8")),
            "report": _REPORTS.dump_python(await self.reports([folder.id]), mode="json")[folder.id],
        }

    async def instances(self, job_id: str) -> list[Instance]:
        """Return the instances of a job, as the last attempt runs them that has begun."""
        for attempt, folder in reversed([*enumerate(self.attempts(job_id), 1)]):
            if found := await self.local.instances(folder.id):
                return [replace(one, address="127.0.0.1", attempt=attempt) for one in found]
        return []

    def log(self, job_id: str, instance: str, attempt: int) -> LogFile:
        """Return the log of an instance's attempt.

        Raises:
            errors.NotFound: if there is none.
        """
        attempts = self.attempts(job_id)
        if instance not in self.job(job_id).spec.instance_names or not 0 < attempt <= len(attempts):
            raise errors.NotFound(f"Job {job_id} has no attempt {attempt} of an instance `{instance}`.")
        return LogFile(attempts[attempt - 1].log, instance)

    async def events(self, job_id: str) -> list[PlatformEvent]:
        """Return the events of a job. The last one is counted up: it replaces the earlier one."""
        told = [PlatformEvent(f"{socket.gethostname()} took the job", self.job(job_id).submitted_at)]
        for folder in self.attempts(job_id):
            report = (await self.local.poll([folder.id]))[folder.id]
            if report.started_at:
                told.append(PlatformEvent("begun", report.started_at, instance=self.job(job_id).spec.instance_names[0]))
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

    def initialize(self, neighbour: Neighbour) -> None:
        self.neighbour = neighbour

    def prepare(self) -> None:
        if not self.neighbour.knows(self.request.headers.get("Authorization", "").removeprefix("Bearer ")):
            fix = "Log in again: jupyter pai profile login NAME" if self.neighbour.user else "Read its note anew."
            raise errors.CredentialsError("The neighbour does not know this token.", fix=fix)

    def write_error(self, status_code: int, **more: Any) -> None:
        error = more["exc_info"][1]
        said = error if isinstance(error, errors.PaiError) else errors.EngineError(f"The neighbour failed: {error}")
        self.set_status(said.status)
        self.finish(said.as_json())

    def log_exception(self, *error: Any) -> None:
        if not isinstance(error[1], errors.PaiError):
            super().log_exception(*error)


class _Login(_Handler):
    def prepare(self) -> None:
        """No token is needed where one is given."""

    def post(self) -> None:
        self.finish({"token": self.neighbour.log_in(**json.loads(self.request.body))})


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
        self.finish(_REPORTS.dump_python(await self.neighbour.reports(here), mode="json"))


class _Job(_Handler):
    async def get(self, job_id: str) -> None:
        self.finish(await self.neighbour.described(self.neighbour.folder(job_id)))

    async def put(self, job_id: str) -> None:
        body = json.loads(self.request.body)
        values = {name: Secret(value) for name, value in body["secrets"].items()}
        await self.neighbour.take(Job.model_validate(body["job"]), values)
        self.finish({})


class _Part(_Handler):
    async def get(self, job_id: str, part: str) -> None:
        folders = self.neighbour.attempts(job_id)
        if part == "events":
            self.finish({part: _EVENTS.dump_python(await self.neighbour.events(job_id), mode="json")})
        elif part == "instances":
            self.finish({part: _INSTANCES.dump_python(await self.neighbour.instances(job_id), mode="json")})
        elif part == "place":
            layout = Job.model_validate_json(folders[-1].record.read_text("utf-8")).spec.layout
            self.finish({"host": socket.gethostname(), "folder": str(folders[-1].path / "ml" / layout)})
        else:
            after = float(self.get_query_argument("after"))
            taken = [folder.usage.read_bytes() for folder in folders if folder.usage.exists()]
            whole = b"".join(one[: len(one) // RECORD.size * RECORD.size] for one in taken)
            self.finish({part: [one for one in RECORD.iter_unpack(whole) if one[0] > after]})


class _Points(_Handler):
    def get(self, job_id: str) -> None:
        self.finish({"points": points.kept(self.neighbour.folder(job_id).path)})

    def post(self, job_id: str) -> None:
        sent = [(metric, step, value, time) for metric, step, value, time in json.loads(self.request.body)["points"]]
        points.keep(self.neighbour.folder(job_id).path, sent)
        self.finish({})


class _Models(_Handler):
    def get(self) -> None:
        self.finish({"models": self.neighbour.models.all()})

    def post(self) -> None:
        self.finish(self.neighbour.models.add(json.loads(self.request.body)))


class _Model(_Handler):
    def delete(self, model_id: str) -> None:
        self.neighbour.models.remove(model_id, self.get_query_argument("version", ""))
        self.finish({})


class _Log(_Handler):
    def get(self, job_id: str, instance: str) -> None:
        attempt, start = int(self.get_query_argument("attempt")), int(self.get_query_argument("start"))
        log = self.neighbour.log(job_id, instance, attempt)
        # Another attempt begins when the one before it has ended.
        is_last = attempt == len(self.neighbour.attempts(job_id))
        if start >= log.size and not is_last:
            attempt, start, is_last = attempt + 1, 0, True
            log = self.neighbour.log(job_id, instance, attempt)
        data = log.read(start, _PIECE)
        times = [(max(offset - start, 0), time) for offset, time in log.times() if offset < start + len(data)]
        # Of those up to the start, the last one has the time of the first byte.
        times = times[max(sum(offset == 0 for offset, _time in times) - 1, 0) :]
        answer = {"attempt": attempt, "end": start + len(data), "more": len(data) == _PIECE or not is_last}
        self.finish(answer | {"data": base64.b64encode(data).decode(), "times": times})


class _Stop(_Handler):
    async def post(self, job_id: str) -> None:
        await self.neighbour.local.stop(self.neighbour.attempts(job_id)[-1].id)
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
        found = _MACHINES.dump_python(await self.neighbour.local.instance_types(), mode="json")
        free = _QUOTAS.dump_python(await self.neighbour.local.quotas(), mode="json")
        processors = sorted(os.sched_getaffinity(0))
        self.finish({"host": socket.gethostname(), "instances": found, "quotas": free, "processors": processors})


def _application(neighbour: Neighbour) -> Application:
    given = {"neighbour": neighbour}
    routes: list[tuple[str, type[RequestHandler]]] = [
        (r"/login", _Login),
        (r"/jobs", _Jobs),
        (r"/reports", _Reports),
        (r"/machine", _Machine),
        (r"/models", _Models),
        (r"/models/([\w-]+)", _Model),
        (r"/files", _Files),
        (r"/jobs/([\w-]+)", _Job),
        (r"/jobs/([\w-]+)/stop", _Stop),
        (r"/jobs/([\w-]+)/points", _Points),
        (r"/jobs/([\w-]+)/(events|instances|samples|place)", _Part),
        (r"/jobs/([\w-]+)/instances/([\w-]+)", _Log),
    ]
    return Application([(path, handler, given) for path, handler in routes])


async def _serve(place: Place, host: str, port: int, url: str, user: str, password: str) -> None:
    listening = bind_sockets(port, host)
    port = listening[0].getsockname()[1]
    note = Note(url or f"http://{host}:{port}", "" if user else secrets.token_urlsafe(32))
    server = HTTPServer(_application(Neighbour(place, note.token, user, password)), max_body_size=_LARGEST_CODE)
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
    parser.add_argument("--user", default="", help="who has to log in, with a password; else the folder's readers may")
    asked = parser.parse_args()
    password = os.environ.get("NEIGHBOUR_PASSWORD") or getpass.getpass() if asked.user else ""
    asyncio.run(_serve(Place(asked.folder), asked.host, asked.port, asked.url, asked.user, password))


if __name__ == "__main__":
    main()
