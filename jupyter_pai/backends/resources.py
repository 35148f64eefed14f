"""Resources of a platform: instance types, quotas, images, values of other fields, and links to its pages."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.price import Price


@dataclass(frozen=True)
class InstanceType:
    """An instance type that jobs can request by name: cores, memory in bytes, GPUs and the memory of each in bytes.

    `available`: a job would start at once; None if unknown. `price` is per hour, with its currency; None if the
    platform publishes none. `spot_discount` is the spot price as a share of the regular price; None without spot
    instances. `pool` is the platform's name for the resource pool.
    """

    name: str
    cpu: float
    memory: int
    gpu: int = 0
    gpu_name: str = ""
    available: bool | None = None
    gpu_memory: int = 0
    price: Price | None = None
    spot_discount: float | None = None
    pool: str = ""


@dataclass(frozen=True)
class Choice:
    """A value that a platform has for a field, and its description for users."""

    value: str
    label: str = ""


@dataclass(frozen=True)
class QuotaUser:
    """A user of a quota, with the number of jobs that have resources of it, and of jobs that wait for them."""

    name: str
    running: int = 0
    waiting: int = 0


@dataclass(frozen=True)
class Quota:
    """A resource quota of the account, or the machine that runs the jobs: total and free cores, memory in bytes, and
    GPUs. `status` is the platform's own. `users` are the ones whose jobs are in it, if they were requested and are
    known."""

    id: str
    name: str
    status: str
    cpu: float
    memory: int
    gpu: int
    free_cpu: float
    free_memory: int
    free_gpu: int
    gpu_name: str = ""
    users: tuple[QuotaUser, ...] = ()


@dataclass(frozen=True)
class Image:
    """A container image for jobs. Jobs refer to it by `uri`; unknown fields are empty.

    `accelerator` is CPU or GPU. `created` is an ISO 8601 time. `modes` are the training modes that the image supports,
    on platforms that have such modes.
    """

    uri: str
    name: str
    framework: str = ""
    version: str = ""
    accelerator: str = ""
    python: str = ""
    cuda: str = ""
    description: str = ""
    created: str = ""
    modes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImageQuery:
    """A filter for images; empty fields match all. `version` may be ``latest``, which matches the newest only.

    `scope` is the purpose (training, develop, inference), or `own` for the images of the workspace.
    """

    framework: str = ""
    version: str = ""
    accelerator: str = ""
    scope: str = "training"


@dataclass(frozen=True)
class Link:
    """A page of the platform, such as its console: the title for users, and the URL (``https:`` or ``http:``)."""

    title: str
    url: str
