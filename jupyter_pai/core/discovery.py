"""Discovery of the Jupyter server that started this kernel or terminal, and its proof that it is this server.

The server extension writes a file into Jupyter's runtime folder (0600) and passes its path to its child processes in
``JUPYTER_PAI_INFO``. The file holds a secret for this extension only. Neither this secret nor the server's token
appears in the environment, an output or a URL.

A killed server leaves its file, and another user can listen on its port. Therefore, a client sends nothing before the
process at the address has proved that it knows the secret (`ServerInfo.proof`).
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from ipaddress import IPv6Address, ip_address
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

from . import host
from .errors import DAMAGED
from .filesystem import modified

VARIABLE = "JUPYTER_PAI_INFO"
# Bytes of a challenge.
NONCE = 32


@dataclass(frozen=True)
class ServerInfo:
    """The address of a server and the secret for it. `started` is the start time of the server in seconds since
    1970."""

    url: str
    secret: str = field(repr=False)
    pid: int = 0
    started: float = field(default_factory=time.time)
    socket: str = ""
    certificate: str = ""

    def write(self, path: Path) -> None:
        """Write the file for child processes of the server, readable by its user only.

        Raises:
            OSError: if it cannot be written, or other users could access it.
        """
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            if not _is_private(file.fileno()):
                raise PermissionError(f"the disk of {path} does not support the mode 0600")
            json.dump(asdict(self), file)

    @staticmethod
    def read(path: str | Path) -> ServerInfo | None:
        """Read the file of a server. Returns None if it cannot be read, or if other users could have written it."""
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), encoding="utf-8") as file:
                return ServerInfo(**json.load(file)) if _is_private(file.fileno()) else None
        except DAMAGED:
            return None

    def proof(self, nonce: str, client: object) -> str:
        """Return the proof that its sender knows the secret: an HMAC (SHA-256, hexadecimal) of the challenge `nonce`,
        the address of the server, its start time, and the address of the client's end of the connection.

        The last one is different at both ends if a process between them relays the challenge.
        """
        text = "\n".join(("jupyter-pai server", nonce, self.url, repr(self.started), _endpoint(client)))
        return hmac.new(self.secret.encode(), text.encode(), "sha256").hexdigest()


def _is_private(file: int) -> bool:
    """Return whether a file is this user's, and no other user can access it."""
    status = os.fstat(file)
    return status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _endpoint(address: object) -> str:
    """Return the text of a socket's address; empty for a Unix socket, which has none."""
    if not isinstance(address, tuple):
        return ""
    ip = ip_address(str(address[0]).partition("%")[0])
    return f"{ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip} {address[1]}"


def info_path(pid: int | str) -> Path:
    """Return the path of the file of a server. It has the name of the host, because hosts may share Jupyter's runtime
    folder."""
    from jupyter_core.paths import jupyter_runtime_dir

    return Path(jupyter_runtime_dir(), f"jupyter-pai-{host.name().replace(os.sep, '-')}-{pid}.json")


def find_servers() -> list[ServerInfo]:
    """Return the servers that may have started this process, the most likely first. Unrelated running servers are
    excluded."""
    return [info for info in map(ServerInfo.read, chain(_by_variable(), _by_parent(), _by_hub())) if info]


def _by_variable() -> Iterator[Path]:
    if path := os.environ.get(VARIABLE):
        yield Path(path)


def _by_parent() -> Iterator[Path]:
    """Yield the file of the server that is the parent of this kernel."""
    parent = os.environ.get("JPY_PARENT_PID", "")
    if parent.isdecimal():
        yield info_path(parent)


def _by_hub() -> Iterator[Path]:
    """Yield the files of the single-user server that JupyterHub describes in the environment, the latest first."""
    url = os.environ.get("JUPYTERHUB_SERVICE_URL")
    if not url:
        return
    pattern = info_path("*")
    for path in sorted(pattern.parent.glob(pattern.name), key=modified, reverse=True):
        info = ServerInfo.read(path)
        if info and _port_and_path(info.url) == _port_and_path(url):
            yield path


def _port_and_path(url: str) -> tuple[int | None, str]:
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        return parts.port or {"http": 80, "https": 443}.get(parts.scheme), parts.path.rstrip("/")
    return None, url
