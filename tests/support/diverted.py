"""A folder that a job diverts: it replaces a part of it by a link to a folder of the host, while the folder is used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from pathlib import Path

from jupyter_pai.core.errors import PaiError
from jupyter_pai.jobs.state_dir import Home

__all__ = ["Diversion", "diverting"]

FILES = {"a.txt": "a", "sub/b.txt": "bb"}
# The files of the host have a size of their own.
OF_HOST = "host".ljust(7777)
# Exchanges two names until standard input ends, and prints how often.
_EXCHANGE = """
import ctypes, os, select, sys
libc, one, two, count = ctypes.CDLL(None), *map(os.fsencode, sys.argv[1:]), 0
print("ready", flush=True)
while count % 16 or not select.select([0], [], [], 0)[0]:
    count += 1
    assert libc.renameat2(-100, one, -100, two, 2) == 0
print(count)
"""


class Diversion:
    """The folder `shared` in which a job can write, its folder `model`, and the folder `host`, which has files of the
    same names. `part` of `shared` is replaced by a link."""

    def __init__(self, home: Home, folder: Path, part: str) -> None:
        self.folder = folder
        self.shared, self.host, self.elsewhere = (folder / name for name in ("shared", "host", "elsewhere"))
        self.model = self.shared / "model"
        self.part = self.shared / part
        self._target = self.host / Path(part).relative_to("model")
        self._link = self.shared / ".link"
        self.shared.mkdir(parents=True)
        home.create().written.add([os.path.realpath(self.shared)])
        self.reset()

    def reset(self) -> None:
        """Create all files again."""
        for folder in (self.model, self.host, self.elsewhere):
            shutil.rmtree(folder, ignore_errors=True)
        if self.model.is_symlink():
            self.model.unlink()
        for path in self.shared.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for name, text in FILES.items():
            for folder, content in ((self.model, text), (self.elsewhere, text), (self.host, OF_HOST)):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(content)
        (self.host / "host.txt").write_text("host")
        (self.host / "empty").mkdir()
        (self.model / "empty").mkdir()
        self._link.symlink_to(self._target)

    def divert(self) -> None:
        """Replace the part by a link."""
        self.part.rename(self.shared / ".before")
        self._link.rename(self.part)

    def check(self, result: object) -> None:
        """Check that a result has nothing of the host, that the host is unchanged, and that no copy has its texts."""
        self.check_host(result)
        for path in [*self.elsewhere.rglob("*"), *self.shared.rglob("*")]:
            if path.is_file() and not path.is_symlink() and self.host not in path.resolve().parents:
                assert "host" not in path.read_text(), path

    def check_host(self, result: object) -> None:
        """Check that a result has nothing of the host, and that the host is unchanged."""
        text = repr(result).replace(str(self.folder), "")
        assert "host" not in text
        assert not re.search(r"(?<![\d.])7777(?!\d)", text)  # Not the digits of a time.
        kept = {path.relative_to(self.host).as_posix() for path in self.host.rglob("*")}
        assert kept == {"a.txt", "sub", "sub/b.txt", "host.txt", "empty"}
        assert all((self.host / name).read_text() == OF_HOST for name in FILES)

    def at_each_step(self, use: Callable[[], object]) -> int:
        """Run a function with a diverted folder, and once for each of its accesses below the folder, which is diverted
        before that access. Return the number of accesses."""
        for step in range(-1, 10_000):
            self.reset()
            if step < 0:
                self.divert()
            with _before(step, self.divert, {*self.folder.parts}) as is_over:
                try:
                    result = use()
                except PaiError as error:
                    result = f"{error}"
            self.check(result)
            if step >= 0 and is_over():
                return step
        raise AssertionError("it does not end")


# Called with the first argument of each access to a file, by thread.
_watching: dict[int, Callable[[object], None]] = {}


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _watching and event.startswith(("open", "os.")) and (watch := _watching.get(threading.get_ident())):
        watch(arguments[0] if arguments else None)


sys.addaudithook(_hook)


@contextmanager
def _before(step: int, act: Callable[[], None], passed: Set[object]) -> Iterator[Callable[[], bool]]:
    """Call a function before an access of this thread to a file. Folders with the names `passed` do not count. Yield a
    function that returns whether there were fewer accesses."""
    left, thread = step if step >= 0 else 1 << 30, threading.get_ident()

    def watch(name: object) -> None:
        nonlocal left
        left -= isinstance(name, int) or name not in passed
        if left < 0:
            del _watching[thread]
            act()

    _watching[thread] = watch
    try:
        yield lambda: left >= 0
    finally:
        _watching.pop(thread, None)


@contextmanager
def diverting(diversion: Diversion) -> Iterator[Callable[[], int]]:
    """Exchange the part and the link in another process, as fast as it can. Yield a function that ends it and returns
    the number of exchanges."""
    words = [sys.executable, "-c", _EXCHANGE, str(diversion.part), str(diversion._link)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield lambda: int(process.communicate()[0])
        process.kill()
