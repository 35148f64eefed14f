"""Job files of version 1 become documents of version 2, which the server takes and bash runs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.backends.openpai.protocol.check import check_document
from jupyter_pai.backends.openpai.protocol.problems import entry
from jupyter_pai.backends.openpai.protocol.role_names import is_clean
from jupyter_pai.backends.openpai.protocol.v1 import convert
from jupyter_pai.backends.openpai.protocol.writer import write

TUTORIAL = """
{
    // Comments and a trailing comma, as in the editor.
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
            "command": "cd $PAI_JOB_NAME && ls && echo $PAI_HOST_IP_demo_001_0 $PAI_CODE_DIR",
        },
    ],
}
"""


def job(**values: object) -> str:
    role = {"name": "worker", "command": "true"}
    return json.dumps({"jobName": "j", "image": "i", "taskRoles": [role]} | values)


def role(**values: object) -> str:
    return job(taskRoles=[{"name": "worker", "command": "true"} | values])


def entry_point(text: str) -> str:
    """The command of the only role of a converted file."""
    document = convert(text).document
    assert document
    checked = check_document(write(document))
    assert not checked.errors
    (command,) = checked.entry_points.values()
    return command


def test_file_of_the_tutorial_runs_in_the_folder_of_its_code(tmp_path: Path) -> None:
    converted = convert(TUTORIAL)
    assert converted.document
    assert converted.code_folder == "$PAI_JOB_NAME"
    assert [note.path for note in converted.notes] == ["taskRoles[0].name"]
    resources = entry(converted.document, "taskRoles", "demo001", "resourcePerInstance")
    assert resources == {"cpu": 2, "memoryMB": 8192, "gpu": 1}
    variables = {"PAI_DEFAULT_FS_URI": "", "PAI_USER_NAME": "ann", "PAI_JOB_NAME": "ann~demo"}
    variables |= {"PAI_HOST_IP_demo001_0": "10.0.0.1"}
    (tmp_path / "ann~demo").mkdir()
    (tmp_path / "ann~demo/train.sh").touch()
    command = ["bash", "-c", f"set -euo pipefail\n{entry_point(TUTORIAL)}"]
    environment = variables | {"PATH": "/usr/bin:/bin"}
    printed = subprocess.check_output(command, cwd=tmp_path, env=environment, text=True)
    assert printed == "train.sh\n10.0.0.1 /ann/ann~demo\n"


def test_each_field_has_its_counterpart() -> None:
    text = job(
        jobName="a.b~c",
        dataDir="hdfs://h/data",
        outputDir="$PAI_DEFAULT_FS_URI/out",
        virtualCluster="vc1",
        retryCount=-2,
        jobEnvs={"A": "it's", "N": 5},
        extras={"submitFrom": "x"},
        taskRoles=[
            {
                "name": "1.PS~x",
                "taskNumber": 2.0,
                "shmMB": 128,
                "portList": [{"label": "a-b", "beginAt": 0, "portNumber": 3}],
                "command": "echo $PAI_CURRENT_TASK_ROLE_NAME",
                "minFailedTaskCount": 1,
                "minSucceededTaskCount": None,
            }
        ],
    )
    assert convert(text).document == {
        "protocolVersion": 2,
        "name": "a_b_c",
        "type": "job",
        "prerequisites": [
            {"name": "image", "type": "dockerimage", "uri": "i"},
            {"name": "data", "type": "data", "uri": ["hdfs://h/data"]},
            {"name": "output", "type": "output", "uri": "$PAI_DEFAULT_FS_URI/out"},
        ],
        "jobRetryCount": 0,
        "taskRoles": {
            "role1psx": {
                "instances": 2,
                "completion": {"minFailedInstances": 1},
                "dockerImage": "image",
                "data": "data",
                "output": "output",
                "resourcePerInstance": {"cpu": 1, "memoryMB": 100, "gpu": 0, "ports": {"a_b": 3}},
                "commands": [
                    "export PAI_DATA_DIR=hdfs://h/data",
                    'export PAI_OUTPUT_DIR="${PAI_DEFAULT_FS_URI}"/out',
                    """export A='it'"'"'s'""",
                    "export N=5",
                    "echo $PAI_CURRENT_TASK_ROLE_NAME",
                ],
                "extraContainerOptions": {"shmMB": 128},
            }
        },
        "defaults": {"virtualCluster": "vc1"},
        "extras": {"submitFrom": "x"},
    }


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (job(gpuType="K80"), "gpuType", "The type of GPU `K80` is not carried over."),
        (
            job(authFile="hdfs://h/auth"),
            "authFile",
            "The login of the image's registry is not carried over: `authFile` lies on the old HDFS.",
        ),
        (job(killAll=1), "killAll", "The key `killAll` is not carried over."),
        (job(jobName="a.b"), "jobName", "The name `a.b` becomes `a_b`."),
        (
            role(portList=[{"label": "p", "beginAt": 8080, "portNumber": 1}]),
            "taskRoles[0].portList[0].beginAt",
            "The port number 8080 is not carried over: the cluster draws the ports.",
        ),
    ],
)
def test_what_is_lost_is_noted(text: str, path: str, message: str) -> None:
    (note,) = convert(text).notes
    assert (note.path, note.text, bool(note.fix)) == (path, message, True)


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ('{\n"a": 1,,\n"b": 2}', "", "Invalid JSON in line 2: Expecting property name enclosed in double quotes"),
        ("[]", "", "The file must contain a JSON object."),
        (job(image=5), "image", "The value must be a text."),
        (job(taskRoles=[]), "taskRoles", "The file has no roles."),
        (job(jobEnvs={"a-b": 1}), "jobEnvs.a-b", "`a-b` is not a name of a variable."),
        (role(command=""), "taskRoles[0].command", "The value must be a text."),
        (role(cpuNumber="2"), "taskRoles[0].cpuNumber", "The value must be a whole number."),
        (role(cpuNumber=1.5), "taskRoles[0].cpuNumber", "The value must be a whole number."),
        (role(taskNumber=0), "taskRoles[0].taskNumber", "The number is less than 1."),
        (job(taskRoles=[{"name": "a", "command": "x"}] * 2), "taskRoles[1].name", "Two roles have the name `a`."),
    ],
)
def test_fault_of_the_file_is_an_error(text: str, path: str, message: str) -> None:
    converted = convert(text)
    assert converted.document is None
    (error,) = converted.errors
    assert (error.path, error.text, bool(error.fix)) == (path, message, True)


def test_command_with_the_start_of_a_template_runs_unchanged() -> None:
    roles = [{"name": "a", "command": "echo '<% $A %>'; printf '<%s>' \"$A\""}]
    command = entry_point(job(jobEnvs={"A": "<%x"}, taskRoles=roles))
    assert subprocess.check_output(["bash", "-euc", command], text=True) == "<% $A %>\n<<%x>"


def test_names_of_roles_stay_different_and_variables_follow_them() -> None:
    words = "$PAI_TASK_ROLE_a_1_HOST_LIST $PAI_a_1_0_http_PORT $PAI_HOST_IP_a_0 $PAI_TASK_INDEX $PAI_RESOURCE_a_12"
    roles = [{"name": name, "command": f"echo {words}"} for name in ("a", "a_1", "A.1", "TASK")]
    document = convert(job(taskRoles=roles)).document
    roles_after = entry(document, "taskRoles")
    assert isinstance(roles_after, Mapping) and list(roles_after) == ["a", "a1", "a12", "task"]
    assert entry(document, "taskRoles", "a", "commands") == [
        "echo $PAI_TASK_ROLE_a1_HOST_LIST $PAI_a1_0_http_PORT $PAI_HOST_IP_a_0 $PAI_TASK_INDEX $PAI_RESOURCE_a_12"
    ]


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
_ROLE = st.fixed_dictionaries(
    {"name": st.from_regex(r"[A-Za-z0-9._~]{1,8}", fullmatch=True), "command": _TEXT},
    optional={
        "taskNumber": st.integers(1, 9),
        "gpuNumber": st.integers(0, 8),
        "shmMB": st.integers(0, 99),
        "minFailedTaskCount": st.none() | st.integers(1, 9),
        "portList": st.lists(st.fixed_dictionaries({"label": st.from_regex(r"[\w-]{1,5}", fullmatch=True)})),
    },
)
_REQUIRED: dict[str, st.SearchStrategy[object]] = {
    "jobName": st.from_regex(r"[A-Za-z0-9\-._~]{1,300}", fullmatch=True),
    "image": _TEXT,
    "taskRoles": st.lists(_ROLE, min_size=1, max_size=4, unique_by=lambda role: str(role["name"])),
}
_JOB = st.fixed_dictionaries(
    _REQUIRED,
    optional={
        "codeDir": _TEXT,
        "dataDir": _TEXT,
        "outputDir": _TEXT,
        "virtualCluster": _TEXT,
        "jobEnvs": st.dictionaries(st.from_regex(r"[A-Za-z_]\w{0,5}", fullmatch=True).filter(str.isascii), _TEXT),
        "extras": st.dictionaries(_TEXT, _TEXT),
    },
)


@given(_JOB)
def test_converted_document_passes_the_check(values: Mapping[str, object]) -> None:
    converted = convert(json.dumps(values))
    assert converted.document and converted.errors == ()
    checked = check_document(write(converted.document))
    assert checked.errors == ()
    assert all(is_clean(name) for name in checked.entry_points)
