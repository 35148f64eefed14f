"""Submitter: turns a request into a job that runs. Resolve, check, pack, store, start."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from . import source
from .backends.base import Backend, Caller, Capability, Check, Submission
from .errors import SpecError, Unsupported
from .feed import Feed
from .home import Home, JobFolder, writing
from .i18n import _
from .job import Job, JobSpec, JobStatus, now
from .lease import Lease
from .metrics import compile_pattern
from .profiles import Profiles
from .request import Preview, SubmitRequest, Submitted
from .settings import Profile
from .store import Store

__all__ = ["Submitter"]

# Files whose change makes a cell that is run again another job. What a notebook writes itself is not among them.
_CODE = (".py", ".sh", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".txt", ".c", ".cu", ".cpp", ".h")


@dataclass(frozen=True)
class _Code:
    """The code of a job, packed."""

    archive: Path
    digest: str
    hashes: Mapping[str, str]
    files: int
    bytes: int


class Submitter:
    """Submits jobs of a state folder, and hands them to the feed."""

    def __init__(self, home: Home, store: Store, feed: Feed, profiles: Profiles) -> None:
        self.home = home
        self.store = store
        self.feed = feed
        self.profiles = profiles

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
        profile = self.profiles.settings().pick(job.profile)
        spec = job.spec.model_copy(update={"name": _new_name(job.name)})
        check = await self._check(spec, profile, job.python)
        folder = self.home.job(job.id)
        hashes = json.loads((folder.path / "manifest.json").read_text("utf-8"))
        code = _Code(folder.source, job.source_digest, hashes, job.source_files, job.source_bytes)
        return Submitted(job=await self._start(spec, profile, check, code, key, ""))

    def _resolve(self, request: SubmitRequest) -> tuple[Profile, JobSpec]:
        """The profile that is meant, and the spec with its defaults."""
        profile = self.profiles.settings().pick(request.spec.profile, request.backend)
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
        backend = self.profiles.backend(profile)
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
        backend, folder = self.profiles.backend(profile), self.home.job(job.id)
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
