"""Measuring and showing rows."""

from __future__ import annotations

import compileall
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..conftest import until

__all__ = [
    "ROOT", "Row", "clean_environment", "difference", "machine", "ms", "pairs", "printed_seconds", "processor_time",
    "ratio", "settle",
]  # fmt: skip

ROOT = Path(__file__).parents[2]


@dataclass
class Row:
    """A number, what it is compared with, and whether its bound holds."""

    what: str
    ours: str
    baseline: str
    result: str
    bound: str
    holds: bool

    @property
    def verdict(self) -> str:
        """The last column of the page."""
        return "inside" if self.holds else "**outside**"

    def line(self) -> str:
        mark = "ok  " if self.holds else "FAIL"
        return f"{mark} {self.what}: {self.result} ({self.bound}); ours {self.ours}, baseline {self.baseline}"


def difference(what: str, ours: list[float], baseline: list[float], bound_ms: float) -> Row:
    """Paired runs: the median of the differences, in milliseconds."""
    more = statistics.median(a - b for a, b in zip(ours, baseline, strict=True)) * 1000
    return Row(what, ms(ours), ms(baseline), f"{more:+.1f} ms", f"under {bound_ms:g} ms more", more < bound_ms)


def ratio(what: str, ours: list[float], baseline: list[float], bound: float) -> Row:
    """Return the speed-up against the baseline, by medians."""
    times = statistics.median(baseline) / statistics.median(ours)
    return Row(what, ms(ours), ms(baseline), f"{times:.1f} ×", f"{bound:g} × faster", times >= bound)


def ms(values: list[float]) -> str:
    return f"{statistics.median(values) * 1000:.1f} ms"


def pairs(count: int, one: Callable[[], float], other: Callable[[], float]) -> tuple[list[float], list[float]]:
    """Measure both alternately, after one of each that does not count: what else the machine does hits both."""
    one(), other()
    results = [(one(), other()) for _ in range(count)]
    return [a for a, _b in results], [b for _a, b in results]


def printed_seconds(command: list[str | Path]) -> float:
    """The seconds that a program prints."""
    return float(subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout.split()[-1])


def processor_time(pid: int) -> float:
    """The seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def settle(pid: int) -> None:
    """Wait until a process has been idle for half a second.

    After the start of a server, other extensions work in threads: jupyter-lsp looks for language servers.
    """

    def idle() -> bool:
        before = processor_time(pid)
        time.sleep(0.5)
        return processor_time(pid) - before < 0.02

    until(idle)


def clean_environment() -> None:
    """No variable that changes how Python runs, and everything byte-compiled."""
    for name in [name for name in os.environ if name.startswith("PYTHON")]:
        del os.environ[name]
    sys.dont_write_bytecode = False
    compileall.compile_dir(str(ROOT / "jupyter_pai"), quiet=1)


def machine() -> str:
    """Return a description of the machine."""
    python = platform.python_version()
    return f"Measured on {os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {python}."
