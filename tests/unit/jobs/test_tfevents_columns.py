"""Points of event files: equal to those of tensorboard for every format, and robust against damage."""

from __future__ import annotations

import math
import random
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.plugins.histogram.summary_v2 import histogram_pb

from jupyter_pai.jobs.metrics.tfevents.columns import EventData, read_records

from ...support.event_writers import STYLES, TIME, accumulated, event, opened, records, simple, tensor, text, write
from ...support.fuzz import MANY

Points = dict[str, list[tuple[float, int, float]]]


def points_of(result: EventData) -> Points:
    return {
        tag.decode("utf-8", "replace"): [tuple(row) for row in part.tolist()] for tag, part in result.points.items()
    }


def points(data: bytes) -> Points:
    return points_of(read_records(data))


@pytest.mark.parametrize("style", STYLES)
def test_points_equal_those_of_tensorboard(tmp_path: Path, style: str) -> None:
    scalar = STYLES[style]
    # Steps of one to three bytes, tags of several lengths and several of one length, in turns and in none.
    events = [opened()]
    for step in (*range(400), *range(16_000, 17_000), 2**40):
        events += [event(step, scalar("loss", step / 3)), event(step, scalar("rate", 1 / (step + 1)))]
        if step % 7 == 0:
            events.append(event(step, scalar("validation/accuracy", -step)))
        if step % 1000 == 0:
            events.append(event(step, scalar("two", step), scalar("at once", step)))
    path = write(tmp_path / "events.out.tfevents.1", events)
    wanted = accumulated(path)
    assert points(path.read_bytes()) == wanted
    assert {tag: len(result) for tag, result in wanted.items()}["loss"] == 1_401


def test_tags_of_equal_length_are_distinguished(tmp_path: Path) -> None:
    dice = random.Random(1)
    # In an order of steps that is not that of their lengths.
    steps = [dice.choice([3, 300, 70_000]) for _ in range(1_000)]
    events = [event(step, simple(f"layer{dice.randrange(100):02}/weight", n)) for n, step in enumerate(steps)]
    path = write(tmp_path / "events.out.tfevents.1", [opened(), *events])
    assert points(path.read_bytes()) == accumulated(path)


KINDS = ["float16", "float32", "float64", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "uint32", "uint64"]


@pytest.mark.parametrize("content", [False, True], ids=["field", "bytes"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 300])
def test_every_numeric_type_is_read(kind: str, content: bool, count: int) -> None:
    value = 3 if "int" in kind else 1.5
    if kind in ("int16", "int32", "int64"):
        value = -3
    if content and kind in ("uint32", "uint64", "int8"):
        value = 100
    result = points(records(event(n + 1, tensor("x", value, dtype=kind, content=content)) for n in range(count)))
    assert [point[1:] for point in result["x"]] == [(n + 1, value) for n in range(count)]


def test_tensor_of_one_element_is_a_scalar() -> None:
    assert points(records([event(1, tensor("x", [2.5]))]))["x"][0][2] == 2.5


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.0, 3e38])
@pytest.mark.parametrize("style", STYLES)
def test_non_finite_values_are_kept(style: str, value: float) -> None:
    result = points(records(event(n, STYLES[style]("x", value)) for n in range(100)))["x"]
    assert all(struct.pack("f", point[2]) == struct.pack("f", value) for point in result)


@pytest.mark.parametrize("step", [0, 1, 127, 128, 2**31, 2**62, -1, -(2**63)])
def test_extreme_steps_are_read(step: int) -> None:
    result = points(records([event(step, simple("x", 1), time=5.0)] * 3))
    assert result["x"] == [(5.0, step, 1.0)] * 3


def test_non_finite_times_become_zero() -> None:
    assert points(records([event(1, simple("x", 1), time=math.nan)] * 100))["x"][0] == (0.0, 1, 1.0)
    two = event(1, simple("x", 1), simple("y", 1), time=math.inf)
    assert points(records([two]))["y"] == [(0.0, 1, 1.0)]


def test_texts_are_read() -> None:
    plain = event(3, text("notes", "中 <b>"))
    # TensorFlow 1 names the plugin with the first value of a tag and not again.
    bare = summary_pb2.Summary.Value(tag="notes", tensor=text("notes", "again").tensor)
    several = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[b"a", b"b"])
    table = summary_pb2.Summary.Value(tag="rows", tensor=several, metadata=text("rows", "").metadata)
    result = read_records(records([plain, event(4, bare), event(5, table)]))
    assert [(reply.tag, reply.step, reply.text) for reply in result.texts] == [
        (b"notes", 3, "中 <b>"),
        (b"notes", 4, "again"),
        (b"rows", 5, "a\nb"),
    ]
    assert result.points == {}


