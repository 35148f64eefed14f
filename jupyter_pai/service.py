"""JobService: the one place where spec, source, storage, backend, store and feed meet.

Server, kernel and command line all use it, so they cannot disagree. Its methods are coroutines; what blocks is done in
threads.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import secrets
import shutil
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from . import doctor, source
from . import settings as settings_files
from .backends import load_backends
from .backends.base import Backend, Caller, Capability, Check, Finding, Submission
from .errors import Conflict, NotFound, SpecError, Unsupported
from .event import JobEvent, LogChunk, MetricPoint, json_number
from .feed import WATCHED, Feed
from .home import Home, JobFolder, writing
from .i18n import _
from .job import Job, JobSpec, JobStatus, now
from .lease import Lease
from .logs import Log, instances
from .metrics import compile_pattern
from .request import Preview, SubmitRequest, Submitted
from .series import Series
from .settings import Profile, Settings
from .storage import storage_of
from .store import JobFilter, Store
from .summary import status_word

__all__ = ["JobService"]

# Files whose change makes a cell that is run again another job. What a notebook writes itself is not among them.
_CODE = (".py", ".sh", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".txt", ".c", ".cu", ".cpp", ".h")
_PIECE = 1 << 18
_NEWS_EVERY = 0.1


@dataclass(frozen=True)
class _Code:
    """The code of a job, packed."""

    archive: Path
    digest: str
    hashes: Mapping[str, str]
    files: int
    bytes: int


class JobService:
    """The engine over one state folder."""

    def __init__(self, home: Home | None = None) -> None:
        self.home = (home or Home()).create()
        self.store = Store(self.home.database)
        self.feed = Feed(self.home, self.store, self._backend_of)
        self._models = {name: backend.settings_model for name, backend in load_backends().items()}
        self._backends: dict[str, tuple[Profile, Backend]] = {}

    async def start(self) -> None:
        """Look at every job that has not ended, and follow them from now on."""
        await self.feed.start()

    async def close(self) -> None:
        """Let go of everything. Jobs go on."""
        await self.feed.stop()
        await asyncio.to_thread(self.store.close)

    # Profiles.

    def settings(self) -> Settings:
        """The settings as their files say now."""
        return settings_files.load(self._models)

    def edit_settings(
        self, profile: str, values: Mapping[str, Any] | None = None, *, default: bool = False
    ) -> Settings:
        """Set keys of a profile (None removes a key), make it the default one; without either, remove it.

        Raises:
            SettingsError: if the settings would be wrong then; they stay as they were.
        """
        return settings_files.edit(self._models, profile, values, default)

    def _backend(self, profile: Profile) -> Backend:
        known = self._backends.get(profile.name)
        if known is None or known[0] != profile:
            known = self._backends[profile.name] = (
                profile,
                load_backends()[profile.backend](profile.settings, self.home),
            )
        return known[1]

    def _backend_of(self, job: Job) -> Backend:
        return self._backend(self.settings().pick(job.profile))

    async def doctor(self) -> list[Finding]:
        """Check everything that a job needs, by trying it."""
        return await asyncio.to_thread(doctor.examine, self.home, self.settings, self._backend)

    def runs_here(self) -> bool:
        """Whether a job runs on this machine."""
        backends = {name for name, kind in load_backends().items() if Capability.RUNS_HERE in kind.capabilities}
        return bool(backends & self.store.running_backends())

    # Submitting.

    async def preview(self, request: SubmitRequest) -> Preview:
        """What `submit` would do, without doing it."""
        profile, spec = self._resolve(request)
        check = await self._check(spec, profile, request.python)
        found = await asyncio.to_thread(source.scan, spec.source, _limit(profile), _apart(spec))
        manifest = await asyncio.to_thread(found.ready)
        return Preview(
            spec=spec,
            backend=profile.backend,
            profile=profile.name,
            command=spec.command_line,
            python=check.python,
            notes=check.notes,
            files=manifest.files,
            bytes=manifest.bytes,
            biggest=[{"path": entry.path, "bytes": entry.size} for entry in manifest.biggest(5)],
            left_out=[{"path": left.path, "why": left.why} for left in manifest.left_out],
        )

    async def submit(self, request: SubmitRequest) -> Submitted:
        """Pack the code, store the job, start it. Once for a request's key, however often it is asked.

        Raises:
            BadInput: for what the user can mend; nothing is stored then.
            BackendError: if the platform did not take the job; it is stored as failed.
        """
        profile, spec = self._resolve(request)
        check = await self._check(spec, profile, request.python)
        code = await asyncio.to_thread(self._pack, spec, profile)
        earlier = self.store.attachable(request.attach_key)
        notes: tuple[str, ...] = check.notes
        if earlier:
            changed = self._changed(earlier, code)
            if not any(path.endswith(_CODE) for path in changed):
                return Submitted(job=earlier, attached=True, changed=changed)
            notes += (
                _("Not attached to {job}: {files} changed.").format(job=earlier.id, files=", ".join(changed[:3])),
            )
        check = Check(notes, check.python)
        return Submitted(job=await self._start(spec, profile, check, code, request.key, request.attach_key))

    async def rerun(self, word: str, key: str = "") -> Submitted:
        """Submit the same spec with the same code once more, under a name of its own."""
        job = self.store.find(word)
        profile = self.settings().pick(job.profile)
        spec = job.spec.model_copy(update={"name": _new_name(job.name)})
        check = await self._check(spec, profile, job.python)
        folder = self.home.job(job.id)
        hashes = json.loads((folder.path / "manifest.json").read_text("utf-8"))
        code = _Code(folder.source, job.source_digest, hashes, job.source_files, job.source_bytes)
        return Submitted(job=await self._start(spec, profile, check, code, key, ""))

    def _resolve(self, request: SubmitRequest) -> tuple[Profile, JobSpec]:
        """The profile that is meant, and the spec with its defaults."""
        profile = self.settings().pick(request.spec.profile, request.backend)
        defaults = profile.settings
        spec = request.spec
        update: dict[str, Any] = {"profile": profile.name}
        if defaults.default_output and not spec.output_path:
            stamp = f"{now():%Y%m%d%H%M%S}-{secrets.token_hex(3)}"
            update["output_path"] = f"{defaults.default_output.rstrip('/')}/{_path_name(spec.name)}-{stamp}/"
        update["image"] = spec.image or defaults.default_image
        update["instance_type"] = spec.instance_type or defaults.default_instance_type
        return profile, spec.model_copy(update=update)

    async def _check(self, spec: JobSpec, profile: Profile, python: str) -> Check:
        for definition in spec.metric_definitions:
            compile_pattern(definition)
        backend = self._backend(profile)
        needs = {Capability.TTY: spec.tty, Capability.CODE_LAYOUT: spec.layout == "code"}
        for capability, needed in needs.items():
            if needed and capability not in backend.capabilities:
                raise Unsupported(
                    _("The backend `{name}` cannot do this: {what}.").format(name=backend.name, what=capability.value)
                )
        return await backend.check(spec, Caller(python))

    def _pack(self, spec: JobSpec, profile: Profile) -> _Code:
        manifest = source.scan(spec.source, _limit(profile), _apart(spec))
        packed = source.pack(manifest, self.home.sources)
        size = sum(entry.size for entry in manifest.entries)
        return _Code(packed.path, packed.digest, packed.hashes, manifest.files, size)

    def _changed(self, earlier: Job, code: _Code) -> tuple[str, ...]:
        """The files that are not what they were for an earlier job."""
        if earlier.source_digest == code.digest:
            return ()
        try:
            before = json.loads((self.home.job(earlier.id).path / "manifest.json").read_text("utf-8"))
        except (OSError, ValueError):
            before = {}
        paths = before.keys() | code.hashes.keys()
        return tuple(sorted(path for path in paths if before.get(path) != code.hashes.get(path)))

    async def _start(
        self, spec: JobSpec, profile: Profile, check: Check, code: _Code, key: str, attach_key: str
    ) -> Job:
        if there := self.store.by_key(key):
            return there
        job = Job(
            id=base64.b32encode(secrets.token_bytes(5)).decode().lower(),
            spec=spec,
            backend=profile.backend,
            profile=profile.name,
            status=JobStatus.STARTING,
            submitted_at=now(),
            python=check.python,
            source_digest=code.digest,
            source_files=code.files,
            source_bytes=code.bytes,
        )
        backend, folder = self._backend(profile), self.home.job(job.id)
        lease = Lease(folder.path / "follower.lock")
        stored = None
        try:
            with writing(self.home.jobs):
                folder.path.mkdir(mode=0o700)
                lease.take()
                _write_folder(folder, job, code)
            prepared = await backend.prepare(job, folder)
            update = {"notes": (*check.notes, *prepared.notes), "outputs": prepared.outputs}
            job = job.model_copy(update=update | {"remote_id": prepared.remote_id})
            stored = await asyncio.wrap_future(self.store.insert(job, key or job.id, attach_key))
        finally:
            if not stored or stored.id != job.id:
                lease.give()
                shutil.rmtree(folder.path, ignore_errors=True)
        if stored.id != job.id:
            return stored
        return await self._submit(job, backend, folder, lease)

    async def _submit(self, job: Job, backend: Backend, folder: JobFolder, lease: Lease) -> Job:
        """Start a job that is stored, and follow it."""
        try:
            submission = await backend.submit(job, folder)
        except Exception as error:
            # Whatever it was: the job is stored, and must not look as if it were still starting.
            failed = {"status": JobStatus.FAILED, "reason": str(error), "ended_at": now()}
            await asyncio.wrap_future(self.store.update(job.id, **failed))
            lease.give()
            raise
        if submission != Submission(job.remote_id):
            known = {"remote_id": submission.remote_id, "console_url": submission.console_url}
            job = await asyncio.wrap_future(self.store.update(job.id, **known))
        self.feed.follow(job, lease)
        return job

    # Looking.

    def jobs(self, wanted: JobFilter) -> tuple[list[Job], int]:
        """A page of jobs, newest first, and how many there are in all."""
        return self.store.page(wanted)

    def find(self, word: str) -> Job:
        """The job that a user means by an id, the beginning of one, a name, or `last`."""
        return self.store.find(word)

    def describe(self, job: Job) -> dict[str, Any]:
        """A job as JSON, with its progress and the latest value of each metric."""
        series = Series(self.home.job(job.id).series)
        return job.model_dump(mode="json") | {
            "progress": series.cursor().progress,
            "metrics": {
                name: {"value": json_number(point.value), "step": point.step, "time": point.time}
                for name, point in series.latest().items()
            },
        }

    def log(self, job: Job, instance: str = "") -> Log:
        """The log of one of a job's instances; of the first if none is named.

        Raises:
            NotFound: if there is no such instance.
        """
        names = instances(self.home.job(job.id).log)
        if instance and instance not in names:
            raise NotFound(
                _("The job {job} has no instance `{name}`.").format(job=job.id, name=instance),
                fix=_("Known are: {names}.").format(names=", ".join(names)),
            )
        return Log(self.home.job(job.id).log, instance or (names[0] if names else "worker-0"))

    def log_instances(self, job: Job) -> list[str]:
        """The instances of a job that have a log."""
        return instances(self.home.job(job.id).log)

    def metrics(self, job: Job) -> Series:
        """The metrics of a job."""
        return Series(self.home.job(job.id).series)

    def events(self, after: int = 0, job_id: str = "") -> list[JobEvent]:
        """What happened after the event `after`, to one job or to all."""
        return self.store.events(after, job_id)

    # Following.

    async def follow_log(self, job: Job, instance: str = "", offset: int = 0) -> AsyncIterator[LogChunk]:
        """The log from a byte offset on, as it grows, until the job has ended and all of it was given."""
        with self.feed.watch(job.id):
            while True:
                # Asked before the log is read: what a job that has ended wrote is all there.
                ended = self.store.status(job.id).ended
                log = self.log(job, instance)
                while data := log.read(offset, _PIECE):
                    yield LogChunk(log.path.name, offset, data)
                    offset += len(data)
                if ended:
                    return
                await asyncio.sleep(WATCHED)

    async def follow_metrics(self, job: Job, counts: dict[str, int]) -> AsyncIterator[list[MetricPoint]]:
        """Points as they come, of each metric those after the first `counts` ones, until the job has ended."""
        with self.feed.watch(job.id):
            while True:
                ended = self.store.status(job.id).ended
                series = self.metrics(job)
                new: list[MetricPoint] = []
                for name, count in series.cursor().counts.items():
                    new += series.read(name, counts.get(name, 0), count)
                    counts[name] = count
                if new:
                    yield new
                if ended:
                    return
                await asyncio.sleep(WATCHED)

    async def follow_events(self, after: int | None = None) -> AsyncIterator[list[JobEvent]]:
        """What happens to jobs, whoever does it, after the event `after`; from now on if it is None."""
        place = self.store.last_event() if after is None else after
        while True:
            if events := self.store.events(place):
                place = events[-1].id
                yield events
            else:
                await asyncio.sleep(_NEWS_EVERY)

    async def wait(self, job: Job, timeout: float | None = None) -> Job:
        """The job when it has ended.

        Raises:
            TimeoutError: if it has not within `timeout` seconds.
        """
        async with asyncio.timeout(timeout):
            with self.feed.watch(job.id):
                while not self.store.status(job.id).ended:
                    await asyncio.sleep(WATCHED)
        return self.store.get(job.id)

    # Changing.

    async def stop(self, word: str) -> Job:
        """Ask for a job's end; it has not ended yet when this returns. Does nothing to one that has."""
        job = self.store.find(word)
        if not job.status.ended:
            await self._backend_of(job).stop(job.remote_id or job.id)
        return job

    async def delete(self, word: str) -> Job:
        """Forget a job that has ended: its row, log, metrics, code, and outputs that were kept with it.

        Raises:
            Conflict: if it has not ended.
        """
        job = self.store.find(word)
        if not job.status.ended:
            raise Conflict(
                _("The job {job} is {status}.").format(job=job.id, status=status_word(job.status)),
                fix=_("Stop it first: %pai stop {job}").format(job=job.id),
            )
        if job.remote_id and load_backends().get(job.backend):
            await self._backend_of(job).delete(job.remote_id)
        await asyncio.wrap_future(self.store.delete(job.id))
        await asyncio.to_thread(self._remove_files, job)
        return job

    def _remove_files(self, job: Job) -> None:
        shutil.rmtree(self.home.job(job.id).path, ignore_errors=True)
        archive = self.home.sources / f"{job.source_digest}.tar.gz"
        if job.source_digest and not self.store.has_source(job.source_digest):
            archive.unlink(missing_ok=True)

    async def download(self, word: str, channel: str, folder: Path, *, overwrite: bool = False) -> int:
        """Copy an output channel of a job into a folder; the number of files.

        Raises:
            NotFound: if there is no such channel, or nothing in it.
            Conflict: if files are there already.
        """
        job = self.store.find(word)
        if channel not in job.outputs:
            raise NotFound(
                _("The job {job} has no output channel `{name}`.").format(job=job.id, name=channel),
                fix=_("Known are: {names}.").format(names=", ".join(job.outputs)),
            )
        uri = job.outputs[channel]
        files = await asyncio.to_thread(storage_of(uri).get_tree, uri, folder, overwrite=overwrite)
        if not files:
            raise NotFound(
                _("The job {job} has written nothing to `{name}`.").format(job=job.id, name=channel),
                fix=_("Its script finds the folder in the variable PAI_OUTPUT_{name}.").format(name=channel.upper()),
            )
        return files


