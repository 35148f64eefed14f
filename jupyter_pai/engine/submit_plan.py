"""The plan of a submit, and the plans that wait for their submit after staging.

A submit has six steps: resolve, check, pack, stage, store, start. Each step returns the plan with the next fields
filled in. Preview takes the first two steps, staging the first four, submit and rerun all of them.
"""

from __future__ import annotations

import json
import os
import posixpath
import threading
import time
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from ..backends.base import Backend, Capability
from ..backends.check import Check
from ..backends.job_files import Document, Problem, refusal
from ..backends.runtime import launcher
from ..config.policy import Policy
from ..config.settings import Profile
from ..core.errors import ArgumentsRefused, SourceError, SpecError, Unconfirmed
from ..core.field_errors import fields
from ..core.file_uri import local_path
from ..core.i18n import _
from ..core.text import parse_size
from ..jobs.job import Job, JobStatus, now
from ..jobs.spec import JobSpec
from ..jobs.state_dir import Home, PackedCode, Packing, new_id
from ..source import pack as source
from ..source.entry_point import interpreter, interpreter_of, script_of
from ..source.hyperparameters import Hyperparameter, Module
from ..source.hyperparameters.discover import Inspection, inspect_modules
from ..source.pack import Manifest, Packed
from ..source.paths import beside, excluded
from ..source.paths.named_paths import in_job
from ..source.script import needs_ipython
from .data.inputs import StagingPlan
from .requests import SubmitRequest

# Folders of code that are packed already, by source and excluded paths.
PackedFolders = dict[str, tuple[Manifest, Packed]]
# Excluded paths that are stored with a job, and shown.
_MAX_EXCLUDED = 1_000
# Staged plans kept at a time; the oldest is dropped for a new one.
_MAX_STAGED = 32
# The largest script whose first line is read from packed code.
_LARGEST_SCRIPT = 10_000_000


class Preview(BaseModel):
    """The result of a submit without doing it. The platform resolves only the instance type of a job with sizes and the
    price of a spot instance."""

    spec: JobSpec
    backend: str
    profile: str
    command: str
    python: str
    notes: tuple[str, ...]
    questions: tuple[str, ...] = Field((), description="Questions to confirm before the submit, such as the cost.")
    cost: str = Field(
        "",
        description="On which machines it runs, what they cost and for how long; empty where nothing is to be paid. "
        "Where that is to be confirmed, it is one of the questions.",
    )
    hyperparameters: tuple[Hyperparameter, ...] = Field(description="The hyperparameters that the code declares.")
    refused: dict[str, str] = Field(
        {}, description="Errors with which the script certainly exits, by field of the spec. A submit is refused."
    )
    problems: tuple[Problem, ...] = Field(
        (), description="Faults of the document that the spec has. A submit is refused if one is an error."
    )
    document: Document | None = Field(
        None,
        description="The text that the platform would be sent, without values of secrets. Null if it is not shown.",
    )
    files: int
    bytes: int
    biggest: list[dict[str, Any]] = Field(description="The largest files with path and bytes.")
    left_out: list[dict[str, str]] = Field(description="The first excluded paths and the reasons.")
    excluded: int = Field(description="The number of excluded paths.")
    leaks: list[dict[str, Any]] | None = Field(
        None,
        description="Possible secrets in the files: path, line, cell of a notebook (else 0), kind, and a description. "
        "Null if the files were not scanned.",
    )


def excluded_of(manifest: Manifest) -> dict[str, Any]:
    """Return the fields of a preview on excluded paths."""
    first = sorted(manifest.excluded, key=lambda one: one.path)[:_MAX_EXCLUDED]
    return {"left_out": [{"path": one.path, "why": one.why} for one in first], "excluded": len(manifest.excluded)}