def test_other_summaries_are_skipped() -> None:
    image = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[b"8", b"8", b"\x89PNG\r\n"])
    old_image = summary_pb2.Summary.Image(height=1, width=1, encoded_image_string=b"\x89PNG")
    same = tensor("", [[1.0, 1.0]]).tensor
    same.tensor_content = b""
    same.float_val.append(1.0)
    others = [
        summary_pb2.Summary.Value(tag="image", tensor=image),
        summary_pb2.Summary.Value(tag="old image", image=old_image),
        summary_pb2.Summary.Value(tag="old histogram", histo=summary_pb2.HistogramProto(min=1, max=2, bucket=[1.0])),
        summary_pb2.Summary.Value(tag="nothing"),
        histogram_pb("histogram", [1.0, 2.0]).value[0],
        tensor("several", [1.0, 2.0]),
        tensor("none", np.zeros((0,))),
        summary_pb2.Summary.Value(tag="all the same", tensor=same),
        tensor("hparams", 1.0, plugin="hparams"),
        tensor("matrix", [[1.0, 2.0], [3.0, 4.0]]),
    ]
    graph = bytes(event_pb2.Event(wall_time=1.0, graph_def=b"x" * 100_000).SerializeToString())
    events = [opened(), graph, *(event(1, other) for other in others), event(2, *others, simple("loss", 1))]
    result = read_records(records(events))
    assert points_of(result).keys() == {"loss"}
    assert result.texts == []


def test_incomplete_record_is_read_later() -> None:
    data = records([opened(), *(event(n, simple("x", n)) for n in range(100))])
    ends = [read_records(data[:cut]).end for cut in range(len(data) + 1)]
    assert sorted(set(ends)) == [0, *np.cumsum([len(records([opened()])), *(record_sizes(100))]).tolist()]
    assert all(end <= cut for cut, end in enumerate(ends))
    result = read_records(data[:-1])
    assert result.end + result.needs == len(data)
    assert not result.damaged


def record_sizes(count: int) -> list[int]:
    return [len(records([event(n, simple("x", n))])) for n in range(count)]


def test_damaged_length_stops_reading_without_allocation() -> None:
    good = records(event(n, simple("x", n)) for n in range(100))
    for bad in (b"\xff" * 12, b"\0" * 12, struct.pack("<QI", 2**62, 0), struct.pack("<QI", 10, 0) + b"x" * 14):
        result = read_records(good + bad + good)
        assert result.damaged
        assert result.end == len(good)
        assert len(points_of(result)["x"]) == 100


@pytest.mark.slow("damage")
@MANY
@given(st.data())
def test_damaged_bytes_lose_no_earlier_points(data: st.DataObject) -> None:
    """Bytes are flipped and the tail is cut: earlier points are kept, without errors or endless loops."""
    dice = data.draw(st.randoms(use_true_random=False))
    makers = [
        lambda n: simple("loss", n),
        lambda n: tensor("acc", n),
        lambda n: tensor("count", n, dtype="int64"),
        lambda n: text("notes", str(n)),
    ]
    events = [event(n, dice.choice(makers)(n)) for n in range(dice.randrange(1, 150))]
    parts = [records([each]) for each in events]
    whole = bytearray(b"".join(parts))
    first = len(whole)
    for _ in range(dice.randrange(0, 4)):
        place = dice.randrange(len(whole))
        whole[place] ^= 1 << dice.randrange(8)
        first = min(first, place)
    cut = dice.randrange(len(whole) + 1) if dice.random() < 0.5 else len(whole)
    unharmed = 0
    for part in parts:
        if unharmed + len(part) > min(first, cut):
            break
        unharmed += len(part)
    wanted = points(bytes(whole[:unharmed]))
    result: Points = {}
    place = 0
    step = data.draw(st.integers(500, 20_000))
    while piece := read_records(bytes(whole[place : min(cut, place + step)])):
        for tag, some in points_of(piece).items():
            result.setdefault(tag, []).extend(some)
        if not piece.end:
            break
        place += piece.end
    assert place <= cut
    for tag, some in wanted.items():
        assert result[tag][: len(some)] == some


def test_value_of_another_wire_type_is_skipped() -> None:
    """A flipped bit lengthens the tag, so that the bytes of the value are read as a varint of the same field."""
    damaged = b"\t\x00\x00H@\xfcT\xd9A\x10\t*\r\n\x0b\n\x05loss\x15\x00\x00\x10A"
    result = read_records(records([damaged, event(1, simple("x", 1))]))
    assert points_of(result) == {"x": [(TIME + 1 / 8, 1, 1.0)]}


@MANY
@given(st.binary(max_size=400), st.integers(1, 80))
def test_invalid_records_are_skipped(data: bytes, count: int) -> None:
    good = event(1, simple("x", 1))
    result = read_records(records([data] * count + [good]))
    assert points_of(result)["x"][-1] == (TIME + 1 / 8, 1, 1.0)
    assert not result.damaged
