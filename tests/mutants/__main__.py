"""Changes the core in small ways, and lists the changes that no test notices.

python -m tests.mutants [--seed N] [--count N]

Each mutant runs against the tests that run its line. One that survives runs against the integration tests of its
subject, in which other processes run it. The results are kept in `build/mutants`, so an interrupted run continues. When
tests change, only those mutants run again that had survived; when the package changes, all.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from ..support.digest import code_digest
from .checkout import ROOT, Checkout
from .covering import Covering
from .sample import SUBJECTS, Mutant, sample

BOUND = 0.10
# Beside three times the normal time: the start of pytest on a busy machine.
START = 30.0


@dataclass
class Run:
    """The state of a run: the folder of its results, the digest of the tests, the copies that are free, and what is
    known about the tests."""

    folder: Path
    tests: str
    copies: Queue[Checkout]
    covering: Covering
    lock: threading.Lock

    def outcome(self, mutant: Mutant) -> str:
        """Return what happened to a mutant: `killed`, `killed by integration tests`, `equivalent` or `survived`."""
        if mutant.equivalence:
            return "equivalent"
        checkout = self.copies.get()
        try:
            with checkout.changed(mutant.path, mutant.code):
                tests = self.covering.tests(mutant.path, mutant.place[0])
                normal = sum(self.covering.seconds[test] for test in tests)
                if tests and not checkout.passes(tests, START + 3 * normal)[0]:
                    return "killed"
                tests, normal = self.integration(mutant.subject)
                passes = checkout.passes(tests, START + 3 * normal)[0]
            return "survived" if passes else "killed by integration tests"
        finally:
            self.copies.put(checkout)

    def integration(self, subject: str) -> tuple[list[str], float]:
        """Return the integration tests of a subject, and their seconds without a mutant."""
        tests = [f"tests/integration/{name}" for name in SUBJECTS[subject].integration]
        return tests, float(self._seconds(subject).read_text("utf-8"))

    def measure_integration(self) -> None:
        """Measure the integration tests, which have to pass."""
        with ThreadPoolExecutor(self.copies.qsize()) as pool:
            list(pool.map(self._measure, SUBJECTS))

    def _seconds(self, subject: str) -> Path:
        return self.folder / self.tests / f"{subject}.seconds"

    def _measure(self, subject: str) -> None:
        file = self._seconds(subject)
        if file.exists():
            return
        checkout, began = self.copies.get(), time.monotonic()
        tests = [f"tests/integration/{name}" for name in SUBJECTS[subject].integration]
        passes, output = checkout.passes(tests, 900)
        self.copies.put(checkout)
        if not passes:
            raise RuntimeError(f"The tests of {subject} fail without a mutant:\n{output}")
        file.write_text(str(time.monotonic() - began), "utf-8")


def main() -> int:
    """Run the sample, print each result, and return 1 if too many mutants survive."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    arguments = parser.parse_args()
    mutants = sample(arguments.seed, arguments.count)  # First, so that the code can be edited during the run.
    folder, tests = ROOT / "build/mutants" / code_digest("jupyter_pai"), code_digest("tests")
    (folder / tests).mkdir(parents=True, exist_ok=True)
    copies: Queue[Checkout] = Queue()
    for number in range(2 * (os.cpu_count() or 1)):  # Integration tests wait more than they compute.
        copies.put(Checkout(ROOT / f"build/mutants/copy-{number}"))
    run = Run(folder, tests, copies, Covering(folder / tests, copies.queue[0]), threading.Lock())
    run.measure_integration()
    print(f"{len(mutants)} mutants, seed {arguments.seed}", flush=True)
    return report(mutants, run_all(run, mutants))


def run_all(run: Run, mutants: list[Mutant]) -> dict[str, str]:
    """Return the outcome of each mutant, by its name. Outcomes of an earlier run are read, unless a mutant survived
    other tests."""
    file = run.folder / "outcomes.txt"
    lines = [line.split("\t") for line in (file.read_text("utf-8").splitlines() if file.exists() else [])]
    known = {name: outcome for outcome, name, tests in lines if tests == run.tests or outcome.startswith("killed")}
    print(f"{len(known)} of them are known from earlier runs", flush=True)

    def one(mutant: Mutant) -> None:
        if mutant.name not in known:
            outcome = run.outcome(mutant)
            with run.lock, file.open("a", encoding="utf-8") as output:
                known[mutant.name] = outcome
                output.write(f"{outcome}\t{mutant.name}\t{run.tests}\n")
                print(f"{outcome}: {mutant.name}", flush=True)

    with ThreadPoolExecutor(run.copies.qsize()) as pool:
        list(pool.map(one, mutants))
    return known


def report(mutants: list[Mutant], outcomes: dict[str, str]) -> int:
    """Print the survivors and the share of each subject."""
    survivors = [mutant for mutant in mutants if outcomes[mutant.name] == "survived"]
    for mutant in survivors:
        print(f"\n{mutant.path}, line {mutant.place[0]}", *mutant.diff, sep="\n  ")
    print()
    for subject in SUBJECTS:
        counts = Counter(outcomes[mutant.name] for mutant in mutants if mutant.subject == subject)
        print(f"{subject}: {', '.join(f'{count} {outcome}' for outcome, count in sorted(counts.items()))}")
    equivalent = [mutant for mutant in mutants if outcomes[mutant.name] == "equivalent"]
    for mutant in equivalent:
        print(f"equivalent: {mutant.name}: {mutant.equivalence}")
    counted = len(mutants) - len(equivalent)
    share = len(survivors) / max(counted, 1)
    print(f"{len(survivors)} of {counted} mutants survived: {share:.1%}, bound {BOUND:.0%}")
    return 0 if share < BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
