"""The values of scalars as js-yaml 3 reads them in its safe schema, and their texts as JavaScript prints them."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

__all__ = ["Unreadable", "Value", "js_text", "plain", "tagged"]

Value: TypeAlias = "bool | int | float | str | bytes | datetime | Sequence[Value] | Mapping[str, Value] | None"

_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_BINARY = re.compile(r"([-+]?)0b([01_]*[01])")
_HEX = re.compile(r"([-+]?)0x([0-9a-fA-F_]*[0-9a-fA-F])")
_OCTAL = re.compile(r"([-+]?)0([0-7_]*[0-7])")
_DECIMAL = re.compile(r"([-+]?)(0|[0-9](?:[0-9_]*[0-9])?)")
_BASE_60 = re.compile(r"([-+]?)([0-9][0-9_]*(?::[0-5]?[0-9])+)")
_FLOAT = re.compile(
    r"[-+]?(?:0|[1-9][0-9_]*)(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?"
    r"|\.[0-9_]+(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_TIME = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.(\d*))?"
    r"(?:[ \t]*(Z|([-+])(\d\d?)(?::(\d\d))?))?"
)
# The text of a value that contains more is not made: aliases could repeat one another.
_LONGEST = 1 << 20


class Unreadable(ValueError):
    """The text does not fit its explicit tag."""


def plain(text: str) -> Value:
    """Return the value of a plain scalar without a tag."""
    for read in (_null, _boolean, _integer, _float, _timestamp):
        try:
            return read(text)
        except Unreadable:
            continue
    return text


def _null(text: str) -> None:
    if not _NULL.fullmatch(text):
        raise Unreadable(text)


def _boolean(text: str) -> bool:
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    raise Unreadable(text)


def _integer(text: str) -> int:
    for pattern, base in ((_BINARY, 2), (_HEX, 16), (_OCTAL, 8)):
        if match := pattern.fullmatch(text):
            return _signed(match[1], int(match[2].replace("_", ""), base))
    if (match := _DECIMAL.fullmatch(text)) and (match[2] == "0" or match[2][0] != "0"):
        return _signed(match[1], int(match[2].replace("_", "")))
    if match := _BASE_60.fullmatch(text):
        return _signed(match[1], int(_base_60(match[2])))
    raise Unreadable(text)


def _signed(sign: str, number: int) -> int:
    return -number if sign == "-" else number


def _base_60(text: str) -> float:
    result = 0.0
    for part in text.replace("_", "").split(":"):
        result = result * 60 + float(part or "0")
    return result


def _float(text: str) -> float:
    if not _FLOAT.fullmatch(text) or text.endswith("_"):
        raise Unreadable(text)
    text = text.replace("_", "").lower()
    sign, digits = (-1.0, text[1:]) if text[0] == "-" else (1.0, text.removeprefix("+"))
    if digits in (".inf", ".nan"):
        return sign * float(digits[1:])
    if digits in (".", ""):
        return math.nan
    return sign * (_base_60(digits) if ":" in digits else float(digits))


def _timestamp(text: str) -> datetime:
    try:
        if match := _DATE.fullmatch(text):
            return _day(match)
        if match := _TIME.fullmatch(text):
            hours, minutes, seconds = (int(match[n]) for n in (4, 5, 6))
            milliseconds = int((match[7] or "0")[:3].ljust(3, "0"))
            offset = timedelta(hours=int(match[10] or 0), minutes=int(match[11] or 0))
            value = _day(match) + timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
            return value + offset if match[9] == "-" else value - offset
    except (ValueError, OverflowError):
        pass  # The years 0 and 10000.
    raise Unreadable(text)


def _day(match: re.Match[str]) -> datetime:
    """Return the date of year, month and day. As in JavaScript, February 30 is in March."""
    months = int(match[1]) * 12 + int(match[2]) - 1
    return datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC) + timedelta(days=int(match[3]) - 1)


def _binary(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (ValueError, binascii.Error):
        raise Unreadable(text) from None


_TAGGED: dict[str, Callable[[str], Value]] = {
    "str": str,
    "null": _null,
    "bool": _boolean,
    "int": _integer,
    "float": _float,
    "timestamp": _timestamp,
    "binary": _binary,
    "merge": str,
}


def tagged(name: str, text: str) -> Value:
    """Return the value of a scalar with the explicit tag `!!name`.

    Raises `Unreadable` for an unknown tag, and for a text that does not fit it.
    """
    if name not in _TAGGED:
        raise Unreadable(text)
    return _TAGGED[name](text)


def js_text(value: Value, longest: int = _LONGEST) -> str:
    """Return the text of a value as JavaScript's `String` makes it.

    Raises `OverflowError` if it has more than `longest` characters.
    """
    match value:
        case None:
            text = "null"
        case bool():
            text = "true" if value else "false"
        case int() | float():
            text = _number_text(value)
        case str():
            text = value
        case bytes():
            text = value.decode("utf-8", "replace")
        case datetime():
            text = value.strftime("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)")
        case Mapping():
            text = "[object Object]"
        case _:
            text = _list_text(value, longest)
    if len(text) > longest:
        raise OverflowError
    return text


def _list_text(items: Sequence[Value], longest: int) -> str:
    texts: list[str] = []
    left = longest
    for item in items:
        texts.append("" if item is None else js_text(item, left))
        left -= len(texts[-1]) + 1
    return ",".join(texts)


def _number_text(number: float) -> str:
    if isinstance(number, float) and not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number == int(number) and abs(number) < 1e21:
        return str(int(number))
    mantissa, _, exponent = repr(float(number)).partition("e")
    if not exponent:
        return mantissa
    if -7 < int(exponent) < 0:
        return f"{float(number):.{-int(exponent) + len(mantissa)}f}".rstrip("0")
    return f"{mantissa}e{int(exponent):+d}"
