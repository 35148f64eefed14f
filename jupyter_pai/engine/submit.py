"""Submitter: turns a request into a job that runs. Resolve, check, pack, store, start."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..backends.base import Backend, Caller, Capability, Check, Submission
from ..config import jupyterhub as hub
from ..config.secret_store import SecretStore
from ..config.settings import Profile
from ..core.errors import SourceGone, SpecError, Unconfirmed, Unsupported
from ..core.field_errors import field_from_message, fields
from ..core.i18n import _
from ..core.secret import Secret
from ..core.sizes import parse_size
from ..jobs import names as job_name
from ..jobs.job import Job, JobStatus, now
from ..jobs.job_dir import PackedCode, Reservation, new_id, packed_code, reserve, write_files
from ..jobs.metrics.patterns import compile_pattern
from ..jobs.provenance import ProvenanceRecorder
from ..jobs.spec import JobSpec
from ..jobs.state_dir import Home, state_errors
from ..jobs.store.store import Store
from ..source import pack as source
from ..source import secret_scan as leaks
from ..source.file_cache import FileMemory
from ..source.hyperparameters import discover as inspection
from ..source.hyperparameters.discover import Inspection
from . import adaptation, lineage
from . import upload_code as delivery
from .data.inputs import Inputs, Way
from .data.storages import Storages
from .requests import Preview, Rerun, SubmitRequest, Submitted
from .retention import Retention
from .watcher.loop import Feed

__all__ = ["Submitter"]

# Files whose change makes a cell that is run again another job. What a notebook writes itself is not among them.
_CODE = (".py", ".sh", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".txt", ".c", ".cu", ".cpp", ".h")


# Files that a preview names.
_BIGGEST = 20
# Jobs to measure after a submit: where there is no server that lives on, this is when it is done.
_MEASURED = 20


class Submitter:
    """Submits jobs of a state folder, and hands them to the feed."""

    def __init__(
        self,
        home: Home,
        store: Store,
        feed: Feed,
        storages: Storages,
        secrets: SecretStore,
        retention: Retention,
    ) -> None:
        self.home = home
        self.store = store
        self.feed = feed
        self.storages = storages
        self.profiles = storages.profiles
        self.secrets = secrets
        self.retention = retention
        self.recorder = ProvenanceRecorder(home)
        self.inputs = Inputs(home, storages)
        self._looked_at = FileMemory()

    async def preview(self, request: SubmitRequest, *, quick: bool = False) -> Preview:
        """What `submit` would do, without doing it; if `quick`, without looking for keys in files.

        Raises:
            BadInput: for what the user can mend; ``details["faults"]`` names the fields.
        """
        profile, spec, said = self._resolve(request)
        spec, check = await self._check(spec, profile, request.python, said)
        with fields("source"):
            found = await asyncio.to_thread(source.scan, spec.source, _limit(profile), _apart(spec, self.home))
            self.profiles.policy().check_source(found.bytes)
            manifest = await asyncio.to_thread(found.ready)
            keys = (
                None if quick else await asyncio.to_thread(source.inspect, manifest, self.home.sources, self._looked_at)
            )
        inspected = await asyncio.to_thread(inspection.inspect, spec)
        return Preview(
            spec=spec,
            backend=profile.backend,
            profile=profile.name,
            command=spec.command_line,
            python=check.python,
            notes=(*check.notes, *leaks.words(keys or ()), *inspected.notes),
            questions=check.questions,
            cost=check.cost,
            hyperparameters=inspected.hyperparameters,
            files=manifest.files,
            bytes=manifest.bytes,
            biggest=[{"path": entry.path, "bytes": entry.size} for entry in manifest.biggest(_BIGGEST)],
            left_out=[{"path": left.path, "why": left.why} for left in manifest.left_out],
            leaks=None if keys is None else [one.as_json() for one in keys],
        )

    async def way(self, request: SubmitRequest) -> Way:
        """How the inputs of a spec reach the platform, which `submit` sees to as well: to do it before, with its
        progress told.

        Raises:
            BadInput: for what the user can mend.
        """
        profile, spec, said = self._resolve(request)
        spec, check = await self._check(spec, profile, request.python, said)
        way = await self.inputs.way(spec, profile.name, self.profiles.backend(profile))
        if way.channels and not self.store.jobs.attachable(request.attach_key):
            _agreed(check, confirmed=request.confirmed)
        return way

    async def inspect(self, request: SubmitRequest) -> Inspection:
        """The hyperparameters that the code of a spec declares."""
        return await asyncio.to_thread(inspection.inspect, request.spec)

    async def submit(self, request: SubmitRequest) -> Submitted:
        """Pack the code, store the job, start it. Once for a request's key, however often it is asked.

        Raises:
            BadInput: for what the user can mend; nothing is stored then.
            BackendError: if the platform did not take the job; it is stored as failed.
        """
        profile, spec, said = self._resolve(request)
        spec, check = await self._check(spec, profile, request.python, said)
        code = await asyncio.to_thread(self._pack, spec, profile)
        earlier = self.store.jobs.attachable(request.attach_key)
        if earlier:
            changed = self._changed(earlier, code)
            if not any(path.endswith(_CODE) or path == spec.entry_point for path in changed):
                return Submitted(job=earlier, attached=True, changed=changed)
            note = _("Not attached to {job}: {files} changed.").format(job=earlier.id, files=", ".join(changed[:3]))
            check = replace(check, notes=(*check.notes, note))
        _agreed(check, confirmed=request.confirmed)
        origin = {"notebook": request.notebook or request.spec.notebook}
        try:
            job = await self._start(spec, profile, check, code, request.key, request.attach_key, origin)
        except SourceGone:
            code = await asyncio.to_thread(self._pack, spec, profile)
            job = await self._start(spec, profile, check, code, request.key, request.attach_key, origin)
        return Submitted(job=job)

    async def rerun(self, word: str, asked: Rerun) -> Submitted:
        """Submit a job's spec and code once more, with changes; under a name of its own, unless one is given.

        Raises:
            BadInput: naming the field that is wrong.
            Conflict: if it is to be resumed, and has not ended or has no checkpoints.
        """
        if there := self.store.jobs.by_key(asked.key):
            return Submitted(job=there)
        earlier = self.store.jobs.find(word)
        profile, spec, said = self._resolve(self._renewed(earlier, asked))
        origin = {"rerun_of": earlier.id, "notebook": earlier.notebook}
        if asked.resume:
            uri = await asyncio.to_thread(lineage.checkpoints, earlier, self.storages.of)
            spec = spec.model_copy(update={"inputs": spec.inputs | {lineage.CHANNEL: uri}})
            origin["resumed_from"] = earlier.id
        spec, check = await self._check(spec, profile, earlier.python, said)
        _agreed(check, confirmed=asked.confirmed)
        repack = "source" in asked.changes
        code = (
            await asyncio.to_thread(self._pack, spec, profile)
            if repack
            else packed_code(earlier, self.home.job(earlier.id))
        )
        return Submitted(job=await self._start(spec, profile, check, code, asked.key, "", origin))

    def _renewed(self, earlier: Job, asked: Rerun) -> SubmitRequest:
        """An earlier job's spec with its changes. What its profile filled in is filled in anew; so is an instance type
        that goes by sizes, for other sizes and elsewhere."""
        changes = {"name": job_name.generate_name(job_name.base_name(earlier.name))} | asked.changes
        profile = "" if asked.backend else earlier.profile
        spec = lineage.changed(earlier.spec.model_copy(update={"profile": profile}), changes)
        before = self.profiles.settings().profiles.get(earlier.profile) if spec.profile != earlier.profile else None
        update = lineage.unfilled(spec, earlier.name, before.settings if before else None)
        update = {field: value for field, value in update.items() if field not in changes}
        picks = Capability.SIZES in self.profiles.capabilities(earlier.backend)
        if picks and lineage.has_other_needs(earlier.spec, spec) and "instance_type" not in changes:
            update["instance_type"] = ""
        return SubmitRequest(spec=spec.model_copy(update=update), backend=asked.backend)

    def _resolve(self, request: SubmitRequest) -> tuple[Profile, JobSpec, tuple[str, ...]]:
        """The profile that is meant, the spec with its defaults, and what is to be said of that and of
        the disk."""
        settings = self.profiles.settings()
        with fields("profile"):
            profile = settings.pick(request.spec.profile, request.backend)
        defaults = profile.settings
        spec, notes = adaptation.adapted(request, profile.backend, self.profiles.capabilities(profile.backend))
        update: dict[str, Any] = {"profile": profile.name}
        if defaults.default_output and not spec.output_path:
            stamp = f"{now():%Y%m%d%H%M%S}-{secrets.token_hex(3)}"
            update["output_path"] = f"{defaults.default_output.rstrip('/')}/{lineage.path_name(spec.name)}-{stamp}/"
        update["image"] = spec.image or defaults.default_image
        spec = settings.policy.filled(spec, defaults)
        if not (spec.is_sized and Capability.SIZES in self.profiles.capabilities(profile.backend)):
            update["instance_type"] = spec.instance_type or defaults.default_instance_type
        notes += tuple(filter(None, [self.retention.warning(settings.disk)]))
        return profile, spec.model_copy(update=update), notes

    async def _check(
        self, spec: JobSpec, profile: Profile, python: str, said: tuple[str, ...]
    ) -> tuple[JobSpec, Check]:
        """The spec with what the platform settled, and what is to be said of it.

        Raises:
            BadInput: for what the platform cannot run, or the administrator does not allow.
        """
        policy = self.profiles.policy()
        policy.check(spec, profile.name, profile.backend)
        for number, definition in enumerate(spec.metric_definitions):
            with fields(f"metric_definitions.{number}.regex"):
                compile_pattern(definition)
        backend = self.profiles.backend(profile)
        needs = {
            Capability.TTY: ("tty", spec.tty),
            Capability.CODE_LAYOUT: ("layout", spec.layout == "code"),
            Capability.MULTI_NODE: ("instance_count", spec.instance_count > 1),
            Capability.SECRETS: ("secrets", bool(spec.secrets)),
        }
        for capability, (field, needed) in needs.items():
            if needed and capability not in backend.capabilities:
                raise Unsupported(
                    _("The backend `{name}` cannot do this: {what}.").format(name=backend.name, what=capability.value)
                ).at(field)
        await self._open_secrets(spec)
        with field_from_message(JobSpec.model_fields):
            check = await backend.check(self.inputs.in_place(spec, backend), Caller(python))
            spec, check = await backend.resolve(spec, check)
        if Capability.PAID in backend.capabilities:
            check = check.paid(spec)
        policy.check(spec, profile.name, profile.backend)
        ends = hub.hub_note() if Capability.RUNS_HERE in backend.capabilities else ""
        return spec, replace(check, notes=(*check.notes, *said, *filter(None, [ends])))

    async def _open_secrets(self, spec: JobSpec) -> dict[str, Secret]:
        return await asyncio.to_thread(self.secrets.open, spec.secrets) if spec.secrets else {}

    def _pack(self, spec: JobSpec, profile: Profile) -> PackedCode:
        with fields("source"):
            manifest = source.scan(spec.source, _limit(profile), _apart(spec, self.home))
            packed = source.pack(manifest, self.home.sources)
        size = sum(entry.size for entry in manifest.entries)
        notes = (*packed.notes, *(inspection.inspect(spec).notes if spec.hyperparameters else ()))
        return PackedCode(packed.path, packed.digest, packed.hashes, manifest.files, size, notes)

    def _changed(self, earlier: Job, code: PackedCode) -> tuple[str, ...]:
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
        self,
        spec: JobSpec,
        profile: Profile,
        check: Check,
        code: PackedCode,
        key: str,
        attach_key: str,
        origin: Mapping[str, str] | None = None,
    ) -> Job:
        if there := self.store.jobs.by_key(key):
            return there
        policy = self.profiles.policy()
        policy.check_source(code.bytes)
        # Counted only where that matters; again when it is stored, since others submit meanwhile.
        admit = policy.check_room if policy.rules.jobs_at_a_time else None
        if admit:
            admit(len(self.store.jobs.active_statuses()))
        values = await self._open_secrets(spec)
        job = Job(
            id=new_id(),
            spec=spec,
            backend=profile.backend,
            profile=profile.name,
            status=JobStatus.STARTING,
            submitted_at=now(),
            python=check.python,
            source_digest=code.digest,
            source_files=code.files,
            source_bytes=code.bytes,
            **(origin or {}),
        )
        backend = self.profiles.backend(profile)
        with reserve(self.home, job.id) as held:
            with state_errors(self.home.jobs):
                write_files(held.folder, job, code)
            if spec.inputs:
                way = await self.inputs.way(spec, profile.name, backend)
                job = job.model_copy(update={"inputs": await asyncio.to_thread(way.bring, None)})
            if uri := await backend.code_uri(code.digest):
                await self._send(job, uri, code)
            prepared = await backend.prepare(job, held.folder)
            notes = (*filter(None, [check.cost]), *check.notes, *code.notes, *prepared.notes)
            update = {"notes": notes, "outputs": prepared.outputs}
            job = job.model_copy(update=update | {"remote_id": prepared.remote_id})
            uses = lineage.used_jobs(spec, self.home)
            held.stored = await asyncio.wrap_future(self.store.jobs.insert(job, key or job.id, attach_key, uses, admit))
        if not held.is_kept:
            return held.stored
        job = await self._submit(job, backend, held, values)
        self.recorder.record(job, code.of)
        self.recorder.also(lambda: self.retention.measure_again(job.id, _MEASURED))
        return job

    async def _send(self, job: Job, uri: str, code: PackedCode) -> None:
        """Bring packed code to where the platform takes it from, once for the same content."""
        await asyncio.to_thread(delivery.send_code, self.storages.of(uri, job.profile), uri, code.archive, code.hashes)

    async def _submit(self, job: Job, backend: Backend, held: Reservation, values: Mapping[str, Secret]) -> Job:
        """Start a job that is stored, and follow it."""
        try:
            submission = await backend.submit(job, held.folder, values)
        except Exception as error:
            # Whatever it was: the job is stored, and must not look as if it were still starting.
            failed = {"status": JobStatus.FAILED, "reason": str(error), "ended_at": now()}
            await asyncio.wrap_future(self.store.jobs.update(job.id, **failed))
            held.lease.release()
            raise
        if submission != Submission(job.remote_id):
            known = {"remote_id": submission.remote_id, "console_url": submission.console_url}
            job = await asyncio.wrap_future(self.store.jobs.update(job.id, **known))
        self.feed.follow(job, held.lease)
        return job


def _agreed(check: Check, *, confirmed: bool) -> None:
    """Raises Unconfirmed if the user has to be asked first."""
    if check.questions and not confirmed:
        raise Unconfirmed(
            " ".join(check.questions), fix=_("Submit it all the same with --yes."), questions=list(check.questions)
        )


def _apart(spec: JobSpec, home: Home) -> dict[str, str]:
    """Folders of this machine that are not packed: what the job gets or fills anyway, and the jobs before it."""
    inputs = dict.fromkeys(spec.inputs.values(), _("an input of the job"))
    outputs = dict.fromkeys([*spec.outputs.values(), spec.output_path], _("an output of the job"))
    paths = {uri.removeprefix("file://").rstrip("/"): why for uri, why in (inputs | outputs).items()}
    return {path: why for path, why in paths.items() if os.path.isdir(path)} | {
        str(home.path): _("jobs and their data")
    }


def _limit(profile: Profile) -> int:
    try:
        return parse_size(profile.settings.source_limit)
    except ValueError as error:
        raise SpecError(f"source_limit: {error}").at("profile") from None
