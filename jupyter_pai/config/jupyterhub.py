"""Hub: whether this process is part of a server that a JupyterHub started, and whether jobs here end with that server.

A container or pod ends with all that runs in it; so does the unit in which SystemdSpawner starts a server. A process
that the Hub starts beside itself (LocalProcessSpawner) is ended alone, and jobs go on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from ..core.i18n import _

__all__ = ["ends_with_server", "hub_note"]

_MARKS = ("/.dockerenv", "/run/.containerenv")
# SystemdSpawner's units: `jupyter-ada-singleuser.service`, The Littlest JupyterHub's `jupyter-ada.service`.
_UNIT = re.compile(r"/jupyter-[^/]*\.service$", re.MULTILINE)


def hub_note() -> str:
    """What is to be said of a job that runs on this machine; empty where it outlives the server."""
    if not ends_with_server(os.environ, in_container=any(map(os.path.exists, _MARKS)), groups=_groups()):
        return ""
    return _("This job runs in your Hub's server: when that is stopped, by you or by the Hub, the job ends with it.")


def ends_with_server(environment: Mapping[str, str], *, in_container: bool, groups: str) -> bool:
    """Whether a stop of the Hub's server ends all that it has started. `groups` is what `/proc/self/cgroup` says."""
    url = environment.get("JUPYTERHUB_API_URL", "")
    if not url:
        return False
    if _UNIT.search(groups):
        return True
    # A Hub on this same host starts its servers beside itself: all of them may be in one container.
    contained = in_container or "KUBERNETES_SERVICE_HOST" in environment or bool(environment.get("container"))
    return contained and not _is_loopback(urlsplit(url).hostname or "")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _groups() -> str:
    try:
        return Path("/proc/self/cgroup").read_text("utf-8", "replace")
    except OSError:
        return ""
