"""The files of a run: torn lines, stop requests, damaged files, and packed code."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jupyter_pai.core.errors import NotFound, StateError
from jupyter_pai.core.i18n import _
from jupyter_pai.jobs.job import now
from jupyter_pai.jobs.spec import STORED
from jupyter_pai.jobs.state_dir import ExcludedPath, PackedCode, Packing
from jupyter_pai.jobs.workflows.run import RunStatus, StepState, StepStatus
from jupyter_pai.jobs.workflows.run_folder import RunFolder, RunRecord, StoredWorkflow
from jupyter_pai.jobs.workflows.workflow import parse_workflow

WORKFLOW = parse_workflow({"name": "flow", "steps": [{"name": name, "spec": {"command": "true"}} for name in "ab"]})


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run of two steps."""
    (tmp_path / "run").mkdir()
    made = RunFolder(tmp_path / "run")
    made.write_workflow(StoredWorkflow(workflow=WORKFLOW))
    made.write(RunRecord(id="run", name="flow", submitted_at=now()))
    return made


def test_last_line_of_a_step_counts_and_texts_keep_their_originals(folder: RunFolder) -> None:
    assert [step.status for step in folder.run().steps] == [StepStatus.WAITING] * 2
    folder.append([StepState(name="a", status=StepStatus.RUNNING, job="1", attempt=1)], {})
    reason = _("The step `{step}` failed.").format(step="a")
    folder.append([StepState(name="a", status=StepStatus.FAILED, reason=reason)], {"a": 3})
    states, before = RunFolder(folder.path).states()
    assert states["a"] == folder.run().step("a")
    assert (type(states["a"].reason), states["a"].reason, before) == (type(reason), reason, {"a": 3})


@pytest.mark.parametrize("torn", [b'{"state": {"name": "b", "st', b"\xff\xfe", b"null", b'{"state": 1}'])
def test_torn_line_is_ignored_and_the_next_one_is_read(folder: RunFolder, torn: bytes) -> None:
    folder.append([StepState(name="a", status=StepStatus.SUCCEEDED)], {})
    with (folder.path / "steps.jsonl").open("ab") as file:
        file.write(torn)
    assert folder.run().step("a").status is StepStatus.SUCCEEDED
    RunFolder(folder.path).append([StepState(name="b", status=StepStatus.RUNNING)], {})
    for reader in (folder, RunFolder(folder.path)):
        assert [step.status for step in reader.run().steps] == [StepStatus.SUCCEEDED, StepStatus.RUNNING]


def test_run_that_ends_while_it_is_read_has_ended_steps(folder: RunFolder) -> None:
    record = folder.record().model_copy(update={"status": RunStatus.SUCCEEDED})
    path = folder.path / "run.json"
    path.unlink()
    os.mkfifo(path)
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(RunFolder(folder.path).run)
        with path.open("w") as file:  # Waits until the record is read.
            folder.append([StepState(name=name, status=StepStatus.SUCCEEDED) for name in "ab"], {})
            file.write(record.model_dump_json(context=STORED))
        run = reading.result()
    assert (run.status, {step.status for step in run.steps}) == (RunStatus.SUCCEEDED, {StepStatus.SUCCEEDED})


def test_stop_is_requested_by_a_file(folder: RunFolder) -> None:
    other = RunFolder(folder.path)
    other.request_stop()
    assert (folder.stops, folder.run().status) == (True, RunStatus.STOPPING)
    folder.withdraw_stop()
    assert (other.stops, other.run().status) == (False, RunStatus.RUNNING)


@pytest.mark.parametrize("name", ["run.json", "workflow.json"])
@pytest.mark.parametrize("content", ["", "{", "[]", '{"id": 1}'])
def test_damaged_file_has_a_message(folder: RunFolder, name: str, content: str) -> None:
    (folder.path / name).write_text(content)
    with pytest.raises(StateError, match=f"Cannot read the run run: its file .*{name} is damaged or missing") as error:
        RunFolder(folder.path).run()
    assert error.value.fix.endswith("%pai workflow delete run")


def test_deleted_run_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="No run matches `gone`"):
        RunFolder(tmp_path / "gone").run()


def test_packed_code_is_kept_with_its_manifest(folder: RunFolder, tmp_path: Path) -> None:
    archive = tmp_path / "x.tar.gz"
    archive.write_bytes(b"code")
    packing = Packing((ExcludedPath("data/", _("a cache"), "rule", expected=True),), ("src",))
    code = PackedCode(archive, "d1", {"a.py": "h"}, 1, 4, packing=packing)
    folder.keep_code(code)
    archive.unlink()
    stored = StoredWorkflow(workflow=WORKFLOW, code={"a": "d1"}, notes={"a": ("a note",)})
    folder.write_workflow(stored)
    kept = RunFolder(folder.path).code("a")
    assert kept.archive.read_bytes() == b"code"
    assert (kept.digest, kept.hashes, kept.files, kept.bytes, kept.packing) == ("d1", {"a.py": "h"}, 1, 4, packing)
    assert kept.notes == ("a note",)
    with pytest.raises(StateError, match="damaged or missing"):
        folder.code("b")
