"""The root folder of JupyterLab's file browser. Its paths are relative to this folder."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import UsageError
from ..core.i18n import _


@dataclass(frozen=True)
class ServerRoot:
    """The root folder. `shows_hidden` tells if names that begin with a dot are shown."""

    path: Path
    shows_hidden: bool = False

    def resolve(self, text: str) -> Path:
        """Resolve a path below the root. Symbolic links are followed anywhere, as in JupyterLab.

        Raises:
            UsageError: if the path leads above the root.
        """
        if ".." not in text.split("/"):
            with suppress(ValueError):
                return Path(os.path.realpath(self.path / text.strip("/")))
        raise self._refusal(text)

    def within(self, text: str) -> Path:
        """Resolve a path below the root for writing.

        Raises:
            UsageError: if the path or a symbolic link leads out of the root.
        """
        target = self.resolve(text)
        if not target.is_relative_to(os.path.realpath(self.path)):
            raise self._refusal(text)
        return target

    @staticmethod
    def _refusal(text: str) -> UsageError:
        return UsageError(
            _("`{folder}` is outside the root folder of JupyterLab.").format(folder=text),
            fix=_("Choose a folder inside it, or use %pai download, which copies into any folder."),
        )

    def place_of(self, path: Path) -> str | None:
        """Return a path relative to the root, with slashes, or None if JupyterLab does not show it."""
        root, target = Path(os.path.realpath(self.path)), Path(os.path.realpath(path))
        if not target.is_relative_to(root):
            return None
        parts = target.relative_to(root).parts
        return None if not self.shows_hidden and any(part.startswith(".") for part in parts) else "/".join(parts)
