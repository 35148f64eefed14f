"""Warnings about documents that the server takes, and the mending that they offer."""

from __future__ import annotations

import subprocess

import pytest

from jupyter_pai.backends.openpai.protocol.check import check_document
from jupyter_pai.backends.openpai.protocol.mending import mend
from jupyter_pai.backends.openpai.protocol.shell_variables import unset_variables

from .test_document_check import DATA, JOB, VECTORS, with_role


def warnings(text: str) -> list[str]:
    checked = check_document(text)
    assert not checked.errors
    assert all(warning.fix and warning.line for warning in checked.warnings)
    return [f"{warning.path}: {warning.text}" for warning in checked.warnings]


def with_command(command: str) -> str:
    lines = "".join(f"        {line}\n" for line in command.splitlines())
    return with_role(f"commands:\n      - |\n{lines}".rstrip("\n"))


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("echo $A", ["A"]),
        ("echo '$A' \"$B\"", ["B"]),
        ('echo "it\'s $A" # $B', ["A"]),
        ("# it's $A\necho $B", ["B"]),
        ("echo $'it\\'s' $B", ["B"]),
        ("echo \\$A $$ $? $1 $@ $# $* $! $-", []),
        ("A=1; B+=x; echo $A $B", []),
        ("export A=$B", ["B"]),
        ("echo ${A:-x} ${B-x} ${C:=1} $C ${D:+$E} ${F:?}", []),
        ('[ -n "${A:-}" ] && echo $A', []),
        ("[[ -v A ]] && echo $A", []),
        ("echo ${A%.*} ${#B} ${C[0]} ${D//x/'}'}", ["A", "B", "C", "D"]),
        ("awk '{print $x}'", []),
        ("for x in 1 2; do echo $x; done", []),
        ("while read -r a b; do echo $a$b; done", []),
        ('while getopts "a:" opt; do echo $OPTARG $opt; done', []),
        ("printf -v A x; mapfile -t B; declare -a C; echo $A $B $C", []),
        ("(( n = 1 )); echo $n $(( m + 1 ))", []),
        ("case $1 in a) echo $A;; esac", ["A"]),
        ("cat <<'E'\n$A\nE\necho $B", ["B"]),
        ("cat <<\\E\n$A\nE\necho $B", ["B"]),
        ("cat <<E\n$A \\$C '$D'\nE", ["A", "D"]),
        ("cat <<-E\n\t$A\n\tE\necho $B", ["A", "B"]),
        ("cat <<< $A", ["A"]),
        ('echo "$(echo "$A" | sed \'s/$X//\')"', ["A"]),
        ("echo `echo $A`", ["A"]),
        ("echo $HOME $PATH $LD_LIBRARY_PATH $CUDA_HOME $RANDOM", []),
        ("echo <% $secrets.x %> $B", ["B"]),
        ("eval x\necho $A", []),
        (". ./env.sh\necho $A", []),
        ("set +u; echo $A", []),
        ("set +eu; echo $A", []),
        ("export $(cat vars); echo $A", []),
        ("echo 'open $A", []),
        ("./run.sh $A", ["A"]),
    ],
)
def test_unset_variables_are_found_where_it_can_be_decided(script: str, names: list[str]) -> None:
    assert unset_variables(script) == names


