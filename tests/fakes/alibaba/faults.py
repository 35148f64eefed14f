"""Injected faults."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fnmatch import fnmatchcase

__all__ = ["KINDS", "Fault", "Faults"]

# Kinds of faults. `lost`: the request is processed, its reply never comes. `cut`: half of the reply comes.
KINDS = ("500", "503", "throttled", "reset", "cut", "delay", "lost", "refused")


@dataclass
class Fault:
    """A fault for `service:action` that match a pattern."""

    kind: str
    match: str = "*"
    probability: float = 1.0
    # For so many requests, then never again; after so many that went well.
    count: int | None = None
    after: int = 0
    seconds: float = 0.0
    # Of `refused`: what the reply says. The status is that of `throttled`, too, which has 400, 429 or 503.
    status: int | None = None
    code: str = "Forbidden"
    message: str = "refused by the test"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r} is none of {', '.join(KINDS)}")


class Faults:
    """All current faults; the first that applies is used."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.reset()

    def reset(self) -> None:
        """Remove all faults, and count and choose requests as at the start."""
        self._random = random.Random(self._seed)
        self._faults: list[Fault] = []
        self.struck = 0

    def add(self, fault: Fault) -> None:
        """Add a fault."""
        self._faults.append(fault)

    def clear(self) -> None:
        """Remove all faults."""
        self._faults.clear()

    def pick(self, action: str) -> Fault | None:
        """Return the fault of a request."""
        for fault in list(self._faults):
            if fnmatchcase(action, fault.match) and self._strikes(fault):
                self.struck += 1
                return fault
        return None

    def _strikes(self, fault: Fault) -> bool:
        if fault.after > 0:
            fault.after -= 1
            return False
        if fault.count == 0 or self._random.random() >= fault.probability:
            return False
        if fault.count is not None:
            fault.count -= 1
        return True
