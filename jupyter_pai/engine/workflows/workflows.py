"""`Workflows`: starts, lists, stops, resumes and deletes the runs of a state folder."""

from __future__ import annotations

import asyncio
import base64
import builtins
import contextlib
import hashlib
import logging
import os
import shutil
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ...core.cleanup import at_exit
from ...core.errors import Conflict, NotFound, PaiError, StateError
from ...core.i18n import _
from ...jobs.job import now
from ...jobs.state_dir import Home, new_id, state_errors
from ...jobs.store.query import JobFilter
from ...jobs.workflows.run import RunStatus, StepState, StepStatus, WorkflowRun
from ...jobs.workflows.run_folder import RunFolder, RunRecord
from ...jobs.workflows.workflow import Workflow
from ..audit_log import Audit
from ..watcher.loop import Watcher
from . import plan, reuse
from .conductor import Conductor
from .requests import ExportRequest, ResumeRequest, WorkflowPlan, WorkflowRequest
from .states import States

if TYPE_CHECKING:
    from ..submit import Submitter

_log = logging.getLogger(__name__)

# Jobs of a run that are read at once.
_PAGE = 500


class Workflows:
    """The runs of workflows. One conductor a run, in one of the processes that share the state folder."""

    def __init__(self, home: Home, watcher: Watcher, audit: Audit, submitter: Callable[[], Submitter]) -> None:
        self.home = home
        self.watcher = watcher
        self.store = watcher.store
        self.audit = audit
        self.submitter = submitter
        # For reading.
        self._folders: dict[str, RunFolder] = {}
        self._conductors: dict[str, Conductor] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        # Runs with damaged files.
        self._damaged: set[str] = set()
        # Large workflows are checked and stored one after another: other requests would wait for each thread.
        self._turn = asyncio.Lock()

    def conduct(self, runs: Iterable[str]) -> None:
        """Conduct those of these runs that no other process conducts."""
        for run in runs:
            if run in self._tasks or run in self._damaged:
                continue
            folder = RunFolder(self.home.workflows / run)
            with contextlib.suppress(OSError):
                if not folder.path.is_dir():
                    (self.home.active_runs / run).unlink(missing_ok=True)
                elif folder.lease.acquire():
                    self._conduct(folder)

    async def close(self) -> None:
        """Stop to conduct. Jobs continue, and the next engine conducts the runs."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _conduct(self, folder: RunFolder) -> None:
        """Conduct a run whose lease is held."""
        conductor = self._conductors[folder.id] = Conductor(folder, self.submitter(), self.audit)
        task = self._tasks[folder.id] = asyncio.create_task(self._conducted(conductor))
        task.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _conducted(self, conductor: Conductor) -> None:
        folder = conductor.folder
        try:
            if not folder.exists:  # The process that was creating it was killed.
                shutil.rmtree(folder.path, ignore_errors=True)
                self._mark(folder.id, active=False)
                return
            record = folder.record()
            if not record.status.ended:
                if folder.stops:
                    conductor.stopping.set()
                earlier = await asyncio.to_thread(self._earlier, record) if record.reuse else {}
                if not await conductor.run(earlier):
                    return
            self._mark(folder.id, active=False)
        except (PaiError, OSError) as error:
            self._damaged.add(folder.id)
            _log.error("Cannot conduct the run %s: %s", folder.id, error)
        except Exception as error:
            if at_exit(error):
                return
            self._damaged.add(folder.id)
            _log.exception("Cannot conduct the run %s.", folder.id)
        finally:
            folder.lease.release()
            self._conductors.pop(folder.id, None)
            self._tasks.pop(folder.id, None)

    def _mark(self, run: str, *, active: bool) -> None:
        """Mark a run as active for all engines, or remove the mark."""
        marker = self.home.active_runs / run
        with state_errors(self.home.path):
            if active:
                marker.parent.mkdir(mode=0o700, exist_ok=True)
                marker.touch(mode=0o600)
            else:
                marker.unlink(missing_ok=True)

    def _earlier(self, record: RunRecord) -> dict[str, StepState]:
        """Return the succeeded steps of earlier runs of the same workflow, by digest."""
        runs = [one.id for one in self._records() if one.name == record.name and one.id != record.id]
        return reuse.earlier_steps(self._folder(run) for run in runs)

    async def check(self, request: WorkflowRequest) -> WorkflowPlan:
        """Return what `run` would do, without doing it.

        Raises:
            BadInput: for invalid fields of a step; ``details["faults"]`` names them.
        """
        async with self._turn:
            checked = await plan.checked(self.submitter(), request)
            return await asyncio.to_thread(checked.described)

    async def run(self, request: WorkflowRequest) -> WorkflowRun:
        """Pack the code of all steps, store the run and start it. Requests with the same key make one run.

        Raises:
            BadInput: for invalid fields; nothing is stored.
            Unconfirmed: if the user must confirm something first, such as the cost of all steps.
        """
        run = _run_id(request.key)
        if not self._folder(run).exists:
            await self.submitter().keys.run("workflow", request.key, self._create(run, request))
        async with self._turn:
            return await asyncio.to_thread(self.find, run)

    async def _create(self, run: str, request: WorkflowRequest) -> None:
        submitter = self.submitter()
        async with self._turn:
            checked = await plan.checked(submitter, request)
            packed = await asyncio.to_thread(checked.packed, submitter)
            packed.check_confirmed(confirmed=request.confirmed)
            submitter.keys.store(request.key)
            folder = await asyncio.to_thread(self._store, run, request, packed)
        if folder:
            self._conduct(folder)

    def _store(self, run: str, request: WorkflowRequest, packed: plan.RunPlan) -> RunFolder | None:
        """Store a run, and return its folder with the lease held. Return None if another process has stored it."""
        folder = RunFolder(self.home.workflows / run)
        record = RunRecord(
            id=run,
            name=request.workflow.name,
            submitted_at=now(),
            notes=packed.notes(),
            notebook=request.notebook,
            python=request.python,
            confirmed=request.confirmed,
            reuse=request.reuse,
        )
        with state_errors(self.home.path):
            self.home.workflows.mkdir(mode=0o700, exist_ok=True)
            folder.path.mkdir(mode=0o700, exist_ok=True)
            if not folder.lease.acquire():
                return None
            try:
                if folder.exists:
                    folder.lease.release()
                    return None
                for one in packed.plans.values():
                    folder.keep_code(one.packed)
                folder.write_workflow(packed.stored())
                self._mark(run, active=True)
                folder.write(record)
            except BaseException:
                shutil.rmtree(folder.path, ignore_errors=True)
                folder.lease.release()
                self._mark(run, active=False)
                raise
        return folder

    def list(self, limit: int = 50, offset: int = 0) -> tuple[builtins.list[WorkflowRun], int]:
        """Return runs, newest first, and the number of all. May block."""
        records = self._records()
        return [self._live(record.id) for record in records[offset : offset + limit]], len(records)

    def _records(self) -> builtins.list[RunRecord]:
        """Return the records of all readable runs, newest first."""
        records = []
        for run in self._ids():
            with contextlib.suppress(PaiError):
                records.append(self._folder(run).record())
        return sorted(records, key=lambda record: (record.submitted_at, record.id), reverse=True)

    def _ids(self) -> builtins.list[str]:
        try:
            return [run for run in os.listdir(self.home.workflows) if self._folder(run).exists]
        except OSError:
            return []

    def _folder(self, run: str) -> RunFolder:
        return self._folders.setdefault(run, RunFolder(self.home.workflows / run))

    def find(self, word: str) -> WorkflowRun:
        """Return a run by its id, the beginning of its id, its name (the newest of that name), or `last`.

        Raises:
            NotFound: if no run matches, naming the candidates if a prefix matches several.
        """
        return self._live(self._id_of(word))

    def _id_of(self, word: str) -> str:
        ids = self._ids()
        if word in ids:
            return word
        records = self._records()
        if named := [record.id for record in records if word in (record.name, "last")]:
            return named[0]
        matches = [run for run in ids if word and run.startswith(word)]
        if len(matches) > 1:
            raise NotFound(
                _("Several ids of runs begin with `{word}`: {ids}.").format(word=word, ids=", ".join(sorted(matches)))
            )
        if not matches:
            raise NotFound(_("No run matches `{word}`.").format(word=word), fix=_("List all runs: %pai workflow list"))
        return matches[0]

    def _live(self, run: str) -> WorkflowRun:
        """Return a run with the current statuses of its active jobs."""
        stored = self._folder(run).run()
        return stored.model_copy(update={"steps": tuple(map(self._live_step, stored.steps))})

    def _live_step(self, step: StepState) -> StepState:
        if step.status is StepStatus.WAITING or step.status.ended:
            return step
        try:
            job = self.watcher.current(self.store.jobs.get(step.job))
        except PaiError:
            return step
        # The end of the job is stored with the step when it was judged: it may be repeated.
        status = StepStatus.RUNNING if job.status.ended else StepStatus(job.status.value)
        return step.model_copy(update={"status": status, "started_at": job.started_at})

    def workflow(self, run: WorkflowRun) -> Workflow:
        """Return the workflow of a run."""
        return self._folder(run.id).stored().workflow

    async def stop(self, word: str) -> WorkflowRun:
        """Request the end of a run: its active jobs are stopped, and no further step starts."""
        run = await asyncio.to_thread(self.find, word)
        if not run.status.ended:
            self._folder(run.id).request_stop()
            if conductor := self._conductors.get(run.id):
                conductor.stopping.set()
        return await asyncio.to_thread(self.find, run.id)

    async def resume(self, word: str, request: ResumeRequest) -> WorkflowRun:
        """Continue a run that failed or was stopped: the steps that did not succeed run again.

        Raises:
            Conflict: if it is active or succeeded.
            Unconfirmed: if the user must confirm something first, such as the cost of the steps.
        """
        run = await asyncio.to_thread(self.find, word)
        folder = self._held(run, _("The run {run} is still active, so it cannot be resumed."))
        try:
            again = _unfinished(run, self.workflow(run))
            if not again:
                raise Conflict(
                    _("The run {run} succeeded, so there is nothing to resume.").format(run=run.id),
                    fix=_("Run the workflow again: %pai workflow run [FILE]"),
                )
            record = folder.record()
            await self._check_again(folder, record, again, confirmed=request.confirmed)
            await asyncio.to_thread(self._reopen, folder, record, again, confirmed=request.confirmed)
        except BaseException:
            folder.lease.release()
            raise
        self._conduct(folder)
        return await asyncio.to_thread(self.find, run.id)

    async def _check_again(self, folder: RunFolder, record: RunRecord, again: set[str], *, confirmed: bool) -> None:
        workflow = folder.stored().workflow
        request = WorkflowRequest(workflow=workflow, python=record.python, notebook=record.notebook)
        steps = [step for step in workflow.in_order if step.name in again]
        checked = await plan.checked(self.submitter(), request, steps)
        checked.check_confirmed(confirmed=confirmed or record.confirmed)

    def _reopen(self, folder: RunFolder, record: RunRecord, again: set[str], *, confirmed: bool) -> None:
        states = States(folder, folder.stored().workflow)
        folder.withdraw_stop()
        for name in again:
            states.wait(name, attempt=states[name].attempt, counts=False)
            states.change(name, values={}, digest="", started_at=None)
        changes = {"status": RunStatus.RUNNING, "ended_at": None, "reason": ""}
        self._mark(folder.id, active=True)
        with state_errors(folder.path):
            folder.write(record.model_copy(update=changes | {"confirmed": confirmed or record.confirmed}))

    def _held(self, run: WorkflowRun, text: str) -> RunFolder:
        """Return the folder of a run that has ended, with its lease.

        Raises:
            Conflict: if it is active.
        """
        folder = RunFolder(self.home.workflows / run.id)
        if not run.status.ended or not folder.lease.acquire():
            raise Conflict(text.format(run=run.id), fix=_("Stop it first: %pai workflow stop {run}").format(run=run.id))
        return folder

    async def delete(self, word: str) -> WorkflowRun:
        """Delete a run that has ended, or whose files are damaged. Its jobs remain.

        Raises:
            Conflict: if it is active.
        """
        run_id = await asyncio.to_thread(self._id_of, word)
        try:
            run = await asyncio.to_thread(self.find, run_id)
        except StateError:
            run = WorkflowRun(id=run_id, name=run_id, status=RunStatus.FAILED, submitted_at=now())
        folder = self._held(run, _("The run {run} is still active, so it cannot be deleted."))
        await self._release_jobs(run_id)
        await asyncio.to_thread(shutil.rmtree, folder.path, ignore_errors=True)
        folder.lease.release()
        self._mark(run.id, active=False)
        self._folders.pop(run.id, None)
        return run

    async def _release_jobs(self, run_id: str) -> None:
        """Let the jobs of a run belong to no run, so that each is listed alone."""
        query = JobFilter(limit=_PAGE, workflow=run_id)
        while jobs := (await asyncio.to_thread(self.store.jobs.page, query))[0]:
            for job in jobs:
                await asyncio.wrap_future(self.store.jobs.update(job.id, workflow="", step=""))

    async def export(self, request: ExportRequest) -> str:
        """Return a workflow in another format.

        Raises:
            BadInput: if the format is unknown, or a step cannot be written in it.
        """
        from .export import exported  # Imports YAML.

        async with self._turn:
            return await exported(self.submitter(), request)


def _run_id(key: str) -> str:
    """Return the id of the run with a key: requests with the same key make one run. Random without a key."""
    return base64.b32encode(hashlib.sha256(key.encode()).digest()[:5]).decode().lower() if key else new_id()


def _unfinished(run: WorkflowRun, workflow: Workflow) -> set[str]:
    """Return the steps that run again: all that failed, were stopped or lost, and the steps that they skipped. A false
    condition is decided again only if a step that it depends on runs again."""
    done = (StepStatus.SUCCEEDED, StepStatus.SKIPPED)
    again = {step.name for step in run.steps if step.status.ended and step.status not in done}
    return again | workflow.dependants(again)
