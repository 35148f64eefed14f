"""Files in the state folder: their sizes, their removal, and unused environments."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...core.lease import Lease
from ...jobs.state_dir import Home

_BLOCK = 512
# Seconds after which an incomplete entry was interrupted.
_CUT_SHORT = 86_400.0
_NOTES_KEPT = 30 * 86_400.0
# Packed code without a job may belong to a running submit.
_FRESH = 3600.0


@dataclass(frozen=True)
class CacheEntry:
    """An interpreter with requirements, or a staged input (`is_input`). `used_at` is the last start of a job with it,
    in seconds since 1970; 0 if it is incomplete. `in_use`: a job runs with it, or it is being created. `uri` is the
    source of an input; empty for the variable of a notebook."""

    key: str
    is_input: bool
    used_at: float
    in_use: bool
    uri: str = ""

    @property
    def path(self) -> str:
        """The path in the state folder."""
        return f"{'inputs' if self.is_input else 'environments'}/{self.key}"


def taken(path: Path, seen: set[tuple[int, int]] | None = None) -> int:
    """Return the allocated bytes of a file, or of a folder and all files below it. A file with several names is counted
    once; with `seen`, once in all calls with this set. Links are not followed. Unreadable files are not counted.
    """
    counted = set() if seen is None else seen
    total, waiting = 0, [os.fspath(path)]
    while waiting:
        place = waiting.pop()
        with contextlib.suppress(OSError):
            info = os.lstat(place)
            if info.st_nlink == 1 or (info.st_dev, info.st_ino) not in counted:
                counted.add((info.st_dev, info.st_ino))
                total += info.st_blocks * _BLOCK
                if stat.S_ISDIR(info.st_mode):
                    waiting += [entry.path for entry in os.scandir(place)]
    return total


def run_size(folder: Path) -> int:
    """Return the bytes of a run of a workflow, without packed code that it shares with jobs."""
    shared = {(info.st_dev, info.st_ino) for info in _stats(folder.glob("code/*.tar.gz")) if info.st_nlink > 1}
    return taken(folder, shared)


def remove(path: Path) -> bool:
    """Remove a folder recursively. Return whether it is gone. Links are not followed."""
    shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        # Jobs leave read-only folders, such as the caches of Go and conda.
        with contextlib.suppress(OSError):
            os.chmod(path, 0o700)
            for folder, names, _files in os.walk(path):
                for inner in (os.path.join(folder, name) for name in names):
                    if not os.path.islink(inner):
                        os.chmod(inner, 0o700)
        shutil.rmtree(path, ignore_errors=True)
    return not os.path.lexists(path)


def entries(home: Home) -> list[CacheEntry]:
    """Return all environments and staged inputs, including incomplete ones."""
    found = []
    places = [place for place in (home.environments, home.inputs) if place.is_dir()]
    for folder in sorted(folder for place in places for folder in place.iterdir()):
        is_input = folder.parent == home.inputs
        if (folder / "data" if is_input else folder).is_dir():
            with contextlib.suppress(FileNotFoundError):
                ready = folder / "ready"
                used_at = ready.stat().st_mtime if ready.exists() else 0.0
                # The job of an input that was used just now may not be stored yet.
                is_fresh = time.time() - max(used_at, folder.stat().st_mtime) < _FRESH
                in_use = is_fresh if is_input else _is_locked(folder)
                uri = ready.read_text("utf-8") if is_input and used_at else ""
                found.append(CacheEntry(folder.name, is_input, used_at, in_use, uri))
    return found


def _lease(folder: Path) -> Lease:
    return Lease(folder.with_name(f"{folder.name}.lock"))


def _is_locked(folder: Path) -> bool:
    lease = _lease(folder)
    try:
        return not lease.acquire()
    except OSError:  # No room for the file of the lock.
        return True
    finally:
        lease.release()


def remove_entry(folder: Path) -> bool:
    """Remove an environment or a staged input, unless it is in use or being created. Return whether it is gone. A job
    that starts meanwhile waits and creates it again."""
    lease = _lease(folder)
    if not lease.acquire():
        return False
    try:
        # First, so that a partly removed one does not count as complete.
        (folder / "ready").unlink(missing_ok=True)
        return remove(folder)
    finally:
        lease.release()


def remove_source(path: Path) -> None:
    """Remove packed code without a job. Jobs have hard links to it, or copies if the disk has no links."""
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_nlink == 1:
            path.unlink()


def remove_sources(home: Home, fresh: float = _FRESH) -> None:
    """Remove packed code without a job, old caches of folders, and files of killed processes."""
    for path in home.sources.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if path.name.endswith(".tar.gz"):
                if time.time() - path.stat().st_ctime > fresh:
                    remove_source(path)
            elif time.time() - path.stat().st_mtime > (_NOTES_KEPT if path.suffix == ".json" else _CUT_SHORT):
                path.unlink()


def orphaned_sources(home: Home, jobs: Collection[str], fresh: float = _FRESH) -> int:
    """Return the bytes of packed code without a job, once `jobs` are removed."""
    links = Counter(info.st_ino for info in _stats(home.job(job_id).source for job_id in jobs))
    return sum(
        info.st_blocks * _BLOCK
        for info in _stats(home.sources.glob("*.tar.gz"))
        if info.st_nlink == 1 + links[info.st_ino] and (links[info.st_ino] or time.time() - info.st_ctime > fresh)
    )


def _stats(paths: Iterable[Path]) -> Iterator[os.stat_result]:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            yield path.stat()


def leftovers(home: Home, known: Callable[[], set[str]]) -> list[str]:
    """Return folders of jobs that were never stored because their submit was killed."""
    old = set()
    for entry in os.scandir(home.jobs):
        with contextlib.suppress(FileNotFoundError):
            is_old = entry.is_dir(follow_symlinks=False) and time.time() - entry.stat().st_mtime > _CUT_SHORT
            # A job with a record was stored, even if a rebuilt database could not read it.
            if is_old and not home.job(entry.name).record.exists():
                old.add(entry.name)
    # Read the stored jobs last, to include jobs stored meanwhile.
    return sorted(old - known())
