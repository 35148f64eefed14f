"""`python launch.py FOLDER ROOT [OPTIONS...] PROGRAM ARGUMENTS...`: a program for which `/ml` is `FOLDER/ml`, and only
that.

A new root is built on a small tmpfs at `FOLDER/ROOT`: every top folder of the old one is bound into it, but for
`/ml`; `/opt` is a folder of its own, into which the job may write. As root, or by way of a user namespace. It ends with
97 and a line that says why where the machine does not allow that.

`--mount=TARGET=SOURCE` shows a further folder or file, and `--read=TARGET=SOURCE` one that cannot be written to; the
rest of its top folder is hidden, except with `--keep`. `--in=FOLDER` is the working folder, by default `/ml/usercode`.
"""

from __future__ import annotations

import ctypes
import os
import sys

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE, _UNBINDABLE = 1, 32, 4096, 1 << 14, 1 << 18, 1 << 17
# Flags of a mount that an unprivileged user has to keep: nosuid, nodev, noexec, noatime.
_KEPT = 2 | 4 | 8 | 1024
_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_libc = ctypes.CDLL(None, use_errno=True)


def _do(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _bind(source: str, target: str) -> None:
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        open(target, "w").close()
    _do("mount", source.encode(), target.encode(), None, ctypes.c_ulong(_BIND | _RECURSIVE), None)


def _unshare() -> None:
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(_NEW_MOUNTS) == 0:
        return
    _do("unshare", _NEW_MOUNTS | _NEW_USER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _protect(target: str) -> None:
    flags = _REMOUNT | _BIND | _READ_ONLY | os.statvfs(target).f_flag & _KEPT
    _do("mount", None, target.encode(), None, ctypes.c_ulong(flags), None)


def _show(folder: str, root: str, opened: set[str], hidden: set[str]) -> None:
    """Bind what is in a folder into the new root, but for the folders in `opened`: mounts come there."""
    for name in os.listdir(folder or "/"):
        path = f"{folder}/{name}"
        if path in hidden:
            continue
        if path in opened and os.path.isdir(path) and not os.path.islink(path):
            os.mkdir(root + path)
            _show(path, root, opened, hidden)
        else:
            _bind(path, root + path)


def _above(target: str) -> set[str]:
    """Return the folders above a target."""
    parts = target.split("/")
    return {"/".join(parts[:count]) for count in range(2, len(parts))}


def enter(folder: str, name: str, mounts: dict[str, str], read: set[str], keep: bool, work: str) -> None:
    """From now on this process, and its children, have that `/ml`, and a folder or file at each target of `mounts`."""
    root = os.path.join(folder, name)
    _unshare()
    _do("mount", None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None)
    _do("mount", b"tmpfs", root.encode(), b"tmpfs", ctypes.c_ulong(0), b"size=16m,mode=755")
    _do("mount", None, root.encode(), None, ctypes.c_ulong(_UNBINDABLE), None)
    above = set().union(*map(_above, mounts)) if mounts else set()
    hidden = {"/ml", "/opt/ml", *mounts} | (set() if keep else {path for path in above if path.count("/") == 1})
    _show("", root, {"/opt", *above}, hidden)
    if not os.path.exists(f"{root}/opt") and "/opt" not in mounts:
        os.mkdir(f"{root}/opt")
    ours = os.path.join(folder, "ml")
    if "/ml" not in mounts and os.path.isdir(ours):
        _bind(ours, f"{root}/ml")
    # An outer folder comes before those in it.
    for target, source in sorted(mounts.items()):
        os.makedirs(os.path.dirname(root + target), exist_ok=True)
        _bind(source, root + target)
    for target in read:
        _protect(root + target)
    os.chdir(root)
    _do("syscall", _PIVOT_ROOT[os.uname().machine], b".", b".")
    _do("umount2", b".", _DETACH)
    os.chdir(work)


def main(folder: str, root: str, words: list[str]) -> None:
    """Run a command. Does not return."""
    mounts: dict[str, str] = {}
    read, keep, work = set(), False, "/ml/usercode"
    while words[0].startswith("--"):
        option, _, value = words.pop(0).partition("=")
        target, _, source = value.partition("=")
        if option in ("--mount", "--read"):
            mounts[target] = source
            read |= {target} if option == "--read" else set()
        keep = keep or option == "--keep"
        work = value if option == "--in" else work
    try:
        enter(folder, root, mounts, read, keep, work)
    except (OSError, KeyError) as error:
        print(f"the stand-in cannot give this job its /ml: {error}", flush=True)
        sys.exit(97)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        print(f"{words[0]}: {error.strerror}", flush=True)
        sys.exit(127)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
