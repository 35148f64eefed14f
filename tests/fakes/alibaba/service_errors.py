"""Error replies of services. `Refusal` is raised, and one function of a service formats it."""

from __future__ import annotations

from typing import Any

__all__ = ["CutOff", "Refusal"]


class Refusal(Exception):
    """An error reply: status, code, message, headers, and further fields of the body."""

    def __init__(
        self, status: int, code: str, message: str, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.message = status, code, message
        self.headers, self.more = headers or {}, more


class CutOff(Exception):
    """The connection is to end without a (whole) reply."""
