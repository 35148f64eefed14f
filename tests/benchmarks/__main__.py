"""Measures each number against a baseline in the same run, writes docs/benchmarks.md, and fails if a bound is broken.

python -m tests.benchmarks [WORD …]     only rows whose names or descriptions contain a word; then nothing is written
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import (
    charts,
    detection,
    dlc,
    ends,
    forms,
    hdfs,
    jobs,
    livelogs,
    logview,
    openpai,
    platform,
    rows,
    scale,
    slurm,
    tione,
    workflows,
)
from .measure import Row, clean_environment, machine

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def main() -> int:
    """Measure, print, write."""
    clean_environment()
    wanted = sys.argv[1:]
    measured: list[Row] = []
    for measure in (
        *rows.ALL,
        *forms.ALL,
        *scale.ALL,
        *jobs.ALL,
        *ends.ALL,
        *workflows.ALL,
        *detection.ALL,
        *charts.ALL,
        *logview.ALL,
        *livelogs.ALL,
        *platform.ALL,
        *slurm.ALL,
        *hdfs.ALL,
        *openpai.ALL,
        *tione.ALL,
        *dlc.ALL,
    ):
        names = f"{measure.__name__} {measure.__doc__}"
        if not wanted or any(word in names for word in wanted):
            for row in measure():
                measured.append(row)
                print(row.line(), flush=True)
    if not wanted:
        DOCUMENT.write_text(document(measured), "utf-8")
    broken = [row for row in measured if not row.holds]
    print(f"{len(measured) - len(broken)} passed, {len(broken)} failed")
    return 1 if broken else 0


def document(measured: list[Row]) -> str:
    """The page."""
    lines = "\n".join(
        f"| {row.what} | {row.ours} | {row.baseline} | **{row.result}** | {row.bound} | {row.verdict} |"
        for row in measured
    )
    return f"""# Benchmarks

Written by `make bench`, not by hand. Each row is measured against its baseline in the same run; read the differences
and ratios, not the milliseconds. Everything is byte-compiled, and no `PYTHON*` variable is set.

{machine()}

| what | ours | baseline | result | bound | |
|---|---|---|---|---|---|
{lines}
"""


if __name__ == "__main__":
    os.chdir(Path(__file__).parents[2])
    sys.exit(main())
