"""The tests that run each line of the core in their own process, and how long they take."""

from __future__ import annotations

import math
import sqlite3
import sys
from collections import defaultdict
from itertools import accumulate
from pathlib import Path

from coverage.numbits import numbits_to_nums

from .checkout import Checkout

__all__ = ["Covering", "TESTS"]

TESTS = ["tests/unit", "tests/conformance", *(f"tests/integration/{name}" for name in ("data", "local", "pai"))]
# Seconds of tests for one line; hundreds of tests run some lines.
_MOST_SECONDS = 60.0
_SETTINGS = "[run]\nconcurrency = thread\n"
_PARALLEL = ("-n", "auto", "-p", "tests.mutants.recorder", "--maxfail=10")


class Covering:
    """Which tests run a line. They are measured once per state of the code, into `folder`."""

    def __init__(self, folder: Path, checkout: Checkout) -> None:
        data, times = folder / "coverage", folder / "seconds.txt"
        if not (folder / "measured").exists():
            for path in (data, times):
                path.unlink(missing_ok=True)
            settings = folder / "coveragerc"
            settings.write_text(f"{_SETTINGS}data_file = {data}\n", "utf-8")
            options = ("--cov=jupyter_pai", f"--cov-config={settings}", "--cov-context=test", "--cov-report=")
            _passed, output = checkout.passes(TESTS, 1800, *_PARALLEL, *options, TEST_SECONDS=str(times))
            if "stopping after" in output:
                sys.exit(f"The tests fail without a mutant:\n{output}")
            (folder / "measured").touch()
        self.seconds: dict[str, float] = defaultdict(float)
        for line in times.read_text("utf-8").splitlines():
            seconds, test = line.split(" ", 1)
            self.seconds[test] += float(seconds)
        if failed := [test for test, seconds in self.seconds.items() if seconds == math.inf]:
            print("Not used, since they fail in a copy of the environment:", *failed, sep="\n  ", flush=True)
        self._tests = _tests_of_lines(data, checkout.folder)

    def tests(self, path: str, line: int) -> list[str]:
        """Return the tests that run a line, the fastest first, up to a minute of them.

        For a line that only an import runs, these are the tests of the module.
        """
        lines = self._tests.get(path, {})
        tests = lines.get(line) or set[str]().union(*lines.values())
        fastest = sorted(tests & self.seconds.keys(), key=lambda test: (self.seconds[test], test))
        sums = accumulate(self.seconds[test] for test in fastest)
        return [test for test, seconds in zip(fastest, sums, strict=True) if seconds < _MOST_SECONDS]


def _tests_of_lines(data: Path, folder: Path) -> dict[str, dict[int, set[str]]]:
    """Read the file of coverage.py: its own method for this reads all of it again for each module."""
    tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    query = "select path, context, numbits from line_bits natural join (select id file_id, path from file)"
    query += " natural join (select id context_id, context from context)"
    database = sqlite3.connect(data)
    for path, context, lines in database.execute(query):
        for line in numbits_to_nums(lines):
            if context:  # Otherwise an import ran it.
                tests[str(Path(path).relative_to(folder))][line].add(context.rpartition("|")[0])
    database.close()
    return tests
