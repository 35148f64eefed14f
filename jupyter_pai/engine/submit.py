"""Submit: turns a request into a running job.

The steps resolve, check, pack, stage, store and start pass on one value, the `SubmitPlan`. The policy is checked before
any request to a platform, again when the platform has resolved the instance type, and in the transaction that stores
the job.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from ..backends.base import Caller, Capability, Submission
from ..config import jupyterhub as hub
from ..config.secret_store import SecretStore
from ..core.cancellation import check_progress
from ..core.errors import PaiError, ReplyLost, SourceGone
from ..core.field_errors import field_from_message, fields
from ..core.secret import Secret
from ..jobs.job import Job, JobStatus, now
from ..jobs.limits import with_notes
from ..jobs.metrics.log_source import check_patterns
from ..jobs.provenance import ProvenanceRecorder
from ..jobs.spec import JobSpec
from ..jobs.state_dir import Home, PackedCode, Reservation, new_id, packed_code, reserve, state_errors, write_files
from ..jobs.store.store import Store
from ..source import pack as source, secret_fields, secret_scan
from ..source.file_cache import FileMemory
from ..source.hyperparameters.discover import Inspection, inspect_modules
from ..storage.base import Progress
from . import lineage
from .attach import attach
from .data.inputs import check_output_uris, lost_outputs, stage_inputs, staging_plan, upload_code
from .data.model_inputs import model_inputs
from .data.storages import Storages
from .data.transfers import Transfer, Transfers
from .examiner import Examiner
from .lost_reply import SubmitOnce, submitted
from .requests import Rerun, SubmitRequest, Submitted
from .retention import Retention
from .submit_keys import SubmitKeys
from .submit_plan import Preview, StagedPlans, SubmitPlan, excluded_of, publish_note, script_for_notebook, with_ipython
from .watcher.loop import Watcher
from .watcher.masking import JobSecrets, note_secrets, of_job_file
from .watcher.second_jobs import SecondJobs

# Files that a preview lists.
_MOST_FILES = 20
# Jobs to measure after a submit. Without a server, this is the only time when jobs are measured.
_MEASURED = 20


class Submitter:
    """Previews, stages, submits and reruns jobs of a state folder."""

    def __init__(
        self,
        home: Home,
        store: Store,
        watcher: Watcher,
        storages: Storages,
        secrets: SecretStore,
        retention: Retention,
        transfers: Transfers,
        second_jobs: SecondJobs,
    ) -> None:
        self.home = home
        self.store = store
        self.watcher = watcher
        self.storages = storages
        self.profiles = storages.profiles
        self.secrets = secrets
        self.retention = retention
        self.transfers = transfers
        self.submit_once = SubmitOnce(store, second_jobs, watcher.timings)
        self.recorder = ProvenanceRecorder(home)
        self.keys = SubmitKeys()
        self.staged = StagedPlans(watcher.timings.staged)
        self._file_cache = FileMemory()
        self.examine = Examiner()

    async def preview(self, request: SubmitRequest, *, quick: bool) -> Preview:
        """Return what `submit` would do, without doing it. `quick` skips the scan of files for secrets.

        Raises:
            BadInput: for invalid fields; ``details["faults"]`` names them.
        """
        plan = await self._check(self._resolve(request))
        manifest = await self.examine(plan.manifest, self.home.path)
        with fields("source"):
            manifest = await self.examine(manifest.ready)
            places = self.home.sources, self._file_cache
            matches = None if quick else await self.examine(source.inspect, manifest, *places)
        inspected, modules = await self.examine(plan.inspection)
        questions, written = await self.examine(plan.path_questions, manifest, modules)
        document = await plan.backend.document(plan.spec)
        return await self.examine(
            lambda: Preview(
                spec=plan.spec,
                backend=plan.profile.backend,
                profile=plan.profile.name,
                command=plan.spec.model_copy(update={"nargs": inspected.nargs}).command_line,
                python=plan.check.python,
                notes=(*plan.check.notes, *secret_scan.messages(matches or ()), *inspected.notes, *written),
                questions=(*plan.check.questions, *questions),
                cost=plan.check.cost,
                hyperparameters=inspected.hyperparameters,
                refused=inspected.refused,
                problems=plan.check.problems,
                document=document,
                files=manifest.files,
                bytes=manifest.bytes,
                biggest=[{"path": entry.path, "bytes": entry.size} for entry in manifest.biggest(_MOST_FILES)],
                **excluded_of(manifest),
                leaks=None if matches is None else [match.as_json() for match in matches],
            )
        )

    async def inspect(self, request: SubmitRequest) -> Inspection:
        """Return the hyperparameters that the code of a request declares."""
        return (await self.examine(inspect_modules, request.spec))[0]

    async def stage(self, request: SubmitRequest) -> Transfer:
        """Start to stage the inputs of a request. Return the transfer; its id is the `staged` of the submit.

        The plan is kept here under that id until its submit, for a limited time.

        Raises:
            BadInput: as `submit`.
            Conflict: if the key of the request was cancelled.
        """
        return await self.keys.run("stage", request.key, self._stage_inputs(request))

    async def _stage_inputs(self, request: SubmitRequest) -> Transfer:
        plan = (await self._check(self._resolve(request))).validated()
        channels = len(plan.staging.channels)
        plan = await self.examine(plan.pack, self.home)
        earlier, with_reason = await asyncio.to_thread(attach, plan, self.store, self.home)
        if channels and not earlier:
            with_reason.check_confirmed()
        transfer = Transfer("bring", "", "", channels, 0, status="waiting" if channels else "done")
        if not channels:
            self.staged.keep(transfer.id, replace(plan, inputs=plan.staging.resolved))
            return transfer
        copy = await stage_inputs(self.storages, plan.staging, plan.profile.name, plan.backend)

        def stage(progress: Progress) -> int:
            inputs = copy(progress)
            self.staged.keep(transfer.id, replace(plan, inputs=inputs))
            return len(inputs)

        transfer.work = stage
        return await self.transfers.start(lambda: transfer)

    async def submit(self, request: SubmitRequest) -> Submitted:
        """Pack the code, store the job and start it. Requests with the same key make one job.

        Raises:
            BadInput: for invalid fields; nothing is stored.
            BackendError: if the platform rejects the job; it is stored as failed.
            Conflict: if the key of the request was cancelled.
        """
        if job := self.store.jobs.by_key(request.key):
            return Submitted(job=job)
        return await self.keys.run("submit", request.key, self._submit(request))

    async def _submit(self, request: SubmitRequest) -> Submitted:
        plan = await self._packed_plan(self._resolve(request))
        async with self.keys.turn(request.attach_key or new_id()):
            earlier, plan = await asyncio.to_thread(attach, plan, self.store, self.home)
            if earlier:
                return Submitted(job=earlier, attached=True)
            plan.check_confirmed()
            origin = {"notebook": request.notebook or request.spec.notebook, "form": request.form}
            plan = replace(plan, origin=origin)
            try:
                return Submitted(job=await self._start(plan))
            except SourceGone:
                return Submitted(job=await self._start(await self.examine(plan.pack, self.home)))

    async def cancel(self, key: str) -> Job | None:
        """Cancel the submit with this key, also one that arrives later. Return its job if that is stored already: it
        continues."""
        while True:
            is_final = await self.keys.cancel(key)
            if (job := self.store.jobs.by_key(key)) or is_final:
                return job

    async def rerun(self, word: str, request: Rerun) -> Submitted:
        """Submit a job's spec and code again, with changes. The name is a new one, unless the changes have one.

        Raises:
            BadInput: naming the invalid field.
            Conflict: on `resume` of a job that is active or has no checkpoints, or if the key was cancelled.
        """
        if job := self.store.jobs.by_key(request.key):
            return Submitted(job=job)
        return await self.keys.run("rerun", request.key, self._rerun(word, request))

    async def _rerun(self, word: str, request: Rerun) -> Submitted:
        earlier = self.store.jobs.find(word)
        plan = self._resolve(await self.examine(lineage.rerun_request, earlier, request, self.profiles))
        origin = {"rerun_of": earlier.id, "notebook": earlier.notebook, "form": earlier.form}
        if request.resume:
            uri = await asyncio.to_thread(lineage.checkpoints, earlier, self.storages)
            inputs = plan.spec.inputs | {lineage.CHANNEL: uri}
            plan = replace(plan, spec=plan.spec.model_copy(update={"inputs": inputs}))
            origin["resumed_from"] = earlier.id
        code = None if "source" in request.changes else packed_code(earlier, self.home.job(earlier.id))
        plan = (await self._check(replace(plan, origin=origin, code=code))).validated()
        if code is None:
            plan = await self.examine(plan.pack, self.home)
        plan.check_confirmed()
        return Submitted(job=await self._start(plan))

    async def check(self, request: SubmitRequest) -> SubmitPlan:
        """Return the checked plan of a request, without the syntax trees of its code. Nothing is packed.

        Raises:
            BadInput: as `submit`.
        """
        return replace((await self._check(self._resolve(request))).validated(), inspected=None)

    async def submit_packed(self, request: SubmitRequest, code: PackedCode, origin: Mapping[str, str]) -> Job:
        """Submit a request whose code is packed already. `origin` has fields of the new job. Requests with the same key
        make one job.

        Raises:
            PaiError: as `submit`.
        """
        if job := self.store.jobs.by_key(request.key):
            return job
        return await self.keys.run("packed", request.key, self._submit_packed(request, code, origin))

    async def _submit_packed(self, request: SubmitRequest, code: PackedCode, origin: Mapping[str, str]) -> Job:
        plan = (await self._check(replace(self._resolve(request), origin=origin, code=code))).validated()
        plan.check_confirmed()
        return await self._start(plan)

    def _resolve(self, request: SubmitRequest) -> SubmitPlan:
        """Return the plan with its profile and the spec with its defaults. Sends no request.

        Raises:
            NotFound: if the profile does not exist.
            NotAllowed: if the policy forbids the spec.
        """
        settings = self.profiles.settings()
        with fields("profile"):
            profile = settings.pick(request.spec.profile, request.backend)
        defaults = profile.settings
        capabilities = self.profiles.capabilities(profile.backend)
        spec, notes = script_for_notebook(request, profile.backend, capabilities)
        update: dict[str, Any] = {"profile": profile.name, "image": spec.image or defaults.default_image}
        update["output_path"] = lineage.own_output_path(spec, defaults.default_output, capabilities)
        spec = settings.policy.filled(spec, defaults)
        if not (spec.is_sized and Capability.SIZES in capabilities):
            update["instance_type"] = spec.instance_type or defaults.default_instance_type
        notes += settings.policy.check_state(self.home.check())
        notes += tuple(filter(None, [self.retention.warning(settings.disk)]))
        spec, backend = with_ipython(spec).model_copy(update=update), self.profiles.backend(profile)
        plan = SubmitPlan(request, settings.policy, profile, backend, spec, notes)
        plan.check_policy(plan.policy)
        return plan

    async def _check(self, plan: SubmitPlan) -> SubmitPlan:
        """Return the plan with the spec that the platform completed, its check, and the inputs to stage.

        Raises:
            BadInput: if the platform cannot run the spec.
            NotAllowed: if the policy forbids the instance type that the platform selected.
        """
        plan = await self.examine(plan.with_launch)
        spec, backend = plan.spec, plan.backend
        await self.examine(check_patterns, spec.metric_definitions)
        needs = {
            Capability.TTY: ("tty", spec.tty),
            Capability.CODE_LAYOUT: ("layout", spec.layout == "code"),
            Capability.ROLES: ("roles", bool(spec.roles)),
            Capability.MULTI_NODE: ("instance_count", spec.instance_count > 1),
            Capability.SECRETS: ("secrets", bool(spec.secrets)),
        }
        for capability, (field, needed) in needs.items():
            if needed and capability not in backend.capabilities:
                raise capability.missing_in(backend.name).at(field)
        check_output_uris(backend, spec)
        passes_secrets = Capability.SECRETS in backend.capabilities
        secret_notes = await asyncio.to_thread(secret_fields.check, spec, passes_secrets=passes_secrets)
        await self._read_secrets(spec)
        spec, models = await model_inputs(spec, plan.profile, self.profiles)
        staging = staging_plan(spec, backend, models.uris, models.profiles)
        in_place = {channel: uri for channel, uri in staging.inputs.items() if channel not in staging.channels}
        with field_from_message(JobSpec.model_fields):
            check = await backend.check(spec.model_copy(update={"inputs": in_place}), Caller(plan.request.python))
            spec, check = await backend.resolve(spec, check)
        if Capability.PAID in backend.capabilities:
            check = check.paid(spec, backend.run_time_limit(spec), getattr(backend.settings, "price_limit", None))
        if Capability.RUNS_HERE not in backend.capabilities and (lost := lost_outputs(backend, spec)):
            check = replace(check, questions=(*check.questions, lost))
        capabilities, workflow = backend.capabilities, plan.origin.get("workflow", "")
        if shared := await asyncio.to_thread(lineage.overwritten, spec, self.store, workflow, capabilities):
            check = replace(check, questions=(*check.questions, shared), notes=(*check.notes, shared))
        hub_note = hub.hub_note() if Capability.RUNS_HERE in backend.capabilities else ""
        more = filter(None, [hub_note, publish_note(spec, backend)])
        check = replace(check, notes=(*check.notes, *plan.notes, *models.notes, *secret_notes, *more))
        plan = replace(plan, spec=spec, check=check, staging=staging)
        plan.check_policy(plan.policy)
        return plan

    async def _packed_plan(self, resolved: SubmitPlan) -> SubmitPlan:
        """Return the packed plan of a submit: the staged one, if request, profile, policy and code are the same as when
        it was staged, else a new one."""
        staged = self.staged.take(resolved.request.staged)
        if staged and staged.is_still(resolved):
            code = (await self.examine(resolved.pack, self.home)).packed
            if code.digest == staged.packed.digest:
                return replace(staged, request=resolved.request, code=code)
        plan = (await self._check(resolved)).validated()
        return await self.examine(plan.pack, self.home)

    async def _read_secrets(self, spec: JobSpec) -> dict[str, Secret]:
        return await asyncio.to_thread(self.secrets.open, spec.secrets) if spec.secrets else {}

    async def _start(self, plan: SubmitPlan) -> Job:
        """Stage what is missing, store the job and start it. Return the job with the request's key, if one exists."""
        if plan.policy.rules.jobs_at_a_time:
            plan.policy.check_room(len(self.store.jobs.active_statuses()))
        values = await self._read_secrets(plan.spec)
        job = plan.new_job()

        def admit(active_jobs: int) -> None:
            policy = self.profiles.policy()
            plan.check_policy(policy)
            policy.check_room(active_jobs)

        with reserve(self.home, job.id) as held:
            with state_errors(self.home.jobs):
                write_files(held.folder, job, plan.packed)
            job = job.model_copy(update={"inputs": await self._stage(plan)})
            await self._upload_code(plan, job, held)
            # A platform may take its time, but this machine unpacks the code, in a thread.
            runs_here = Capability.RUNS_HERE in plan.backend.capabilities
            async with self.examine.free if runs_here else nullcontext():
                prepared = await plan.backend.prepare(job, held.folder)
            cost = [plan.check.cost] if plan.check.cost else []
            notes = with_notes([*cost, *plan.check.notes, *plan.packed.notes, *prepared.notes])
            job = job.model_copy(update={"notes": notes, "outputs": prepared.outputs, "remote_id": prepared.remote_id})
            uses = lineage.used_jobs(plan.spec, self.home)
            key, attach_key = plan.request.key or job.id, plan.request.attach_key
            self.keys.store(plan.request.key)
            held.stored = await asyncio.wrap_future(self.store.jobs.insert(job, key, attach_key, uses, admit))
        if not held.is_kept:
            return held.stored
        job = await self._launch(plan, job, held, values)
        self.recorder.record(job, plan.packed.of)
        self.recorder.run_later(lambda: self.retention.measure(_MEASURED, again=job.id))
        return job

    async def _stage(self, plan: SubmitPlan) -> Mapping[str, str]:
        """Stage the inputs that are not staged yet. Return their URIs."""
        inputs = plan.inputs
        if inputs is None:
            copy = await stage_inputs(self.storages, plan.staging, plan.profile.name, plan.backend)
            inputs = await asyncio.to_thread(copy, check_progress)
        return inputs

    async def _upload_code(self, plan: SubmitPlan, job: Job, held: Reservation) -> None:
        code = plan.packed
        if code.files and (uri := await plan.backend.code_place(job, held.folder)):
            place = self.storages.at(uri, plan.profile.name)
            await asyncio.to_thread(upload_code, place, code.archive, code.hashes)

    async def _launch(self, plan: SubmitPlan, job: Job, held: Reservation, values: Mapping[str, Secret]) -> Job:
        """Start a stored job and follow it."""
        secrets, known = None, values
        if Capability.RUNS_HERE not in plan.backend.capabilities:
            known = {**await asyncio.to_thread(of_job_file, job), **values}
            secrets = JobSecrets(held.folder, job.spec.secrets, self.secrets, known) if known else None
        try:
            if secrets:
                await asyncio.to_thread(note_secrets, held.folder, known)
            submission = await self.submit_once(plan.backend, job, held.folder, values)
        except Exception as error:
            if secrets and isinstance(error, PaiError):
                secrets.mask_error(error)
            # Any error: the job is stored, and must not appear as starting for ever.
            reason = secrets.text(str(error)) if secrets else str(error)
            changes: dict[str, object] = {"status": JobStatus.FAILED, "reason": reason}
            if isinstance(error, ReplyLost):
                changes = {"status": JobStatus.LOST, "reason": error.message, "fix": error.fix}
            await asyncio.wrap_future(self.store.jobs.update(job.id, **changes, ended_at=now()))
            held.lease.release()
            raise
        if submission != Submission(job.remote_id):
            job = await asyncio.wrap_future(self.store.jobs.update(job.id, **submitted(job, submission)))
        is_remote = Capability.RUNS_HERE not in plan.backend.capabilities
        self.watcher.follow(job, held.lease, secrets, polled=is_remote)
        return job
