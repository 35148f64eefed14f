"""The seam to places where inputs and outputs are kept: files by URI.

A URI that ends with ``/`` means a folder, any other a file. All verbs may block.
"""

from __future__ import annotations

import contextlib
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, NamedTuple, Self

from ..config.settings import ProfileSettings
from ..core.errors import Conflict, EngineError, NotFound, PaiError
from ..core.i18n import _
from .staging import Staging, check_targets
from .walk import walk

__all__ = ["File", "OpenFile", "Progress", "Storage"]

# Told after each piece: bytes done, bytes in all. What it raises ends the copy, and nothing is left of it.
Progress = Callable[[int, int], None]

_PIECE = 1 << 20
# So many files are asked for one by one; for more, all that is there is listed.
_FEW = 8


class File(NamedTuple):
    """A file in a storage: its path below the URI that was asked for, its size in bytes, when it was written, in
    seconds since 1970. `problem` says why it cannot be read; empty if it can. `version` changes with its content, as
    far as the storage can tell. The path of a folder ends with ``/``."""

    path: str
    size: int
    modified: float = 0.0
    problem: str = ""
    version: str = ""

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


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
    # The profiles whose account it needs: those with settings of this kind. None for a storage that needs no account.
    settings_model: ClassVar[type[ProfileSettings] | None] = None

    @classmethod
    def of(cls, settings: ProfileSettings | None, state: Path) -> Self:
        """The storage with a profile's account. In the folder `state` it may note how far long copies have come."""
        return cls()

    # Looking.

    async def roots(self) -> Sequence[str]:
        """The URIs of the folders where one begins to look: of a bucket, of a shelf. None where nobody can say. Whoever
        must be asked for it is asked here; it runs in an event loop, so it must not block.

        Raises:
            PaiError: saying why there are none.
        """
        return ()

    @abstractmethod
    def stat(self, uri: str) -> File | None:
        """The file or folder that a URI means, under its name alone; a folder also where the URI lacks its ``/``. None
        if there is nothing."""

    @abstractmethod
    def entries(self, uri: str, after: str = "", most: int = 1000) -> list[File]:
        """The files and folders directly in a folder, in the order of their names: at most so many after the name
        `after`; none if there is no such folder."""

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

    # Naming.

    def join(self, uri: str, path: str) -> str:
        """The URI of a path below a folder's URI."""
        return f"{uri.rstrip('/')}/{path}"

    def split(self, uri: str) -> tuple[str, str]:
        """The URI of the folder in which a file or folder lies, and its path in that; the path is empty at the top."""
        folder, _slash, name = uri.rstrip("/").rpartition("/")
        return f"{folder}/", name + "/" * uri.endswith("/")

    # Changing.

    @abstractmethod
    def put(self, source: Path | bytes, uri: str, *, overwrite: bool = False, progress: Progress | None = None) -> File:
        """Write a file: all of it or nothing.

        Raises:
            Conflict: if there is one already and `overwrite` is not set, or a folder is in the way.
            BadInput: if the source cannot be read.
            EngineError: if it cannot be written.
        """

    @abstractmethod
    def delete(self, uri: str) -> int:
        """Remove a file, or a folder with all that is below; how many files that were.

        Raises:
            NotFound: if there is nothing.
            Conflict: if it is a folder and the URI does not say so, or the top of all.
        """

    @abstractmethod
    def make_folder(self, uri: str) -> None:
        """Make a folder and those above it. Does nothing if it is there.

        Raises:
            Conflict: if a file has its name.
        """

    def move(self, uri: str, target: str, *, progress: Progress | None = None) -> int:
        """Give a file, or a folder with all that is below, another URI of this storage; how many files that were. The
        URIs of a folder end with a slash, both of them.

        Raises:
            NotFound: if there is nothing.
            Conflict: if something is at the target already, or it lies in the folder itself; if it is a folder and the
                URI does not say so, or the top of all.
            EngineError: if it cannot be done; it stays where it was then.
        """
        self._check_move(uri, target)
        return self._move(uri, target, progress)

    def _check_move(self, uri: str, target: str) -> None:
        there = self.stat(uri)
        if there is None:
            raise NotFound(_("There is nothing at {uri}.").format(uri=uri), fix=_("See what there is: %pai ls URI"))
        if there.is_folder and not uri.endswith("/"):
            raise Conflict(
                _("{path} is a folder.").format(path=uri), fix=_("With all that is in it: {path}/").format(path=uri)
            )
        if not self.split(uri)[1]:
            raise Conflict(_("{path} is not moved as a whole.").format(path=uri), fix=_("Name a folder in it."))
        if there.is_folder and target.startswith(uri):
            raise Conflict(_("{uri} cannot be moved into itself.").format(uri=uri), fix=_("Choose another place."))
        if self.stat(target.rstrip("/")):
            name = self.split(target)[1]
            raise Conflict(
                _("{file} is there already.").format(file=target), fix=_("Choose another name."), files=[name]
            )

    def _move(self, uri: str, target: str, progress: Progress | None) -> int:
        """Copy by way of this machine, then remove; a storage that can do better does."""
        files = self.list(uri) if uri.endswith("/") else []
        if bad := [file for file in files if file.problem]:
            raise Conflict(
                _("`{path}` cannot be read: {why}.").format(path=bad[0].path, why=bad[0].problem),
                fix=_("Remove it, or mend it."),
            )
        with tempfile.TemporaryDirectory(prefix="jupyter-pai-move-") as name:
            place = Path(name)
            here, there = _half(progress, 0), _half(progress, 1)
            try:
                if uri.endswith("/"):
                    self.make_folder(target)
                    self.get_tree(uri, place, progress=here)
                    self.put_tree(place, target, progress=there)
                else:
                    folder, path = self.split(uri)
                    self.get_tree(folder, place, [path], progress=here)
                    self.put(place / path, target, progress=there)
            except BaseException:
                with contextlib.suppress(PaiError):
                    self.delete(target)
                raise
        return max(self.delete(uri), len(files))

    def put_tree(
        self,
        folder: Path,
        uri: str,
        files: Sequence[str] | None = None,
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Write the files of a local folder below a folder's URI, all of them or those of these paths; their number.
        Links count as what they lead to.

        Raises:
            Conflict: if files are there already and `overwrite` is not set; nothing is written then.
            BadInput: if one cannot be read.
            EngineError: if one cannot be written; those before it stay.
        """
        chosen = None if files is None else {*files}
        found = [one for one in walk(folder) if chosen is None or one[0] in chosen]
        if not overwrite:
            self.check_free(uri, [path for path, _size in found])
        self._send(folder, found, uri, overwrite, progress)
        return len(found)

    def _send(
        self, folder: Path, found: Sequence[tuple[str, int]], uri: str, overwrite: bool, progress: Progress | None
    ) -> None:
        """Write files of a folder, one after the other; a storage that is far away does several at once."""
        whole, done = sum(size for _path, size in found), 0
        for path, size in found:
            tell = _shifted(progress, done, whole) if progress else None
            self.put(folder / path, self.join(uri, path), overwrite=overwrite, progress=tell)
            done += size

    def check_free(self, uri: str, paths: Sequence[str]) -> None:
        """See whether files can get these names below a folder's URI.

        Raises:
            Conflict: if there are such files.
        """
        if len(paths) <= _FEW:
            there = {path for path in paths if self.stat(self.join(uri, path))}
        else:
            there = {file.path for file in self.list(uri)}
        if names := [path for path in paths if path in there]:
            raise Conflict(
                _("{folder} has files of that name already: {names}.").format(folder=uri, names=", ".join(names[:5])),
                fix=_("Choose another folder, or replace them with --overwrite."),
                files=names[:100],
            )

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
        with Staging(folder) as staging:
            self._fill(uri, found, staging, progress)
            staging.publish(overwrite=overwrite)
        return len(found)

    def _fill(self, uri: str, found: Sequence[File], staging: Staging, progress: Progress | None) -> None:
        """Copy files into a staging folder, one after the other; a storage that is far away does several at once."""
        done, whole = 0, sum(file.size for file in found)
        for file in found:
            with self.open(uri, file.path) as source:
                for piece in staging.write(file.path, _pieces(source), source.file.modified, source.mode):
                    done += piece
                    if progress:
                        progress(done, max(whole, done))

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


def _shifted(progress: Progress, before: int, whole: int) -> Progress:
    """The progress of one file of several."""
    return lambda done, _size: progress(before + done, max(whole, before + done))


def _half(progress: Progress | None, before: int) -> Progress | None:
    """The progress of the first half of a way, or of the second."""
    return progress and (lambda done, whole: progress((before * whole + done) // 2, whole))


def _pieces(source: OpenFile) -> Iterator[bytes]:
    """The file as it was when it was opened."""
    offset = 0
    while offset < source.file.size:
        data = source.read(offset, min(_PIECE, source.file.size - offset))
        if not data:
            raise truncated_error(source.file.path)
        offset += len(data)
        yield data


def truncated_error(path: str) -> EngineError:
    """The error of a file that changed while it was copied."""
    return EngineError(_("{file} became shorter while it was read.").format(file=path), fix=_("Try it again."))
