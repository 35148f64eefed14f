"""Run-time limits: of the spec, the profile, the platform's default and the policy; and what tells about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle

from ...conftest import SystemFile, script, submit, until
from ...fakes.alibaba import StandIn
from .conftest import write_profile


def limit_of(engine: EmbeddedClient, pai: StandIn, **fields: Any) -> int:
    """Submit a job. Return the limit that the platform gets, which the job knows and its line names; 0 for none."""
    job = submit(engine, "true", profile="pai", **fields)
    seconds = int(pai.jobs[-1]["request"].get("Scheduler", {}).get("MaxRunningTimeInSeconds", 0))
    assert job.info["run_time_limit"] == seconds
    cost = job.info["notes"][0]
    assert ("No run-time limit: billed until it ends." in cost) == (seconds == 0)
    assert (f"at most {seconds / 3600:.3g} h." in cost) == (seconds > 0)
    return seconds


def test_zero_is_no_limit_unless_the_profile_has_one(engine: EmbeddedClient, pai: StandIn) -> None:
    assert limit_of(engine, pai) == 86400
    assert limit_of(engine, pai, max_run_time=0) == 0
    assert limit_of(engine, pai, max_run_time=60) == 60
    for written in (3600, 86400):  # Also the default, if it is written.
        write_profile(pai, max_run_time=written)
        assert limit_of(engine, pai, max_run_time=0) == written
    write_profile(pai, max_run_time=0)
    assert limit_of(engine, pai) == 0


@pytest.mark.parametrize("most", [7200, 172800])
def test_zero_is_limited_by_the_policy(engine: EmbeddedClient, pai: StandIn, system: SystemFile, most: int) -> None:
    system(f"[policy]\nmax_run_time = {most}\n")
    assert limit_of(engine, pai, max_run_time=0) == most
    write_profile(pai, max_run_time=0)
    assert limit_of(engine, pai, max_run_time=0) == most


def test_line_of_a_job_names_its_limit(engine: EmbeddedClient, pai: StandIn) -> None:
    limited = submit(engine, "sleep 600", profile="pai")
    assert ", billed until it ends, run-time limit: 24 h 0 min>" in repr(limited)
    unlimited = submit(engine, "sleep 600", profile="pai", max_run_time=0)
    assert ", no run-time limit: billed until it ends>" in repr(unlimited)
    for job in (limited, unlimited):
        job.stop().wait()


def test_job_warns_an_hour_before_its_limit(engine: EmbeddedClient) -> None:
    """Of 3,601 seconds, the first has passed when the warning comes. A job of an hour or of a day needs none."""

    def running(seconds: int) -> JobHandle:
        job = submit(engine, "sleep 600", profile="local", max_run_time=seconds)
        until(lambda: job.status == "running")
        return job

    job = running(3601)
    until(lambda: any("run-time limit stops this job at" in note for note in job.info["notes"]))
    job.stop().wait()
    for other in map(running, (3600, 86400)):
        assert not any("run-time limit" in note for note in other.info["notes"])
        other.stop().wait()


def test_form_of_a_script_has_the_default_limit_again(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    """A program that uses the names of the SDK has submitted the script before, without a limit."""
    file = script(folder, "print(1)")
    for seconds, kept in ((0, None), (60, 60)):
        submit(engine, folder=folder, entry_point="train.py", profile="pai", max_run_time=seconds)
        assert engine.call("form", path=str(file))["request"]["spec"].get("max_run_time") == kept