def _write_folder(folder: JobFolder, job: Job, code: _Code) -> None:
    folder.spec.write_text(job.spec.model_dump_json(indent=1), "utf-8")
    (folder.path / "manifest.json").write_text(json.dumps(dict(code.hashes)), "utf-8")
    try:
        os.link(code.archive, folder.source)
    except OSError:
        shutil.copyfile(code.archive, folder.source)


def _apart(spec: JobSpec) -> dict[str, str]:
    """Folders of this machine that the job gets or fills anyway: not packed as well."""
    inputs = dict.fromkeys(spec.inputs.values(), _("an input of the job"))
    outputs = dict.fromkeys([*spec.outputs.values(), spec.output_path], _("an output of the job"))
    paths = {uri.removeprefix("file://").rstrip("/"): why for uri, why in (inputs | outputs).items()}
    return {path: why for path, why in paths.items() if os.path.isdir(path)}


def _limit(profile: Profile) -> int:
    try:
        return source.parse_size(profile.settings.source_limit)
    except ValueError as error:
        raise SpecError(f"source_limit: {error}") from None


def _path_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).strip(".") or "job"


def _new_name(name: str) -> str:
    """The name with the time of now, in place of the one that it ends with if it does."""
    base = re.sub(r"_\d{8}-\d{6}$", "", name)
    return f"{base[:112]}_{datetime.now():%Y%m%d-%H%M%S}"
