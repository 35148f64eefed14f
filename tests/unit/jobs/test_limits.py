"""Limits of what is stored for a job."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_pai.backends.reports import Report
from jupyter_pai.core.errors import SpecError
from jupyter_pai.core.i18n import Message, _
from jupyter_pai.jobs import limits
from jupyter_pai.jobs.job import JobStatus
from jupyter_pai.jobs.spec import STORED, JobSpec, parse_spec

SPEC = {"name": "x", "command": "true"}
LARGE = "x" * 70_000


@pytest.mark.parametrize(
    ("fields", "place", "words"),
    [
        ({"hyperparameters": {"lr": LARGE}}, "hyperparameters.lr", "is 70 kB large, more than 64 kB."),
        ({"hyperparameters": {LARGE: "1"}}, f"hyperparameters.{'x' * 50}", "Pass large values in a file"),
        ({"hyperparameters": {f"n{n}": "1" for n in range(1_001)}}, "hyperparameters", "has 1001 entries"),
        ({"hyperparameters": {f"n{n}": "x" * 60_000 for n in range(20)}}, "hyperparameters", "more than 1 MB"),
        ({"environment": {"A": LARGE}}, "environment.A", "more than 64 kB"),
        ({"command": "echo $PAI_USER_ARGS", "args": [LARGE]}, "args", "more than 64 kB"),
        ({"labels": {f"n{n}": "1" for n in range(101)}}, "labels", "has 101 entries, more than 100."),
        ({"labels": {"a": "x" * 2_000}}, "labels.a", "more than 1 kB"),
        ({"inputs": {f"n{n}": "/x" for n in range(101)}}, "inputs", "more than 100"),
        ({"outputs": {"a": "/" + LARGE}}, "outputs.a", "more than 8 kB"),
        ({"command": "x" * 100_001}, "command", "is 100 kB large, more than 100 kB. Write it to a script of the code."),
        (
            {"command": "$PAI_USER_ARGS " * 60, "args": ["x" * 60_000]},
            "args",
            "The commands are 3.6 MB large with hyperparameters and arguments, more than 3 MB. Pass",
        ),
        (
            {"command": "", "entry_point": "a.py", "hyperparameters": {f"n{n}": "'" * 60_000 for n in range(16)}},
            "hyperparameters",
            "The commands are 4.8 MB large",
        ),
        (
            {"roles": [{"name": "ps", "command": "$PAI_USER_ARGS " * 60}], "hyperparameters": {"a": "x" * 60_000}},
            "hyperparameters",
            "The commands are 3.6 MB large",
        ),
        ({"image": "x" * 1_001}, "image", "more than 1 kB"),
        ({"python": LARGE}, "python", "more than 4 kB"),
        ({"output_path": LARGE}, "output_path", "more than 8 kB"),
        ({"command": "", "entry_point": LARGE}, "entry_point", "more than 4 kB"),
        ({"command": "true $PAI_USER_ARGS", "args": "x" * 1_000_001}, "args", "more than 1 MB"),
        ({"source": {"files": {"a": "x" * 1_000_001}}}, "source.files.a", "is 1 MB large, more than 1 MB."),
        ({"source": {"files": {f"f{n}": "" for n in range(1_001)}}}, "source.files", "has 1001 entries"),
        ({"source": {"exclude": [f"{n}" for n in range(1_001)]}}, "source.exclude", "has 1001 entries"),
        ({"source": {"include": ["x" * 4_001]}}, "source.include", "more than 4 kB"),
        ({"metric_definitions": [{"name": "n", "regex": "x" * 8_001}]}, "metric_definitions", "more than 8 kB"),
        ({"options": {"a": "x" * 1_000_001}}, "options.a", "more than 1 MB"),
        ({"roles": [{"name": "ps", "command": "x" * 100_001}]}, "roles.0.command", "more than 100 kB"),
        ({"roles": [{"name": "ps", "image": "x" * 1_001}]}, "roles.0.image", "more than 1 kB"),
    ],
)
def test_large_fields_are_refused_by_name(fields: dict[str, Any], place: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec(SPEC | fields)
    faults: Any = caught.value.details["faults"]
    assert words in faults[place]


def test_fields_at_the_limit_are_kept() -> None:
    fields: dict[str, Any] = {
        "hyperparameters": {"a": "x" * 63_999} | {f"n{n}": "1" for n in range(999)},
        "labels": {f"n{n}": "x" * 900 for n in range(100)},
    }
    spec = parse_spec(SPEC | fields)
    assert (spec.hyperparameters, spec.labels) == (fields["hyperparameters"], fields["labels"])


def test_stored_specs_of_earlier_versions_are_read() -> None:
    spec = JobSpec.model_validate(SPEC | {"hyperparameters": {"a": LARGE}}, context=STORED)
    assert spec.hyperparameters["a"] == LARGE


def test_items_of_lists_have_few_entries() -> None:
    assert limits.listed({"a": "1", "b": "2"}) == {"a": "1", "b": "2"}
    assert [*limits.listed({f"n{n}": "x" for n in range(100)})] == [f"n{n}" for n in range(limits.MOST_LISTED)]
    # A part of a URI would be another one.
    assert limits.listed({"a": "x" * 900, "b": "x" * 900, "c": ""}) == {"a": "x" * 900}


def test_notes_are_bounded_and_stay_equal() -> None:
    notes = limits.with_notes(["a", "b" * 10_000, "a"], map(str, range(100)))
    assert len(notes) == limits.MOST_NOTES
    assert notes[:3] == ("a", "b" * 3_999 + "…", "0")
    assert notes[-1] == "Further notes were omitted."
    # The watcher compares them with the stored ones at each poll.
    assert limits.with_notes(notes, ["b" * 10_000, "99", "new"]) == notes
    assert limits.with_notes(("a",), ("a",)) == ("a",)


def test_short_text_stays_translatable() -> None:
    message = _("No job matches `{word}`.").format(word="x")
    assert limits.shortened(message) is message
    assert isinstance(limits.with_notes([message])[0], Message)
    assert Report(JobStatus.FAILED, reason=message).reason is message
    assert len(Report(JobStatus.FAILED, reason="x" * 10_000).reason) == 4_000
