"""Disks: network file systems, support for locks, the clock, and atomic replacement of a file."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TextIO

from .cleanup import on_failure

# 1 or 0 overrides the detection of a network disk.
VARIABLE = "JUPYTER_PAI_NETWORK_DISK"

# File systems that several hosts can mount at once. SQLite's WAL needs memory shared by all its processes.
_NETWORK = frozenset(
    "9p afs alinas beegfs ceph cifs coda cpfs davfs drvfs fuse fuse3 gfs2 glusterfs gpfs kafs lustre ncpfs nfs nfs4 "
    "ocfs2 orangefs panfs prl_fs pvfs2 smb3 smbfs vboxsf virtiofs vmhgfs wekafs".split()
)
# Other FUSE file systems (sshfs, s3fs, ossfs, gcsfuse, JuiceFS …) count as network disks.e.
_LOCAL_FUSE = frozenset("fuse.fuse-overlayfs fuse.lxcfs fuse.ntfs-3g fuse.exfat fuse.mergerfs fuse.encfs".split())
# Bytes that SQLite needs at least to open a file.
_PROBE = 1 << 16
# Errors of a disk that does not support locks.
_REFUSED = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def network_kind(folder: Path) -> str:
    """Return the type of the network file system that holds a folder (`nfs4`), or an empty string for a local disk."""
    override = os.environ.get(VARIABLE, "")
    if override in ("0", "1"):
        return VARIABLE if override == "1" else ""
    kind = _kind(folder.stat().st_dev)
    return kind if kind in _NETWORK or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE) else ""


@cache
def _kind(device: int) -> str:
    """Return the type of a mounted file system; empty if it is not listed (subvolumes of btrfs)."""
    for line in Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines():
        fields, _dash, rest = line.partition(" - ")
        if fields.split()[2] == f"{os.major(device)}:{os.minor(device)}":
            return rest.split()[0]
    return ""


def lock(file: int, how: int) -> bool | None:
    """Lock an open file (flock). Returns False if another process holds the lock and `how` does not wait, None if the
    disk does not support locks."""
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _REFUSED:
            return None
        raise
    return True


def lock_error(folder: Path, *, posix: bool = False) -> str:
    """Return the error of locking a file in a folder, by flock or by lockf as SQLite does, or an empty string on
    success."""
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            (fcntl.lockf if posix else fcntl.flock)(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
            return error.strerror or str(error)
    return ""


def write_error(folder: Path) -> OSError | None:
    """Return the error of writing a small file in a folder, as on a full or read-only disk; None on success."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".probe") as file:
            file.write(bytes(_PROBE))
            file.flush()
    except OSError as error:
        return error
    return None


def read_at(path: Path, offset: int = 0, limit: int | None = None) -> bytes:
    """Return up to `limit` bytes of a growing file from `offset`. Empty if it does not exist."""
    try:
        with open(path, "rb") as file:
            return os.pread(file.fileno(), os.fstat(file.fileno()).st_size if limit is None else limit, offset)
    except FileNotFoundError:
        return b""


def make_private(path: Path, suffixes: Iterable[str]) -> None:
    """Create a file if it is missing, and give the files with this path and these suffixes the mode 0600. Does nothing
    on errors.

    Existing files are not opened, because closing them would release the POSIX locks of this process.
    """
    with suppress(OSError):
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        for suffix in suffixes:
            with suppress(FileNotFoundError):
                if os.stat(f"{path}{suffix}").st_mode & 0o077:
                    os.chmod(f"{path}{suffix}", 0o600)


def modified(path: Path | str) -> int:
    """Return the modification time of a file in nanoseconds, or 0 if it cannot be accessed."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


@contextmanager
def replace_file(path: Path) -> Iterator[TextIO]:
    """Open a text file (UTF-8, mode 0600) that replaces `path` when the block ends. If the block fails, `path` is
    unchanged."""
    file, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".new")
    with on_failure(lambda: os.unlink(temporary)):
        with os.fdopen(file, "w", encoding="utf-8") as target:
            yield target
        os.replace(temporary, path)


def age(file: int) -> float:
    """Return the seconds since an open file was modified, by the clock of the disk, because the clocks of hosts differ.

    Returns 0 if that clock was set back. The current time is read by touching a file beside it.
    """
    touched = os.fstat(file).st_mtime
    probe = os.open(os.path.dirname(os.readlink(f"/proc/self/fd/{file}")) + "/clock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        os.utime(probe)
        return max(os.fstat(probe).st_mtime - touched, 0.0)
    finally:
        os.close(probe)
