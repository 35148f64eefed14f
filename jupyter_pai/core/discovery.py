"""Discovery of the Jupyter server that started this kernel or terminal.

The server extension writes a file into Jupyter's runtime folder (0600) and passes its path to its child processes in
``JUPYTER_PAI_INFO``. The file holds a secret for this extension only. Neither this secret nor the server's token
appears in the environment, an output or a URL.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

VARIABLE = "JUPYTER_PAI_INFO"


@dataclass(frozen=True)
class ServerInfo:
    """The address of a server and the secret for it. `scheme` is the word before the secret in ``Authorization``."""

    url: str
    secret: str = field(repr=False)
    pid: int = 0
    scheme: str = "jupyter-pai"
    socket: str = ""
    certificate: str = ""

    def write(self, path: Path) -> None:
        """Write the file for child processes of the server, readable by its user only."""
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)


def find_servers() -> list[ServerInfo]:
    """Return the servers that may have started this process, the most likely first. Unrelated running servers are
    excluded."""
    return [info for info in (_by_variable(), _by_parent(), _by_hub()) if info]


def _by_variable() -> ServerInfo | None:
    path = os.environ.get(VARIABLE)
    try:
        return ServerInfo(**json.loads(Path(path).read_text("utf-8"))) if path else None
    except (OSError, ValueError, TypeError):
        return None


def _by_parent() -> ServerInfo | None:
    """Read Jupyter's own file about the server that is the parent of this kernel."""
    parent = os.environ.get("JPY_PARENT_PID")
    if not parent:
        return None
    from jupyter_core.paths import jupyter_runtime_dir

    try:
        info = json.loads(Path(jupyter_runtime_dir(), f"jpserver-{int(parent)}.json").read_text("utf-8"))
        token = info["token"] or os.environ.get("JUPYTERHUB_API_TOKEN", "")
        return ServerInfo(info["url"], token, int(parent), "token", info.get("sock") or "")
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _by_hub() -> ServerInfo | None:
    """Return the single-user server that JupyterHub describes in the environment."""
    url, token = os.environ.get("JUPYTERHUB_SERVICE_URL"), os.environ.get("JUPYTERHUB_API_TOKEN")
    return ServerInfo(url.replace("//0.0.0.0", "//127.0.0.1"), token, 0, "token") if url and token else None
