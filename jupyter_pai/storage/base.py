"""The storage interface: files by URI.

A URI that ends with ``/`` refers to a folder, any other to a file. All methods may block.
"""

from __future__ import annotations

import contextlib
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import ClassVar, NamedTuple, Self

from ..config.settings import ProfileSettings
from ..core.cleanup import on_failure
from ..core.errors import BadInput, Conflict, EngineError, NotFound, PaiError
from ..core.i18n import _
from .staging import Staging, check_targets, walk

# Called after each chunk with the bytes done and the total. An exception cancels the copy and removes partial files.
Progress = Callable[[int, int], None]

_PIECE = 1 << 20
# Up to this many files are checked individually; for more, the folder is listed.
_FEW = 8


class File(NamedTuple):
    """A file in a storage: path below the requested URI, size in bytes, modification time in seconds since 1970.

    `problem` is the reason that it cannot be read, otherwise empty. `version` changes with the content, as far as the
    storage can tell. The path of a folder ends with ``/``. `link` is set for a link to a folder below the requested
    URI, which is not read but downloaded as a link: the path of that folder, relative to that of the link.
    """

    path: str
    size: int
    modified: float = 0.0
    problem: str = ""
    version: str = ""
    link: str = ""

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


class OpenFile(contextlib.AbstractContextManager["OpenFile"]):
    """A file open for reading. `file` describes it at the time of opening."""

    file: File
    # Permissions, if the storage has them.
    mode: int | None = None

    @abstractmethod
    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer at the end of the file."""

    @abstractmethod
    def close(self) -> None:
        """Release the resources of the file."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class Storage(ABC):
    """One kind of storage, identified by the scheme of its URIs."""

    scheme: ClassVar[str]
    # The settings of profiles with an account for this storage. None if it needs no account.
    settings_model: ClassVar[type[ProfileSettings] | None] = None
    # The keys of a profile that make an account, for the message that none is found.
    account_keys: ClassVar[str] = "…"

    @classmethod
    def of(cls, settings: ProfileSettings | None, state: Path) -> Self:
        """Return the storage with the account of a profile. It may store the progress of long copies in the folder
        `state`."""
        return cls()

    @classmethod
    def serves(cls, uri: str, settings: ProfileSettings) -> bool:
        """Return whether the account of a profile is the one for a URI, such as by its host. Sends no requests."""
        return True

    @classmethod
    def canonical(cls, uri: str) -> str:
        """Return the one notation of a URI, by which it is checked and opened. Its scheme is that of this storage, in
        any case. Sends no requests. Overridden if URIs have more parts than a host and a path of plain names.

        Raises:
            BadInput: if the URI is invalid.
        """
        host, slash, path = uri.partition("://")[2].partition("/")
        names = path.strip("/")
        check_names(uri, "/".join(filter(None, (host, names))))
        return f"{cls.scheme}://{host}{slash}{names}" + "/" * (bool(names) and path.endswith("/"))

    async def roots(self) -> Sequence[str]:
        """Return the URIs of the top folders to browse. Runs in an event loop and must not block.
        Empty if unknown.

        Raises:
            PaiError: with the reason that none are available.
        """
        return ()

    @abstractmethod
    def stat(self, uri: str) -> File | None:
        """Return the file or folder at a URI, with its name as path, or None. Finds a folder also without its trailing
        ``/``."""

    @abstractmethod
    def entries(self, uri: str, after: str = "", most: int = 1000) -> list[File]:
        """Return the files and folders directly in a folder, sorted by name: at most `most` after the name `after`.
        Empty if the folder does not exist."""

    @abstractmethod
    def list(self, uri: str) -> list[File]:
        """Return all files below a folder, sorted by path. Empty if the folder does not exist."""

    @abstractmethod
    def exists(self, uri: str) -> bool:
        """Return whether a folder exists. Always true if folders are only prefixes of names."""

    @abstractmethod
    def open(self, uri: str, path: str) -> OpenFile:
        """Open a file below a folder.

        Raises:
            NotFound: if it does not exist or is not a regular file of the folder, such as a link out of it or a
                device.
        """

    def join(self, uri: str, path: str) -> str:
        """Return the URI of a path below a folder."""
        return uri + "/" * (not uri.endswith("/")) + path

    def split(self, uri: str) -> tuple[str, str]:
        """Return the URI of the parent folder and the path in it, which is empty for a root."""
        folder, _slash, name = uri.rstrip("/").rpartition("/")
        return f"{folder}/", name + "/" * uri.endswith("/")

    @abstractmethod
    def put(self, source: Path | bytes, uri: str, *, overwrite: bool = False, progress: Progress | None = None) -> File:
        """Write a file atomically.

        Raises:
            Conflict: if it exists and `overwrite` is not set, or is a folder.
            BadInput: if the source cannot be read.
            EngineError: if it cannot be written.
        """

    def put_once(self, source: Path | bytes, uri: str, progress: Progress | None = None) -> None:
        """Write a file, unless one is there.

        Raises:
            PaiError: as `put`.
        """
        with contextlib.suppress(NotFound), self.open(*self.split(uri)):
            return
        self.put(source, uri, overwrite=True, progress=progress)

    @abstractmethod
    def delete(self, uri: str) -> int:
        """Delete a file, or a folder recursively. Returns the number of deleted files.

        Raises:
            NotFound: if it does not exist.
            Conflict: if it is a folder and the URI has no trailing slash, or it is a root.
        """

    @abstractmethod
    def make_folder(self, uri: str) -> None:
        """Create a folder and its parents. Does nothing if it exists.

        Raises:
            Conflict: if a file has its name.
        """

    def move(self, uri: str, target: str, *, progress: Progress | None = None) -> int:
        """Move a file, or a folder recursively, within this storage. Returns the number of moved files.

        Both URIs of a folder end with a slash.

        Raises:
            NotFound: if it does not exist.
            Conflict: if the target exists or lies inside the folder, if it is a folder and the URI has no trailing
                slash, or if it is a root.
            EngineError: if it fails. The source is unchanged then.
        """
        self._check_move(uri, target)
        return self._move(uri, target, progress)

    def _check_move(self, uri: str, target: str) -> None:
        there = self.stat(uri)
        if there is None:
            raise NotFound(_("There is nothing at {uri}.").format(uri=uri), fix=_("List the folder: %pai ls URI"))
        if there.is_folder and not uri.endswith("/"):
            raise Conflict(
                _("{path} is a folder.").format(path=uri), fix=_("To include its contents: {path}/").format(path=uri)
            )
        if not self.split(uri)[1]:
            raise Conflict(
                _("Cannot move the root of a storage ({path}).").format(path=uri), fix=_("Name a folder inside it.")
            )
        if there.is_folder and target.startswith(uri):
            raise Conflict(_("Cannot move {uri} into itself.").format(uri=uri), fix=_("Choose another location."))
        if self.stat(target.rstrip("/")):
            name = self.split(target)[1]
            raise Conflict(_("{file} already exists.").format(file=target), fix=_("Choose another name."), files=[name])

    def _move(self, uri: str, target: str, progress: Progress | None) -> int:
        """Copy through this machine, then delete. Overridden by storages with a direct way."""
        files = self.list(uri) if uri.endswith("/") else []
        if bad := [file for file in files if file.problem]:
            raise Conflict(
                _("`{path}` cannot be read: {why}.").format(path=bad[0].path, why=bad[0].problem),
                fix=_("Remove or repair it."),
            )
        here, there = _half(progress, 0), _half(progress, 1)
        with tempfile.TemporaryDirectory(prefix="jupyter-pai-move-") as name, on_failure(lambda: self._undo(target)):
            if uri.endswith("/"):
                self.make_folder(target)
                self.get_tree(uri, Path(name), progress=here)
                self.put_tree(Path(name), target, progress=there)
            else:
                folder, path = self.split(uri)
                self.get_tree(folder, Path(name), [path], progress=here)
                self.put(Path(name, path), target, progress=there)
        return max(self.delete(uri), len(files))

    def _undo(self, target: str) -> None:
        with contextlib.suppress(PaiError):
            self.delete(target)

    def put_tree(
        self,
        folder: Path,
        uri: str,
        files: Sequence[str] | None = None,
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Upload the files of a local folder, all or those with the given paths. Returns their number. Symbolic links
        are followed.

        Raises:
            Conflict: if files exist and `overwrite` is not set. Nothing is written then.
            BadInput: if a file cannot be read.
            EngineError: if a file cannot be written. Earlier files remain.
        """
        chosen = None if files is None else {*files}
        selected = [one for one in walk(folder) if chosen is None or one[0] in chosen]
        if not overwrite:
            self.check_free(uri, [path for path, _size in selected])
        self._send(folder, selected, uri, overwrite, progress)
        return len(selected)

    def _send(
        self, folder: Path, files: Sequence[tuple[str, int]], uri: str, overwrite: bool, progress: Progress | None
    ) -> None:
        """Upload files one by one. Overridden by remote storages to upload in parallel."""
        whole, before = sum(size for _path, size in files), 0
        for path, size in files:
            shifted = progress and partial(_report, progress, before, whole)
            self.put(folder / path, self.join(uri, path), overwrite=overwrite, progress=shifted)
            before += size

    def check_free(self, uri: str, paths: Sequence[str]) -> None:
        """Check that files with these paths do not exist below a folder.

        Raises:
            Conflict: if some do.
        """
        if len(paths) <= _FEW:
            there = {path for path in paths if self.stat(self.join(uri, path))}
        else:
            there = {file.path for file in self.list(uri)}
        if names := [path for path in paths if path in there]:
            raise Conflict(
                _("Files with these names already exist in {folder}: {names}.").format(
                    folder=uri, names=", ".join(names[:5])
                ),
                fix=_("Choose another folder, or overwrite them with --overwrite."),
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
        """Download the files below a folder, all readable ones or those with the given paths. Returns their number.
        They appear together when all are complete.

        Raises:
            NotFound: if a file does not exist.
            Conflict: if files exist and `overwrite` is not set. Nothing is copied then.
            EngineError: if they cannot be written. Nothing remains then.
        """
        selected = self.chosen(uri, files)
        check_targets(folder, [file.path for file in selected], overwrite=overwrite)
        with Staging(folder) as staging:
            self._fill(uri, selected, staging, progress)
            staging.publish(overwrite=overwrite)
        return len(selected)

    def _fill(self, uri: str, files: Sequence[File], staging: Staging, progress: Progress | None) -> None:
        """Download files into a staging folder, one by one. Overridden by remote storages to download in parallel."""
        done, whole = 0, sum(file.size for file in files)
        for file in files:
            if file.link:
                staging.link(file.path, file.link)
                continue
            with self.open(uri, file.path) as source:
                for piece in staging.write(file.path, _pieces(source), source.file.modified, source.mode):
                    done += piece
                    if progress:
                        progress(done, max(whole, done))

    def chosen(self, uri: str, files: Sequence[str] | None = None) -> Sequence[File]:
        """Return the files with these paths, or all readable files and links to folders.

        Raises:
            NotFound: if a file does not exist or cannot be read.
        """
        there = {file.path: file for file in self.list(uri)}
        if files is None:
            return [file for file in there.values() if file.link or not file.problem]
        for path in files:
            if path not in there:
                raise NotFound(_("File not found: `{path}`.").format(path=path))
            if there[path].problem:
                raise NotFound(
                    _("`{path}` cannot be read: {why}.").format(path=path, why=there[path].problem),
                    fix=_("Choose other files."),
                )
        return [there[path] for path in dict.fromkeys(files)]


def check_names(uri: str, path: str) -> None:
    """Check that a path in a URI has only names that no server or library changes.

    Raises:
        BadInput: if a name is empty, ``.`` or ``..``, or has a NUL character.
    """
    if path and ("\0" in path or {"", ".", ".."} & {*path.split("/")}):
        raise BadInput(
            _("`{uri}` contains an empty name, `.`, `..` or NUL.").format(uri=uri if uri.isprintable() else ascii(uri)),
            fix=_("Pass the URI of the file itself: folder/file."),
        )


def _report(progress: Progress, before: int, whole: int, done: int, _size: int) -> None:
    """Report the progress of one of several files."""
    progress(before + done, max(whole, before + done))


def _half(progress: Progress | None, before: int) -> Progress | None:
    """Return the progress callback for the first or second half of a copy."""
    return progress and (lambda done, whole: progress((before * whole + done) // 2, whole))


def _pieces(source: OpenFile) -> Iterator[bytes]:
    """Yield the contents of a file as of its opening."""
    offset = 0
    while offset < source.file.size:
        data = source.read(offset, min(_PIECE, source.file.size - offset))
        if not data:
            raise EngineError(
                _("{file} was truncated while it was read.").format(file=source.file.path), fix=_("Try again.")
            )
        offset += len(data)
        yield data
