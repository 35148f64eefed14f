"""The seam to places where inputs and outputs are kept: files by URI.

More verbs (putting files, signing addresses) come with the first storage that needs them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, NamedTuple

__all__ = ["File", "Progress", "Storage"]

# Told after each piece: bytes done, bytes in all.
Progress = Callable[[int, int], None]


class File(NamedTuple):
    """A file in a storage: its path below the URI that was asked for, and its size in bytes."""

    path: str
    size: int


class Storage(ABC):
    """One kind of storage, told by the scheme of its URIs."""

    scheme: ClassVar[str]

    @abstractmethod
    def list(self, uri: str) -> list[File]:
        """The files below a folder's URI, in the order of their paths; none if there is no such folder."""

    @abstractmethod
    def get_tree(self, uri: str, folder: Path, *, overwrite: bool = False, progress: Progress | None = None) -> int:
        """Copy the files below a folder's URI into a local folder; their number.

        Raises:
            Conflict: if files are there already and `overwrite` is not set; nothing is copied then.
        """
