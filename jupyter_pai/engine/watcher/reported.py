"""Exit code and output parameters that a job script writes into the log, for platforms that report neither.

See `backends/runtime/script/report_end.sh`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

from ...backends.local.supervisor.output_parameters import LARGEST, LARGEST_TOGETHER, MOST
from ...backends.reports import Report
from ...jobs.job import JobStatus

__all__ = ["TAIL", "completed"]

# Bytes at the end of a log that have these lines; escaped characters take twice their size.
TAIL = 1 << 19
_PARAMETER, _EXIT_CODE = '[pai] {"output_parameter": ', '[pai] {"exit_code": '


def completed(report: Report, tail: str) -> Report:
    """Return the last report of a job with what the end of its log adds. The platform's own report takes precedence."""
    parameters, exit_code = report.output_parameters, report.exit_code
    if not parameters and _PARAMETER in tail:
        parameters = _parameters(tail)
    if exit_code is None and report.status in (JobStatus.SUCCEEDED, JobStatus.FAILED) and _EXIT_CODE in tail:
        exit_code = _exit_code(tail)
    return replace(report, output_parameters=parameters, exit_code=exit_code)


def _parameters(tail: str) -> dict[str, str]:
    values: dict[str, str] = {}
    left = LARGEST_TOGETHER
    for line in _lines(tail, _PARAMETER):
        name, value = line.get("output_parameter"), line.get("value")
        if isinstance(name, str) and isinstance(value, str):
            left -= len(name.encode("utf-8", "replace")) + len(value.encode("utf-8", "replace"))
            if left >= 0 and len(values) < MOST and len(value) <= LARGEST:
                values[name] = value
    return values


def _exit_code(tail: str) -> int | None:
    codes = [line.get("exit_code") for line in _lines(tail, _EXIT_CODE)]
    return codes[-1] if codes and isinstance(codes[-1], int) else None


def _lines(tail: str, start: str) -> list[dict[str, object]]:
    """Return the JSON objects of the lines that end so. The last line of the job may have no end; and the job may print
    similar lines."""
    found = []
    for line in tail.split("\n"):
        if (place := line.find(start)) >= 0:
            # The script escapes no control characters but tabs and carriage returns.
            with suppress(ValueError, RecursionError):
                found.append(json.loads(line[place + len("[pai] ") :], strict=False))
    return found
