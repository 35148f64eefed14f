"""What the verbs about platforms answer."""

from __future__ import annotations

from typing import Any, Literal

from .base import Reply

__all__ = [
    "Findings",
    "Images",
    "Instances",
    "OutputModels",
    "PlatformBoard",
    "PlatformBoards",
    "Profiles",
    "TerminalLink",
    "Trials",
]


class InstanceTypeView(Reply):
    """Cores, bytes of memory, GPUs with so many bytes each. `available`: whether a job would start at once; null where
    that is not known. `price` is that of an hour, null where the platform publishes none; `spot_discount` is the share
    of it that a machine costs which may be taken away, null where there are no such. `pool` is where it comes from."""

    name: str
    cpu: float
    memory: int
    gpu: int
    gpu_name: str
    available: bool | None
    gpu_memory: int
    price: float | None
    spot_discount: float | None
    pool: str


class QuotaView(Reply):
    """A share of machines that is the account's own: cores, bytes of memory and GPUs, in all and free by now."""

    id: str
    name: str
    status: str
    cpu: float
    memory: int
    gpu: int
    free_cpu: float
    free_memory: int
    free_gpu: int
    gpu_name: str


class Instances(Reply):
    """`left_out` is how many the administrator does not allow."""

    profile: str
    left_out: int
    instances: list[InstanceTypeView]
    quotas: list[QuotaView]


class ImageView(Reply):
    """An image; what the platform does not tell of it is empty. `accelerator` is CPU or GPU."""

    uri: str
    name: str
    framework: str
    version: str
    accelerator: str
    python: str
    cuda: str
    description: str
    created: str


class Images(Reply):
    """`left_out` is how many the administrator does not allow."""

    profile: str
    left_out: int
    images: list[ImageView]


class PlatformBoard(Reply):
    """A TensorBoard that a platform runs. `url` is where a browser finds it, empty until it can be opened. `user` is
    whose it is, as far as the platform tells."""

    id: str
    name: str
    status: Literal["starting", "running", "stopped", "failed"]
    url: str
    reason: str
    created: str
    user: str


class PlatformBoards(Reply):
    """`most` of them may run at a time in an account, and each ends by itself after so many `minutes`; 0 where nothing
    is known of it."""

    profile: str
    most: int
    minutes: int
    boards: list[PlatformBoard]


class OutputModelView(Reply):
    """A model that a job has made: where it lies, the output channel that it is, and what the platform says of it."""

    uri: str
    channel: str
    labels: dict[str, str]
    metrics: dict[str, Any]


class OutputModels(Reply):
    models: list[OutputModelView]


class TerminalLink(Reply):
    """Where a terminal in an instance is: a page (``https:``) or a WebSocket (``wss:``). Kept nowhere."""

    instance: str
    url: str


class CredentialsView(Reply):
    """Which credentials a profile has of its own: where they are kept, and enough of them to tell them apart. Empty for
    none."""

    place: Literal["", "keyring", "file"]
    hint: str


class ProfileView(Reply):
    """`file` is empty for a profile that needs none. `locked`: users may not change it. `refused`: why no job may go
    with it, empty where jobs may."""

    name: str
    file: str
    locked: bool
    refused: str
    settings: dict[str, Any]
    credentials: CredentialsView


class Profiles(Reply):
    """`credentials_file` is where credentials are kept that are in no keyring: only its user can read it."""

    default: str
    profiles: list[ProfileView]
    credentials_file: str


class FindingView(Reply):
    state: Literal["ok", "warn", "bad"]
    what: str
    text: str
    fix: str


class Findings(Reply):
    findings: list[FindingView]


class TrialView(Reply):
    """Something that only a person with an account can see: what is to be seen, and how."""

    name: str
    backend: str
    what: str
    how: str


class Trials(Reply):
    trials: list[TrialView]
