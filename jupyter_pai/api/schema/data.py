"""What the verbs about data answer."""

from __future__ import annotations

from .base import Reply

__all__ = ["DataFolder", "DataSize", "MadeFolder", "Storages"]


class DataEntry(Reply):
    """A file, or a folder, whose path ends with a slash. `modified` is in seconds since 1970, 0 where nobody tells.
    `problem` says why it cannot be read; empty if it can."""

    path: str
    uri: str
    bytes: int
    modified: float
    is_folder: bool
    problem: str


class DataParent(Reply):
    """A folder above another, or that itself."""

    name: str
    uri: str


class DataFolder(Reply):
    """What is in a folder, by paths below `uri`; `more`: there is more after the last of them. `parents` are the
    folders that lead there, from the top of all down to itself."""

    uri: str
    parents: list[DataParent]
    entries: list[DataEntry]
    more: bool


class DataSize(Reply):
    """How many files a URI means, and their bytes. `uri` ends with a slash if it is a folder's."""

    uri: str
    is_folder: bool
    files: int
    bytes: int


class MadeFolder(Reply):
    uri: str


class StorageRoot(Reply):
    """Where one can begin to look in a storage: in the folder `uri`, with the account of `profile`, empty where none is
    needed. Where that cannot be said now, `uri` is empty, and `problem` and `fix` say why and what to do."""

    uri: str
    title: str
    profile: str
    scheme: str
    writable: bool
    problem: str
    fix: str


class Storages(Reply):
    storages: list[StorageRoot]