@dataclass(frozen=True)
class SubmitPlan:
    """One submit on its way to a running job.

    Resolved: `spec` has its defaults, `notes` describe them. Checked: `spec` has the instance type, `check` and
    `staging` are set, and so is `inspected` if the code was inspected. Packed: `code` is set. Staged: `inputs` has the
    URIs of all channels if any was copied.
    """

    request: SubmitRequest
    policy: Policy
    profile: Profile
    backend: Backend
    spec: JobSpec
    notes: tuple[str, ...] = ()
    check: Check = field(default_factory=Check)
    staging: StagingPlan = field(default_factory=StagingPlan)
    code: PackedCode | None = None
    inputs: Mapping[str, str] | None = None
    origin: Mapping[str, str] = field(default_factory=dict)
    inspected: tuple[Inspection, tuple[Module, ...]] | None = field(default=None, repr=False)

    @property
    def packed(self) -> PackedCode:
        """The packed code, after that step."""
        assert self.code is not None
        return self.code

    def check_policy(self, policy: Policy) -> None:
        """Check the spec, and the code if it is packed, against a policy.

        Raises:
            NotAllowed: for the first rule that is broken.
        """
        policy.check(self.spec, self.profile.name, self.profile.backend)
        if self.code:
            policy.check_source(self.code.bytes)

    def validated(self) -> SubmitPlan:
        """Return the plan with a note for each warning about the document of the spec.

        Raises:
            SpecError: if the document has errors.
        """
        if any(problem.is_error for problem in self.check.problems):
            raise refusal(self.check.problems)
        notes = (*self.check.notes, *map(str, self.check.problems))
        return replace(self, check=replace(self.check, notes=notes, problems=()))

    def check_confirmed(self) -> None:
        """Raise Unconfirmed if the user must confirm something first."""
        if self.check.questions and not self.request.confirmed:
            raise Unconfirmed(
                " ".join(self.check.questions),
                fix=_("Confirm with --yes."),
                questions=list(self.check.questions),
            )

    def is_still(self, resolved: SubmitPlan) -> bool:
        """Return whether request, profile and policy are those of a plan that was resolved just now."""
        return (self.profile, self.policy) == (resolved.profile, resolved.policy) and (
            _identity(self.request) == _identity(resolved.request)
        )

    def with_launch(self) -> SubmitPlan:
        """Return the plan with the interpreter of its script, read from the packed code if there is any, otherwise from
        the folder, and with the folder in which the script runs. May block.

        Raises:
            UsageError: if the system could not run the script because of its first line.
        """
        update = {"interpreter": "", "script_folder": ""}
        inspected = None
        with fields("entry_point"):
            if not all(one.command.strip() for one in self.spec.by_role.values()):
                update["interpreter"] = self._interpreter(posixpath.normpath(self.spec.entry_point))
                own = self._own_folder()
                if self.code is not None:
                    update["script_folder"] = own
                elif own and not self.spec.runs_notebook:
                    inspected = inspect_modules(self.spec)
                    update["script_folder"] = beside.script_folder(self.spec, inspected[1], own)
        return replace(self, spec=self.spec.model_copy(update=update), inspected=inspected)

    def _own_folder(self) -> str:
        """Return the folder of the code that has the user's file; of packed code the one in which the script ran."""
        own = posixpath.dirname(self.spec.entry_point)
        is_cell = self.spec.entry_point in self.spec.source.files
        if self.code is not None:
            return self.spec.script_folder if is_cell or own == self.spec.script_folder else ""
        if is_cell and os.path.isabs(self.request.notebook):
            inner = os.path.relpath(os.path.dirname(self.request.notebook), self.spec.source.folder or "/")
            return "" if inner == "." or inner.startswith("..") else inner
        return own

    def inspection(self) -> tuple[Inspection, tuple[Module, ...]]:
        """Return the inspection of the code, with its modules: that of the check, if there was one. May block."""
        return self.inspected or inspect_modules(self.spec)

    def path_questions(self, manifest: Manifest, modules: Sequence[Module]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the questions about excluded paths that the code reads, and about paths that a job does not have, and
        notes on paths that it writes beside the packed folder. May block."""
        limits = getattr(self.backend.settings, "kept_files", None)
        keeps = limits is None or limits.size > 0
        taken = {*self.spec.inputs}
        names = [*in_job(self.spec, modules)]
        outside, written = beside.questions(
            self.spec, modules, names, taken, keeps=keeps, sees=lambda path: self.backend.sees(path, self.spec)
        )
        left_out = excluded.questions(manifest, self.spec, names, taken)
        return (*left_out, *outside), written

    def _interpreter(self, script: str) -> str:
        if self.code is None:
            return interpreter_of(self.spec.source.folder, script, self.spec.source.files)
        from ..source import archive  # Imported on first use, with tarfile: it takes 300 kB of memory.

        with suppress(SourceError):  # Of a damaged archive, which is reported when it is used.
            for entry in archive.contents(self.code.archive, {script}, _LARGEST_SCRIPT):
                if entry.data is not None:
                    return interpreter(script, entry.data, executable=bool(entry.mode & 0o111))
        return self.spec.interpreter

    def manifest(self, state_dir: Path) -> Manifest:
        """Return the files to pack. May block.

        Raises:
            SourceError: if the folder cannot be packed.
            NotAllowed: if it is larger than the policy allows.
        """
        try:
            limit = parse_size(self.profile.settings.source_limit)
        except ValueError as error:
            raise SpecError(f"source_limit: {error}").at("profile") from None
        with fields("source"):
            excluded_paths = self._excluded(state_dir)
            manifest = source.scan(self.spec.source, limit, excluded_paths, may_be_empty=self._is_codeless)
        self.policy.check_source(manifest.bytes)
        return manifest

    def pack(self, home: Home, known: PackedFolders | None = None, *, inspects: bool = True) -> SubmitPlan:
        """Return the plan with its code packed, and with a question for each excluded path that the code names. May
        block. `known` has the folders that were packed for other plans, and gets those of this one. `inspects`: check
        the command line of the script.

        Raises:
            ArgumentsRefused: if the script certainly rejects its command line.
            SourceError: if the code cannot be packed, or has secrets in it.
            NotAllowed: if it is larger than the policy allows.
        """
        inspection, modules = self.inspection()
        if not inspects:
            inspection = replace(inspection, notes=(), refused={})
        if inspection.refused and not self.request.anyway:
            raise ArgumentsRefused(
                " ".join(dict.fromkeys(inspection.refused.values())),
                fix=_("To submit it anyway: --anyway"),
                faults=inspection.refused,
            )
        manifest, packed = self._packed_folder(home, {} if known is None else known)
        questions, written = self.path_questions(manifest, modules)
        code = PackedCode(
            packed.path,
            packed.digest,
            packed.hashes,
            manifest.files,
            manifest.bytes,
            (
                *packed.notes,
                *inspection.notes,
                *inspection.refused.values(),
                *written,
                *filter(None, [excluded.summary(manifest)]),
            ),
            packing=Packing(manifest.excluded[:_MAX_EXCLUDED], self._import_paths(manifest)),
        )
        check = replace(self.check, questions=(*self.check.questions, *questions))
        spec = self.spec.model_copy(update={"nargs": inspection.nargs})
        return replace(self, spec=spec, code=code, check=check, inspected=None)

    def _import_paths(self, manifest: Manifest) -> tuple[str, ...]:
        """Return the folders of the project's packages, and the folder of the script if that of its notebook is another
        one."""
        own = self.spec.script_folder
        is_beside = own and posixpath.dirname(self.spec.entry_point) != own
        return (*manifest.import_paths(), *([own] if is_beside else []))

    def _packed_folder(self, home: Home, known: PackedFolders) -> tuple[Manifest, Packed]:
        key = json.dumps([self.spec.source.model_dump(mode="json"), self._excluded(home.path), self._is_codeless])
        if key not in known:
            manifest = self.manifest(home.path)
            with fields("source"):
                known[key] = manifest, source.pack(manifest, home.sources)
        self.policy.check_source(known[key][0].bytes)
        return known[key]

    def _excluded(self, state_dir: Path) -> dict[str, str]:
        """Return the folders of this machine that are not packed (inputs, outputs, the state folder), with the
        reasons."""
        spec = self.spec
        uris: dict[str, str] = dict.fromkeys(spec.inputs.values(), _("an input of the job"))
        outputs = (*spec.outputs.values(), spec.output_path, self.request.spec.output_path)
        uris |= dict.fromkeys(outputs, _("an output of the job"))
        paths = {local_path(uri).rstrip("/"): reason for uri, reason in uris.items()}
        return {path: paths[path] for path in filter(os.path.exists, paths)} | {
            str(state_dir): _("jobs and their data")
        }

    @property
    def _is_codeless(self) -> bool:
        """True if a command runs without a folder of code, or in one that may have its inputs only."""
        folder = self.spec.source.folder
        is_apart = any(local_path(uri).startswith(f"{folder}/") for uri in self.spec.inputs.values())
        return bool(self.spec.command.strip()) and (not folder or is_apart)

    def new_job(self) -> Job:
        """Return a new job, not stored yet."""
        return Job(
            id=new_id(),
            spec=self.spec,
            backend=self.profile.backend,
            profile=self.profile.name,
            status=JobStatus.STARTING,
            submitted_at=now(),
            python=self.check.python,
            source_digest=self.packed.digest,
            source_files=self.packed.files,
            source_bytes=self.packed.bytes,
            run_time_limit=self.backend.run_time_limit(self.spec),
            **self.origin,
        )


class StagedPlans:
    """Staged plans by the id of their transfer. They expire, and are never sent to a client."""

    def __init__(self, lifetime: float) -> None:
        self.lifetime = lifetime
        self._plans: dict[str, tuple[float, SubmitPlan]] = {}
        self._lock = threading.Lock()

    def keep(self, plan_id: str, plan: SubmitPlan) -> None:
        """Keep a plan under an id. Callable from any thread."""
        with self._lock:
            while len(self._plans) >= _MAX_STAGED:
                del self._plans[next(iter(self._plans))]
            self._plans[plan_id] = time.monotonic() + self.lifetime, plan

    def take(self, plan_id: str) -> SubmitPlan | None:
        """Return a plan and forget it; None if the id is unknown or has expired."""
        with self._lock:
            expires, plan = self._plans.pop(plan_id, (0.0, None))
        return plan if time.monotonic() < expires else None


def script_for_notebook(
    request: SubmitRequest, backend: str, capabilities: Set[Capability]
) -> tuple[JobSpec, tuple[str, ...]]:
    """Return the spec for a backend with these capabilities, and notes about it.

    The code of a notebook becomes a script if the request allows that and the backend does not run notebooks. May read
    the notebook.

    Raises:
        NotebookError: if it cannot be read, or if a script cannot do what a kernel does.
    """
    spec = request.spec
    if not request.script_if_needed or not spec.notebook or Capability.NOTEBOOKS in capabilities:
        return spec, ()
    with fields("entry_point"):
        name, text = script_of(Path(spec.source.folder), spec.entry_point)
    code = spec.source.model_copy(update={"files": {**spec.source.files, name: text}})
    note = _("Backend `{name}` does not run notebooks cell by cell. The code is sent as the script {script}.")
    return spec.model_copy(update={"entry_point": name, "source": code}), (note.format(name=backend, script=name),)


def with_ipython(spec: JobSpec) -> JobSpec:
    """Return the spec with IPython among its requirements if a script needs it. It is not installed if it is there."""
    known = {launcher.project(line) for line in spec.requirements}
    if "ipython" in known or not any(map(needs_ipython, spec.source.files.values())):
        return spec
    return spec.model_copy(update={"requirements": (*spec.requirements, "ipython")})


def publish_note(spec: JobSpec, backend: Backend) -> str:
    """Return the note that the metrics of a job are sent to the platform; empty if they are not."""
    if not backend.publishes(spec):
        return ""
    text = _("The metrics of the job, including their names, are sent to {platform}.")
    return text.format(platform=_(backend.title) if backend.title else backend.name)


def _identity(request: SubmitRequest) -> SubmitRequest:
    """Return the request without the fields that differ between staging and submit."""
    return request.model_copy(update={"key": "", "confirmed": False, "staged": ""})
