"""What fields of a form suggest of what the platform has that is chosen: machines and images."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

from ...core.errors import PaiError, Unsupported
from ...core.sizes import show_memory
from ..base import Client
from .widget_fields import Field

__all__ = ["OFFERED", "PlatformOffers", "named"]

_SEPARATOR = " · "


class _List(NamedTuple):
    """A verb that lists what a field may name, and one of it in words."""

    verb: str
    words: Callable[[Mapping[str, Any]], str]


class PlatformOffers:
    """What the profile lists that is chosen, in the fields that may name it; they take any other text, too."""

    def __init__(self, client: Client, fields: Mapping[str, Field]) -> None:
        self._client, self._fields = client, fields
        self._where: dict[str, str] = {}
        self._lock = threading.Lock()

    def show(self, profile: str, backend: str, capabilities: Collection[str]) -> None:
        """Offer what there is with a profile, or with the default one of a backend, unless that is offered already."""
        where = {"profile": profile, "backend": backend}
        if where == self._where:
            return
        with self._lock:
            self._where = where
            for name in OFFERED:
                self._fields[name].offer(())
        names = [name for name in OFFERED if name != "image" or "images" in capabilities]
        if "runs_here" in capabilities:
            self._look(where, names)
        else:
            # It may take its time to answer, or never do.
            look = partial(self._look, where, names)
            threading.Thread(target=look, name="jupyter-pai form", daemon=True).start()

    def _look(self, where: Mapping[str, str], names: Collection[str]) -> None:
        for name in names:
            verb, words = OFFERED[name]
            found, note = [], ""
            try:
                found = [words(one) for one in self._client.call(verb, **where)[verb]]
            except Unsupported:
                pass
            except PaiError as error:
                note = str(error)
            except Exception as error:  # Whatever it is: from a thread nobody else would tell it.
                note = f"{type(error).__name__}: {error}"
            with self._lock:
                if where != self._where:
                    return  # Another one was chosen meanwhile.
                self._fields[name].offer(found, note)


def _machine(kind: Mapping[str, Any]) -> str:
    """A kind of machine: `ecs.gn6v · 8 CPU · 1 × V100 · 32 GiB`."""
    parts = [
        f"{kind['cpu']:g} CPU" if kind["cpu"] else "",
        f"{kind['gpu']} × {kind['gpu_name'] or 'GPU'}" if kind["gpu"] else "",
        show_memory(kind["memory"]) if kind["memory"] else "",
    ]
    return _SEPARATOR.join((kind["name"], *filter(None, parts)))


def named(text: str) -> str:
    """The name of what is offered so."""
    return text.partition(_SEPARATOR)[0]


OFFERED = {"instance_type": _List("instances", _machine), "image": _List("images", lambda image: str(image["uri"]))}
