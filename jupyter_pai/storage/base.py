"""The seam to places where inputs and outputs are kept: files by URI.

More verbs (putting files, signing addresses) come with the first storage that needs them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, NamedTuple, Self

from ..errors import EngineError, NotFound
from ..i18n import _
from .staging import Staging, check_targets

__all__ = ["File", "OpenFile", "Progress", "Storage"]

# Told after each piece: bytes done, bytes in all. What it raises ends the copy, and nothing is left of it.
Progress = Callable[[int, int], None]

_PIECE = 1 << 20


class File(NamedTuple):
    """A file in a storage: its path below the URI that was asked for, its size in bytes, when it was written, in
    seconds since 1970. `problem` says why it cannot be read; empty if it can."""

    path: str
    size: int
    modified: float = 0.0
    problem: str = ""


class OpenFile(ABC):
    """A file that is being read. What is written to it later does not change `file`."""

    file: File
    # Who may do what with it, as far as the storage knows such things.
    mode: int | None = None

    @abstractmethod
    def read(self, offset: int, length: int) -> bytes:
        """So many bytes from `offset` on; fewer only where the file ends by now."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Storage(ABC):
    """One kind of storage, told by the scheme of its URIs."""

    scheme: ClassVar[str]

    @abstractmethod
    def list(self, uri: str) -> list[File]:
        """The files below a folder's URI, in the order of their paths; none if there is no such folder."""

    @abstractmethod
    def exists(self, uri: str) -> bool:
        """Whether there is such a folder; true where folders are only the beginnings of names."""

    @abstractmethod
    def open(self, uri: str, path: str) -> OpenFile:
        """A file below a folder's URI.

        Raises:
            NotFound: if there is none, or it is not a file of that folder: a link out of it, a device.
        """

    def get_tree(
        self,
        uri: str,
        folder: Path,
        files: Sequence[str] | None = None,
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Copy the files below a folder's URI into a local folder, all that can be read or those of these paths; their
        number. They get their names when all of them are there.

        Raises:
            NotFound: if one is not there.
            Conflict: if files are there already and `overwrite` is not set; nothing is copied then.
            EngineError: if they cannot be written; nothing is left then.
        """
        found = self.chosen(uri, files)
        check_targets(folder, [file.path for file in found], overwrite=overwrite)
        done, whole = 0, sum(file.size for file in found)
        with Staging(folder) as staging:
            for file in found:
                with self.open(uri, file.path) as source:
                    for piece in staging.write(file.path, _pieces(source), source.file.modified, source.mode):
                        done += piece
                        if progress:
                            progress(done, max(whole, done))
            staging.publish(overwrite=overwrite)
        return len(found)

    def chosen(self, uri: str, files: Sequence[str] | None = None) -> Sequence[File]:
        """The files of these paths; without paths, all that can be read.

        Raises:
            NotFound: if one is not there, or cannot be read.
        """
        there = {file.path: file for file in self.list(uri)}
        if files is None:
            return [file for file in there.values() if not file.problem]
        for path in files:
            if path not in there:
                raise NotFound(_("There is no file `{path}`.").format(path=path))
            if there[path].problem:
                raise NotFound(
                    _("`{path}` cannot be read: {why}.").format(path=path, why=there[path].problem),
                    fix=_("Choose others."),
                )
        return [there[path] for path in dict.fromkeys(files)]


def _pieces(source: OpenFile) -> Iterator[bytes]:
    """The file as it was when it was opened."""
    offset = 0
    while offset < source.file.size:
        data = source.read(offset, min(_PIECE, source.file.size - offset))
        if not data:
            raise EngineError(
                _("{file} became shorter while it was read.").format(file=source.file.path), fix=_("Try it again.")
            )
        offset += len(data)
        yield data
