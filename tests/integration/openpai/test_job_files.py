"""Job files of OpenPAI: checked, shown, edited, sent, and run on this machine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.openpai.protocol.reader import parse
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.client.job_files import read
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import PaiError, SpecError
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, until
from ...fakes.openpai import OpenPai
from ...support import containers
from .conftest import log_in

Cli = Callable[..., subprocess.CompletedProcess[str]]

DOCUMENT = """\
# Comments stay.
protocolVersion: 2
name: digits
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "python:3.12"}
taskRoles:
  ps:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 128, gpu: 0}
    commands: [echo "serving $PAI_CURRENT_TASK_ROLE_NAME $PAI_TASK_INDEX"]
  worker:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 128, gpu: 0}
    commands:
      - echo "working in ${PAI_JOB_NAME#*~}"
"""
TUTORIAL = {
    "jobName": "train_demo",
    "image": "vzich/poet:tensorflow",
    "codeDir": "$PAI_DEFAULT_FS_URI/$PAI_USER_NAME/$PAI_JOB_NAME",
    "taskRoles": [
        {"name": "demo_001", "memoryMB": 64, "command": "cd $PAI_JOB_NAME && ls && ./train.sh $PAI_RESOURCE_demo_001"}
    ],
}


@pytest.fixture
def no_containers(server: OpenPai) -> None:
    """A local profile without containers, whose images would be pulled."""
    with user_file().open("a") as file:
        file.write('[profiles.local]\nbackend = "local"\ncontainer = "none"\n')


def write(folder: Path, text: str = DOCUMENT, name: str = "digits.pai.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def tutorial(folder: Path) -> Path:
    """The files of a tutorial, with the settings of its folder."""
    settings = {"upload.enabled": True, "upload.include": ["**/*.py", "**/*.sh"], "upload.exclude": []}
    (folder / ".vscode").mkdir()
    (folder / ".vscode/settings.json").write_text(json.dumps({f"pai.job.{key}": one for key, one in settings.items()}))
    (folder / ".gitignore").write_text("*.sh\n")
    (folder / "notes.txt").write_text("stays here")
    script = folder / "train.sh"
    script.write_text('#!/bin/sh\necho "trained with $1"\n')
    script.chmod(0o755)
    return write(folder, json.dumps(TUTORIAL), "new_job.pai.json")


def loaded(engine: EmbeddedClient, path: Path, **options: str) -> dict[str, Any]:
    found = read(engine, path, **options)
    assert found
    return found.spec


def run(engine: EmbeddedClient, spec: dict[str, Any]) -> JobHandle:
    job = JobHandle(engine.submit(spec)["job"], engine).wait(timeout=PATIENCE)
    assert job.status == "succeeded", (job.reason, job.logs())
    return job


def sent(server: OpenPai, job: JobHandle) -> dict[str, Any]:
    return server.job(job.info["remote_id"]).document


def test_document_goes_as_it_is_but_for_its_name(engine: EmbeddedClient, server: OpenPai, folder: Path) -> None:
    spec = loaded(engine, write(folder))
    preview = engine.preview(spec)
    assert preview["document"] == {"name": "digits.pai.yaml", "text": DOCUMENT, "language": "yaml", "mended": ""}
    assert (preview["problems"], preview["questions"], preview["files"]) == ([], [], 0)
    job = run(engine, spec)
    assert {**sent(server, job), "name": "digits"} == parse(DOCUMENT).value
    assert sent(server, job)["name"].startswith("digits_")
    assert [one["name"] for one in job.instances()] == ["ps-0", "ps-1", "worker-0"]
    assert "serving ps 1" in job.logs(instance="ps-1")
    kept = Home().job(job.id).document.read_text()
    assert kept.startswith("# Comments stay.")
    assert engine.call("code", job=job.id)["document"] == kept


def test_file_of_version_1_runs_in_the_folder_of_its_code(engine: EmbeddedClient, folder: Path) -> None:
    found = read(engine, tutorial(folder))
    assert found
    assert any("`demo_001` becomes `demo001`" in note for note in found.notes)
    job = run(engine, found.spec)
    assert [line for line in job.logs().splitlines() if line] == ["train.sh", "trained with 0,1,64,512"]


def test_faults_of_a_file_are_told_at_once(cli: Cli, engine: EmbeddedClient, server: OpenPai, folder: Path) -> None:
    write(folder, DOCUMENT.replace("name: digits", "name: two words").replace("dockerImage: image", "dockerImage: x"))
    shown = cli("submit", "digits.pai.yaml", "--dry-run")
    assert shown.returncode != 0
    assert "Line 3: name" in shown.stderr
    write(folder, DOCUMENT.replace("dockerImage: image", "dockerImage: x"))
    shown = cli("submit", "digits.pai.yaml", "--dry-run")
    assert ("Line 10: taskRoles.ps" in shown.stderr, "Line 14: taskRoles.worker" in shown.stderr) == (True, True)
    assert server.count("rest:submit") == 0


def test_dry_run_ends_with_the_verdict_of_an_edited_document(engine: EmbeddedClient, cli: Cli, folder: Path) -> None:
    spec = loaded(engine, write(folder))
    spec["options"]["document"] = DOCUMENT.replace("instances: 2", "instances: 0").replace("cpu: 1", "cpu: x")
    preview = engine.preview(spec)
    lines = [(one["line"], one["is_error"]) for one in preview["problems"]]
    assert lines == [(9, True), (11, True), (15, True)]
    assert preview["document"]["text"] == spec["options"]["document"]
    (folder / "spec.json").write_text(json.dumps({"options": spec["options"]}))
    shown = cli("submit", "digits.pai.yaml", "--spec", "spec.json", "--dry-run")
    assert shown.returncode != 0
    assert "instances: 0" in shown.stdout
    assert [f"Line {line}" in shown.stderr for line, _is_error in lines] == [True, True, True]
    with pytest.raises(SpecError) as raised:
        engine.submit(spec)
    assert "options.document" in str(raised.value.details["faults"])
    assert engine.call("list_jobs")["total"] == 0


def test_warnings_offer_to_mend_the_document(engine: EmbeddedClient, cli: Cli, server: OpenPai, folder: Path) -> None:
    write(folder, DOCUMENT.replace("  ps:", "  My_Server:").replace("${PAI_JOB_NAME#*~}", "$UNSET_NAME"))
    shown = cli("submit", "digits.pai.yaml", "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("warning: Line") == 2
    assert "--mend" in shown.stdout
    assert shown.stdout.count("# Comments stay.") == 1  # The document is shown once.
    mended = cli("submit", "digits.pai.yaml", "--dry-run", "--mend")
    assert ("warning:" in mended.stdout, "  myserver:" in mended.stdout) == (False, True)
    done = cli("submit", "digits.pai.yaml", "--mend", "--wait")
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "serving myserver 0" in done.stdout


def test_document_of_any_job_can_be_edited(engine: EmbeddedClient, server: OpenPai) -> None:
    fields = {"name": "n", "image": "i", "command": "echo hyper $PAI_HPS_A", "hyperparameters": {"a": "1"}}
    spec = {**fields, "source": {"files": {"a.py": ""}}}
    text = engine.preview(spec)["document"]["text"]
    edited = text.replace("taskRoles:", "description: edited\ntaskRoles:")
    spec["options"] = {"document": edited}
    assert engine.preview(spec)["problems"] == []
    job = JobHandle(engine.submit(spec, confirmed=True)["job"], engine).wait(timeout=PATIENCE)
    assert job.status == "succeeded", (job.reason, job.logs())
    assert sent(server, job)["description"] == "edited"
    assert "hyper 1" in job.logs()


def test_secrets_of_a_file_are_in_no_file_of_ours(
    engine: EmbeddedClient, server: OpenPai, folder: Path, home: Home
) -> None:
    text = DOCUMENT.replace('echo "working', 'echo "<% $secrets.key %>" | wc -c; echo "working')
    spec = loaded(engine, write(folder, text + "secrets: {key: hunter2-hunter2}\n"))
    preview = engine.preview(spec)
    assert preview["problems"] == []
    job = run(engine, spec)
    assert sent(server, job)["secrets"] == {"key": "hunter2-hunter2"}
    assert "\n16\n" in f"\n{job.logs(instance='worker-0')}"
    shown = json.dumps([spec, preview, job.info, engine.call("code", job=job.id)])
    assert "hunter2" not in shown
    for path in home.path.rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes(), path


@pytest.mark.parametrize("is_changed", [False, True])
def test_secrets_of_a_file_are_masked_by_another_engine(
    server: OpenPai, folder: Path, share: Path, is_changed: bool
) -> None:
    commands = """until [ -e /mnt/nfs/go ]; do sleep 0.1; done; echo "the key is <% $secrets.key %>\""""
    text = DOCUMENT.replace('echo "working in ${PAI_JOB_NAME#*~}"', commands)
    text += "secrets: {key: hunter2-hunter2}\nextras: {storages: [{name: nfs}]}\n"
    path = write(folder, text)
    with closing(EmbeddedClient()) as engine:
        log_in(engine)
        job_id = engine.submit(loaded(engine, path), confirmed=True)["job"]["id"]
    if is_changed:
        write(folder, text.replace("hunter2-hunter2", "another-value"))
    with closing(EmbeddedClient()) as another:
        job = JobHandle(another.call("show", job=job_id), another)
        (share / "go").touch()
        if is_changed:
            until(lambda: "cannot be masked" in job.reason)
            assert "job file" in job.info["fix"]
            write(folder, text)
        assert job.wait(timeout=PATIENCE).status == "succeeded"
        assert "the key is [secret secrets.key]" in job.logs(instance="worker-0")


