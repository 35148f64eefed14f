"""The kinds of terminals in the instances of a job, and the dialects of terminals that are WebSockets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TerminalPage:
    """A web page with a terminal. Anyone who has its URL can open it for a short time."""

    url: str = field(repr=False)


@dataclass(frozen=True)
class TerminalCommand:
    """A command that opens a terminal: its arguments, such as ``("ssh", "-t", "node7")``. It contains no secrets,
    because it is displayed."""

    arguments: Sequence[str]


@dataclass(frozen=True)
class TerminalSocket:
    """A WebSocket whose messages are in a dialect of `Backend.terminal_dialects`. Anyone who has its URL can open it
    for a short time."""

    url: str = field(repr=False)
    dialect: str


Terminal = TerminalPage | TerminalCommand | TerminalSocket


class TerminalDialect(ABC):
    """The messages of a terminal's WebSocket. An instance serves one connection."""

    @abstractmethod
    def keys(self, data: bytes) -> str | bytes:
        """Return the message for input of the user, which may end within a character."""

    @abstractmethod
    def size(self, columns: int, rows: int) -> str | bytes:
        """Return the message for a new size of the window; an empty one is not sent."""

    @abstractmethod
    def output(self, message: str | bytes) -> bytes:
        """Return the output in a message; empty if it has none."""
