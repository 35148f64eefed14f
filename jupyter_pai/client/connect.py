"""Connect to the engine: to the Jupyter server that started this process, else to an engine in this process."""

from __future__ import annotations

import os
from functools import cache

from ..core import discovery
from ..core.errors import PaiError
from .base import Client


def connect(*, again: bool = False, here: bool = False) -> Client:
    """Return the client of the Jupyter server that started this process, or of an engine in this process if there is
    none. The client is cached per process and state folder.

    `again` discards the cached client and searches for a server again. `here` always returns an engine in this
    process: it holds credentials that only this process knows.
    """
    if again:
        _connected.cache_clear()
    key = tuple(os.environ.get(name) for name in (discovery.VARIABLE, "JPY_PARENT_PID", "JUPYTER_PAI_HOME"))
    client = _connected(os.getpid(), key)
    return _in_this_process(os.getpid(), key) if here and not client.embedded else client


@cache
def _connected(_pid: int, _key: tuple[str | None, ...]) -> Client:
    for info in discovery.find_servers():
        from .http import HttpClient  # Imports `ssl`.

        client = HttpClient(info)
        try:
            client.call("about")
            return client
        except PaiError:
            continue  # The server has stopped, or it runs without our extension.
    return _start_engine()


@cache
def _in_this_process(_pid: int, _key: tuple[str | None, ...]) -> Client:
    return _start_engine()


def _start_engine() -> Client:
    from .embedded import EmbeddedClient  # Imports the whole engine.

    return EmbeddedClient()
