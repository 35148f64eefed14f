"""Caches of file contents: on disk after packing, in memory after inspection."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from hashlib import sha256
from pathlib import Path

from ..core.errors import DAMAGED
from ..core.filesystem import replace_file
from . import secret_rules
from .archive import Content, Entry
from .secret_scan import Leak

# A file changed this shortly before it was read may change again with the same times.
_RACY_NS = 2_000_000_000


class FileNotes:
    """Size, times, inode and content of each file of a folder, from the last time it was packed.

    A file with an unchanged ctime has unchanged content; resetting the mtime changes the ctime. Allowed secrets are not
    stored: they are checked each time.
    """

    def __init__(self, sources: Path, folder: str) -> None:
        self.path = sources / f"{sha256(folder.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"
        self.began = time.time_ns()
        self.unchanged = 0
        try:
            noted = json.loads(self.path.read_bytes())
            self.time, self.files = int(noted["time"]), dict(noted["files"])
            if noted["rules"] != secret_rules.VERSION:
                self.files = {}
        except DAMAGED:
            self.time, self.files = 0, {}

    def known(self, entries: Sequence[Entry]) -> dict[str, Content]:
        """Return the content of unchanged files by path."""
        contents = {}
        for entry in entries:
            stat, digest, *leaks = self.files.get(entry.path, ((), ""))
            if entry.stat and tuple(stat) == entry.stat and entry.stat[2] < self.time - _RACY_NS:
                contents[entry.path] = Content(digest, tuple(Leak(*leak) for leak in leaks))
        self.unchanged = len(contents)
        return contents

    def keep(self, entries: Sequence[Entry], contents: Mapping[str, Content]) -> None:
        """Store the contents, unless nothing changed."""
        seen = [entry for entry in entries if entry.stat and entry.path in contents]
        if self.unchanged == len(seen) == len(self.files):
            return
        files = {
            entry.path: [entry.stat, contents[entry.path].sha256, *map(astuple, contents[entry.path].leaks)]
            for entry in seen
        }
        with replace_file(self.path) as target:
            target.write(json.dumps({"time": self.began, "rules": secret_rules.VERSION, "files": files}))


class FileMemory:
    """Contents of inspected files that were not packed, for the life of the process: a form inspects the same folder
    repeatedly."""

    def __init__(self, limit: int = 100_000) -> None:
        self._limit = limit
        self._seen: dict[str, tuple[tuple[int, int, int, int], int, Content]] = {}

    def known(self, entries: Sequence[Entry]) -> dict[str, Content]:
        """Return the content of unchanged files by path."""
        contents = {}
        for entry in entries:
            stat, began, content = self._seen.get(entry.file, (None, 0, None))
            if content and stat == entry.stat and entry.stat and entry.stat[2] < began - _RACY_NS:
                contents[entry.path] = content
        return contents

    def keep(self, entries: Sequence[Entry], contents: Mapping[str, Content], began: int) -> None:
        """Store contents that were read after `began`, in nanoseconds since 1970."""
        if len(self._seen) + len(contents) > self._limit:
            self._seen.clear()
        self._seen |= {
            entry.file: (entry.stat, began, contents[entry.path])
            for entry in entries
            if entry.stat and entry.path in contents
        }
