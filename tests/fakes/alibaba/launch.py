"""`python launch.py FOLDER ROOT PROGRAM ARGUMENTS...`: a program for which `/ml` is `FOLDER/ml`, and only that.

A new root is built on a small tmpfs at `FOLDER/ROOT`: every top folder of the old one is bound into it, but for
`/ml`. As root, or by way of a user namespace. It ends with 97 and a line that says why where the machine does not
allow that.
"""

from __future__ import annotations

import ctypes
import os
import sys

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_BIND, _RECURSIVE, _PRIVATE, _UNBINDABLE = 4096, 1 << 14, 1 << 18, 1 << 17
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
        os.mkdir(target)
    else:
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


def enter(folder: str, name: str) -> None:
    """From now on this process, and its children, have that `/ml`."""
    root = os.path.join(folder, name)
    _unshare()
    _do("mount", None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None)
    _do("mount", b"tmpfs", root.encode(), b"tmpfs", ctypes.c_ulong(0), b"size=1m,mode=755")
    _do("mount", None, root.encode(), None, ctypes.c_ulong(_UNBINDABLE), None)
    for top in os.listdir("/"):
        if top != "ml":
            _bind(f"/{top}", f"{root}/{top}")
    _bind(os.path.join(folder, "ml"), f"{root}/ml")
    os.chdir(root)
    _do("syscall", _PIVOT_ROOT[os.uname().machine], b".", b".")
    _do("umount2", b".", _DETACH)
    os.chdir("/ml/usercode")


if __name__ == "__main__":
    try:
        enter(sys.argv[1], sys.argv[2])
    except (OSError, KeyError) as error:
        print(f"the stand-in cannot give this job its /ml: {error}", flush=True)
        sys.exit(97)
    try:
        os.execvp(sys.argv[3], sys.argv[3:])
    except OSError as error:
        print(f"{sys.argv[3]}: {error.strerror}", flush=True)
        sys.exit(127)
