"""A call of the API as its actions see it, and times as TI-ONE writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NoReturn

from ..alibaba.keys import Key
from ..alibaba.service_errors import Refusal

__all__ = ["Action", "Request", "beijing", "nanoseconds", "refuse", "stamp"]

_CHINA = timezone(timedelta(hours=8))


@dataclass
class Request:
    """Body, user, region and moment (seconds since 1970) of a call."""

    body: dict[str, Any]
    key: Key | None
    region: str
    now: float

    @property
    def project(self) -> str:
        """The workspace."""
        return self.body.get("TiProjectId") or "0"

    def page(self, items: list[Any], limit: int, most: int) -> list[Any]:
        """Return the asked page by Offset and Limit. Raises Refusal."""
        offset, count = self.body.get("Offset") or 0, self.body.get("Limit") or limit
        if offset < 0 or not 1 <= count <= most:
            refuse("InvalidParameterValue", f"Limit must be between 1 and {most}, and Offset not negative.")
        return items[offset : offset + count]


Action = Callable[[Request], dict[str, Any]]


def refuse(code: str, message: str) -> NoReturn:
    """Raise the error of an action; it has the status 200."""
    raise Refusal(200, code, message)


def beijing(moment: float | None) -> str:
    """`2025-05-28T18:18:33+08`; an empty text for no time."""
    return "" if moment is None else datetime.fromtimestamp(moment, _CHINA).strftime("%Y-%m-%dT%H:%M:%S+08")


def stamp(nanoseconds: int) -> str:
    """`2025-05-28T10:18:33.123456789Z`."""
    second, rest = divmod(nanoseconds, 10**9)
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"


def nanoseconds(text: str) -> int:
    """Return a time in RFC 3339 as nanoseconds since 1970. Raises Refusal."""
    head, _, rest = text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    try:
        moment = datetime.fromisoformat(head + rest[len(digits) :])
        if moment.tzinfo is None:
            raise ValueError(text)
    except ValueError:
        raise Refusal(200, "InvalidParameterValue", f"{text!r} is not a time in RFC 3339.") from None
    return int(moment.timestamp()) * 10**9 + int(digits[:9].ljust(9, "0") or 0)
