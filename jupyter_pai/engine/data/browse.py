"""Data in storages: lists, sizes, and plans of transfers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.errors import BadInput, NotFound, Unsupported, UsageError
from ...core.i18n import _
from ...storage.base import File, Progress, Storage
from ...storage.staging import read_errors, walk
from .transfers import Transfer, plan_download


def describe(storage: Storage, uri: str, after: str, most: int, *, recursive: bool) -> dict[str, Any]:
    """Return a page of the files and folders at a URI, as JSON (`DataFolder`). May block.

    Raises:
        NotFound: if the URI does not exist.
    """
    entry = _stat(storage, uri)
    top = _folder(storage, uri) if entry.is_folder else storage.split(uri)[0]
    if not entry.is_folder:
        files = [entry]
    elif recursive:
        files = [file for file in storage.list(top) if file.path > after]
    else:
        files = storage.entries(top, after, most + 1)
    return {
        "uri": top,
        "parents": _parents(storage, top),
        "entries": [
            {
                "path": file.path,
                "uri": storage.join(top, file.path),
                "bytes": file.size,
                "modified": file.modified,
                "is_folder": file.is_folder,
                "problem": file.problem,
            }
            for file in files[:most]
        ],
        "more": len(files) > most,
    }


def _parents(storage: Storage, uri: str) -> list[dict[str, str]]:
    """Return the parent folders of a URI, from the root down to the folder itself."""
    parents: list[dict[str, str]] = []
    while True:
        above, name = storage.split(uri)
        parents.insert(0, {"name": name.rstrip("/") or uri, "uri": uri})
        if not name or above == uri:
            return parents
        uri = above


def place_below(storage: Storage, uri: str, path: str) -> str:
    """Return the URI of a path inside a folder. The path is plain text, not percent-encoded.

    Raises:
        BadInput: if the path leaves the folder.
    """
    if not path:
        return uri
    if "\0" in path or any(part in ("", ".", "..") for part in path.removesuffix("/").split("/")):
        raise BadInput(_("`{path}` cannot be the path of a file.").format(path=path), fix=_("Use folder/file."))
    return storage.join(_folder(storage, uri), path)


def measure(storage: Storage, uri: str) -> dict[str, Any]:
    """Return the number of files at a URI and their total bytes. May block.

    Raises:
        NotFound: if the URI does not exist.
    """
    entry = _stat(storage, uri)
    uri = _folder(storage, uri) if entry.is_folder else uri
    files = storage.list(uri) if entry.is_folder else [entry]
    return {
        "uri": uri,
        "is_folder": entry.is_folder,
        "files": len(files),
        "bytes": sum(file.size for file in files),
    }


def plan_data_get(storage: Storage, *, uri: str, path: Path, overwrite: bool) -> Transfer:
    """Plan a download into a folder: of a file under its name, or of the content of a folder.

    Raises:
        NotFound: if the URI does not exist.
        Conflict: if files exist in the target folder.
    """
    is_folder = _stat(storage, uri).is_folder
    top, name = (_folder(storage, uri), "") if is_folder else storage.split(uri)
    return plan_download(storage, top, path, [name] if name else None, overwrite=overwrite, nothing=_missing(uri))


def plan_put(storage: Storage, *, uri: str, path: Path, overwrite: bool) -> Transfer:
    """Plan an upload: of a local file to a URI or into the folder of that URI, or of the content of a local folder.

    Raises:
        BadInput: if it cannot be read.
        Conflict: if a target file exists.
    """
    if path.is_dir():
        target = _folder(storage, uri)
        files = walk(path)
        if not overwrite:
            storage.check_free(target, [name for name, _bytes in files])
        return Transfer(
            "put",
            target,
            str(path),
            files=len(files),
            bytes=sum(size for _path, size in files),
            work=lambda progress: storage.put_tree(path, target, overwrite=overwrite, progress=progress),
        )
    entry = storage.stat(uri)
    target = storage.join(_folder(storage, uri), path.name) if uri.endswith("/") or (entry and entry.is_folder) else uri
    if not overwrite:
        folder, name = storage.split(target)
        storage.check_free(folder, [name])

    def work(progress: Progress) -> int:
        storage.put(path, target, overwrite=overwrite, progress=progress)
        return 1

    with read_errors(path):
        size = path.stat().st_size
    return Transfer("put", target, str(path), 1, size, work)


def plan_remove(storage: Storage, uri: str) -> Transfer:
    """Plan the removal of a file, or of a folder if the URI ends with a slash."""
    return Transfer("remove", uri, "", 0, 0, lambda _progress: storage.delete(uri))


def plan_move(storage: Storage, uri: str, name: str, to: str) -> Transfer:
    """Plan to rename a file or folder (`name`), or to move it to another URI of the same storage (`to`). May block.

    Raises:
        UsageError: if neither or both are given.
        BadInput: if the name is invalid.
        Unsupported: if the target is in another storage.
    """
    if bool(name) == bool(to):
        raise UsageError(_("Give either a new name or a new URI."))
    is_folder = uri.endswith("/")
    if name and "/" in name:
        raise BadInput(_("Invalid name `{name}`: it has a slash.").format(name=name), fix=_("Choose another name."))
    if name:
        target = place_below(storage, storage.split(uri)[0], name)
    elif to.partition("://")[0].lower() != storage.scheme:
        raise Unsupported(
            _("{uri} and {target} are in different storages.").format(uri=uri, target=to),
            fix=_("Copy it by way of this machine: %pai get, %pai put; then remove it."),
        )
    else:
        target = to if is_folder or not to.endswith("/") else storage.join(to, storage.split(uri)[1])
    if is_folder:
        target = _folder(storage, target)
    return Transfer("move", uri, target, 0, 0, lambda progress: storage.move(uri, target, progress=progress))


def _folder(storage: Storage, uri: str) -> str:
    """Return the URI with a slash at its end."""
    return storage.join(uri, "")


def _stat(storage: Storage, uri: str) -> File:
    entry = storage.stat(uri)
    if entry is None:
        raise _missing(uri)
    return entry


def _missing(uri: str) -> NotFound:
    return NotFound(_("{uri} does not exist.").format(uri=uri), fix=_("List the files: %pai ls URI"))
