"""FileNotes: what is known of a folder's files from the last time that it was packed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from hashlib import sha256
from pathlib import Path

from ..core.filesystem import replace_file
from . import secret_patterns as key_forms
from .archive import Content, Entry
from .secret_scan import Leak

__all__ = ["FileMemory", "FileNotes"]

# A file that was written this shortly before it was noted may be written again without a change of its times.
_RACY_NS = 2_000_000_000


class FileNotes:
    """Of each file size, times and inode, and the content that went with them: its SHA-256, and the keys that were
    found in it. A file whose change time is unchanged has unchanged content; setting the modification time back moves
    it. Which keys may be packed is not noted: that is asked anew each time."""

    def __init__(self, sources: Path, folder: str) -> None:
        name = sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self.path = sources / f"{name}.json"
        self.began = time.time_ns()
        self.unchanged = 0
        try:
            noted = json.loads(self.path.read_bytes())
            self.time, self.files = int(noted["time"]), dict(noted["files"])
            if noted["rules"] != key_forms.VERSION:
                self.files = {}
        except (OSError, ValueError, KeyError, TypeError):
            self.time, self.files = 0, {}

    def known(self, entries: Sequence[Entry]) -> dict[str, Content]:
        """The content of the files that have not changed, by path."""
        found = {}
        for entry in entries:
            noted = self.files.get(entry.path)
            if noted and entry.stat and tuple(noted[0]) == entry.stat and entry.stat[2] < self.time - _RACY_NS:
                found[entry.path] = Content(
                    noted[1], tuple(Leak(*leak) for leak in noted[2:]) if len(noted) > 2 else ()
                )
        self.unchanged = len(found)
        return found

    def keep(self, entries: Sequence[Entry], contents: Mapping[str, Content]) -> None:
        """Note what was seen, if it is more than `known` knew."""
        seen = [entry for entry in entries if entry.stat and entry.path in contents]
        if self.unchanged == len(seen) == len(self.files):
            return
        files = {entry.path: [entry.stat, *_plain(contents[entry.path])] for entry in seen}
        with replace_file(self.path) as target:
            target.write(json.dumps({"time": self.began, "rules": key_forms.VERSION, "files": files}))


class FileMemory:
    """What was seen of files that were looked through and not packed, for as long as the process lives: whoever fills
    in a form looks at the same folder again and again."""

    def __init__(self, most: int = 100_000) -> None:
        self._most = most
        self._seen: dict[str, tuple[tuple[int, int, int, int], int, Content]] = {}

    def known(self, entries: Sequence[Entry]) -> dict[str, Content]:
        """The content of the files that have not changed, by path."""
        found = {}
        for entry in entries:
            stat, began, content = self._seen.get(entry.file, (None, 0, None))
            if content and stat == entry.stat and entry.stat and entry.stat[2] < began - _RACY_NS:
                found[entry.path] = content
        return found

    def keep(self, entries: Sequence[Entry], contents: Mapping[str, Content], began: int) -> None:
        """Note what was seen, from the moment `began` on, in nanoseconds."""
        if len(self._seen) + len(contents) > self._most:
            self._seen.clear()
        self._seen |= {
            entry.file: (entry.stat, began, contents[entry.path])
            for entry in entries
            if entry.stat and entry.path in contents
        }


def _plain(content: Content) -> list[object]:
    return [content.sha256, *map(astuple, content.leaks)]
