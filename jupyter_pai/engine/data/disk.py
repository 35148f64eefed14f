"""Files in the state folder: their sizes, their removal, and unused environments."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Collection
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
class Environment:
    """An interpreter with requirements, or data that was brought here for jobs. `used_at`: when a job last started with
    it, in seconds since 1970; `in_use`: a job runs with it, or it is being made. `uri` is where data came from, empty
    if it is of a notebook's variable."""

    key: str
    used_at: float
    in_use: bool
    uri: str = ""


def taken(path: Path, seen: set[tuple[int, int]] | None = None) -> int:
    """Bytes that are allocated for a folder and all below it, or a file; what has several names is counted once.

    With `seen`, of what was counted by an earlier call with the same set, nothing. Links are not followed. What cannot
    be read, or vanishes meanwhile, counts nothing.
    """
    counted = set() if seen is None else seen
    total, waiting = 0, [os.fspath(path)]
    while waiting:
        place = waiting.pop()
        with contextlib.suppress(OSError):
            found = os.lstat(place)
            if found.st_nlink == 1 or (found.st_dev, found.st_ino) not in counted:
                counted.add((found.st_dev, found.st_ino))
                total += found.st_blocks * _BLOCK
                if os.path.isdir(place) and not os.path.islink(place):
                    waiting += [entry.path for entry in os.scandir(place)]
    return total


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


def environments(home: Home) -> list[Environment]:
    """Return all environments. `used_at` is 0 for incomplete ones."""
    found = []
    for path in sorted(home.environments.iterdir()):
        if path.is_dir():
            lease = Lease(path.with_name(f"{path.name}.lock"))
            in_use = not lease.acquire()
            lease.release()
            with contextlib.suppress(FileNotFoundError):
                ready = path / "ready"
                found.append(Environment(path.name, ready.stat().st_mtime if ready.exists() else 0.0, in_use))
    return found


def inputs(home: Home) -> list[Environment]:
    """Return all staged inputs, including incomplete ones."""
    found = []
    for path in sorted(home.inputs.iterdir()):
        if (path / "data").is_dir():
            with contextlib.suppress(FileNotFoundError):
                ready = path / "ready"
                used_at = ready.stat().st_mtime if ready.exists() else 0.0
                # A job that is being submitted is not stored yet.
                is_fresh = time.time() - path.stat().st_mtime < _FRESH or time.time() - used_at < _FRESH
                found.append(Environment(path.name, used_at, is_fresh, ready.read_text("utf-8") if used_at else ""))
    return found


def remove_input(home: Home, key: str) -> bool:
    """Remove a staged input, unless it is being staged. Return whether it is gone."""
    folder, lease = home.inputs / key, Lease(home.inputs / f"{key}.lock")
    if not lease.acquire():
        return False
    try:
        (folder / "ready").unlink(missing_ok=True)
        return remove(folder)
    finally:
        lease.release()


def remove_environment(home: Home, key: str) -> bool:
    """Remove an environment unless it is in use. Return whether it is gone. A job that starts meanwhile waits and
    creates it again."""
    folder = home.environments / key
    lease = Lease(home.environments / f"{key}.lock")
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
    links: dict[int, int] = {}
    for job_id in jobs:
        with contextlib.suppress(FileNotFoundError):
            found = home.job(job_id).source.stat()
            links[found.st_ino] = links.get(found.st_ino, 0) + 1
    total = 0
    for path in home.sources.glob("*.tar.gz"):
        with contextlib.suppress(FileNotFoundError):
            found = path.stat()
            gone = links.get(found.st_ino, 0)
            if found.st_nlink == 1 + gone and (gone or time.time() - found.st_ctime > fresh):
                total += found.st_blocks * _BLOCK
    return total


def leftovers(home: Home, known: Callable[[], set[str]]) -> list[str]:
    """Return folders of jobs that were never stored because their submit was killed."""
    now = time.time()
    old = []
    for entry in os.scandir(home.jobs):
        with contextlib.suppress(FileNotFoundError):
            is_old = entry.is_dir(follow_symlinks=False) and now - entry.stat().st_mtime > _CUT_SHORT
            # A job with a record was stored, even if a rebuilt database could not read it.
            if is_old and not home.job(entry.name).record.exists():
                old.append(entry.name)
    # Read afterwards, to include jobs stored meanwhile.
    there = known()
    return [name for name in old if name not in there]