@pytest.mark.parametrize("script", ["echo $A", "A=1; echo $A", "echo ${A:-x}", "cat <<E\n$A\nE", "cat <<'E'\n$A\nE"])
def test_bash_ends_at_a_variable_that_is_found(script: str) -> None:
    code = subprocess.call(["bash", "-euc", script], env={}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert bool(code) == bool(unset_variables(script))


def test_recorded_documents_have_few_warnings() -> None:
    found = {vector["case"]: check_document(vector["yaml"]).warnings for vector in VECTORS if vector["accept"]}
    assert {case: [warning.text for warning in list_] for case, list_ in found.items() if list_} == {
        "taskRetryCount -1": ["The retries of a task have no effect while all tasks start together."],
        "render: param": ["`<% $parameters.n %>` stays in the command as it is: it has no value."],
        "render: set delim": [
            "`<% x %>` stays in the command as it is: it has no value.",
            "The server removes `<%=[[ ]]=%>` from the command.",
        ],
        "render: moustache curly kept": [
            "Bash ends at `$b`, unless the image sets it: neither the commands nor the platform do."
        ],
    }


def test_variables_of_the_platform_are_set_for_the_roles_of_the_job() -> None:
    command = "echo $PAI_JOB_NAME $PAI_HOST_IP_w_0 $PAI_w_0_http_PORT $PAI_CURRENT_CONTAINER_IP $PAI_HOST_IP_v_0"
    unset = "Bash ends at `$PAI_HOST_IP_v_0`, unless the image sets it: neither the commands nor the platform do."
    assert warnings(with_command(command)) == [f"taskRoles.w.commands[0]: {unset}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            JOB.replace("  w:", "  My_Role:"),
            "taskRoles.My_Role: The container finds roles by lower-case letters and digits only, and not `My_Role`.",
        ),
        (
            with_role("commands: [x, '<% $secrets.t %>']"),
            "taskRoles.w.commands[1]: The document has no secret `t`.",
        ),
        (
            with_role("commands: ['a<%! b %>']"),
            "taskRoles.w.commands[0]: The server removes `<%! b %>` from the command.",
        ),
        (JOB.replace("uri: ubuntu", "uri: a/alpine:3"), "prerequisites[0].uri: {alpine}"),
        (JOB.replace("uri: ubuntu", "uri: python:3.12-alpine3.20"), "prerequisites[0].uri: {alpine}"),
        (JOB + "secrets: {t: '******'}\n", "secrets.t: The value of the secret `t` is masked."),
        (
            JOB + "extras: {storages: [{name: a}, {name: b, mountPath: /mnt/a/}]}\n",
            "extras.storages[1]: Two storages have the mount path `/mnt/a`.",
        ),
        (
            with_role("taskRetryCount: 1"),
            "taskRoles.w.taskRetryCount: The retries of a task have no effect while all tasks start together.",
        ),
    ],
)
def test_document_that_the_server_takes_has_a_warning(text: str, message: str) -> None:
    assert warnings(text) == [message.replace("{alpine}", "Images of Alpine have no bash, which runs the commands.")]


def test_retries_of_tasks_that_start_alone_are_no_warning() -> None:
    assert warnings(with_role("taskRetryCount: 1") + "extras: {gangAllocation: false}\n") == []


def test_mending_renames_roles_and_gives_defaults_and_keeps_all_else() -> None:
    sample = (DATA / "sample-ok.yaml").read_text("utf-8").replace("<% $parameters.nope %>", "x")
    clean = f"# first\n{sample}    # last\n"
    marks = {"worker": "My_Role", "echo post": "echo $PAI_HOST_IP_My_Role_0 '$q' $B ${B}"}
    text = clean
    for old, new in marks.items():
        text = text.replace(old, new)
    mended = clean.replace("worker", "myrole").replace("echo post", "echo $PAI_HOST_IP_myrole_0 '$q' ${B:-} ${B:-}")
    assert mend(text) == mended
    assert warnings(mended) == []


@pytest.mark.parametrize("text", [JOB, "a: [", JOB + "x: 1\n", with_command("echo '$A' $A"), with_command("eval $A")])
def test_document_that_cannot_be_mended_is_unchanged(text: str) -> None:
    assert mend(text) == text


def test_mended_names_of_roles_are_different() -> None:
    roles = JOB[JOB.index("    dockerImage") :]
    checked = check_document(mend(JOB.replace("  w:", f"  a_b:\n{roles}  AB:\n{roles}  ab:")))
    assert sorted(checked.entry_points) == ["ab", "ab2", "ab3"]
