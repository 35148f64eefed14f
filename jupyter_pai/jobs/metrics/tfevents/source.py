"""Points and texts in the event files that a job writes for TensorBoard, read while they grow.

The name of a metric is its tag; a file in a subfolder (a "run") yields ``run/tag``, without a time in the name of the
first run, so that jobs are compared. Files of earlier jobs in the same
folder are recognised by their first event, which has the time their writer was opened. Reading stops at a damaged
record.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ....core import beneath
from ....core.filesystem import modified
from ....core.i18n import _
from ..series import Cursor, MetricSource, Piece, SeriesWriter
from .protobuf import read_record

_CHUNK = 1 << 20
# Bytes read per call, so that other jobs proceed, and the largest record to parse.
_TURN = 8 << 20
_LARGEST_RECORD = 32 << 20
# Seconds between scans of the folder, and the resolution of file times.
_EVERY = 1.0
_CLOCK = 2.0
_MOST_FILES = _MOST_FOLDERS = 500
_MOST_ENTRIES = 20_000
_LONGEST_NAME, _LONGEST_TEXT = 1_000, 16_384
# Times in the name of a run: `Nov29_17-33-05_HOST` of torch's SummaryWriter, `20261129-173305`,
# `2026-11-29/17-33-05` of Hydra, `17-33-05`, seconds since 1970.
_TIMES = re.compile(
    r"(?<![^/])[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_[^/]*"
    r"|(?<![A-Za-z\d])(?:19|20)\d\d(?P<day>[-_.]?)[01]\d(?P=day)[0-3]\d[-_T ./]{0,3}"
    r"[0-2]\d(?P<hour>[-_.:h]?)[0-5]\d(?:(?P=hour)[0-5]\d)?(?:[.,_]\d{1,6})?Z?(?![A-Za-z\d])"
    r"|(?<![^/])[0-2]\d(?P<clock>[-_.:])[0-5]\d(?P=clock)[0-5]\d(?![^/])"
    r"|(?<![^/])1[5-9]\d{8}(?:\d{3}|\.\d{1,9})?(?![^/])"
)


@dataclass
class _File:
    """An event file, its run, and its size when it was last read."""

    path: Path
    run: str
    seen: int = 0
    note: str = ""


class EventFileSource(MetricSource):
    """Reads all event files below a folder. The keys of the cursor are the output channel and the relative path.

    The path of the folder has no links, and links below it are not followed. `since` is the job's submit time in
    seconds since 1970.
    """

    def __init__(self, folder: Path, since: float, channel: str = "tensorboard") -> None:
        self.folder = folder
        self.since = since
        self.channel = channel
        self._files: dict[str, _File] = {}
        self._folders: dict[Path, int] = {}
        self._earlier: dict[Path, int] = {}
        self._behind = True
        self._next_look = 0.0
        self._too_many = ""

    def has_news(self, cursor: Cursor) -> bool:
        """Check once a second for a changed folder or a grown file."""
        if self._behind:
            return True
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + _EVERY
        return self._folders_changed() or any(_size(file.path) != file.seen for file in self._files.values())

    def advance(self, writer: SeriesWriter, *, ended: bool) -> bool:
        """Read each file up to its last complete record, some MiB per call."""
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

    def _folders_changed(self) -> bool:
        return any(modified(folder) != known for folder, known in self._folders.items())

    def _search(self) -> None:
        """Find the event files of this job, breadth first. A folder modified just now is scanned again, because another
        file may appear with the same modification time."""
        self._folders = {}
        entries = 0
        ahead = deque([self.folder])
        while ahead and len(self._folders) < _MOST_FOLDERS and entries < _MOST_ENTRIES:
            folder = ahead.popleft()
            changed = modified(folder)
            self._folders[folder] = changed if time.time_ns() - changed > _CLOCK * 1e9 else -1
            try:
                with beneath.open_folder(str(folder)) as place, os.scandir(place) as scan:
                    inside = sorted(scan, key=lambda entry: entry.name)
                    folders = [folder / entry.name for entry in inside if entry.is_dir(follow_symlinks=False)]
                    files = [folder / entry.name for entry in inside if _is_event_file(entry)]
            except OSError:
                continue  # Missing, not readable, or a link.
            entries += len(inside)
            ahead += folders
            for path in files:
                self._add(path)
        if ahead:
            self._too_many = _(
                "{folder} has too many folders or files: some were not searched for event files."
            ).format(folder=self.folder)

    def _add(self, path: Path) -> None:
        below = path.relative_to(self.folder)
        key = f"{self.channel}/{below}"
        changed = modified(path)
        # A file of an earlier job is checked again when it changes, because this job may have overwritten it.
        if key in self._files or self._earlier.get(path) == changed:
            return
        try:
            opened = self._opened(path)
        except OSError:
            return  # Not readable, or removed.
        if opened is None:
            self._folders[path.parent] = -1  # The file is still empty: check again.
        elif opened < self.since:
            self._earlier[path] = changed
        elif len(self._files) < _MOST_FILES:
            run = below.parent.as_posix() if below.parent != Path() else ""
            self._files[key] = _File(path, os.fsencode(run).decode("utf-8", "replace"))
        else:
            self._too_many = _("Only the first {n} event files were read.").format(n=_MOST_FILES)

    def _opened(self, path: Path) -> float | None:
        """Return the time at which the writer of a file was opened: the time of its first event, or the file's
        modification time. Returns None if the first event is incomplete."""
        from .columns import HEADER, read_records

        status = path.stat()
        if status.st_mtime < self.since - _CLOCK:
            return status.st_mtime
        head = _read(path, 0, 4096)
        needs = read_records(head[:HEADER]).needs
        if len(head) < min(max(needs, HEADER), 4096):
            return None
        try:
            return read_record(head[HEADER : needs - 4]).time or status.st_mtime
        except ValueError:
            return status.st_mtime

    def _piece(self, key: str, file: _File, cursor: Cursor, size: int) -> Piece | None:
        """Read the next chunk of a file. Returns None at its end."""
        from .columns import read_records

        start = cursor.offsets.get(key, 0)
        if size <= start:
            return None
        try:
            events = read_records(_read(file.path, start, _CHUNK))
            if not events.end and _CHUNK < events.needs <= size - start:
                if events.needs > _LARGEST_RECORD:
                    return Piece(key, start + events.needs)
                events = read_records(_read(file.path, start, events.needs))
        except FileNotFoundError:
            return None
        except OSError as error:
            file.note = _("Cannot read the event file {path}: {error}.").format(path=file.path, error=error.strerror)
            return None
        if not events.end:
            if events.damaged:
                file.note = _("The event file {path} is damaged at byte {n}. Later events were not read.").format(
                    path=file.path, n=start
                )
            return None
        origin = f"{self.channel}/{file.run}"
        run = _without_time(file.run)
        points: dict[str, bytes] = {}
        for tag, columns in events.points.items():
            name = _name(run, tag)
            if cursor.origins.get(name, origin) != origin and cursor.origins[name].startswith(f"{self.channel}/"):
                name = _name(file.run, tag)  # A further run of this job.
            if place := cursor.place(name, origin):
                points[place[0]] = points.get(place[0], b"") + columns.tobytes()
        texts = [
            {"tag": _name(file.run, tag), "step": step, "time": when, "text": text[:_LONGEST_TEXT]}
            for tag, step, when, text in events.texts
        ]
        return Piece(key, start + events.end, points, origin, texts=texts)


@lru_cache(1 << 10)
def _without_time(run: str) -> str:
    """Return the folder of a run without the times in its name. They differ between jobs, and metrics are compared by
    name."""
    parts = re.split(r"/+", _TIMES.sub("/", run))
    return "/".join(part for part in (part.strip("-_. ") for part in parts) if part)


def _name(run: str, tag: bytes) -> str:
    return "/".join(filter(None, [run, tag.decode("utf-8", "replace")]))[:_LONGEST_NAME]


def _is_event_file(entry: os.DirEntry[str]) -> bool:
    return "tfevents" in entry.name and entry.is_file(follow_symlinks=False)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _read(path: Path, start: int, size: int) -> bytes:
    """Read bytes of a regular file. Never blocks, whatever kind of file it became, and follows no link."""
    descriptor = beneath.open_file(str(path))
    try:
        return os.pread(descriptor, size, start)
    finally:
        os.close(descriptor)
