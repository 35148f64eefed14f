"""The files of one run of a workflow. They are the truth: every process that shares the state folder reads them.

``workflow.json``   the workflow, and the packed code of each step; never changed
``run.json``        the state of the run; replaced atomically
``steps.jsonl``     one line for each change of a step; the last line of a step counts
``stop``            created to request the end of the run
``conductor.lock``  lease of the process that starts the steps and writes the files
``code/``           the packed code of the steps by content, with its manifest; the archives are hard links
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import Field

from ...core.errors import DAMAGED, NotFound, StateError
from ...core.filesystem import read_at, replace_file
from ...core.i18n import _, text_from_json, text_to_json
from ...core.lease import Lease
from ..job import Time, UserText
from ..spec import STORED, Value
from ..state_dir import ExcludedPath, PackedCode, Packing, state_errors
from .run import RunStatus, StepState, WorkflowRun
from .workflow import Workflow

__all__ = ["RunFolder", "RunRecord", "StoredWorkflow"]


class RunRecord(Value):
    """The state of a run without its steps, and the options of its request."""

    id: str
    name: str
    status: RunStatus = RunStatus.RUNNING
    submitted_at: Time
    ended_at: Time | None = None
    reason: UserText = ""
    notes: tuple[UserText, ...] = ()
    notebook: str = ""
    python: str = ""
    confirmed: bool = False
    reuse: bool = False


class StoredWorkflow(Value):
    """A workflow as it was submitted. `code` and `notes` have the digest of the packed code and the notes on it, by
    step."""

    workflow: Workflow
    code: dict[str, str] = {}
    notes: dict[str, tuple[UserText, ...]] = {}


class _StepLine(Value):
    """A line of ``steps.jsonl``. `attempts_before`: attempts that do not count as retries, such as those before a
    resume."""

    state: StepState
    attempts_before: int = Field(0, ge=0)


class RunFolder:
    """The folder of one run. An object remembers the lines that it has read. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name
        self.lease = Lease(path / "conductor.lock")
        self._states: dict[str, StepState] = {}
        self._attempts_before: dict[str, int] = {}
        self._offset = 0
        self._record: tuple[tuple[int, int], RunRecord] | None = None
        self._stored: StoredWorkflow | None = None
        self._lock = threading.Lock()

    @property
    def exists(self) -> bool:
        """True if the run is stored. Its record is written last."""
        return (self.path / "run.json").exists()

    @property
    def stops(self) -> bool:
        """True if the end of the run was requested."""
        return (self.path / "stop").exists()

    def request_stop(self) -> None:
        """Request the end of the run."""
        with state_errors(self.path):
            (self.path / "stop").touch(mode=0o600)

    def withdraw_stop(self) -> None:
        """Remove the request to end the run."""
        with state_errors(self.path):
            (self.path / "stop").unlink(missing_ok=True)

    def write_workflow(self, stored: StoredWorkflow) -> None:
        """Write the workflow."""
        with replace_file(self.path / "workflow.json") as file:
            file.write(json.dumps(stored.model_dump(mode="json", context=STORED)))

    def stored(self) -> StoredWorkflow:
        """Return the workflow. The result is kept, since it never changes.

        Raises:
            StateError: if its file is damaged.
        """
        if not self._stored:
            with self._read_errors("workflow.json"):
                text = (self.path / "workflow.json").read_text("utf-8")
                self._stored = StoredWorkflow.model_validate_json(text, context=STORED)
        return self._stored

    def write(self, record: RunRecord) -> None:
        """Replace the state of the run."""
        with replace_file(self.path / "run.json") as file:
            file.write(json.dumps(record.model_dump(mode="json", context=STORED)))

    def record(self) -> RunRecord:
        """Return the state of the run.

        Raises:
            NotFound: if the run was deleted.
            StateError: if its file is damaged.
        """
        path = self.path / "run.json"
        with self._read_errors("run.json"):
            info = path.stat()
            version = info.st_mtime_ns, info.st_ino
            if not self._record or self._record[0] != version:
                self._record = version, RunRecord.model_validate_json(path.read_text("utf-8"), context=STORED)
        return self._record[1]

    def append(self, states: Iterable[StepState], attempts_before: Mapping[str, int]) -> None:
        """Append new states of steps, in one write.

        Raises:
            OSError: if they cannot be written.
        """
        lines = [
            json.dumps(
                _StepLine(state=state, attempts_before=attempts_before.get(state.name, 0)).model_dump(
                    mode="json", context=STORED, exclude_defaults=True
                )
            )
            for state in states
        ]
        file = os.open(self.path / "steps.jsonl", os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600)
        try:
            size = os.fstat(file).st_size
            # A process that was killed, or a full disk, may have left an incomplete line.
            torn = size and os.pread(file, 1, size - 1) != b"\n"
            data = (("\n" if torn else "") + "\n".join(lines) + "\n").encode()
            while data:
                data = data[os.write(file, data) :]
        finally:
            os.close(file)

    def states(self) -> tuple[dict[str, StepState], dict[str, int]]:
        """Return the states of the steps that have one, and their attempts that do not count, by name. Invalid lines
        are ignored: the jobs have the facts."""
        with self._lock:
            data = read_at(self.path / "steps.jsonl", self._offset)
            complete = data[: data.rfind(b"\n") + 1]
            for text in complete.splitlines():
                with contextlib.suppress(*DAMAGED):
                    line = _StepLine.model_validate_json(text, context=STORED)
                    self._states[line.state.name] = line.state
                    self._attempts_before[line.state.name] = line.attempts_before
            self._offset += len(complete)
            return dict(self._states), dict(self._attempts_before)

    def run(self) -> WorkflowRun:
        """Return the run with the stored states of its steps.

        Raises:
            NotFound: if it was deleted.
            StateError: if a file is damaged.
        """
        record, workflow = self.record(), self.stored().workflow
        # After the record: the end of a run is stored after the ends of its steps.
        states = self.states()[0]
        steps = tuple(states.get(step.name) or StepState(name=step.name) for step in workflow.steps)
        values = {name: getattr(record, name) for name in RunRecord.model_fields if name in WorkflowRun.model_fields}
        if record.status is RunStatus.RUNNING and self.stops:
            values["status"] = RunStatus.STOPPING
        return WorkflowRun.model_construct(**values, steps=steps)

    def keep_code(self, code: PackedCode) -> None:
        """Keep packed code, so that the run needs neither its folder nor another job."""
        folder = self.path / "code"
        folder.mkdir(mode=0o700, exist_ok=True)
        if (folder / f"{code.digest}.json").exists():
            return
        archive = folder / f"{code.digest}.tar.gz"
        try:
            os.link(code.archive, archive)
        except OSError:
            shutil.copyfile(code.archive, archive)
        excluded = [asdict(one) | {"why": text_to_json(one.why)} for one in code.packing.excluded]
        values = {
            "hashes": dict(code.hashes),
            "files": code.files,
            "bytes": code.bytes,
            "excluded": excluded,
            "import_paths": code.packing.import_paths,
        }
        with replace_file(folder / f"{code.digest}.json") as file:
            file.write(json.dumps(values))

    def code(self, step: str) -> PackedCode:
        """Return the packed code of a step.

        Raises:
            StateError: if its files are damaged or gone.
        """
        stored = self.stored()
        with self._read_errors("code"):
            digest = stored.code[step]
            values: dict[str, Any] = json.loads((self.path / "code" / f"{digest}.json").read_bytes())
            archive = self.path / "code" / f"{digest}.tar.gz"
            archive.stat()
            excluded = (ExcludedPath(**one | {"why": text_from_json(one["why"])}) for one in values["excluded"])
            packing = Packing(tuple(excluded), tuple(values["import_paths"]))
            notes = stored.notes.get(step, ())
            counts = int(values["files"]), int(values["bytes"])
            return PackedCode(archive, digest, dict(values["hashes"]), *counts, notes, packing=packing)

    @contextlib.contextmanager
    def _read_errors(self, name: str) -> Any:
        """Raise the errors of a damaged file as a StateError, and those of a deleted run as NotFound."""
        try:
            yield
        except DAMAGED as error:
            if isinstance(error, FileNotFoundError) and not self.path.exists():
                raise NotFound(
                    _("No run matches `{word}`.").format(word=self.id), fix=_("List all runs: %pai workflow list")
                ) from None
            raise StateError(
                _("Cannot read the run {run}: its file {path} is damaged or missing.").format(
                    run=self.id, path=self.path / name
                ),
                fix=_("Delete the run, and run the workflow again: %pai workflow delete {run}").format(run=self.id),
            ) from None
