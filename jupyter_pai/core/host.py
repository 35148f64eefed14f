"""Identity of hosts and processes, so that a process of another host is not taken for a dead one of this host.

A host is identified by its boot id and its name. The boot id identifies the running kernel: all containers of a machine
share it, it changes at each boot, and file locks are reliable within it. The name survives a boot. Set
``JUPYTER_PAI_HOST`` if several hosts have the same name or boot id. A machine id is not used because machines cloned
from one image share it.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .errors import Unsupported

VARIABLE = "JUPYTER_PAI_HOST"


def windows_error() -> Unsupported:
    """Return the error for Windows, which lacks the file locks and process trees of the engine."""
    from .errors import Unsupported
    from .i18n import _

    return Unsupported(
        _("jupyter-pai does not run on Windows."), fix=_("Use it in WSL 2, or on a Jupyter server on Linux.")
    )


def name() -> str:
    """Return the name of this host as one word."""
    return "-".join((os.environ.get(VARIABLE) or os.uname().nodename).split()) or "-"


def is_loopback(host: str) -> bool:
    """Return whether a host name or IP address means this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@cache
def boot_id() -> str:
    """Return the boot id of the running kernel."""
    return Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()


def start_time(pid: int) -> str:
    """Return the start time of a process in ticks since boot, or an empty string if it does not exist."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return ""


@dataclass(frozen=True)
class Process:
    """A process on any host, written to files as ``host boot-id pid start-time mark``."""

    host: str
    boot: str
    pid: int
    start: str
    mark: str

    @staticmethod
    def me() -> Process:
        """Return this process, with a random mark that identifies its leases."""
        pid = os.getpid()
        return Process(name(), boot_id(), pid, start_time(pid), secrets.token_hex(4))

    @staticmethod
    def parse(text: str) -> Process | None:
        """Parse the process named by a file. Returns None if the text is invalid, as after a power failure."""
        words = text.split()
        return (
            Process(words[0], words[1], int(words[2]), *words[3:]) if len(words) == 5 and words[2].isdigit() else None
        )

    def __str__(self) -> str:
        return f"{self.host} {self.boot} {self.pid} {self.start} {self.mark}"

    @property
    def is_of_this_boot(self) -> bool:
        """True if it runs or ran under the current kernel, so that its locks are visible here."""
        return self.boot == boot_id() and (self.host == name() or VARIABLE not in os.environ)

    def lives(self) -> bool:
        """Return whether a process of this boot is alive."""
        return start_time(self.pid) == self.start
