"""Exit code and output parameters that a job script writes into the log."""

from __future__ import annotations

import pytest

from jupyter_pai.backends.reports import Report
from jupyter_pai.engine.watcher.reported import completed
from jupyter_pai.jobs.job import JobStatus

LOG = 'loss 1\n[pai] {"output_parameter": "accuracy", "value": "0.9\\n"}\n[pai] {"exit_code": 3}\n'


def test_end_of_the_log_completes_a_report() -> None:
    report = completed(Report(JobStatus.FAILED), LOG)
    assert (report.exit_code, report.output_parameters) == (3, {"accuracy": "0.9\n"})


def test_last_line_of_the_job_may_have_no_end() -> None:
    assert completed(Report(JobStatus.FAILED), 'working...[pai] {"exit_code": 3}\n').exit_code == 3


def test_platform_takes_precedence() -> None:
    report = completed(Report(JobStatus.FAILED, exit_code=9, output_parameters={"a": "b"}), LOG)
    assert (report.exit_code, report.output_parameters) == (9, {"a": "b"})


def test_stopped_job_has_no_exit_code() -> None:
    assert completed(Report(JobStatus.STOPPED), LOG).exit_code is None


@pytest.mark.parametrize(
    "line",
    [
        '[pai] {"exit_code": "3"}',
        '[pai] {"exit_code": ',
        '[pai] {"output_parameter": 1, "value": "x"}',
        '[pai] {"output_parameter": "x"}',
        '[pai] {"output_parameter": ' + "[" * 10_000,
        f'[pai] {{"output_parameter": "x", "value": "{"x" * 64_001}"}}',
    ],
)
def test_similar_lines_are_ignored(line: str) -> None:
    report = completed(Report(JobStatus.SUCCEEDED), line + "\n")
    assert (report.exit_code, report.output_parameters) == (None, {})


def test_parameters_are_bounded() -> None:
    lines = [f'[pai] {{"output_parameter": "p{n}", "value": "{"x" * 2000}"}}\n' for n in range(200)]
    assert len(completed(Report(JobStatus.SUCCEEDED), "".join(lines)).output_parameters) == 63


def test_control_characters_are_kept() -> None:
    report = completed(Report(JobStatus.SUCCEEDED), '[pai] {"output_parameter": "a", "value": "\x1b[1m"}\n')
    assert report.output_parameters == {"a": "\x1b[1m"}
