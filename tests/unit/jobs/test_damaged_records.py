"""Damaged files of a job, of a run and of the settings: nested too deeply, no text, or with values of other types."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_pai.backends.local.process import read_result
from jupyter_pai.backends.local.workspace import stored_parameters
from jupyter_pai.config.secret_store import SecretStore
from jupyter_pai.core.discovery import ServerInfo
from jupyter_pai.core.errors import NotFound, StateError
from jupyter_pai.engine.compare import hashes
from jupyter_pai.jobs import provenance
from jupyter_pai.jobs.choices import stored_choices
from jupyter_pai.jobs.instances import read_instances
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.metrics.series import Cursor, Series
from jupyter_pai.jobs.spec import JobSpec
from jupyter_pai.jobs.state_dir import JobFolder, JobRecord, Packing, packed_code
from jupyter_pai.jobs.workflows.run_folder import RunFolder

NAMES = "account lists excluded import_paths values omitted packages path model hashes files job key uses file".split()
NESTED = b"[" * 100_000
DAMAGES = {
    "empty": b"",
    "nested": NESTED,
    "nested value": b'{"excluded": ' + NESTED,
    "no UTF-8": b'{"account": "\xff\xfe"}',
    "null": b"null",
    "number": b"1e999",
    "text": b'"x"',
    "lists": b"[[1]]",
    "other types": json.dumps({name: [1] for name in NAMES}).encode(),
    "named values": b"status=999999999999\ninstance=\nreason=\nended=1e300\noom_kills=0\n",
}  # fmt: skip


def _run(path: Path) -> RunFolder:
    return RunFolder(path.parent)


READERS: dict[str, tuple[Callable[[Path], object], object]] = {
    "channels.json": (lambda path: JobFolder(path.parent).channel("model", path), None),
    "packing.json": (lambda path: Packing.read(JobFolder(path.parent)), Packing()),
    "manifest.json": (lambda path: hashes(JobFolder(path.parent)), {}),
    "provenance.json": (lambda path: provenance.read(path.parent), None),
    "instances.json": (lambda path: read_instances(JobFolder(path.parent)), []),
    "a.json": (lambda path: stored_choices(path.parent, "a", "account"), {}),
    "output_parameters.json": (lambda path: stored_parameters(JobFolder(path.parent)), ({}, 0)),
    "result": (lambda path: read_result(JobFolder(path.parent)), None),
    "cursor.json": (lambda path: Series(path.parent).cursor(), Cursor()),
    "server.json": (ServerInfo.read, None),
}
REFUSING: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "run.json": (lambda path: _run(path).record(), StateError),
    "workflow.json": (lambda path: _run(path).stored(), StateError),
    "job.json": (lambda path: JobRecord.read(JobFolder(path.parent)), ValueError),
    "jupyter_pai_secrets.json": (lambda path: SecretStore(path).places(), StateError),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", READERS)
def test_damaged_file_counts_as_missing(tmp_path: Path, name: str, damage: str) -> None:
    path = tmp_path / name
    path.write_bytes(DAMAGES[damage])
    path.chmod(0o600)
    read, expected = READERS[name]
    found = read(path)
    assert expected is None or found == expected


@pytest.mark.parametrize("damage", [name for name in DAMAGES if name != "named values"])
@pytest.mark.parametrize("name", REFUSING)
def test_damaged_file_that_is_needed_is_named(tmp_path: Path, name: str, damage: str) -> None:
    path = tmp_path / name
    path.write_bytes(DAMAGES[damage])
    path.chmod(0o600)
    JobFolder(tmp_path).spec.write_text(JobSpec(name="x", command="true").model_dump_json())
    read, error = REFUSING[name]
    with pytest.raises(error) as caught:
        read(path)
    assert name in str(caught.value)


@pytest.mark.parametrize("damage", DAMAGES)
def test_code_with_a_damaged_manifest_is_not_run_again(tmp_path: Path, damage: str) -> None:
    folder = JobFolder(tmp_path)
    folder.source.touch()
    folder.manifest.write_bytes(DAMAGES[damage])
    spec = JobSpec(name="x", command="true")
    job = Job(id="a", spec=spec, backend="local", profile="local", status=JobStatus.FAILED, submitted_at=now())
    with pytest.raises(NotFound, match="Cannot read the code of job a"):
        packed_code(job, folder)
