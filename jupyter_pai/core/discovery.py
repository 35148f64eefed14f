"""How kernels and terminals find the Jupyter server that started them.

The server extension writes a file of its own into Jupyter's runtime folder (0600), and hands its path to everything
that it starts by ``JUPYTER_PAI_INFO``. The file holds a secret that is good for this extension only; neither it nor
the server's token is ever in the environment, an output or an address.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

__all__ = ["VARIABLE", "ServerInfo", "find_servers"]

VARIABLE = "JUPYTER_PAI_INFO"


@dataclass(frozen=True)
class ServerInfo:
    """Where a server is and how to be let in. `scheme` is the word before the secret in ``Authorization``."""

    url: str
    secret: str = field(repr=False)
    pid: int = 0
    scheme: str = "jupyter-pai"
    socket: str = ""
    certificate: str = ""

    def write(self, path: Path) -> None:
        """Save it for those whom the server starts."""
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)


def find_servers() -> list[ServerInfo]:
    """The servers that may have started this process, the likeliest first. Never just any that runs."""
    return [info for info in (_by_variable(), _by_parent(), _by_hub()) if info]


def _by_variable() -> ServerInfo | None:
    path = os.environ.get(VARIABLE)
    try:
        return ServerInfo(**json.loads(Path(path).read_text("utf-8"))) if path else None
    except (OSError, ValueError, TypeError):
        return None


def _by_parent() -> ServerInfo | None:
    """The file that every Jupyter server writes about itself, for the one that is our parent."""
    parent = os.environ.get("JPY_PARENT_PID")
    if not parent:
        return None
    from jupyter_core.paths import jupyter_runtime_dir

    try:
        said = json.loads(Path(jupyter_runtime_dir(), f"jpserver-{int(parent)}.json").read_text("utf-8"))
        token = said["token"] or os.environ.get("JUPYTERHUB_API_TOKEN", "")
        return ServerInfo(said["url"], token, int(parent), "token", said.get("sock") or "")
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _by_hub() -> ServerInfo | None:
    """JupyterHub tells its single-user servers, and so their kernels, where they are."""
    url, token = os.environ.get("JUPYTERHUB_SERVICE_URL"), os.environ.get("JUPYTERHUB_API_TOKEN")
    return ServerInfo(url.replace("//0.0.0.0", "//127.0.0.1"), token, 0, "token") if url and token else None
