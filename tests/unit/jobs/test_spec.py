"""The models of a spec, and their validation errors."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from jupyter_pai.core.errors import SpecError
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import JobSpec, parse_spec

from ...support.fuzz import MANY, NAMES, VALUES

MINIMAL: dict[str, Any] = {"name": "x", "command": "true"}


def test_spec_is_immutable() -> None:
    spec = parse_spec(MINIMAL)
    with pytest.raises(ValidationError):
        spec.name = "y"  # type: ignore[misc]


def test_python_values_become_text() -> None:
    spec = parse_spec(MINIMAL | {"hyperparameters": {"lr": 0.1, "flag": True, "none": None, "list": [1]}})
    assert spec.hyperparameters == {"lr": "0.1", "flag": "True", "list": "[1]"}


def test_arguments_follow_the_hyperparameters_unchanged() -> None:
    words = ["--lr", "0.5", "a b", "$HOME", "it's", "", "+x={a: 1}"]
    spec = parse_spec({"name": "x", "entry_point": "train.py", "hyperparameters": {"n": "1"}, "args": words})
    assert shlex.split(spec.command_line) == ["python", "train.py", "--n", "1", *words]
    spec = parse_spec(MINIMAL | {"command": "run $PAI_USER_ARGS end", "args": words})
    assert shlex.split(spec.command_line) == ["run", *words, "end"]
    assert parse_spec(MINIMAL | {"command": "x $PAI_USER_ARGS", "args": "--lr 0.5 'a b'"}).args == (
        "--lr",
        "0.5",
        "a b",
    )
    assert parse_spec(MINIMAL | {"command": "x $PAI_USER_ARGS", "args": ["--n", 3]}).args == ("--n", "3")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name: must not contain control characters, such as U+000A"),
        ({"name": "a\x9bb"}, "name: must not contain control characters, such as U+009B"),
        ({"name": "gpj\u202e.exe"}, "name: must not contain control characters, such as U+202E"),
        ({"name": "a "}, "name: must not begin or end with blanks"),
        ({"metric_definitions": [{"name": "a\u2066", "regex": "(x)"}]}, "metric_definitions.0.name: must not contain"),
        ({"command": " "}, "Nothing to run"),
        ({"comand": "x"}, "did you mean `command`"),
        ({"hyperparameters": {"a b": "1"}}, "`a b`"),
        ({"hyperparameters": {"": "1"}}, "empty"),
        ({"hyperparameters": {"a": "\0"}}, "NUL"),
        ({"inputs": {"a/b": "/x"}}, "`a/b`"),
        ({"outputs": {"MODEL": "/x"}}, "would hide the channel `model`"),
        ({"inputs": {"train": " "}}, "`train` needs a path or a URI"),
        ({"environment": {"A=B": "1"}}, "`A=B`"),
        ({"metric_definitions": [{"name": "a", "regex": "(x)"}, {"name": "a", "regex": "(y)"}]}, "defined twice"),
        ({"instance_count": 0}, "instance_count"),
        ({"memory": "much"}, "memory"),
        ({"memory": "10"}, "10GiB"),
        ({"max_run_time": -1}, "max_run_time"),
        ({"source": {"folder": "relative"}}, "not an absolute path"),
        ({"args": ["a\0"], "command": "x $PAI_USER_ARGS"}, "NUL"),
        ({"args": ["a"]}, "add $PAI_USER_ARGS"),
        ({"args": ["a"], "command": "x '$PAI_USER_ARGS'"}, "add $PAI_USER_ARGS"),
        ({"args": "it's", "command": "x $PAI_USER_ARGS"}, "cannot be split into words"),
        ({"args": ["a"], "command": "", "entry_point": "a.ipynb"}, "takes no arguments"),
        ({"roles": [{"name": "a b"}]}, "`a b` is not a name"),
        ({"roles": [{"name": "ps"}, {"name": "PS"}]}, "`ps` is defined twice"),
        ({"roles": [{"name": "ps", "memory": "10"}]}, "10GiB"),
        ({"roles": [{"name": "ps", "count": 0}]}, "roles.0.count"),
        ({"roles": ["ps"]}, "roles.0"),
        ({"roles": [{"name": "ps", "command": "serve"}, {"name": "worker"}], "command": ""}, "Nothing to run"),
        ({"source": {"files": {"../x": ""}}}, "not a path inside"),
        ({"source": {"files": {"/etc/x": ""}}}, "not a path inside"),
    ],
)
def test_invalid_fields_are_named(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec(MINIMAL | fields)
    assert words in str(caught.value)


@pytest.mark.parametrize("value", [None, 3, "x", [], {"name": 3}])
def test_other_types_are_rejected(value: object) -> None:
    with pytest.raises(SpecError):
        parse_spec(value)


@MANY
@given(
    st.fixed_dictionaries(
        {"name": VALUES, "command": VALUES},
        optional={
            "hyperparameters": st.dictionaries(NAMES | VALUES, VALUES, max_size=3),
            "labels": st.dictionaries(VALUES, VALUES, max_size=3),
            "inputs": st.dictionaries(VALUES, VALUES, max_size=2),
            "environment": st.dictionaries(VALUES, VALUES, max_size=2),
        },
    )
)
def test_any_fields_are_kept_whole_or_rejected(fields: dict[str, Any]) -> None:
    try:
        spec = parse_spec(fields)
    except SpecError as error:
        assert error.message
        return
    assert JobSpec.model_validate_json(spec.model_dump_json()) == spec
    assert spec.hyperparameters == fields.get("hyperparameters", {})


def test_roles_have_the_values_of_the_spec() -> None:
    roles = [
        {"name": "ps", "command": "serve $PAI_USER_ARGS", "cpu": 2},
        {"name": "worker", "count": "3", "image": "other"},  # As an option gives it.
    ]
    fields = {"command": "train", "image": "one", "gpu": 1, "instance_type": "large", "instance_count": 9}
    spec = parse_spec(MINIMAL | fields | {"roles": roles, "hyperparameters": {"a": "1"}})
    assert spec.instance_count == 4
    assert spec.instance_names == ["ps-0", "worker-0", "worker-1", "worker-2"]
    ps, worker = spec.by_role.values()
    assert (ps.command_line, ps.image, ps.instance_count) == ("serve --a 1", "one", 1)
    assert (ps.cpu, ps.gpu, ps.instance_type) == (2, None, "")
    assert (worker.command_line, worker.image, worker.instance_count) == ("train", "other", 3)
    assert (worker.cpu, worker.gpu, worker.instance_type) == (None, 1, "large")
    assert parse_spec(spec.model_dump(mode="json")) == spec


def test_a_spec_without_roles_has_one() -> None:
    spec = parse_spec(MINIMAL | {"command": "train", "instance_count": 2})
    assert spec.by_role == {"worker": spec}
    assert spec.instance_names == ["worker-0", "worker-1"]


def test_a_command_of_each_role_is_enough() -> None:
    roles = [{"name": "ps", "command": "serve"}, {"name": "worker", "command": "train"}]
    assert parse_spec({"name": "x", "roles": roles}).by_role["worker"].command_line == "train"


def test_command_line_of_command_and_script() -> None:
    spec = parse_spec(MINIMAL | {"command": "run $PAI_USER_ARGS", "hyperparameters": {"a": "b c"}})
    assert spec.command_line == "run --a 'b c'"
    spec = parse_spec({"name": "x", "entry_point": "t.py", "hyperparameters": {"a": "b c"}})
    assert spec.command_line == "python t.py --a 'b c'"


def test_final_statuses() -> None:
    final = {status.value for status in JobStatus if status.ended}
    assert final == {"succeeded", "failed", "stopped", "lost"}


def test_job_survives_a_json_round_trip() -> None:
    job = Job(
        id="a", spec=parse_spec(MINIMAL), backend="local", profile="local", status=JobStatus.QUEUED, submitted_at=now()
    )
    there = job.model_dump(mode="json")
    assert there.pop("name") == "x"
    assert Job.model_validate(there) == job


def test_schema_lists_every_field() -> None:
    schema = JobSpec.model_json_schema()
    assert set(schema["properties"]) == set(JobSpec.model_fields)
    assert schema["additionalProperties"] is False
