"""Points and texts out of the event files that a job writes for TensorBoard, while it writes them.

A metric is called after its tag; a file in a folder of its own (a "run") gives ``run/tag``. Files that an earlier job
left in the same folder are told by their first event, which says when its writer was opened: before this job was
submitted, so they are not this job's. What a file says after a record that is damaged is not read.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from ....core.i18n import _
from ..series import Cursor, Piece, SeriesWriter
from ..source import MetricSource
from .protobuf import read_record

__all__ = ["EventFileSource"]

_ORIGIN = "tensorboard"
_CHUNK = 1 << 20
# What one call reads at most, so that no job holds up the others, and how large a record may be to be looked into.
_TURN = 8 << 20
_LARGEST_RECORD = 32 << 20
# Seconds between two looks; and how coarse the times of files may be.
_EVERY = 1.0
_CLOCK = 2.0
_MOST_FILES = _MOST_FOLDERS = 500
_MOST_ENTRIES = 20_000
_LONGEST_NAME, _LONGEST_TEXT = 1_000, 16_384


@dataclass
class _File:
    """An event file: where it lies, the run it belongs to, and how large it was when it was looked at last."""

    path: Path
    run: str
    seen: int = 0
    note: str = ""


class EventFileSource(MetricSource):
    """Reads every event file below a folder. Keys of the cursor are ``tensorboard/`` and the path below it.

    Links are not followed. `since`: when the job was submitted, in seconds since 1970.
    """

    def __init__(self, folder: Path, since: float) -> None:
        self.folder = folder
        self.since = since
        self._files: dict[str, _File] = {}
        self._folders: dict[Path, int] = {}
        self._earlier: dict[Path, int] = {}
        self._behind = True
        self._next_look = 0.0
        self._too_many = ""

    def has_news(self, cursor: Cursor) -> bool:
        """Once a second: a folder that changed, or a file that grew, since it was looked at."""
        if self._behind:
            return True
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + _EVERY
        return self._folders_changed() or any(_size(file.path) != file.seen for file in self._files.values())

    def advance(self, writer: SeriesWriter, *, ended: bool) -> bool:
        """To the end of each file's last whole record; in turns of some MiB."""
        self._next_look = time.monotonic() + _EVERY
        if ended or not self._folders or self._folders_changed():
            self._search()
        left, self._behind = _TURN, False
        for key, file in self._files.items():
            size = _size(file.path)
            while not file.note and (piece := self._piece(key, file, writer.at, size)):
                left -= piece.end - writer.at.offsets.get(key, 0)
                writer.append(piece)
                if left <= 0:
                    self._behind = True
                    return False
            file.seen = size
        return True

    def notes(self) -> list[str]:
        return [*filter(None, [self._too_many]), *(file.note for file in self._files.values() if file.note)]

    # Finding files.

    def _folders_changed(self) -> bool:
        return any(_mtime(folder) != known for folder, known in self._folders.items())

    def _search(self) -> None:
        """Find the files of this job, those nearest to the top first. Of a folder that changed just now nothing is
        known for sure: a file may yet come with the same time."""
        self._folders = {}
        entries = 0
        ahead = deque([self.folder])
        while ahead and len(self._folders) < _MOST_FOLDERS and entries < _MOST_ENTRIES:
            folder = ahead.popleft()
            changed = _mtime(folder)
            self._folders[folder] = changed if time.time_ns() - changed > _CLOCK * 1e9 else -1
            try:
                with os.scandir(folder) as found:
                    inside = sorted(found, key=lambda entry: entry.name)
            except OSError:
                continue  # Not there yet, or not for us.
            entries += len(inside)
            ahead += [Path(entry.path) for entry in inside if entry.is_dir(follow_symlinks=False)]
            for entry in inside:
                if "tfevents" in entry.name and entry.is_file(follow_symlinks=False):
                    self._add(Path(entry.path))
        if ahead:
            self._too_many = _("{folder} has too many folders or files: not all were searched for event files.").format(
                folder=self.folder
            )

    def _add(self, path: Path) -> None:
        below = path.relative_to(self.folder)
        key = f"{_ORIGIN}/{below}"
        changed = _mtime(path)
        # An earlier job's is looked at again when it changed: this one may have overwritten it.
        if key in self._files or self._earlier.get(path) == changed:
            return
        try:
            opened = self._opened(path)
        except OSError:
            return  # Not for us, or gone.
        if opened is None:
            self._folders[path.parent] = -1  # Nothing is in it yet: look again.
        elif opened < self.since:
            self._earlier[path] = changed
        elif len(self._files) < _MOST_FILES:
            run = below.parent.as_posix() if below.parent != Path() else ""
            self._files[key] = _File(path, os.fsencode(run).decode("utf-8", "replace"))
        else:
            self._too_many = _("There are more than {n} event files; the others were not read.").format(n=_MOST_FILES)

    def _opened(self, path: Path) -> float | None:
        """When the writer of a file was opened, by its first event; by the file's own time if that does not tell. None
        if there is no whole event yet."""
        from .columns import HEADER, read_records

        found = path.stat()
        if found.st_mtime < self.since - _CLOCK:
            return found.st_mtime
        head = _read(path, 0, 4096)
        needs = read_records(head[:HEADER]).needs
        if len(head) < min(max(needs, HEADER), 4096):
            return None
        try:
            return read_record(head[HEADER : needs - 4]).time or found.st_mtime
        except ValueError:
            return found.st_mtime

    # Reading one.

    def _piece(self, key: str, file: _File, cursor: Cursor, size: int) -> Piece | None:
        """The next stretch of a file; None if there is nothing more yet."""
        from .columns import read_records

        start = cursor.offsets.get(key, 0)
        if size <= start:
            return None
        try:
            found = read_records(_read(file.path, start, _CHUNK))
            if not found.end and _CHUNK < found.needs <= size - start:
                if found.needs > _LARGEST_RECORD:
                    return Piece(key, start + found.needs)
                found = read_records(_read(file.path, start, found.needs))
        except FileNotFoundError:
            return None
        except OSError as error:
            file.note = _("The event file {path} cannot be read: {error}.").format(path=file.path, error=error.strerror)
            return None
        if not found.end:
            if found.damaged:
                file.note = _("The event file {path} is damaged at byte {n}; what follows was not read.").format(
                    path=file.path, n=start
                )
            return None
        origin = f"{_ORIGIN}/{file.run}"
        points: dict[str, bytes] = {}
        for tag, columns in found.points.items():
            name = cursor.name_of(_name(file.run, tag), origin)
            points[name] = points.get(name, b"") + columns.tobytes()
        texts = [
            {"tag": _name(file.run, tag), "step": step, "time": when, "text": text[:_LONGEST_TEXT]}
            for tag, step, when, text in found.texts
        ]
        return Piece(key, start + found.end, points, origin, texts=texts)


def _name(run: str, tag: bytes) -> str:
    return "/".join(filter(None, [run, tag.decode("utf-8", "replace")]))[:_LONGEST_NAME]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _mtime(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _read(path: Path, start: int, size: int) -> bytes:
    """Bytes of a regular file; whatever it has become meanwhile, this does not wait."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.pread(descriptor, size, start) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)
