"""Parser for one record of an event file: TensorBoard's `Event` in protobuf wire format.

Extracts scalars as written by torch (`simple_value`), scalars as written by TensorFlow 2 and tensorboard (a tensor with
one element), and texts. Other fields are skipped. The field numbers are those of tensorboard's event.proto,
summary.proto and tensor.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from math import isfinite
from typing import NamedTuple

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIDTHS = {_FIXED64: 8, _FIXED32: 4}
# Format of a number in `tensor_content` by data type: codes of `struct` and numpy, and BFLOAT16.
BFLOAT16 = "bfloat16"
_FORMS = {1: "f", 2: "d", 3: "i", 4: "B", 5: "h", 6: "b", 9: "q", 10: "B", 14: BFLOAT16, 17: "H", 19: "e", 22: "I"}
_FORMS |= {23: "Q"}
_STRING = 7
# Fields of a value with its content, and their wire types: a number, a histogram of old style, an image, a histogram, a
# sound and a tensor. Protobuf skips fields of another wire type.
_VALUE_KINDS = {2: _FIXED32, 3: _BYTES, 4: _BYTES, 5: _BYTES, 6: _BYTES, 8: _BYTES}
_HALF_VAL, _UINT64_VAL = 13, 17
# Fields of a tensor with its elements: fixed-width ones and varints.
_FIXED_VALS = {5: "f", 6: "d"}
_VARINT_VALS = (7, 10, 11, _HALF_VAL, 16, _UINT64_VAL)


class Scalar(NamedTuple):
    """A scalar. `tag` is the slice of the tag in the record. `place` is the offset of the value in format `form`, -1
    for a varint."""

    tag: slice
    value: float
    place: int = -1
    form: str = ""


class EventRecord(NamedTuple):
    """An event. `time` is in seconds since 1970, stored at offset `time_place` (-1: missing). `step_at` is the slice of
    the step."""

    time: float
    time_place: int
    step: int
    step_at: slice
    scalars: list[Scalar]
    texts: list[tuple[slice, str]]


def read_record(data: bytes) -> EventRecord:
    """Parse the event in a record.

    Raises:
        ValueError: if it is invalid.
    """
    time, time_place, step, step_at = 0.0, -1, 0, slice(0, 0)
    scalars: list[Scalar] = []
    texts: list[tuple[slice, str]] = []
    for number, kind, start, stop in _fields(data, 0, len(data)):
        if (number, kind) == (1, _FIXED64):
            time, time_place = float(_number(data, start, "d")), start
        elif (number, kind) == (2, _VARINT):
            step, step_at = _signed(_varint(data, start, stop)[0]), slice(start, stop)
        elif (number, kind) == (5, _BYTES):
            for inner, inner_kind, at, end in _fields(data, start, stop):
                if (inner, inner_kind) == (1, _BYTES):
                    _read_value(data, at, end, scalars, texts)
    return EventRecord(time if isfinite(time) else 0.0, time_place, step, step_at, scalars, texts)


def _read_value(data: bytes, start: int, stop: int, scalars: list[Scalar], texts: list[tuple[slice, str]]) -> None:
    """Parse one value of a summary. If several kinds of value are set, the last one counts, as in protobuf."""
    tag, plugin = slice(start, start), b""
    value: tuple[int, int, int] | None = None
    for number, kind, at, end in _fields(data, start, stop):
        if (number, kind) == (1, _BYTES):
            tag = slice(at, end)
        elif (number, kind) == (9, _BYTES):
            plugin = _plugin(data, at, end)
        elif _VALUE_KINDS.get(number) == kind:
            value = (number, at, end)
    if value and value[0] == 2:
        scalars.append(Scalar(tag, float(_number(data, value[1], "f")), value[1], "f"))
    elif value and value[0] == 8:
        tensor = _Tensor(data, *value[1:])
        # TensorFlow 1 writes the plugin's name only once per tag. Without it the data type decides.
        if plugin in (b"text", b"") and (text := tensor.text()) is not None:
            texts.append((tag, text))
        elif plugin in (b"scalars", b"") and (scalar := tensor.scalar(tag)):
            scalars.append(scalar)


def _plugin(data: bytes, start: int, stop: int) -> bytes:
    """Return the plugin's name in the metadata of a value."""
    for number, kind, at, end in _fields(data, start, stop):
        if (number, kind) == (1, _BYTES):
            for inner, inner_kind, name, name_end in _fields(data, at, end):
                if (inner, inner_kind) == (1, _BYTES):
                    return data[name:name_end]
    return b""


