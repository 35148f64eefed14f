"""Data in storages, by their URIs: what is there, and copies there, back and away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.errors import BadInput, NotFound, Unsupported, UsageError
from ...core.i18n import _
from ...storage.base import Progress, Storage
from ...storage.walk import read_error, walk
from .transfers import Copy, Plan, plan_get

__all__ = ["describe", "measure", "place_below", "plan_data_get", "plan_move", "plan_put", "plan_remove"]


def describe(storage: Storage, uri: str, after: str, most: int, *, recursive: bool) -> dict[str, Any]:
    """What a URI means, as `data_replies.DataFolder` has it. May block.

    Raises:
        NotFound: if there is nothing.
    """
    there = storage.stat(uri)
    if there is None:
        raise _nothing(uri)
    if not there.is_folder:
        found, more = [there], False
    elif recursive:
        below = [file for file in storage.list(_folder(storage, uri)) if file.path > after]
        found, more = below[:most], len(below) > most
    else:
        found = storage.entries(_folder(storage, uri), after, most + 1)
        found, more = found[:most], len(found) > most
    top = _folder(storage, uri) if there.is_folder else storage.split(uri)[0]
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
            for file in found
        ],
        "more": more,
    }


def _parents(storage: Storage, uri: str) -> list[dict[str, str]]:
    """The folders above one, from the top of all down to itself."""
    found: list[dict[str, str]] = []
    while True:
        above, name = storage.split(uri)
        found.insert(0, {"name": name.rstrip("/") or uri, "uri": uri})
        if not name or above == uri:
            return found
        uri = above


def place_below(storage: Storage, uri: str, path: str) -> str:
    """The URI of a path below a folder's, as it is called.

    Raises:
        BadInput: if it would be elsewhere.
    """
    if not path:
        return uri
    if "\0" in path or any(part in ("", ".", "..") for part in path.removesuffix("/").split("/")):
        raise BadInput(_("`{path}` cannot be the path of a file.").format(path=path), fix=_("Write it so: folder/file"))
    return storage.join(_folder(storage, uri), path)


def measure(storage: Storage, uri: str) -> dict[str, Any]:
    """How many files a URI means, and their bytes. May block.

    Raises:
        NotFound: if there is nothing.
    """
    there = storage.stat(uri)
    if there is None:
        raise _nothing(uri)
    files = storage.list(_folder(storage, uri)) if there.is_folder else [there]
    return {
        "uri": _folder(storage, uri) if there.is_folder else uri,
        "is_folder": there.is_folder,
        "files": len(files),
        "bytes": sum(file.size for file in files),
    }


def plan_data_get(storage: Storage, *, uri: str, path: Path, overwrite: bool) -> Plan:
    """A copy into a folder: of a file, under its name, or of all that is in a folder.

    Raises:
        NotFound: if there is nothing.
        Conflict: if files are in the folder already.
    """
    there = storage.stat(uri)
    if there is None:
        raise _nothing(uri)
    if there.is_folder:
        return plan_get(storage, _folder(storage, uri), path, None, overwrite=overwrite, nothing=_nothing(uri))
    top, name = storage.split(uri)
    return plan_get(storage, top, path, [name], overwrite=overwrite, nothing=_nothing(uri))


def plan_put(storage: Storage, *, uri: str, path: Path, overwrite: bool) -> Plan:
    """A copy of a local file, under a URI or into the folder that it means; or of all that is in a local folder.

    Raises:
        BadInput: if it cannot be read.
        Conflict: if there is a file already.
    """
    if path.is_dir():
        target = _folder(storage, uri)
        files = walk(path)
        if not overwrite:
            storage.check_free(target, [name for name, _bytes in files])
        copy = Copy("put", target, str(path), len(files), sum(size for _path, size in files))
        return Plan(copy, lambda tell: storage.put_tree(path, target, overwrite=overwrite, progress=tell))
    there = storage.stat(uri)
    target = storage.join(_folder(storage, uri), path.name) if uri.endswith("/") or (there and there.is_folder) else uri
    if not overwrite:
        folder, name = storage.split(target)
        storage.check_free(folder, [name])
    copy = Copy("put", target, str(path), 1, _size(path))

    def work(tell: Progress) -> int:
        storage.put(path, target, overwrite=overwrite, progress=tell)
        return 1

    return Plan(copy, work)


def plan_remove(storage: Storage, uri: str) -> Plan:
    """The removal of a file, or of a folder if the URI ends with a slash."""
    return Plan(Copy("remove", uri, "", 0, 0), lambda tell: storage.delete(uri))


def plan_move(storage: Storage, uri: str, name: str, to: str) -> Plan:
    """A file or folder gets another name where it is, or another URI of the same storage. May block.

    Raises:
        UsageError: if neither is given, or both are.
        BadInput: if it can have no such name.
        Unsupported: if it would be in another storage.
    """
    if bool(name) == bool(to):
        raise UsageError(_("Give its new name, or its new URI."))
    is_folder = uri.endswith("/")
    if name and "/" in name:
        raise BadInput(_("`{name}` cannot be a name: it has a slash.").format(name=name), fix=_("Choose another name."))
    if name:
        target = place_below(storage, storage.split(uri)[0], name)
    elif to.partition("://")[0].lower() != storage.scheme:
        raise Unsupported(
            _("{uri} and {target} are not in one storage.").format(uri=uri, target=to),
            fix=_("Copy it by way of this machine: %pai get, %pai put; then remove it."),
        )
    else:
        target = to if is_folder or not to.endswith("/") else storage.join(to, storage.split(uri)[1])
    if is_folder:
        target = _folder(storage, target)
    copy = Copy("move", uri, target, 0, 0)
    return Plan(copy, lambda tell: storage.move(uri, target, progress=tell))


def _folder(storage: Storage, uri: str) -> str:
    """The URI as a folder's."""
    return storage.join(uri, "")


def _size(source: Path) -> int:
    try:
        return source.stat().st_size
    except OSError as error:
        raise read_error(source, error.strerror or str(error)) from None


def _nothing(uri: str) -> NotFound:
    return NotFound(_("There is nothing at {uri}.").format(uri=uri), fix=_("See what there is: %pai ls URI"))
