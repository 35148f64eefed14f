"""JupyterHub: detect a server started by a Hub, and whether jobs on this machine end with it.

A container or pod ends with all of its processes, and so does the systemd unit of SystemdSpawner. A process started by
LocalProcessSpawner ends alone, and jobs continue.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from ..core.host import is_loopback
from ..core.i18n import _

_MARKS = ("/.dockerenv", "/run/.containerenv")
# Units of SystemdSpawner: `jupyter-ada-singleuser.service`; of The Littlest JupyterHub: `jupyter-ada.service`.
_UNIT = re.compile(r"/jupyter-[^/]*\.service$", re.MULTILINE)


def hub_note() -> str:
    """Return a warning for jobs on this machine, or an empty string if jobs outlive the server."""
    groups = ""
    with suppress(OSError):
        groups = Path("/proc/self/cgroup").read_text("utf-8", "replace")
    if not ends_with_server(os.environ, in_container=any(map(os.path.exists, _MARKS)), groups=groups):
        return ""
    return _("This job runs inside your JupyterHub server and ends when the server is stopped by you or by the Hub.")


def ends_with_server(environment: Mapping[str, str], *, in_container: bool, groups: str) -> bool:
    """Return whether stopping the Hub's server ends all processes it started. `groups` is the text of
    `/proc/self/cgroup`."""
    url = environment.get("JUPYTERHUB_API_URL", "")
    if not url:
        return False
    if _UNIT.search(groups):
        return True
    # A Hub on this host starts its servers as processes, possibly all in one container.
    contained = in_container or "KUBERNETES_SERVICE_HOST" in environment or bool(environment.get("container"))
    return contained and not is_loopback(urlsplit(url).hostname or "")
