"""The partitions of a cluster, the shapes of their nodes, and what is free, as `sinfo` reports them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...core.errors import PaiError
from ...core.i18n import _
from ..resources import Choice, InstanceType, Quota
from .client import Client

__all__ = ["Node", "Partition", "Shape", "partition_of", "partitions"]

# Fields of `sinfo`, each in a column of this width.
_FIELDS = (
    "Partition",
    "NodeList",
    "CPUsState",
    "Memory",
    "AllocMem",
    "Gres",
    "GresUsed",
    "StateLong",
    "Time",
    "Available",
)
_WIDTH = 200
_MIB = 1 << 20
# States of nodes that take no jobs.
_CLOSED = re.compile(r"down|drain|fail|maint|power|unknown|reboot|future|planned|perfctrs|blocked")


@dataclass(frozen=True, order=True)
class Shape:
    """The size of a node: cores, memory in MiB, GPUs and their name."""

    cpu: int
    memory: int
    gpu: int = 0
    gpu_name: str = ""


@dataclass(frozen=True)
class Node:
    """A node of a partition: its shape, and its free cores, memory in MiB, and GPUs."""

    name: str
    shape: Shape
    free_cpu: int
    free_memory: int
    free_gpu: int
    state: str

    @property
    def is_open(self) -> bool:
        return not _CLOSED.search(self.state)

    @property
    def is_idle(self) -> bool:
        return self.is_open and self.free_cpu == self.shape.cpu


@dataclass(frozen=True)
class Partition:
    """A partition. `limit`: its longest run time in seconds; 0 for none."""

    name: str
    is_default: bool
    is_up: bool
    limit: int
    nodes: tuple[Node, ...]

    @property
    def shapes(self) -> list[Shape]:
        return sorted({node.shape for node in self.nodes})

    def type_name(self, shape: Shape) -> str:
        """Return the name of the instance type of a shape: that of the partition, if all its nodes are equal."""
        if len(self.shapes) == 1:
            return self.name
        gpus = f"-{shape.gpu}x{shape.gpu_name or 'gpu'}" if shape.gpu else ""
        return f"{self.name}/{shape.cpu}c-{round(shape.memory / 1024)}g{gpus}"

    def types(self) -> list[InstanceType]:
        """Return an instance type for each shape of nodes."""
        return [
            InstanceType(
                name=self.type_name(shape),
                cpu=shape.cpu,
                memory=shape.memory * _MIB,
                gpu=shape.gpu,
                gpu_name=shape.gpu_name,
                available=self.is_up and any(node.is_idle for node in self.nodes if node.shape == shape),
                pool=self.name,
            )
            for shape in self.shapes
            if shape.cpu and shape.memory
        ]

    def shape(self, name: str) -> Shape | None:
        """Return the shape of an instance type of this partition."""
        return next((shape for shape in self.shapes if self.type_name(shape) == name), None)

    def quota(self) -> Quota:
        """Return all and free resources of the partition."""
        opened = [node for node in self.nodes if node.is_open] if self.is_up else []
        return Quota(
            id=self.name,
            name=self.name,
            status="up" if self.is_up else "down",
            cpu=sum(node.shape.cpu for node in self.nodes),
            memory=sum(node.shape.memory for node in self.nodes) * _MIB,
            gpu=sum(node.shape.gpu for node in self.nodes),
            free_cpu=sum(node.free_cpu for node in opened),
            free_memory=sum(node.free_memory for node in opened) * _MIB,
            free_gpu=sum(node.free_gpu for node in opened),
            gpu_name=", ".join(sorted({node.shape.gpu_name for node in self.nodes if node.shape.gpu_name})),
        )

    def choice(self) -> Choice:
        nodes, idle = len(self.nodes), sum(node.is_idle for node in self.nodes)
        return Choice(self.name, _("{idle} of {nodes} nodes are idle").format(idle=idle, nodes=nodes))


def partition_of(instance_type: str) -> str:
    """Return the name of the partition of an instance type."""
    return instance_type.partition("/")[0]


async def partitions(client: Client) -> list[Partition]:
    """Return the partitions of the cluster, the default one first."""
    columns = ",".join(f"{field}:{_WIDTH}" for field in _FIELDS)
    return _parse(await client.run("sinfo", "--all", "--noheader", "--Node", "-O", columns))


def _parse(output: str) -> list[Partition]:
    rows: dict[str, list[Mapping[str, str]]] = {}
    for line in output.splitlines():
        words = [line[n * _WIDTH : (n + 1) * _WIDTH].strip() for n in range(len(_FIELDS))]
        if words[0]:
            rows.setdefault(words[0].rstrip("*"), []).append(
                dict(zip(_FIELDS, words, strict=True)) | {"default": "*" * words[0].endswith("*")}
            )
    found = [_partition(name, lines) for name, lines in rows.items()]
    return sorted(found, key=lambda one: (not one.is_default, one.name))


def _partition(name: str, lines: Sequence[Mapping[str, str]]) -> Partition:
    first = lines[0]
    return Partition(
        name, bool(first["default"]), first["Available"] == "up", seconds_of(first["Time"]), tuple(map(_node, lines))
    )


def _node(line: Mapping[str, str]) -> Node:
    counts = [int(word) for word in line["CPUsState"].split("/") if word.isdigit()]
    _used, idle, _other, total = counts if len(counts) == 4 else (0, 0, 0, 0)
    memory, allocated = _int(line["Memory"]), _int(line["AllocMem"])
    gpu, gpu_name = _gpus(line["Gres"])
    used, _name = _gpus(line["GresUsed"])
    shape = Shape(total, memory, gpu, gpu_name)
    return Node(
        line["NodeList"], shape, idle, max(memory - allocated, 0), max(gpu - used, 0), line["StateLong"].lower()
    )


def _int(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _gpus(text: str) -> tuple[int, str]:
    """Return the number of GPUs and their names in a text such as ``gpu:a100:4(S:0-1),gpu:v100:2(IDX:0,1)``."""
    found = re.findall(r"(?:^|,)gpu(?::([^:,()]+))?:(\d+)(?=[(,]|$)", re.sub(r"\([^)]*\)", "", text))
    return sum(int(count) for _name, count in found), ", ".join(sorted({name for name, _count in found if name}))


def seconds_of(text: str) -> int:
    """Return the seconds of a time such as ``2-12:30:00``, ``30:00`` or ``infinite``; 0 for no limit."""
    days, _dash, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() for part in parts) or (days and not days.isdigit()):
        return 0
    if days:
        parts = [*parts, "0", "0"][:3]  # `D-HH` and `D-HH:MM`
    elif len(parts) == 1:
        parts = ["0", *parts, "0"]  # minutes
    numbers = [0] * (3 - len(parts)) + [int(part) for part in parts]
    return int(days or 0) * 86400 + numbers[0] * 3600 + numbers[1] * 60 + numbers[2]


async def accounts(client: Client, field: str) -> list[Choice]:
    """Return the accounts (`account`) or qualities of service (`qos`) that the user may name; none without
    accounting."""
    words = ("sacctmgr", "--noheader", "--parsable2", "show", "assoc", f"format={field}", "where")
    try:
        output = await client.run(*words, f"user={await client.user()}")
    except PaiError as error:
        if "accounting_storage" not in error.message:
            raise
        return []
    return _choices(word for line in output.splitlines() for word in line.split(","))


async def reservations(client: Client) -> list[Choice]:
    """Return the reservations of the cluster."""
    output = await client.run("scontrol", "--oneliner", "show", "reservation")
    return _choices(re.findall(r"(?m)^ReservationName=(\S+)", output))


def _choices(names: Iterable[str]) -> list[Choice]:
    return [Choice(name) for name in sorted({name.strip() for name in names} - {""})]
