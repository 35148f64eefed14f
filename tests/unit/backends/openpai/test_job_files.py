"""Job files become specs: documents as they are, files of version 1 converted, with the code of their folder."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.job_files import JobFile
from jupyter_pai.backends.openpai.backend import OpenPaiBackend
from jupyter_pai.backends.openpai.protocol.check import check_document
from jupyter_pai.core.errors import SpecError
from jupyter_pai.jobs.spec import Role, parse_spec

from .test_document_check import VECTORS

TUTORIAL: dict[str, Any] = {
    "jobName": "train_couplet_demo",
    "image": "vzich/poet:tensorflow",
    "codeDir": "$PAI_DEFAULT_FS_URI/$PAI_USER_NAME/$PAI_JOB_NAME",
    "taskRoles": [
        {
            "name": "demo_001",
            "taskNumber": 1,
            "cpuNumber": 2,
            "gpuNumber": 1,
            "memoryMB": 8192,
            "command": "cd $PAI_JOB_NAME && ls && chmod +x train.sh && ./train.sh",
        }
    ],
}
DOCUMENT = """\
protocolVersion: 2  # as written
name: digits
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "python:3.12"}
  - {name: other, type: dockerimage, uri: "debian:12"}
taskRoles:
  ps:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    commands: [echo ps]
  worker:
    dockerImage: other
    resourcePerInstance: {cpu: 0, memoryMB: 1024, gpu: 1}
    commands: ["echo worker", "echo $PAI_TASK_INDEX"]
