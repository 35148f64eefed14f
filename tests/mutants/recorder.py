"""A pytest plug-in that appends each test and its seconds to the file that `TEST_SECONDS` names; `inf` if it fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(os.environ["TEST_SECONDS"]).open("a", encoding="utf-8") as file:
            file.write(f"{'inf' if report.failed else f'{report.duration:.4f}'} {report.nodeid}\n")
