"""Plug-ins and optional dependencies.

Plug-ins are classes of other packages, registered as entry points. `doctor` reports broken ones; they do not affect
others. Optional dependencies are installed as in ``pip install "jupyter-pai[pai]"``.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Generic, NamedTuple, TypeVar

from .errors import Unsupported
from .i18n import _

T = TypeVar("T")


class PluginError(NamedTuple):
    """A defect of a plug-in: the package it belongs to, and the name of its entry point."""

    package: str
    name: str
    what: str

    @property
    def text(self) -> str:
        return f"{self.package}: {self.what}"

    @property
    def message(self) -> str:
        return _("The plug-in `{name}` is broken: {flaw}.").format(name=self.name, flaw=self.text)

    @property
    def fix(self) -> str:
        return _("Update it, or remove it: pip uninstall {package}").format(package=self.package)


class Plugins(dict[str, type[T]], Generic[T]):
    """The implementations of a seam by name: the built-in ones and the entry points of a group.

    `base` is the base class of the seam, `word` the attribute that holds the name.
    """

    def __init__(self, group: str, base: type, word: str, ours: Iterable[type[T]]) -> None:
        from importlib.metadata import entry_points  # Slow to import.

        super().__init__({getattr(kind, word): kind for kind in ours})
        self.flaws: list[PluginError] = []
        for entry in entry_points(group=group):
            try:
                kind = entry.load()
                what = self._flaw(kind, base, word)
            except Exception as error:  # Importing third-party code may raise anything.
                what = f"{type(error).__name__}: {error}"
            if what:
                package = entry.dist.name if entry.dist else entry.name
                self.flaws.append(PluginError(package, entry.name, f"{entry.value}: {what}"))
            else:
                self[getattr(kind, word)] = kind

    def _flaw(self, kind: object, base: type, word: str) -> str:
        """Return the reason that a class cannot be used, or an empty string."""
        if not (isinstance(kind, type) and issubclass(kind, base)):
            return _("not a subclass of {base}").format(base=base.__name__)
        if missing := sorted(getattr(kind, "__abstractmethods__", ())):
            return _("missing methods: {names}").format(names=", ".join(missing))
        name = getattr(kind, word, "")
        if not name:
            return _("missing attribute: {word}").format(word=word)
        return _("the name `{name}` is already in use").format(name=name) if name in self else ""


def require(extra: str, *modules: str) -> None:
    """Check that the modules of an extra are installed, before importing them.

    Raises:
        Unsupported: if one is missing, with the command to install it.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise Unsupported(
            _("This requires {modules}, which is not installed.").format(modules=", ".join(missing)),
            fix=_('Install it in the environment of Jupyter: pip install "jupyter-pai[{extra}]"').format(extra=extra),
        )