class _Tensor:
    """The undecoded fields of a tensor."""

    def __init__(self, data: bytes, start: int, stop: int) -> None:
        self.data = data
        self.type = 0
        self.elements = 1
        self.content: slice | None = None
        self.strings: list[bytes] = []
        self.values: list[tuple[int, int, int]] = []
        for number, kind, at, end in _fields(data, start, stop):
            if (number, kind) == (1, _VARINT):
                self.type = _varint(data, at, end)[0]
            elif (number, kind) == (2, _BYTES):
                self.elements = _elements(data, at, end)
            elif (number, kind) == (4, _BYTES):
                self.content = slice(at, end) if end > at else None
            elif (number, kind) == (8, _BYTES):
                self.strings.append(data[at:end])
            elif (number in _FIXED_VALS or number in _VARINT_VALS) and end > at:
                self.values.append((number, at, end))

    def scalar(self, tag: slice) -> Scalar | None:
        """Return the tensor as a scalar, or None if it does not have exactly one number."""
        if self.type not in _FORMS or self.elements != 1 or len(self.values) + bool(self.content) != 1:
            return None
        if self.content:
            return self._fixed(tag, self.content.start, self.content.stop, _FORMS[self.type])
        number, at, end = self.values[0]
        if number in _FIXED_VALS:
            return self._fixed(tag, at, end, _FIXED_VALS[number])
        value, after = _varint(self.data, at, end)
        if after != end:
            return None
        if number == _HALF_VAL:
            bits = struct.pack("<H", value & 0xFFFF)
            return Scalar(tag, float(_number(bits, 0, BFLOAT16 if self.type == 14 else "e")))
        return Scalar(tag, float(value if number == _UINT64_VAL else _signed(value)))

    def _fixed(self, tag: slice, at: int, end: int, form: str) -> Scalar | None:
        if end - at != width(form):
            return None
        return Scalar(tag, float(_number(self.data, at, form)), at, form)

    def text(self) -> str | None:
        """Return the tensor as text, or None for binary data such as images."""
        try:
            return b"\n".join(self.strings).decode() if self.type == _STRING and self.strings else None
        except UnicodeDecodeError:
            return None


def _elements(data: bytes, start: int, stop: int) -> int:
    """Return the number of elements for the shape of a tensor."""
    count = 1
    for number, kind, at, end in _fields(data, start, stop):
        if (number, kind) == (2, _BYTES):
            sizes = [_varint(data, a, b)[0] for n, k, a, b in _fields(data, at, end) if (n, k) == (1, _VARINT)]
            count *= sizes[-1] if sizes else 0
    return count


def _fields(data: bytes, place: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the number, wire type, start and end of each field in a message."""
    while place < end:
        key, place = _varint(data, place, end)
        number, kind = key >> 3, key & 7
        start = place
        if kind == _VARINT:
            place = _varint(data, place, end)[1]
        elif kind == _BYTES:
            length, start = _varint(data, place, end)
            place = start + length
        elif kind in _WIDTHS:
            place += _WIDTHS[kind]
        else:
            raise ValueError(f"a field of kind {kind}")
        if place > end:
            raise ValueError("a field that is cut off")
        yield number, kind, start, place


def _varint(data: bytes, place: int, end: int) -> tuple[int, int]:
    """Parse a 64-bit varint. Returns its value and the position after it."""
    value = shift = 0
    while place < end and shift < 70:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place
        shift += 7
    raise ValueError("a number that does not end")


def width(form: str) -> int:
    """Return the size in bytes of a number of the given format."""
    return 2 if form == BFLOAT16 else struct.calcsize(f"<{form}")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _number(data: bytes, place: int, form: str) -> float | int:
    """Parse the number of the given format at an offset."""
    if form == BFLOAT16:  # bfloat16 is the upper half of a float.
        return float(struct.unpack("<f", b"\0\0" + data[place : place + 2])[0])
    number: float | int = struct.unpack_from(f"<{form}", data, place)[0]
    return number
