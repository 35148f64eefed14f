"""Owners and permissions of a private folder and of the folders above it: could other users replace its files?"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from . import beneath
from .filesystem import network_kind
from .i18n import _


@dataclass(frozen=True)
class Flaw:
    """A permission of other users. It is `refused`, or else a warning: users of a group could write, or others read.

    `is_harmless`: it is the user's own group, without other members.
    """

    text: str
    fix: str
    refused: bool = True
    is_harmless: bool = False


def flaws(folder: Path) -> list[Flaw]:
    """Return the flaws of a private folder: its owner must be this user, and no other user may write in it. The folders
    and links that lead to it must belong to this user or root. Other users may write in a folder above it only if it is
    sticky (as /tmp), where they cannot replace files of others.

    Raises:
        OSError: if it does not exist or cannot be accessed.
    """
    *above, (place, status) = beneath.steps(folder)
    if status is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    found = [flaw for path, parent in above if parent for flaw in _flaws_above(path, parent, folder)]
    if not _is_own(place, status):
        text = _("The folder {path} belongs to the user {user}.").format(path=place, user=_user(status.st_uid))
        return [*found, Flaw(text, _("Set JUPYTER_PAI_HOME to a folder of your own."))]
    if status.st_mode & 0o022:
        text = _("Other users can write in the folder {path}.").format(path=place)
        found.append(_writable(place, "chmod go-w", text))
    elif status.st_mode & 0o055:
        text = _("Other users can access {path}.").format(path=place)
        found.append(Flaw(text, f"chmod 700 {place}", refused=False))
    return [*found, *_flaws_inside(place, status)]


def remove_group_access(folder: Path) -> None:
    """Remove the permission of the group to write in a folder, if it is this user's and others cannot write in it."""
    status = folder.stat()
    if status.st_uid == os.geteuid() and status.st_mode & 0o022 == 0o020:
        folder.chmod(stat.S_IMODE(status.st_mode) & ~0o020)


def _flaws_above(path: str, status: os.stat_result, folder: Path) -> Iterator[Flaw]:
    """Yield the flaws of a folder or link that leads to the private folder."""
    if not _is_trusted(status.st_uid):
        text = _("{path}, which leads to the folder {folder}, belongs to the user {user}.")
        fix = _("Set JUPYTER_PAI_HOME to a folder of your own.")
        yield Flaw(text.format(path=path, folder=folder, user=_user(status.st_uid)), fix)
    if stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX:
        return
    if status.st_mode & 0o002:
        text = _("Other users can write in {path}, and replace the folder {folder}.")
        yield _writable(path, "chmod o-w", text.format(path=path, folder=folder))
    elif status.st_mode & 0o020:
        message = _("The group {group} can write in {path}, and replace the folder {folder}.").format(
            group=_group(status.st_gid), path=path, folder=folder
        )
        yield _writable(path, "chmod g-w", message, refused=False, is_harmless=_is_own_group(status.st_gid))


def _flaws_inside(path: str, status: os.stat_result) -> Iterator[Flaw]:
    """Yield a flaw for a file of another user, who could write in the folder earlier."""
    with os.scandir(path) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                owner = entry.stat(follow_symlinks=False).st_uid
                if not _is_trusted(owner) and owner != status.st_uid:
                    text = _("{path} belongs to the user {user}.").format(path=entry.path, user=_user(owner))
                    yield Flaw(text, _("Remove it, or set JUPYTER_PAI_HOME to another folder."))


def _writable(path: str, command: str, text: str, *, refused: bool = True, is_harmless: bool = False) -> Flaw:
    fix = _("Run: {command}. Or set JUPYTER_PAI_HOME to another folder.").format(command=f"{command} {path}")
    return Flaw(text, fix, refused, is_harmless)


def _is_own(path: str, status: os.stat_result) -> bool:
    """Return whether a folder is this user's. A network disk may map users: there, the owner of a new file decides."""
    if status.st_uid == os.geteuid():
        return True
    if not network_kind(Path(path)):
        return False
    try:
        with tempfile.TemporaryFile(dir=path) as file:
            return os.fstat(file.fileno()).st_uid == status.st_uid
    except OSError:
        return False


def _is_trusted(uid: int) -> bool:
    """Return whether a user may own folders above a private one: this user, root, and the owner of `/`, which is root
    also in a user namespace without root."""
    return uid in (0, os.geteuid(), os.lstat("/").st_uid)


def _user(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _is_own_group(gid: int) -> bool:
    """Return whether a group has this user's name and no other members, as many systems create for each user."""
    import grp

    user = _user(os.geteuid())
    try:
        group = grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == user and not {*group.gr_mem} - {user}
