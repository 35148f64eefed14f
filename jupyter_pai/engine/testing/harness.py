"""Test harness for a backend: submits jobs as the service does, and observes them."""

from __future__ import annotations

import asyncio
import functools
import sys
import uuid
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ...backends.base import Backend, Caller, Capability
from ...backends.reports import Report
from ...cloud import http as transport
from ...config.settings import Profile
from ...core.file_uri import uri_of
from ...core.secret import Secret
from ...jobs.instances import Instance
from ...jobs.job import Job, JobStatus, now
from ...jobs.spec import parse_spec
from ...jobs.state_dir import Home, JobFolder, new_id
from ...source import pack as source
from ...storage.base import Storage
from ..data.inputs import upload_code
from ..data.storages import Storages
from ..profiles import Profiles
from ..watcher.masking import JobSecrets, MaskedLog
from ..watcher.reported import completed

__all__ = ["PROFILE", "Bench", "story"]

T = TypeVar("T")
PROFILE = "bench"
_SOURCE = {"files": {"a.txt": "from the code\n"}}


def read(storage: Storage, folder: str, path: str) -> bytes:
    """Return the content of a file in a folder."""
    with storage.open(folder, path) as file:
        return file.read(0, file.file.size)


class Bench:
    """The backend of the profile `PROFILE`, and jobs for it. `patience`: seconds of each wait."""

    def __init__(self, home: Home, patience: float = 60.0) -> None:
        self.patience = patience
        self.home = home.create()
        self.profiles = Profiles(home)
        self.storages = Storages(self.profiles)
        self.backend = self.another()
        # The secrets of submitted jobs by remote id.
        self._secrets: dict[str, JobSecrets] = {}

    @property
    def profile(self) -> Profile:
        return self.profiles.settings().pick(PROFILE)

    def another(self) -> Backend:
        """Return a new backend, as another process has it."""
        return Profiles(self.home).backend(self.profile)

    def edit(self, keys: dict[str, Any]) -> Backend:
        """Change the profile, and return a new backend."""
        Profiles(self.home).edit(PROFILE, keys)
        return self.another()

    async def prepare(self, command: str, **fields: Any) -> Job:
        """Prepare a command with a file `a.txt` in its folder, and return the job to submit."""
        defaults = self.backend.settings
        places = {"image": defaults.default_image, "instance_type": defaults.default_instance_type}
        spec = parse_spec({"name": "x", "command": command, "source": _SOURCE} | places | fields)
        spec, check = await self.backend.resolve(spec, await self.backend.check(spec, Caller(sys.executable)))
        job = Job(
            id=new_id(), spec=spec, backend=self.backend.name, profile=PROFILE, status=JobStatus.STARTING,
            submitted_at=now(), python=check.python, source_digest=uuid.uuid4().hex, source_files=len(_SOURCE["files"]),
        )  # fmt: skip
        folder = self.home.job(job.id)
        folder.path.mkdir(parents=True)
        packed = source.pack(source.scan(spec.source, 10**6, may_be_empty=True), self.home.sources)
        folder.source.write_bytes(packed.path.read_bytes())
        if uri := await self.backend.code_place(job, folder):
            upload_code(self.storages.at(uri, PROFILE), folder.source, packed.hashes)
        prepared = await self.backend.prepare(job, folder)
        return job.model_copy(update={"outputs": prepared.outputs, "remote_id": prepared.remote_id})

    async def submit(self, command: str, values: dict[str, Secret] | None = None, **fields: Any) -> tuple[Job, str]:
        """Submit a command, as `prepare` does. Return the job and its remote id."""
        job = await self.prepare(command, **fields)
        submission = await self.backend.submit(job, self.folder(job), values or {})
        if values and Capability.RUNS_HERE not in self.backend.capabilities:
            self._secrets[submission.remote_id] = JobSecrets(self.folder(job), job.spec.secrets, values=values)
        outputs = {**submission.outputs, **job.outputs}
        return job.model_copy(update={"outputs": outputs}), submission.remote_id

    async def put(self, data: bytes, elsewhere: Path) -> str:
        """Write a file that the platform can read and return its URI; empty if it has no place for inputs. A local
        backend reads it from `elsewhere`."""
        if not (base := await self.backend.input_uri()):
            elsewhere.write_bytes(data)
            is_read = Capability.RUNS_HERE in self.backend.capabilities or self.backend.can_read(str(elsewhere))
            return uri_of(elsewhere) if is_read else ""
        place = self.storages.at(base, PROFILE).join(uuid.uuid4().hex).join(elsewhere.name)
        place.storage.put(data, place.uri)
        return place.uri

    def outputs(self, job: Job, channel: str) -> dict[str, bytes]:
        """Return the files of an output channel: path to bytes."""
        place = self.storages.at(job.outputs[channel], PROFILE)
        return {file.path: read(place.storage, place.uri, file.path) for file in place.storage.list(place.uri)}

    async def finish(
        self, command: str, values: dict[str, Secret] | None = None, **fields: Any
    ) -> tuple[Job, str, Report]:
        """Submit a command, as `submit` does, and wait for its end. Return also the last report."""
        job, remote_id = await self.submit(command, values, **fields)
        return job, remote_id, await self.ended(remote_id)

    async def until(self, remote_id: str, condition: Callable[[Report], bool]) -> Report:
        """Return the first report that meets a condition."""
        async with asyncio.timeout(self.patience):
            while not condition(report := (await self.backend.poll([remote_id]))[remote_id]):
                await asyncio.sleep(0.01)
        return await self._secrets[remote_id].report(report) if remote_id in self._secrets else report

    async def ended(self, remote_id: str) -> Report:
        return await self.until(remote_id, lambda report: report.status.ended)

    async def instances(self, remote_id: str) -> Sequence[Instance]:
        """Return the instances of a job once its platform lists them."""
        async with asyncio.timeout(self.patience):
            while not (instances := await self.backend.instances(remote_id)):
                await self.backend.poll([remote_id])
                await asyncio.sleep(0.01)
        return instances

    async def log(self, job: Job, remote_id: str, instance: str, expected: bytes) -> bytes:
        """Return the log of a finished job's instance once it contains `expected`, with its secrets masked as by the
        engine. Each read is by another process."""
        secrets = self._secrets.get(remote_id)
        before, data, position = b"-", b"", ("", 0)
        async with asyncio.timeout(self.patience):
            while expected not in data or data != before:
                before = data
                if Capability.RUNS_HERE in self.backend.capabilities:
                    data = (self.folder(job).log / instance).read_bytes()
                else:
                    log = MaskedLog(secrets.new_filter() if secrets else None, *position)
                    data += log.feed(await self.another().log(remote_id, instance, log.cursor))[0]
                    position = log.position
                assert data.count(expected) <= 1, "bytes were read twice"
        return data

    async def only_log(self, job: Job, remote_id: str, expected: bytes) -> bytes:
        """Return the log of a job with one instance, as `log` does."""
        (instance,) = await self.instances(remote_id)
        return await self.log(job, remote_id, instance.name, expected)

    async def completed(self, job: Job, remote_id: str, report: Report) -> Report:
        """Return the last report of a job with one instance, with what its job script wrote into the log."""
        if report.output_parameters:
            return report
        return completed(report, (await self.only_log(job, remote_id, b'[pai] {"output_parameter"')).decode())

    def folder(self, job: Job) -> JobFolder:
        return self.home.job(job.id)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end."""

        async def closing() -> T:
            try:
                return await coroutine
            finally:
                await transport.close()

        return asyncio.run(closing())


def story(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test in an event loop of its own, without a pytest plug-in."""

    @functools.wraps(test)
    def run(self: object, bench: Bench, **fixtures: Any) -> None:
        bench.run(test(self, bench=bench, **fixtures))

    return run
