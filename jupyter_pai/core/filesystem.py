"""What kind of disk a folder is on: whether other hosts may see it, whether it has locks, and what time it is there.

And how a file on it is replaced as a whole.
"""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TextIO

__all__ = ["VARIABLE", "age", "lock", "lock_error", "network_kind", "replace_file"]

# 1 or 0, for a disk that is not recognised: it is a network disk, or it is none.
VARIABLE = "JUPYTER_PAI_NETWORK_DISK"

# File systems that several hosts may have mounted at once. SQLite's WAL needs shared memory, which they do not share.
_NETWORK = frozenset(
    "9p afs alinas beegfs ceph cifs coda cpfs davfs drvfs fuse fuse3 gfs2 glusterfs gpfs kafs lustre ncpfs nfs nfs4 "
    "ocfs2 orangefs panfs prl_fs pvfs2 smb3 smbfs vboxsf virtiofs vmhgfs wekafs".split()
)
# Those that FUSE brings are taken for network disks (sshfs, s3fs, ossfs, gcsfuse, JuiceFS …) but for these.
_LOCAL_FUSE = frozenset("fuse.fuse-overlayfs fuse.lxcfs fuse.ntfs-3g fuse.exfat fuse.mergerfs fuse.encfs".split())
# What a disk answers that has no locks.
_REFUSED = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def network_kind(folder: Path) -> str:
    """The kind of the network file system that a folder is on (`nfs4`); empty for a disk of this machine's own."""
    said = os.environ.get(VARIABLE, "")
    if said in ("0", "1"):
        return VARIABLE if said == "1" else ""
    kind = _kind(str(folder))
    return kind if kind in _NETWORK or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE) else ""


@cache
def _kind(folder: str) -> str:
    """The type of the file system that is mounted there: of the longest mount point, and of those the last."""
    path, best, found = os.path.realpath(folder), "", ""
    for line in Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines():
        fields, _dash, rest = line.partition(" - ")
        point = fields.split()[4].encode("utf-8", "surrogateescape").decode("unicode_escape")
        point = point.encode("latin-1").decode("utf-8", "surrogateescape")
        if (path + "/").startswith(point.rstrip("/") + "/") and len(point) >= len(best):
            best, found = point, rest.split()[0]
    return found


def lock(file: int, how: int) -> bool | None:
    """Lock an open file (flock); False if another has it and `how` says not to wait, None if the disk has no locks."""
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
    """What the disk answers when a file in a folder is to be locked, by flock or as SQLite does it; empty if it can."""
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            (fcntl.lockf if posix else fcntl.flock)(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
            return error.strerror or str(error)
    return ""


@contextmanager
def replace_file(path: Path) -> Iterator[TextIO]:
    """A text file (UTF-8) that takes a path's place when the block ends; if it fails, what was there stays.

    Only the user may read it.
    """
    file, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".new")
    try:
        with os.fdopen(file, "w", encoding="utf-8") as target:
            yield target
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def age(file: int) -> float:
    """The seconds since an open file was written or touched, both by the disk's own clock: hosts may disagree.

    0 if that clock was set back. A file beside it is touched to ask the time.
    """
    touched = os.fstat(file).st_mtime
    probe = os.open(os.path.dirname(os.readlink(f"/proc/self/fd/{file}")) + "/clock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        os.utime(probe)
        return max(os.fstat(probe).st_mtime - touched, 0.0)
    finally:
        os.close(probe)
