"""Which host this is, and which process: so that nobody takes another host's process for a dead one of ours.

Two things tell hosts apart. The boot id is that of the running system kernel: all containers of a machine share it,
after each boot it is another one, and within it locks are the truth. The name outlives a boot; where several hosts
have the same name, or one boot id, ``JUPYTER_PAI_HOST`` gives each a name that counts. A machine id would not do:
machines and containers that were copied from one image have the same one.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["VARIABLE", "Process", "boot_id", "name", "start_time"]

VARIABLE = "JUPYTER_PAI_HOST"


def name() -> str:
    """What this host is called, in one word."""
    return "-".join((os.environ.get(VARIABLE) or os.uname().nodename).split()) or "-"


@cache
def boot_id() -> str:
    """The running system kernel's."""
    return Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()


def start_time(pid: int) -> str:
    """When a process was started, in ticks since the boot; empty if there is none with this number."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return ""


@dataclass(frozen=True)
class Process:
    """A process of any host, as it is written into files: ``host boot-id pid start-time mark``."""

    host: str
    boot: str
    pid: int
    start: str
    mark: str

    @staticmethod
    def me() -> Process:
        """This process, with a mark that tells apart what it holds."""
        pid = os.getpid()
        return Process(name(), boot_id(), pid, start_time(pid), secrets.token_hex(4))

    @staticmethod
    def parse(text: str) -> Process | None:
        """The process that a file names; None if it names none, as after a power cut."""
        words = text.split()
        return (
            Process(words[0], words[1], int(words[2]), *words[3:]) if len(words) == 5 and words[2].isdigit() else None
        )

    def __str__(self) -> str:
        return f"{self.host} {self.boot} {self.pid} {self.start} {self.mark}"

    @property
    def is_of_this_boot(self) -> bool:
        """Whether it runs, or ran, under the system kernel that runs now: its locks are ours to see."""
        return self.boot == boot_id() and (self.host == name() or VARIABLE not in os.environ)

    def lives(self) -> bool:
        """Whether it is alive, for one of this boot."""
        return start_time(self.pid) == self.start
