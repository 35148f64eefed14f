"""Settings of a stand-in."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Settings"]


@dataclass
class Settings:
    """Defaults are those of most tests. All of them may be changed while the server runs."""

    # None: the server does not tell it.
    version: str | None = "v1.8.1"
    # "OIDC" refuses a login by password.
    authn: str = "basic"
    # Without it, the address is that of the REST server.
    gateway: bool = True
    # Requests a minute of an address, lists of jobs a minute and submits an hour of a user.
    requests_a_minute: int = 6000
    lists_a_minute: int = 6000
    submits_an_hour: int = 60
    # Virtual clusters and the GPUs of each.
    virtual_clusters: dict[str, int] = field(default_factory=lambda: {"default": 4, "other": 8})
    # What jobs of other users take from virtual clusters: cores, memory in MB, GPUs.
    used: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    # Lists of jobs have only those that a request asks for.
    filters: bool = True
    # HiveD is on where there are SKUs: units {cpu, memory in MB, gpu}.
    skus: dict[str, dict[str, int]] = field(default_factory=dict)
    # Storages by name, each with the local folder that jobs see at its mount path.
    storages: dict[str, str] = field(default_factory=dict)
    # A folder with programs of the images, before all others.
    programs: str = ""
    # The PATH of the images in place of these and of the programs of this machine.
    path: str = ""
    # Without a controller, submitted jobs and stops stay as they are; without room, jobs wait for a node.
    controller: bool = True
    room: bool = True
    # Seconds that a token of the log manager lives, and bytes of a log file until it is rotated.
    log_token_seconds: float = 120.0
    rotate_bytes: int = 256 << 20
    # The most bytes of a log in one reply.
    log_bytes: int = 1 << 30
    # Seconds between two polls of the state of the cluster, and the seconds that a stopped process gets to exit.
    pause: float = 0.02
    grace: float = 2.0
    # Seconds by which the server's clock is ahead.
    clock_offset: float = 0.0
    # Of faults with a probability.
    seed: int = 20