"""


def settings(folder: Path, **values: object) -> None:
    (folder / ".vscode").mkdir(exist_ok=True)
    (folder / ".vscode/settings.json").write_text(json.dumps({f"pai.job.{name}": one for name, one in values.items()}))


def read(folder: Path, text: str, name: str = "job.pai.yaml") -> JobFile:
    found = OpenPaiBackend.read_job_file(folder / name, text)
    parse_spec(found.spec)  # It is a spec.
    return found


def test_document_goes_as_it_is(tmp_path: Path) -> None:
    found = read(tmp_path, DOCUMENT)
    spec = parse_spec(found.spec)
    assert spec.options["document"] == DOCUMENT
    assert (spec.name, spec.image, spec.command, spec.source.folder) == ("digits", "python:3.12", "echo ps", "")
    assert [(role.name, role.count) for role in spec.roles] == [("ps", 2), ("worker", 1)]
    assert spec.roles[1] == Role(
        name="worker", command="echo worker\necho $PAI_TASK_INDEX", image="debian:12", gpu=1, memory="1024MiB"
    )
    assert found.notes == ()


def test_each_document_that_the_server_takes_is_a_spec(tmp_path: Path) -> None:
    for fields in (
        "name: " + "n" * 255,
        "name: x\nparameters: {a: 1}",
        "name: x\nextras: {storages: [{name: s}], com.microsoft.pai.runtimeplugin: [{plugin: ssh}]}",
    ):
        found = read(tmp_path, DOCUMENT.replace("name: digits", fields))
        assert len(found.spec["name"]) <= 128
        assert found.here
        parse_spec(found.here.spec)
    # Names that a spec cannot have, and an empty command.
    names = DOCUMENT.replace("  ps:", "  _PS:").replace("[echo ps]", '[""]')
    assert [role["name"] for role in read(tmp_path, names).spec["roles"]] == ["ps", "worker"]


@pytest.mark.parametrize("vector", [one for one in VECTORS if one["accept"]], ids=lambda vector: vector["case"])
def test_each_recorded_document_is_a_spec_that_runs_here(vector: dict[str, str], tmp_path: Path) -> None:
    found = read(tmp_path, vector["yaml"])
    assert found.here
    for one in parse_spec(found.here.spec).by_role.values():
        subprocess.run(["bash", "-nc", one.command_line], check=True)


def test_all_errors_are_told_at_once(tmp_path: Path) -> None:
    text = DOCUMENT.replace("dockerImage: image", "dockerImage: missing").replace(
        "dockerImage: other", "dockerImage: x"
    )
    with pytest.raises(SpecError) as raised:
        read(tmp_path, text)
    lines = raised.value.message.splitlines()
    assert lines[0].startswith("job.pai.yaml")
    assert [line.partition(":")[0] for line in lines[1:]] == ["Line 10", "Line 14"]
    role = TUTORIAL["taskRoles"][0]
    broken = {**TUTORIAL, "taskRoles": [{**role, "taskNumber": 0, "memoryMB": "x"}]}
    with pytest.raises(SpecError, match=r"(?s)taskNumber.*memoryMB"):
        read(tmp_path, json.dumps(broken), "a.pai.json")


def test_code_goes_along_as_the_settings_of_the_folder_say(tmp_path: Path) -> None:
    text = json.dumps(TUTORIAL)
    name = "new_job.pai.json"
    without = read(tmp_path, text, name)
    assert without.spec["source"] == {"folder": str(tmp_path)}
    assert without.spec["options"]["code_folder"] == "$PAI_JOB_NAME"
    settings(tmp_path, **{"upload.enabled": True, "upload.include": ["**/*.py", "**/*.sh"], "upload.exclude": ["a.py"]})
    source = {"folder": str(tmp_path), "include": ["/**/*.py", "/**/*.sh"], "exclude": ["/a.py"], "gitignore": False}
    assert read(tmp_path, text, name).spec["source"] == source
    assert read(tmp_path, DOCUMENT).spec["source"] == source
    settings(tmp_path, **{"upload.enabled": False, "generateJobName.enabled": False})
    found = read(tmp_path, text, name)
    assert found.spec["source"] == {"folder": ""}
    assert "code_folder" not in found.spec["options"]
    assert any("generateJobName" in note for note in found.notes)


def test_changes_of_a_file_of_version_1_are_noted(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps(TUTORIAL), "new_job.pai.json")
    assert any("`demo_001` becomes `demo001`" in note for note in found.notes)
    assert not check_document(found.spec["options"]["document"]).errors
    assert found.spec["roles"] == [{"name": "demo001", "count": 1, "gpu": 1, "cpu": 2, "memory": "8192MiB"}]


def run(found: JobFile, role: int, folder: Path, rank: str = "0") -> str:
    """Run a role as the local backend does: with `sh`, in the folder of the code."""
    assert found.here
    spec = [*parse_spec(found.here.spec).by_role.values()][role]
    variables = {"PATH": "/usr/bin:/bin", "JUPYTER_PAI_JOB_ID": "abc", "JUPYTER_PAI_ROLE_RANK": rank, "USER": "x"}
    command = ["/bin/sh", "-c", spec.command_line]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False).stdout


def test_roles_run_here_with_the_variables_of_the_platform(tmp_path: Path) -> None:
    names = "$PAI_JOB_NAME $PAI_CURRENT_TASK_ROLE_NAME $PAI_TASK_INDEX $PAI_TASK_ROLE_LIST $PAI_HOST_IP_ps_1"
    text = DOCUMENT.replace("[echo ps]", f'["echo {names} $PAI_RESOURCE_ps", "false", "echo not reached"]')
    printed = run(read(tmp_path, text), 0, tmp_path, "1")
    assert printed.partition("~")[2] == "digits_abc ps 1 ps,worker 127.0.0.1 0,1,512,512\n"
    # A variable that is not set ends it, as in a container.
    text = DOCUMENT.replace("[echo ps]", '["echo $NOTHING", "echo not reached"]')
    assert run(read(tmp_path, text), 0, tmp_path) == ""


def test_code_lies_in_its_folder_here(tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text("#!/bin/sh\necho trained in ${PWD##*/}\n")
    found = read(tmp_path, json.dumps(TUTORIAL), "new_job.pai.json")
    assert run(found, 0, tmp_path).splitlines()[-1].startswith("trained in ")
    assert found.here
    assert found.here.spec["options"] == {"container": "preferred"}


def test_what_this_machine_cannot_give_is_named(tmp_path: Path) -> None:
    command = "echo $PAI_PORT_LIST_ps_0_http ${PAI_CONTAINER_SSH_PORT} $PAI_JOB_NAME <% $secrets.key %>"
    text = DOCUMENT.replace("[echo ps]", f"['{command}']") + "secrets: {key: v}\nextras: {storages: [{name: team}]}\n"
    found = read(tmp_path, text)
    assert found.here
    told = " ".join(found.here.notes)
    for name in ("`$PAI_PORT_LIST_ps_0_http`", "`$PAI_CONTAINER_SSH_PORT`", "`key`", "team"):
        assert name in told
    assert "PAI_JOB_NAME" not in told
