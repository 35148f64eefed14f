"""Runs the tests, and then the failed tests once more, one after another.

python -m tests [--dearest=N] [OPTIONS OF PYTEST]

At most ten failures are run again. A test that passes then is named at the end, and the run passes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from .support.processor_time import ProcessorTime
from .support.recorder import RECORD

_FOLDER = Path(__file__).parents[1] / "build/tests"
_MOST = 10
_FAILED = 1  # The exit code of pytest if tests failed, and nothing else was wrong.
Results = dict[str, tuple[str, float]]


def main(options: list[str]) -> int:
    """See the module. Returns the exit code."""
    number = next((int(word.partition("=")[2]) for word in options if word.startswith("--dearest=")), 10)
    options = [word for word in options if not word.startswith("--dearest=")]
    began, processor = time.monotonic(), ProcessorTime()
    _FOLDER.mkdir(parents=True, exist_ok=True)
    code, results = _run("first", "--cache-clear", *options)
    failed = _failed(results)
    again: set[str] = set()
    if code == _FAILED and 0 < len(failed) <= _MOST:
        print(f"\nThe {len(failed)} tests that failed run again, one after another.", flush=True)
        code, second = _run("second", *options, "--last-failed", "--numprocesses=0")
        again = {test for test in failed if second.get(test, ("", 0.0))[0] == "passed"}
        # A test that did not run again is not forgiven.
        code = code or int(not failed <= second.keys())
        results |= second
    _print_times(results, number, time.monotonic() - began, processor.seconds())
    if again:
        print(f"\npassed only when run again: {len(again)}", *sorted(again), sep="\n  ")
    counts = Counter(outcome for outcome, _seconds in results.values())
    print(f"\n{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", flush=True)
    processor.close()
    return code


def _run(name: str, *options: str) -> tuple[int, Results]:
    record = _FOLDER / f"{name}.json"
    record.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.recorder", *options]
    code = subprocess.run(command, env=os.environ | {RECORD: str(record)}, check=False).returncode
    tests = json.loads(record.read_text()) if record.exists() else {}
    return code, {test: (outcome, seconds) for test, (outcome, seconds) in tests.items()}


def _failed(results: Results) -> set[str]:
    return {test for test, (outcome, _seconds) in results.items() if outcome == "failed"}


def _print_times(results: Results, number: int, wall: float, processor: float) -> None:
    print(f"\n{wall / 60:.1f} minutes, {processor / 60:.1f} minutes of processor time. The dearest tests, in seconds:")
    dearest = sorted(results.items(), key=lambda item: -item[1][1])[:number]
    print(*(f"{seconds:6.1f} {test}" for test, (_outcome, seconds) in dearest), sep="\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
