"""Data in storages: lists, sizes, and plans of transfers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...core import contract
from ...core.errors import BadInput, NotFound, UsageError
from ...core.i18n import _
from ...storage.base import File, Progress
from ...storage.staging import read_errors, walk
from .storages import Location
from .transfers import Transfer, plan_download


def describe(
    location: Location, after: str, most: int, *, recursive: bool, shows: Callable[[Path | None], bool] | None = None
) -> dict[str, Any]:
    """Return a page of the files and folders at a location, as JSON (`DataFolder`), without those on this machine that
    `shows` rejects by their path. May block.

    Raises:
        NotFound: if nothing is there.
    """
    entry, storage = _stat(location), location.storage
    top = location.folder if entry.is_folder else location.split()[0]
    if not entry.is_folder:
        files = [entry]
    elif recursive:
        files = [file for file in storage.list(top.uri) if file.path > after]
    else:
        files = storage.entries(top.uri, after, most + 1)
    places = [(file, top.join(file.path)) for file in files[:most]]
    return {
        "uri": top.uri,
        "parents": _parents(top),
        "entries": [
            {
                "path": file.path,
                "uri": place.uri,
                "bytes": file.size,
                "modified": file.modified,
                "is_folder": file.is_folder,
                "problem": file.problem,
            }
            for file, place in places
            if shows is None or shows(place.path)
        ],
        "more": len(files) > most,
    }


def _parents(folder: Location) -> list[dict[str, str]]:
    """Return the folders above a folder, from the root down to the folder itself."""
    parents: list[dict[str, str]] = []
    while True:
        above, name = folder.split()
        parents.insert(0, {"name": name.rstrip("/") or folder.uri, "uri": folder.uri})
        if not name or above == folder:
            return parents
        folder = above


def place_below(location: Location, path: str) -> Location:
    """Return the location of a path inside a folder. The path is plain text, not percent-encoded.

    Raises:
        BadInput: if the path leaves the folder.
    """
    if not path:
        return location
    if "\0" in path or any(part in ("", ".", "..") for part in path.removesuffix("/").split("/")):
        raise BadInput(_("`{path}` cannot be the path of a file.").format(path=path), fix=_("Use folder/file."))
    return location.join(path)


def new_place(location: Location, path: str) -> Location:
    """Return the location of a new file or folder inside a folder.

    Raises:
        BadInput: if the path leaves the folder, or has control characters.
    """
    if bad := contract.misleading(path):
        raise BadInput(
            _("Invalid name `{name}`: it has the control character {character}.").format(name=path, character=bad),
            fix=_("Choose another name."),
        )
    return place_below(location, path)


def measure(location: Location) -> dict[str, Any]:
    """Return the number of files at a location and their total bytes. May block.

    Raises:
        NotFound: if nothing is there.
    """
    entry = _stat(location)
    location = location.folder if entry.is_folder else location
    files = location.storage.list(location.uri) if entry.is_folder else [entry]
    return {
        "uri": location.uri,
        "is_folder": entry.is_folder,
        "files": len(files),
        "bytes": sum(file.size for file in files),
    }


def plan_data_get(location: Location, *, path: Path, overwrite: bool) -> Transfer:
    """Plan a download into a folder: of a file under its name, or of the content of a folder.

    Raises:
        NotFound: if nothing is there.
        Conflict: if files exist in the target folder.
    """
    top, name = (location.folder, "") if _stat(location).is_folder else location.split()
    return plan_download(top, path, [name] if name else None, overwrite=overwrite, nothing=_missing(location))


def plan_put(location: Location, *, path: Path, overwrite: bool) -> Transfer:
    """Plan an upload: of a local file to a location or into that folder, or of the content of a local folder.

    Raises:
        BadInput: if it cannot be read.
        Conflict: if a target file exists.
    """
    storage = location.storage
    if path.is_dir():
        target = location.folder
        files = walk(path)
        if not overwrite:
            storage.check_free(target.uri, [name for name, _bytes in files])
        return Transfer(
            "put",
            target.uri,
            str(path),
            files=len(files),
            bytes=sum(size for _path, size in files),
            work=lambda progress: storage.put_tree(path, target.uri, overwrite=overwrite, progress=progress),
        )
    entry = storage.stat(location.uri)
    target = location.join(path.name) if location.is_folder or (entry and entry.is_folder) else location
    if not overwrite:
        folder, name = target.split()
        storage.check_free(folder.uri, [name])

    def work(progress: Progress) -> int:
        storage.put(path, target.uri, overwrite=overwrite, progress=progress)
        return 1

    with read_errors(path):
        size = path.stat().st_size
    return Transfer("put", target.uri, str(path), 1, size, work)


def plan_remove(location: Location) -> Transfer:
    """Plan the removal of a file, or of a folder if the URI ends with a slash."""
    return Transfer("remove", location.uri, "", 0, 0, lambda _progress: location.storage.delete(location.uri))


def plan_move(location: Location, name: str, to: Location | None) -> Transfer:
    """Plan to rename a file or folder (`name`), or to move it to another place in the same storage (`to`). May block.

    Raises:
        UsageError: if neither or both are given.
        BadInput: if the name is invalid.
    """
    if bool(name) == (to is not None):
        raise UsageError(_("Give either a new name or a new URI."))
    if name and "/" in name:
        raise BadInput(_("Invalid name `{name}`: it has a slash.").format(name=name), fix=_("Choose another name."))
    if to is None:
        target = new_place(location.split()[0], name)
    else:
        target = to if location.is_folder or not to.is_folder else to.join(location.split()[1])
    goal = (target.folder if location.is_folder else target).uri
    move = location.storage.move
    return Transfer("move", location.uri, goal, 0, 0, lambda progress: move(location.uri, goal, progress=progress))


def _stat(location: Location) -> File:
    entry = location.storage.stat(location.uri)
    if entry is None:
        raise _missing(location)
    return entry


def _missing(location: Location) -> NotFound:
    return NotFound(_("{uri} does not exist.").format(uri=location.uri), fix=_("List the files: %pai ls URI"))
