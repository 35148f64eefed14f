"""Changes of a spec, and differences of two specs as such changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.backends.base import Capability
from jupyter_pai.config.settings import ProfileSettings
from jupyter_pai.core.errors import SpecError
from jupyter_pai.engine import compare as comparison, lineage
from jupyter_pai.jobs.spec import JobSpec, parse_spec
from jupyter_pai.jobs.state_dir import Home

from ...support.fuzz import MANY, NAMES, VALUES


def spec(**fields: Any) -> JobSpec:
    return parse_spec({"name": "x", "command": "true"} | fields)


BASE = parse_spec({
    "name": "x", "command": "true", "hyperparameters": {"lr": "0.1", "epochs": "3"}, "max_run_time": 60,
    "inputs": {"train": "/data"}, "requirements": ["a==1", "b"], "labels": {"team": "one"},
})  # fmt: skip


def test_changes_merge_tables_and_replace_other_fields() -> None:
    changes = {"hyperparameters": {"lr": 0.2, "epochs": None, "new": ""}, "max_run_time": None, "requirements": ["c"]}
    result = lineage.changed(BASE, changes)
    assert result.hyperparameters == {"lr": "0.2", "new": ""}
    assert (result.max_run_time, result.requirements) == (None, ("c",))
    assert (result.inputs, result.labels, result.command) == (BASE.inputs, BASE.labels, BASE.command)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hyperparameters": {"epoch": None}}, r"hyperparameters\.epoch does not exist.*`epochs`"),
        ({"hyperparameter": {"a": "1"}}, "hyperparameter: .*`hyperparameters`"),
        ({"labels": {"nobody": None}}, r"labels\.nobody"),
        ({"max_run_time": -1}, "max_run_time"),
        ({"hyperparameters": []}, "hyperparameters"),
        ({"command": ""}, "Nothing to run"),
        ({"command": None}, "Nothing to run"),
        ({"inputs": {"a/b": "/x"}}, "a/b"),
    ],
)
def test_unchangeable_fields_are_rejected(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as caught:
        lineage.changed(BASE, changes)
    import re

    assert re.search(words, str(caught.value), re.DOTALL)


SPECS: st.SearchStrategy[JobSpec] = st.builds(
    lambda **fields: parse_spec({"name": "x", "command": "true"} | fields),
    hyperparameters=st.dictionaries(NAMES, VALUES, max_size=4),
    labels=st.dictionaries(VALUES, VALUES, max_size=3),
    environment=st.dictionaries(st.from_regex(r"[A-Z_]{1,4}", fullmatch=True), VALUES, max_size=3),
    requirements=st.lists(st.sampled_from(["a", "b==1", "c>2"]), max_size=3),
    instance_type=st.sampled_from(["", "big", "small"]),
    gpu=st.none() | st.integers(0, 8),
    max_run_time=st.none() | st.integers(1, 10**6),
    tty=st.booleans(),
    metric_definitions=st.lists(
        st.builds(lambda name: {"name": name, "regex": "(.)"}, st.sampled_from("abc")),
        unique_by=lambda metric: metric["name"],
        max_size=3,
    ),
)


@MANY
@given(a=SPECS, b=SPECS)
def test_differences_convert_one_spec_into_the_other(a: JobSpec, b: JobSpec) -> None:
    changes: dict[str, Any] = {}
    for result in comparison.specs(a, b):
        assert result.a != result.b or type(result.a) is not type(result.b)
        field, dot, name = result.name.partition(".")
        if field == "metric_definitions":
            changes[field] = [metric.model_dump() for metric in b.metric_definitions]
        elif dot:
            changes.setdefault(field, {})[name] = result.b
        else:
            changes[field] = result.b
    again = lineage.changed(a, changes)
    assert comparison.specs(again, b) == []
    assert comparison.specs(a, a) == []
    assert again.hyperparameters == b.hyperparameters
    assert again.requirements == b.requirements


def test_own_output_folder_of_a_job_differs_from_a_user_path() -> None:
    assert lineage.base_of("/out/my_job-20260101000000-0a1b2c/", "my job") == "/out/"
    assert lineage.base_of("/out/other-20260101000000-0a1b2c/", "my job") == ""
    assert lineage.base_of("/out/my_job/", "my job") == ""


def test_each_job_gets_an_output_folder_of_its_own() -> None:
    named = spec(name="my job", output_path="oss://bucket/out")
    paths = {lineage.own_output_path(named, "/default", frozenset()) for _n in range(2)}
    assert len(paths) == 2
    for path in paths:
        made = named.model_copy(update={"output_path": path})
        assert path.startswith("oss://bucket/out/my_job-")
        assert lineage.unfilled(made, "my job", None) == {"output_path": "oss://bucket/out/"}
    path = lineage.own_output_path(spec(name="my job"), "/default/", frozenset())
    assert path.startswith("/default/my_job-")
    made = named.model_copy(update={"output_path": path})
    profile = ProfileSettings(backend="local", default_output="/default")
    assert lineage.unfilled(made, "my job", profile, all_of_them=False) == {"output_path": ""}
    assert lineage.own_output_path(spec(), "", frozenset()) == ""


def test_output_path_is_exact_where_the_platform_makes_folders_and_in_the_code_layout() -> None:
    named = spec(output_path="oss://bucket/out")
    assert lineage.own_output_path(named, "", frozenset({Capability.OUTPUT_FOLDERS})) == "oss://bucket/out"
    code = named.model_copy(update={"layout": "code"})
    assert lineage.own_output_path(code, "", frozenset()) == "oss://bucket/out"


def test_jobs_whose_outputs_are_inputs_are_found(tmp_path: Path) -> None:
    home = Home(tmp_path / "state").create()
    (home.jobs / "aaaa" / "output").mkdir(parents=True)
    (home.jobs / "link").mkdir()
    (home.jobs / "link" / "away").symlink_to(tmp_path)
    (tmp_path / "in").symlink_to(home.jobs / "aaaa" / "output")
    inputs = {
        "one": f"file://{home.jobs}/bb%62b/output/",
        "two": str(tmp_path / "in"),
        "three": str(home.jobs / "link" / "away" / "file"),
        "four": "oss://jobs/cccc",
        "five": f"{home.path}/jobs2/dddd",
    }
    spec = parse_spec({"name": "x", "command": "true", "inputs": inputs, "outputs": {"o": f"{home.jobs}/eeee/o"}})
    assert lineage.used_jobs(spec, home) == {"bbbb", "aaaa", "link", "eeee"}
