"""Event files in the formats of common writers, made with tensorboard's protobufs, and their points as read by
tensorboard."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util import tensor_util

__all__ = [
    "STYLES",
    "TIME",
    "accumulated",
    "event",
    "large_record",
    "opened",
    "records",
    "simple",
    "tensor",
    "text",
    "write",
]

TIME = 1_700_000_000.0


def opened(time: float = TIME) -> bytes:
    """Return the first event of a file opened at a time."""
    return bytes(event_pb2.Event(wall_time=time, file_version="brain.Event:2").SerializeToString())


def event(step: int, *values: object, time: float | None = None) -> bytes:
    """Return an event of a summary."""
    summary = summary_pb2.Summary(value=values)
    when = TIME + step / 8 if time is None else time
    return bytes(event_pb2.Event(wall_time=when, step=step, summary=summary).SerializeToString())


def simple(tag: str, value: float) -> Any:
    """Return a scalar in the format of torch, tensorboardX and TensorFlow 1."""
    return summary_pb2.Summary.Value(tag=tag, simple_value=value)


def tensor(tag: str, value: object, plugin: str = "scalars", dtype: str = "float32", content: bool = False) -> Any:
    """Return a scalar in the format of TensorFlow 2 and tensorboard: in a typed field, or as bytes."""
    array = np.asarray(value)
    if dtype == "bfloat16":
        # Its bits, as TensorFlow writes them: numpy has no such type.
        bits = int(array.astype(np.float32).view(np.uint32) >> 16)
        made = tensor_pb2.TensorProto(dtype=types_pb2.DT_BFLOAT16)
        if content:
            made.tensor_content = bits.to_bytes(2, "little")
        else:
            made.half_val.append(bits)
    else:
        made = tensor_util.make_tensor_proto(array.astype(dtype))
        if content:
            shape = made.tensor_shape
            made = tensor_pb2.TensorProto(
                dtype=made.dtype, tensor_shape=shape, tensor_content=array.astype(dtype).tobytes()
            )
    metadata = summary_pb2.SummaryMetadata(plugin_data={"plugin_name": plugin}) if plugin else None
    return summary_pb2.Summary.Value(tag=tag, tensor=made, metadata=metadata)


def text(tag: str, reply: str) -> Any:
    """Return a text in the format of tensorboard."""
    return text_pb(tag, reply).value[0]


STYLES = {"torch": simple, "tensorboard": tensor}


def records(events: Iterable[bytes]) -> bytes:
    """Return events encoded as in a file."""
    file = io.BytesIO()
    writer = RecordWriter(file)
    for each in events:
        writer.write(each)
    return file.getvalue()


def large_record(data: bytes) -> bytes:
    """Return a record without the checksum of its data, which would take seconds to compute and is not checked."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc32c(length)) + data + bytes(4)


def write(path: Path, events: Iterable[bytes]) -> Path:
    """Write an event file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(records(events))
    return path


def accumulated(path: Path) -> dict[str, list[tuple[float, int, float]]]:
    """Return time, step and value of each point by tag, as read by tensorboard's EventAccumulator."""
    reader = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    result = {
        tag: [(point.wall_time, point.step, point.value) for point in reader.Scalars(tag)]
        for tag in reader.Tags()["scalars"]
    }
    for tag in reader.Tags()["tensors"]:
        result[tag] = [
            (point.wall_time, point.step, float(tensor_util.make_ndarray(point.tensor_proto)))
            for point in reader.Tensors(tag)
        ]
    return result
