"""The tree of files: those of a folder of this machine, with HDFS's owners, permissions and names."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

__all__ = ["SUPERUSERS", "Refusal", "Tree"]

SUPERUSERS = ("hdfs", "root")
_READ, _WRITE = 4, 2


class Refusal(Exception):
    """A reply with a `RemoteException`."""

    def __init__(self, status: int, exception: str, message: str) -> None:
        super().__init__(message)
        package = "java.io" if exception in ("FileNotFoundException", "IOException") else "org.apache.hadoop"
        self.status = status
        self.body = {
            "RemoteException": {
                "exception": exception,
                "javaClassName": f"{package}.{exception}",
                "message": message,
            }
        }


class Tree:
    """The files below a folder by their path in HDFS."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._attributes: dict[str, tuple[str, int]] = {"/": ("hdfs", 0o777)}

    def place(self, path: str) -> Path:
        """Return the place of a path on this machine."""
        parts = path.strip("/").split("/") if path.strip("/") else []
        if not path.startswith("/") or "" in parts or "." in parts or ".." in parts or ":" in path:
            raise Refusal(400, "InvalidPathException", f"Invalid path name {path}: not a valid DFS filename.")
        if any(len(os.fsencode(part)) > 255 for part in parts):
            raise Refusal(403, "PathComponentTooLongException", "The maximum path component name limit is exceeded")
        return self.folder.joinpath(*parts)

    def status(self, path: str, suffix: str = "") -> dict[str, Any]:
        """Return the `FileStatus` of a path.

        Raises:
            Refusal: if it does not exist.
        """
        try:
            there = self.place(path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            raise Refusal(404, "FileNotFoundException", f"File does not exist: {path}") from None
        is_folder = self.place(path).is_dir()
        owner, mode = self._of(path, is_folder)
        return {
            "accessTime": 0 if is_folder else int(there.st_atime_ns // 1_000_000),
            "blockSize": 0 if is_folder else 134_217_728,
            "childrenNum": 0,
            "fileId": there.st_ino,
            "group": "supergroup",
            "length": 0 if is_folder else there.st_size,
            "modificationTime": there.st_mtime_ns // 1_000_000,
            "owner": owner,
            "pathSuffix": suffix,
            "permission": f"{mode:o}",
            "replication": 0 if is_folder else 3,
            "storagePolicy": 0,
            "type": "DIRECTORY" if is_folder else "FILE",
        }

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, in the order of their bytes."""
        return sorted(os.listdir(self.place(path)), key=os.fsencode)

    def parent(self, path: str) -> str:
        """Return the nearest folder above a path that exists.

        Raises:
            Refusal: if there is a file instead.
        """
        above = path.rstrip("/").rpartition("/")[0] or "/"
        while above != "/" and not self.place(above).exists():
            above = above.rpartition("/")[0] or "/"
        if not self.place(above).is_dir():
            raise Refusal(403, "ParentNotDirectoryException", f"{above} (is not a directory)")
        return above

    def may_read(self, user: str, path: str) -> None:
        """Check that a user may read a file or list a folder."""
        self._check(user, path, _READ, "READ")

    def may_change(self, user: str, path: str) -> None:
        """Check that a user may create, rename or delete a path."""
        self._check(user, self.parent(path), _WRITE, "WRITE")

    def _check(self, user: str, path: str, bit: int, access: str) -> None:
        is_folder = self.place(path).is_dir()
        owner, mode = self._of(path, is_folder)
        if user not in SUPERUSERS and not (mode >> (6 if user == owner else 0)) & bit:
            what = f'inode="{path}":{owner}:supergroup:{mode:o}'
            raise Refusal(403, "AccessControlException", f"Permission denied: user={user}, access={access}, {what}")

    def _of(self, path: str, is_folder: bool) -> tuple[str, int]:
        return self._attributes.get(path.rstrip("/") or "/", ("hdfs", 0o755 if is_folder else 0o644))

    def own(self, path: str, user: str, mode: int) -> None:
        """Set the owner and the permissions of a path."""
        self._attributes[path.rstrip("/") or "/"] = (user, mode)

    def make_folders(self, path: str, user: str, mode: int = 0o755) -> None:
        """Create a folder and those above it."""
        missing = []
        while not self.place(path).exists():
            missing.append(path)
            path = path.rpartition("/")[0] or "/"
        for name in reversed(missing):
            self.place(name).mkdir()
            self.own(name, user, mode)

    def rename(self, path: str, target: str) -> None:
        """Rename a path; a file at the target is replaced."""
        self.place(path).rename(self.place(target))
        for name in [name for name in self._attributes if name == path or name.startswith(f"{path}/")]:
            self._attributes[target + name.removeprefix(path)] = self._attributes.pop(name)

    def remove(self, path: str) -> None:
        """Remove a path and all below it."""
        place = self.place(path)
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
        for name in [name for name in self._attributes if name == path or name.startswith(f"{path}/")]:
            del self._attributes[name]

    def summary(self, path: str) -> dict[str, int]:
        """Return the numbers of files, folders and bytes at a path."""
        self.status(path)
        place = self.place(path)
        below = [place, *place.rglob("*")] if place.is_dir() else [place]
        files = [one.stat().st_size for one in below if one.is_file()]
        return {"directoryCount": len(below) - len(files), "fileCount": len(files), "length": sum(files)}
