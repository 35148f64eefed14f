"""Where a command shows its results: a terminal, or the outputs of a cell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from ..client.job import JobHandle
from ..core.secret import Secret

__all__ = ["Screen", "as_json"]

_FIELDS = (
    "id name backend profile status exit_code reason remote_id submitted_at started_at ended_at "
    "outputs metrics usage console_url rerun_of resumed_from pinned labels notebook"
).split()


class Screen(ABC):
    """Where results are shown."""

    @abstractmethod
    def say(self, text: str = "") -> None:
        """A line for people."""

    @abstractmethod
    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows of cells."""

    @abstractmethod
    def log(self, pieces: Iterable[bytes], job: str, *, follow: bool) -> None:
        """A log, piece by piece; `follow`: as it grows."""

    @abstractmethod
    def job(self, handle: JobHandle) -> None:
        """A job."""

    @abstractmethod
    def link(self, text: str, address: str, url: str) -> None:
        """A page of the server: its address on it, and where a browser on this machine finds it."""

    @property
    @abstractmethod
    def can_ask(self) -> bool:
        """Whether somebody is there who expects a question: not in a notebook, where it would hold up Run All."""

    @abstractmethod
    def ask(self, question: str) -> bool:
        """Whether the user says yes.

        Raises:
            UsageError: if nobody can be asked.
        """

    @abstractmethod
    def ask_secret(self, question: str) -> Secret:
        """What the user types, which is shown nowhere.

        Raises:
            UsageError: if nobody can be asked.
        """


def as_json(info: dict[str, Any], *, spec: bool = False) -> dict[str, Any]:
    """A job as `--json` prints it."""
    found = {name: info[name] for name in _FIELDS}
    return found | {"spec": info["spec"]} if spec else found
