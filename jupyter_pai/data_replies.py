"""What the verbs about data answer."""

from __future__ import annotations

from .reply import Reply

__all__ = ["DataFolder", "DataSize", "MadeFolder"]


class DataEntry(Reply):
    """A file, or a folder, whose path ends with a slash. `modified` is in seconds since 1970, 0 where nobody tells.
    `problem` says why it cannot be read; empty if it can."""

    path: str
    uri: str
    bytes: int
    modified: float
    is_folder: bool
    problem: str


class DataFolder(Reply):
    """What is in a folder, by paths below `uri`; `more`: there is more after the last of them."""

    uri: str
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
