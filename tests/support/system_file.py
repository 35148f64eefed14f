"""Run a Python program on a machine with an administrator's settings file, `/etc/jupyter/jupyter_pai.toml`.

    python tests/support/system_file.py FOLDER -m jupyter_pai list

`FOLDER` becomes `/etc/jupyter` in the program's own mount namespace. The process id stays, and the machine is
unchanged.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

__all__ = ["HUB", "command"]

# A host of that name is this one, for a Hub that seems to be elsewhere.
HUB = "hub.example"

_NEW_MOUNTS = 0x00020000
_BIND, _REC, _PRIVATE = 4096, 1 << 14, 1 << 18


def command(folder: Path, *words: str) -> list[str]:
    """Return the command of the interpreter with `folder` as `/etc/jupyter`."""
    return [sys.executable, __file__, str(folder), *words]


def _mount(source: str, target: str, flags: int) -> None:
    if _libc.mount(source.encode(), target.encode(), None, flags, None):
        raise OSError(ctypes.get_errno(), f"mount {target}")


if __name__ == "__main__":
    _libc = ctypes.CDLL(None, use_errno=True)
    system, words = Path(sys.argv[1]), sys.argv[2:]
    etc = system.with_name("etc")
    if not etc.exists():
        # `/etc` itself gets no new folder.
        shutil.copytree("/etc", etc, symlinks=True, ignore_dangling_symlinks=True)
        (etc / "jupyter").mkdir(exist_ok=True)
        with (etc / "hosts").open("a") as hosts:
            hosts.write(f"127.0.0.1 {HUB}\n")
    if _libc.unshare(_NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "unshare")
    _mount("none", "/", _REC | _PRIVATE)
    _mount(str(etc), "/etc", _BIND)
    _mount(str(system), "/etc/jupyter", _BIND)
    os.execv(sys.executable, [sys.executable, *words])
