"""How a service says no. Whoever refuses raises; one place a service writes it as that service does."""

from __future__ import annotations

from typing import Any

__all__ = ["CutOff", "Refusal"]


class Refusal(Exception):
    """An error reply: status, code and message, headers, and what else its body says."""

    def __init__(
        self, status: int, code: str, message: str, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.message = status, code, message
        self.headers, self.more = headers or {}, more


class CutOff(Exception):
    """The connection is to end without a (whole) reply."""
