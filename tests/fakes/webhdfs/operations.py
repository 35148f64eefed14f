"""The operations of a NameNode that need no redirect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .settings import Settings
from .tree import Refusal, Tree

__all__ = ["METHODS", "Operations"]

# The method of each operation. Source: "WebHDFS REST API" of Hadoop.
METHODS = {
    "GETFILESTATUS": "GET",
    "LISTSTATUS": "GET",
    "LISTSTATUS_BATCH": "GET",
    "GETCONTENTSUMMARY": "GET",
    "GETHOMEDIRECTORY": "GET",
    "OPEN": "GET",
    "CREATE": "PUT",
    "MKDIRS": "PUT",
    "RENAME": "PUT",
    "SETPERMISSION": "PUT",
    "APPEND": "POST",
    "DELETE": "DELETE",
}
_READS = ("GETFILESTATUS", "LISTSTATUS", "LISTSTATUS_BATCH", "GETCONTENTSUMMARY", "GETHOMEDIRECTORY", "OPEN")


class Operations:
    """The operations by name: each takes user, path and parameters, and returns JSON."""

    def __init__(self, tree: Tree, settings: Settings) -> None:
        self.tree, self.settings = tree, settings
        self._calls = {
            "GETFILESTATUS": lambda _user, path, _query: {"FileStatus": tree.status(path)},
            "LISTSTATUS": self._list,
            "LISTSTATUS_BATCH": self._batch,
            "GETCONTENTSUMMARY": lambda _user, path, _query: {"ContentSummary": tree.summary(path)},
            "GETHOMEDIRECTORY": lambda user, _path, _query: {"Path": f"/user/{user}"},
            "MKDIRS": self._make,
            "RENAME": self._rename,
            "SETPERMISSION": self._set_permission,
            "DELETE": self._delete,
        }

    def check(self, operation: str, method: str) -> None:
        """Check that an operation exists and is possible now."""
        known = METHODS.get(operation)
        if known != method or (operation == "LISTSTATUS_BATCH" and self.settings.old):
            text = f'Invalid value for webhdfs parameter "op": No enum constant {operation}'
            raise Refusal(400, "IllegalArgumentException", text)
        if self.settings.standby:
            kind = "READ" if operation in _READS else "WRITE"
            raise Refusal(403, "StandbyException", f"Operation category {kind} is not supported in state standby.")
        if self.settings.safe_mode and operation not in _READS:
            raise Refusal(403, "SafeModeException", "Cannot change the namespace. Name node is in safe mode.")

    def answer(self, operation: str, user: str, path: str, query: Mapping[str, str]) -> Any:
        """Return the reply to an operation."""
        return self._calls[operation](user, path, query)

    def check_create(self, user: str, path: str, query: Mapping[str, str]) -> None:
        """Check that a file may be created."""
        self.tree.may_change(user, path)
        place = self.tree.place(path)
        if place.is_dir():
            raise Refusal(403, "FileAlreadyExistsException", f"{path} already exists as a directory")
        if place.exists() and query.get("overwrite", "").lower() != "true":
            raise Refusal(403, "FileAlreadyExistsException", f"{path} for client 127.0.0.1 already exists")

    def check_space(self, size: int) -> None:
        """Check that bytes can be stored."""
        if self.settings.full:
            text = "File could only be replicated to 0 nodes instead of minReplication (=1). There are 1 datanode(s)."
            raise Refusal(403, "IOException", text)
        if self.settings.quota >= 0 and self.tree.summary("/")["length"] + size > self.settings.quota:
            text = f"The DiskSpace quota of / is exceeded: quota = {self.settings.quota} B"
            raise Refusal(403, "DSQuotaExceededException", text)

    def _list(self, user: str, path: str, _query: Mapping[str, str]) -> Any:
        return {"FileStatuses": {"FileStatus": self._statuses(user, path)}}

    def _batch(self, user: str, path: str, query: Mapping[str, str]) -> Any:
        after = query.get("startAfter", "")
        names = [name for name in self._names(user, path) if name.encode() > after.encode()]
        page = [self.tree.status(f"{path.rstrip('/')}/{name}", name) for name in names[: self.settings.page]]
        listing = {"FileStatuses": {"FileStatus": page}}
        return {"DirectoryListing": {"partialListing": listing, "remainingEntries": len(names) - len(page)}}

    def _statuses(self, user: str, path: str) -> list[dict[str, Any]]:
        if self.tree.status(path)["type"] == "FILE":
            return [self.tree.status(path)]
        return [self.tree.status(f"{path.rstrip('/')}/{name}", name) for name in self._names(user, path)]

    def _names(self, user: str, path: str) -> list[str]:
        self.tree.status(path)
        self.tree.may_read(user, path)
        return self.tree.names(path)

    def _make(self, user: str, path: str, query: Mapping[str, str]) -> Any:
        place = self.tree.place(path)
        if place.is_file():
            raise Refusal(403, "FileAlreadyExistsException", f"Path is not a directory: {path}")
        if not place.exists():
            self.tree.may_change(user, path)
            self.tree.make_folders(path.rstrip("/"), user, int(query.get("permission", "755"), 8))
        return {"boolean": True}

    def _rename(self, user: str, path: str, query: Mapping[str, str]) -> Any:
        target = query["destination"]
        if "renameoptions" in query and not self.settings.old:
            self._rename_strictly(user, path, target, query["renameoptions"] == "OVERWRITE")
            return None
        source, goal = self.tree.place(path), self.tree.place(target)
        if goal.is_dir():
            target = f"{target.rstrip('/')}/{source.name}"
            goal = self.tree.place(target)
        if not source.exists() or goal.exists() or not goal.parent.is_dir():
            return {"boolean": False}
        self._move(user, path, target)
        return {"boolean": True}

    def _rename_strictly(self, user: str, path: str, target: str, overwrite: bool) -> None:
        source, goal = self.tree.place(path), self.tree.place(target)
        if not source.exists():
            raise Refusal(404, "FileNotFoundException", f"rename source {path} is not found.")
        if goal.exists() and not overwrite:
            raise Refusal(403, "FileAlreadyExistsException", f"rename destination {target} already exists")
        if goal.exists() and source.is_dir() != goal.is_dir():
            raise Refusal(403, "IOException", f"Source {path} and destination {target} must both be directories")
        if not goal.parent.is_dir():
            raise Refusal(404, "FileNotFoundException", f"rename destination parent {target} not found.")
        self._move(user, path, target)

    def _move(self, user: str, path: str, target: str) -> None:
        self.tree.may_change(user, path)
        self.tree.may_change(user, target)
        self.tree.rename(path, target)

    def _set_permission(self, user: str, path: str, query: Mapping[str, str]) -> None:
        self.tree.own(path, self.tree.status(path)["owner"], int(query["permission"], 8))

    def _delete(self, user: str, path: str, query: Mapping[str, str]) -> Any:
        place = self.tree.place(path)
        if not place.exists() or path.rstrip("/") == "":
            return {"boolean": False}
        self.tree.may_change(user, path)
        if place.is_dir() and any(place.iterdir()) and query.get("recursive", "").lower() != "true":
            raise Refusal(403, "PathIsNotEmptyDirectoryException", f"`{path} is non empty': Directory is not empty")
        self.tree.remove(path.rstrip("/"))
        return {"boolean": True}