@pytest.mark.slow("platform")
@pytest.mark.usefixtures("no_containers")
def test_roles_of_a_file_run_on_this_machine(engine: EmbeddedClient, cli: Cli, folder: Path) -> None:
    spec = loaded(engine, write(folder), backend="local")
    job = run(engine, spec)
    assert "serving ps 1" in job.logs(instance="ps-1")
    assert f"working in digits_{job.id}" in job.logs(instance="worker-0")
    tutorial(folder)
    (folder / "new_job.pai.json").write_text(
        json.dumps(TUTORIAL).replace("ls &&", "echo ${PAI_CONTAINER_SSH_PORT:-} &&")
    )
    done = cli("submit", "new_job.pai.json", "--backend", "local", "--wait")
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "trained with 0,1,64,512" in done.stdout
    assert "`$PAI_CONTAINER_SSH_PORT`" in done.stdout + done.stderr


@pytest.fixture(scope="session")
def container_storage() -> Iterator[dict[str, str]]:
    """Storage of podman with an image."""
    with containers.storage() as variables:
        yield variables


@pytest.mark.slow("platform")
def test_roles_of_a_file_run_in_their_image(
    container_storage: dict[str, str], engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in container_storage.items():
        monkeypatch.setenv(name, value)
    text = DOCUMENT.replace("python:3.12", containers.IMAGE)
    text = text.replace('echo "working in', f'test -e {__file__} || echo "contained in')
    job = run(engine, loaded(engine, write(folder, text), backend="local"))
    assert f"contained in digits_{job.id}" in job.logs(instance="worker-0")


def test_other_platforms_do_not_run_the_file(engine: EmbeddedClient, folder: Path, tmp_path: Path) -> None:
    with user_file().open("a") as file:
        file.write(f'[profiles.batch]\nbackend = "slurm"\nfolder = "{tmp_path}"\n')
    with pytest.raises(PaiError, match="or on this machine"):
        read(engine, write(folder), profile="batch")


def test_a_login_is_not_needed_to_read_a_file(fresh_engine: EmbeddedClient, folder: Path) -> None:
    assert loaded(fresh_engine, write(folder))["name"] == "digits"
