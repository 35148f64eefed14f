"""The folder that JupyterLab shows as its own: paths below it are what its file browser and its tabs go by."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import UsageError
from ..core.i18n import _

__all__ = ["ServerRoot"]


@dataclass(frozen=True)
class ServerRoot:
    """`shows_hidden`: whether names that begin with a dot are shown."""

    path: Path
    shows_hidden: bool = False

    def resolve(self, text: str) -> Path:
        """What a path below the root means, all links followed; they may lead anywhere, as JupyterLab lets them.

        Raises:
            UsageError: if it goes up, out of the root.
        """
        try:
            found = Path(os.path.realpath(self.path / text.strip("/")))
        except ValueError:
            found = None
        if found is None or ".." in text.split("/"):
            raise self._refusal(text)
        return found

    def within(self, text: str) -> Path:
        """The same for what is written: it lies below the root, and no link leads out of there.

        Raises:
            UsageError: if one does.
        """
        found = self.resolve(text)
        if not found.is_relative_to(os.path.realpath(self.path)):
            raise self._refusal(text)
        return found

    @staticmethod
    def _refusal(text: str) -> UsageError:
        return UsageError(
            _("`{folder}` leads out of the folder that JupyterLab shows.").format(folder=text),
            fix=_("Choose one in it; %pai download copies into any folder."),
        )

    def place_of(self, path: Path) -> str | None:
        """A path's place below the root, with slashes; None if JupyterLab does not show it."""
        root, found = Path(os.path.realpath(self.path)), Path(os.path.realpath(path))
        if not found.is_relative_to(root):
            return None
        parts = found.relative_to(root).parts
        return None if not self.shows_hidden and any(part.startswith(".") for part in parts) else "/".join(parts)
