"""Documents of the user's own: their secrets stay in the file, and changes keep all else as it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.backends.openpai import own_document
from jupyter_pai.backends.openpai.backend import OpenPaiBackend
from jupyter_pai.backends.openpai.own_document import filled, masked, replaced, with_code
from jupyter_pai.backends.openpai.protocol.check import check_document
from jupyter_pai.backends.openpai.protocol.reader import parse
from jupyter_pai.backends.openpai.protocol.writer import write
from jupyter_pai.core.errors import SpecError
from jupyter_pai.jobs.spec import parse_spec

from .test_job_files import DOCUMENT

WITH_SECRETS = (
    DOCUMENT.replace('"python:3.12"', '"python:3.12", auth: {username: u, password: hunter2}')
    + 'secrets:\n  key: s3cret  # mine\n  more: [1, two, "three"]\n'
)


def test_secrets_are_masked_and_come_back_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "job.pai.yaml"
    path.write_text(WITH_SECRETS)
    found = OpenPaiBackend.read_job_file(path, WITH_SECRETS)
    shown = found.spec["options"]["document"]
    for secret in ("hunter2", "s3cret", "two", "three"):
        assert secret not in str(found)
    assert "# mine" in shown
    assert filled(shown, path) != shown
    assert parse(filled(shown, path)).value == parse(WITH_SECRETS).value
    # Masks of known values cause no warning.
    assert own_document.problems(shown, path) == ()
    assert [one.path for one in own_document.problems(shown)] == ["secrets.key"]


def test_secrets_without_a_value_are_named(tmp_path: Path) -> None:
    shown = masked(DOCUMENT + "secrets: {a: x, b: y}\n")
    assert '"******"' in shown
    assert parse(filled(shown, values={"a": "1", "b": "2"})).value["secrets"] == {"a": "1", "b": "2"}  # type: ignore[index,call-overload]
    with pytest.raises(SpecError, match=r"secrets\.b"):
        filled(shown, tmp_path / "gone", {"a": "1"})


@pytest.mark.parametrize("name", ["plain", "007", "1e3", "a-b_c"])
def test_a_replaced_name_leaves_the_rest_as_it_is_written(name: str) -> None:
    changed = replaced(DOCUMENT, {("name",): name})
    assert parse(changed).value["name"] == name  # type: ignore[index,call-overload]
    assert changed.replace(f'"{name}"', "digits") == DOCUMENT


def test_a_replaced_value_with_an_alias_changes_no_other() -> None:
    text = DOCUMENT.replace("name: digits", "name: &n digits\ncontributor: *n")
    changed = parse(replaced(text, {("name",): "other"})).value
    assert (changed["name"], changed["contributor"]) == ("other", "digits")  # type: ignore[index,call-overload]
    block = DOCUMENT + "secrets:\n  key: |\n    line\n"
    assert parse(masked(block)).value["secrets"] == {"key": "******"}  # type: ignore[index,call-overload]


def test_code_comes_before_all_commands() -> None:
    deployed = """\
deployments:
  - name: d
    taskRoles: {ps: {preCommands: [echo pre], postCommands: [echo post]}}
defaults: {deployment: d}
"""
    value = parse(DOCUMENT + deployed).value
    changed = with_code(value, ["echo code"])  # type: ignore[arg-type]
    points = check_document(write(changed)).entry_points
    assert points["ps"].splitlines() == ["echo code", "echo pre", "echo ps", "echo post"]
    assert points["worker"].splitlines() == ["echo code", "echo worker", "echo $PAI_TASK_INDEX"]
    # A role that is an alias of another gets it once.
    text = DOCUMENT.replace("  ps:", "  ps: &ps").partition("  worker:")[0] + "  worker: *ps\n"
    points = check_document(write(with_code(parse(text).value, ["echo code"]))).entry_points  # type: ignore[arg-type]
    assert points["worker"].splitlines() == ["echo code", "echo ps"]


def test_an_edited_document_decides_on_the_roles() -> None:
    spec = parse_spec({"name": "x", "command": "old", "options": {"document": DOCUMENT}})
    found = own_document.applied(spec, is_generated=False)
    assert [(role.name, role.command) for role in found.roles] == [
        ("ps", ""),
        ("worker", "echo worker\necho $PAI_TASK_INDEX"),
    ]
    assert found.command == "echo ps"
    broken = parse_spec({"name": "x", "command": "old", "options": {"document": "name: ["}})
    assert own_document.applied(broken, is_generated=False) == broken


def test_an_edited_document_that_was_generated_keeps_the_commands_of_its_spec() -> None:
    one = DOCUMENT.partition("  worker:")[0]
    spec = parse_spec({"name": "x", "command": "old", "cpu": 4, "options": {"document": one}})
    found = own_document.applied(spec, is_generated=True)
    assert (found.command, found.roles, found.instance_count, found.cpu) == ("old", (), 2, 1)
    roles = [{"name": "ps", "command": "serve"}, {"name": "Worker_1", "command": "work"}]
    text = DOCUMENT + "extras: {jupyterPai: {roles: {worker: Worker_1}}}\n"
    spec = parse_spec({"name": "x", "command": "old", "roles": roles, "options": {"document": text}})
    found = own_document.applied(spec, is_generated=True)
    assert [(role.name, role.command, role.count) for role in found.roles] == [
        ("ps", "serve", 2),
        ("Worker_1", "work", 1),
    ]
