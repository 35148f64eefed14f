"""The context of a line for the detection of metrics: its epoch, step, progress bar and table.

It is stored with the cursor of the series, so that a new watcher continues where the last one stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ConfigDict

# More names are not tracked one by one.
_MOST_NAMES = 200
# Metrics of further processes in one log are not read.
_MOST_PROCESSES = 64
# A step is stored in 64 bits.
MOST_STEPS = 2**63


@dataclass
class DetectorState:
    """The context after a line of the log of one instance.

    `epoch` and `epochs` are as printed; `from_zero` is true if an epoch 0 was printed. `step` is that of the last line
    with a step. `columns` are those of an open table.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    epoch: int | None = None
    epochs: int | None = None
    from_zero: bool = False
    step: int | None = None
    # Names with a point at `step`, and names that have several points at a step.
    seen: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    table: str = ""
    columns: list[str] = field(default_factory=list)
    # The bar that is the progress of the job: its title and total, and the finished part.
    bar: str = ""
    bar_total: int = 0
    bar_done: int = 0
    # The current bar, and the values that it shows: the last ones at a position are its metrics.
    held_bar: str = ""
    held_step: int | None = None
    held: list[tuple[int, str, float]] = field(default_factory=list)
    # Points that wait for the step of the next bar.
    waiting: list[tuple[int, str, float]] = field(default_factory=list)
    # The last values of bars that repeat them.
    shown: dict[str, float] = field(default_factory=dict)
    # Fits of a search for parameters.
    fits: int = 0
    fits_done: int = 0
    # True if the next line repeats an earlier one, or belongs to an evaluation after the training.
    repeats: bool = False
    evaluates: bool = False
    progress: float | None = None
    # The seconds to the end that the line at this byte offset of the log shows.
    remaining: float | None = None
    remaining_at: int = 0
    # Numbers of lines with metrics, and of others that were read.
    lines: int = 0
    bare_lines: int = 0
    # The contexts of the other processes that write this log, and the name of the first one.
    processes: dict[str, DetectorState] = field(default_factory=dict)
    first: str = ""
    # True if a number and a colon before a line is the rank of a process.
    is_numbered: bool = False
    # Name and rank of the process that began the last row, if it has not ended.
    row: tuple[str, str] = ("", "")

    @property
    def is_open(self) -> bool:
        """True if points wait for a following line."""
        if self.held or self.waiting:
            return True
        return bool(self.processes) and any(one.is_open for one in self.processes.values())

    @property
    def reads_all(self) -> bool:
        """True if each line may have metrics."""
        if self.table or self.is_open:
            return True
        return bool(self.processes) and any(one.table for one in self.processes.values())

    def copy(self) -> DetectorState:
        """Return a copy that shares nothing which changes."""
        return replace(
            self,
            seen=list(self.seen), repeated=list(self.repeated), columns=list(self.columns),
            held=list(self.held), waiting=list(self.waiting), shown=dict(self.shown),
            processes={name: one.copy() for name, one in self.processes.items()},
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON. `asdict` takes ten times as long."""
        return vars(self) | {"processes": {name: one.to_json() for name, one in self.processes.items()}}

    def of(self, name: str, rank: str) -> tuple[str, DetectorState | None]:
        """Return the instance and the context of a process, by name and rank in the tag of a line.

        The instance is empty for rank 0 of the first process with a name. The context is None beyond the limit of
        processes.
        """
        self.first = self.first or name
        parts = (name if name != self.first else "", f"rank-{rank}" if rank not in ("", "0") else "")
        instance = ".".join(filter(None, parts))
        if not instance:
            return "", self
        if instance not in self.processes and len(self.processes) < _MOST_PROCESSES:
            self.processes[instance] = DetectorState()
        return instance, self.processes.get(instance)

    def contexts(self) -> Iterator[tuple[str, DetectorState]]:
        """Yield the instance and the context of each process."""
        yield "", self
        yield from self.processes.items()

    def begin_epoch(self, epoch: int, epochs: int | None) -> None:
        """Record that an epoch is printed. `epochs` is their number, as printed."""
        if epochs is not None and (epochs != self.epochs or (self.epoch is not None and epoch < self.epoch)):
            self.progress, self.from_zero = None, False
        if epoch == 0:
            self.from_zero = True
        self.epoch, self.epochs = epoch, epochs if epochs is not None else self.epochs
        self.evaluates = False

    def go_to(self, step: int) -> None:
        """Set the step of the following lines."""
        if step != self.step:
            self.step, self.seen = step, []

    def step_of(self, name: str) -> int | None:
        """Return the step of a point in a line without a step: that of the context, if it is the first one there."""
        if self.step is None or name in self.repeated:
            return None
        if name in self.seen:
            self.repeated = [*self.repeated, name][-_MOST_NAMES:]
            return None
        self.seen = [*self.seen, name][-_MOST_NAMES:]
        return self.step

    def global_step(self, n: int, total: int | None) -> int:
        """Return the step `n` of `total` in the current epoch, counted over all epochs."""
        before = 0 if self.epoch is None else self.epoch - (0 if self.from_zero else 1)
        return min(max(before, 0) * (total or 0) + n, MOST_STEPS - 1)

    def advance_epochs(self, inner: float) -> None:
        """Set the progress to the finished epochs and the part `inner` of the current one."""
        if self.epoch is not None and self.epochs:
            first = 0 if self.from_zero else 1
            done = (self.epoch - first + inner) / (self.epochs + 1 - first)
            self.progress = max(self.progress or 0.0, min(max(done, 0.0), 1.0))

    def advance_bar(self, title: str, n: int, total: int) -> bool:
        """Set the progress to a bar: to the first one that has not finished, if there are several at a time. Return
        whether the bar is the progress."""
        if total <= 0 or n > total:
            return False
        if self.epoch is not None and self.epochs:
            self.advance_epochs(n / total)
            return True
        is_same = (title, total) == (self.bar, self.bar_total)
        if not is_same and self.bar_done < self.bar_total:
            return False
        self.bar, self.bar_total, self.bar_done = title, total, n
        self.progress = n / total
        return True

    def expect_end(self, elapsed: float, remaining: float, offset: int) -> None:
        """Record the time left of the bar that is the progress of the job, or of the epochs with the current bar."""
        if self.epoch is not None and self.epochs:
            remaining += max(self.epochs - self.epoch, 0) * (elapsed + remaining)
        self.remaining, self.remaining_at = remaining, offset

    def show(self, name: str, value: float) -> bool:
        """Record a value of a bar that repeats old values. Return whether it is new."""
        if self.shown.get(name) == value:
            return False
        if name in self.shown or len(self.shown) < _MOST_NAMES:
            self.shown[name] = value
        return True
