"""Connect to the engine: to the Jupyter server that started this process, else to an engine in this process."""

from __future__ import annotations

import contextlib
import os
from functools import cache

from ..core.discovery import VARIABLE, find_servers
from ..core.errors import PaiError
from .base import Client

# The process id, and the environment that selects a server and a state folder.
_Process = tuple[int, str | None, str | None, str | None]


def connect(*, again: bool = False, here: bool = False) -> Client:
    """Return the client of the Jupyter server that started this process, or of an engine in this process if there is
    none. The client is cached per process and state folder.

    `again` searches for a server again. `here` always returns an engine in this process: it holds credentials that only
    this process knows.
    """
    if again:
        _server.cache_clear()
    return (not here and _server(_this_process())) or _engine(_this_process())


def announce() -> None:
    """Call the Jupyter server that started this process, if there is one. It prepares for a submit."""
    _server(_this_process())


def _this_process() -> _Process:
    variable, parent, home = map(os.environ.get, (VARIABLE, "JPY_PARENT_PID", "JUPYTER_PAI_HOME"))
    return os.getpid(), variable, parent, home


@cache
def _server(_process: _Process) -> Client | None:
    for info in find_servers():
        from .http import HttpClient  # Imports `ssl`.

        client = HttpClient(info)
        # An error: the server has stopped, or it runs without our extension.
        with contextlib.suppress(PaiError):
            client.call("about")
            return client
    return None


@cache
def _engine(_process: _Process) -> Client:
    from .embedded import EmbeddedClient  # Imports the whole engine.

    return EmbeddedClient()
