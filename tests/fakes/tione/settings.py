"""Settings of a stand-in."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Settings"]


@dataclass
class Settings:
    """Defaults are those of most tests. All but the first four may be changed while the server runs."""

    region: str = "ap-guangzhou"
    bucket: str = "demo-1250000000"
    # Of faults with a probability.
    seed: int = 21
    # Without MD5 sums an upload costs half; ETags are then made of the CRC.
    md5: bool = True
    # Actions that the public API lost in 2024. Without them, a call is refused with `not_offered`.
    extras: bool = True
    not_offered: str = "InvalidAction"
    # Calls of an action in a window of some seconds.
    calls_a_window: int = 20
    window: float = 1.0
    # Workspaces by id.
    projects: dict[str, str] = field(default_factory=lambda: {"0": "default", "1001": "team"})
    # Money of the account in fen; specs that are sold out; specs without a price.
    balance: int = 100_000
    sold_out: set[str] = field(default_factory=lambda: {"TI.GN8.6XLARGE56.POST"})
    unpriced: set[str] = field(default_factory=set)
    # Images of registries that do not exist.
    missing_images: set[str] = field(default_factory=set)
    # File systems (cfs-…, emr-…) and data sets (ds-…) by id, each with the local folder that tasks see.
    file_systems: dict[str, str] = field(default_factory=dict)
    # Without a controller, submitted tasks and stops stay as they are; without room, tasks wait for a node.
    controller: bool = True
    room: bool = True
    # Seconds between two polls of the state of the platform, and the seconds that a stopped process gets to exit.
    pause: float = 0.02
    grace: float = 2.0
    # The most lines of a page of a log.
    log_page: int = 1000
    # Seconds until a written line is found in the logs, lines that may be paged through, whether the offset of a
    # request for them counts, and whether CLS is active.
    log_lag: float = 0.0
    log_limit: int = 10_000
    log_offsets: bool = True
    cls: bool = True
    # Lists of tasks have only those that a request asks for.
    filters: bool = True
    # Images of older templates for inference, by their keys.
    templates: dict[str, str] = field(default_factory=dict)
    # Seconds that the import of a model takes.
    import_seconds: float = 0.05
    # A folder with programs of the images, before all others; the PATH of the images in place of these.
    programs: str = ""
    path: str = ""
    # MASTER_PORT of tasks: 23456 on the platform, where each pod has an address of its own. 0: a free one.
    master_port: int = 0
    # The smallest part of an upload but the last, in bytes.
    smallest_part: int = 1 << 20
    # Seconds by which the server's clock is ahead.
    clock_offset: float = 0.0
