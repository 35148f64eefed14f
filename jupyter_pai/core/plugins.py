"""Plug-ins: what other packages add by an entry point. One that is broken is told of by `doctor`, and harms nobody."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, NamedTuple, TypeVar

from .i18n import _

__all__ = ["PluginError", "Plugins"]


T = TypeVar("T")


class PluginError(NamedTuple):
    """What is wrong with a plug-in, and which package it is of."""

    package: str
    what: str


class Plugins(dict[str, type[T]], Generic[T]):
    """The kinds of one seam by their names: ours, and those of the packages with entry points of a group.

    `base` is the seam, `word` the attribute by which a kind is named.
    """

    def __init__(self, group: str, base: type, word: str, ours: Iterable[type[T]]) -> None:
        super().__init__({getattr(kind, word): kind for kind in ours})
        self.flaws: list[PluginError] = []
        for entry in entry_points(group=group):
            try:
                kind = entry.load()
                what = self._flaw(kind, base, word)
            except Exception as error:  # Whatever somebody else's module does while it is imported.
                what = f"{type(error).__name__}: {error}"
            if what:
                self.flaws.append(PluginError(_package(entry), f"{entry.value}: {what}"))
            else:
                self[getattr(kind, word)] = kind

    def _flaw(self, kind: object, base: type, word: str) -> str:
        """Why a kind cannot be used; empty if it can."""
        if not (isinstance(kind, type) and issubclass(kind, base)):
            return _("it is no {base}").format(base=base.__name__)
        if missing := sorted(getattr(kind, "__abstractmethods__", ())):
            return _("it lacks {names}").format(names=", ".join(missing))
        name = getattr(kind, word, "")
        if not name or name in self:
            return (
                _("the name `{name}` is taken").format(name=name) if name else _("it has no {word}").format(word=word)
            )
        return ""


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.name
