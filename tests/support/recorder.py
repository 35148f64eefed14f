"""A plug-in of pytest that writes the outcome and the processor time of each test to the file named by `TEST_RECORD`.

The time of a test includes its fixtures. A server that several tests share is counted for the test that starts it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from .processor_time import ProcessorTime

__all__ = ["RECORD", "Recorder", "pytest_configure"]

RECORD = "TEST_RECORD"
_BEFORE = pytest.StashKey[float]()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(config))


class Recorder:
    """Used in the workers, which measure, and in the process that writes the file."""

    def __init__(self, config: pytest.Config) -> None:
        self.is_worker = hasattr(config, "workerinput")
        self.time = ProcessorTime() if self.is_worker or not config.getoption("numprocesses") else None
        self.outcomes: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if self.time:
            item.stash[_BEFORE] = self.time.seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if self.time and report.when == "teardown":
            report.user_properties.append(("processor", self.time.seconds() - item.stash[_BEFORE]))
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that cannot be imported as failed. The second try cannot forgive that."""
        if report.failed:
            self.outcomes[report.nodeid] = "failed"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed or report.nodeid not in self.outcomes or self.outcomes[report.nodeid] == "passed":
            self.outcomes[report.nodeid] = report.outcome
        for name, value in report.user_properties:
            if name == "processor" and isinstance(value, float):
                self.seconds[report.nodeid] = value

    def pytest_sessionfinish(self) -> None:
        if not self.is_worker:
            tests = {test: [outcome, self.seconds.get(test, 0.0)] for test, outcome in self.outcomes.items()}
            Path(os.environ[RECORD]).write_text(json.dumps(tests, indent=0))
        if self.time:
            self.time.close()
