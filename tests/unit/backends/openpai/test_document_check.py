"""The check of job documents gives the server's verdicts, and says what to change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.openpai.protocol.check import LIMIT, Checked, Cluster, Sku, check_document

DATA = Path(__file__).parents[3] / "data" / "openpai"
VECTORS = json.loads((DATA / "protocol-vectors.json").read_text("utf-8"))

JOB = """\
protocolVersion: 2
name: j1
type: job
prerequisites:
  - {name: img, type: dockerimage, uri: ubuntu}
taskRoles:
  w:
    dockerImage: img
    resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0}
    commands: [x]
"""


def with_role(line: str) -> str:
    """The job with a line in its role, beside its commands or in their place."""
    kept = "" if "commands:" in line else "    commands: [x]\n"
    return JOB.replace("    commands: [x]\n", f"{kept}    {line}\n")


def texts(checked: Checked) -> list[str]:
    return [f"{problem.path}: {problem.text}" for problem in checked.errors]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["case"] for vector in VECTORS])
def test_verdict_is_the_recorded_one(vector: dict[str, Any]) -> None:
    checked = check_document(vector["yaml"])
    assert (not checked.errors) is vector["accept"]
    assert [*checked.entry_points.values()] == ([vector["entrypoint"]] if vector["accept"] else [])
    assert all(problem.fix for problem in checked.errors)


def test_recorded_sample_passes() -> None:
    assert not check_document((DATA / "sample-ok.yaml").read_text("utf-8")).errors


@pytest.mark.parametrize(
    "text",
    [
        JOB,
        JOB.replace("cpu: 1", "cpu: 0"),
        JOB.replace("cpu: 1", "cpu: -1"),
        JOB.replace("cpu: 1", "cpu: 1.0"),
        JOB.replace("cpu: 1", "cpu: 1e1"),
        JOB.replace("cpu: 1", "cpu: 0x10"),
        JOB.replace("cpu: 1", "cpu: .inf"),
        JOB.replace("protocolVersion: 2", "protocolVersion: 2.0"),
        JOB.replace("protocolVersion: 2", 'protocolVersion: "2"'),
        JOB.replace("name: j1", "name: yes"),
        JOB.replace("name: j1", f"name: {'a' * 255}"),
        JOB.replace("name: j1", "name: !!str 123"),
        JOB.replace("  w:", "  My_Role:"),
        JOB + "version: 1.5\n",
        JOB + "defaults: {}\n",
        JOB + "defaults: 2020-01-01\n",
        JOB + "jobRetryCount: 0\n",
        JOB.replace("{name: img, type: dockerimage, uri: ubuntu}", "&i {name: img, type: dockerimage, uri: u}"),
        with_role("completion: {minFailedInstances: null, minSucceededInstances: -1}"),
        with_role("extraContainerOptions: {shmMB: 1, infiniband: true, more: []}"),
        with_role("data: valueOf"),
        with_role('commands: [""]'),
        with_role("commands: ['<%! a %><%& b %><%> c %>']"),
        with_role("commands: ['<%# a %>x<%/ a %>']"),
    ],
)
def test_document_that_the_server_takes_passes(text: str) -> None:
    assert texts(check_document(text)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (JOB.replace("cpu: 1", "cpu: 1.5"), "taskRoles.w.resourcePerInstance.cpu: The value must be a whole number."),
        (JOB.replace("cpu: 1", "cpu: true"), "taskRoles.w.resourcePerInstance.cpu: The value must be a whole number."),
        (JOB.replace("name: j1", "name: 2020-01-01"), "name: The value must be a text."),
        (JOB.replace("name: j1", "name: ~"), "name: The value must be a text."),
        (
            JOB.replace("name: j1", "name: 作业"),
            "name: The name `作业` has other characters than letters, digits, `_` and `-`.",
        ),
        (JOB.replace("type: job", "type: jobs"), "type: The value is not `job`."),
        (
            JOB.replace("protocolVersion: 2", "protocolVersion: true"),
            "protocolVersion: The value is not `2`.",
        ),
        (JOB + "image: x\n", "image: The key `image` is unknown here."),
        (JOB + "jobRetryCount: -1\n", "jobRetryCount: The number is less than 0."),
        (JOB + "version: yes\nversion2: 1\n", "version2: The key `version2` is unknown here."),
        (with_role("instances: '2'"), "taskRoles.w.instances: The value must be a whole number."),
        (with_role("script: img"), "taskRoles.w.script: No prerequisite of the type `script` has the name `img`."),
        (with_role("prerequisites: [zz]"), "taskRoles.w.prerequisites[0]: No prerequisite has the name `zz`."),
        (with_role("commands: []"), "taskRoles.w.commands: The list is empty."),
        (with_role("commands: x"), "taskRoles.w.commands: The value must be a list."),
        (with_role("commands: [x, 5]"), "taskRoles.w.commands[1]: The value must be a text."),
        (
            with_role("commands: [x, 'print(\"<%s>\")']"),
            "taskRoles.w.commands[1]: The server reads `<%` as the start of a template, and this one has no valid end.",
        ),
        (
            with_role("commands: ['<%/ a %>']"),
            "taskRoles.w.commands[0]: The server reads `<%` as the start of a template, and this one has no valid end.",
        ),
        ("[]", ": The value must be a map."),
    ],
)
def test_document_that_the_server_refuses_has_an_error(text: str, message: str) -> None:
    checked = check_document(text)
    assert texts(checked) == [message]
    assert checked.errors[0].fix


def test_all_errors_are_shown_with_their_lines() -> None:
    text = JOB.replace("name: j1", "name: a.b").replace("cpu: 1", "cpu: '1'") + "defaults: ~\n"
    errors = check_document(text).errors
    assert [(error.path, error.line) for error in errors] == [
        ("name", 2),
        ("taskRoles.w.resourcePerInstance.cpu", 9),
        ("defaults", 11),
    ]


def test_limit_counts_bytes() -> None:
    room = LIMIT - len(f"{JOB}description: ''\n".encode())
    fits = JOB + f"description: '{'é' * (room // 2)}{'x' * (room % 2)}'\n"
    assert len(fits.encode()) == LIMIT
    assert not check_document(fits).errors
    assert texts(check_document(fits + "\n")) == [": The document has 102,401 bytes, and the server takes 102,400."]


def test_deployment_surrounds_the_commands() -> None:
    text = JOB + "deployments: [{name: d, taskRoles: {w: {preCommands: [a], postCommands: [b]}}}]\n"
    assert check_document(text).entry_points == {"w": "x"}
    assert check_document(text + "defaults: {deployment: d}\n").entry_points == {"w": "a\nx\nb"}


def test_lines_that_have_removed_tags_only_are_removed() -> None:
    text = with_role("commands: ['a', '<%! b %>', '<%! c %> d']")
    assert check_document(text).entry_points == {"w": "a\n d"}


@pytest.mark.parametrize(
    ("end", "path"),
    [
        ("", "defaults.virtualCluster"),
        ("defaults: {virtualCluster: vc2}\n", "defaults.virtualCluster"),
        ("extras: {storages: [{name: s1}, {name: s2}]}\n", "extras.storages[1].name"),
        ("extras: {hivedScheduler: {jobPriorityClass: high}}\n", "extras.hivedScheduler.jobPriorityClass"),
        ("extras: {hivedScheduler: {taskRoles: {v: {skuType: A}}}}\n", "extras.hivedScheduler.taskRoles.v"),
        ("extras: {hivedScheduler: {taskRoles: {w: {skuType: B}}}}\n", "extras.hivedScheduler.taskRoles.w.skuType"),
        ("extras: {hivedScheduler: {taskRoles: {w: {skuType: N}}}}\n", "extras.hivedScheduler.taskRoles.w.skuType"),
        (
            "extras: {hivedScheduler: {taskRoles: {w: {skuType: A, pinnedCellId: c}}}}\n",
            "extras.hivedScheduler.taskRoles.w",
        ),
    ],
)
def test_names_are_checked_against_the_cluster_if_it_is_known(end: str, path: str) -> None:
    cluster = Cluster(["default"], ["s1"], {"A": Sku(4, 1024, 1), "N": Sku(0, 1024, 1)})
    if not end:
        cluster = Cluster(["vc1"])
    assert not check_document(JOB + end).errors
    assert [error.path for error in check_document(JOB + end, cluster).errors] == [path]


def test_roles_of_an_affinity_group_have_one_sku() -> None:
    roles = "{w: {skuType: A, affinityGroupName: g}, v: {skuType: B, affinityGroupName: g}}"
    second = JOB[JOB.index("    dockerImage") :]
    text = f"{JOB}  v:\n{second}extras: {{hivedScheduler: {{taskRoles: {roles}}}}}\n"
    skus = {"A": Sku(4, 1024, 1), "B": Sku(4, 1024, 1)}
    errors = check_document(text, Cluster(skus=skus)).errors
    assert [error.text for error in errors] == ["The roles of the affinity group `g` have different SKUs."]
