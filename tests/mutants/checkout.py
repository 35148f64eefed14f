"""A copy of the checkout with an environment of its own, in which tests run with changed code."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

__all__ = ["ROOT", "Checkout"]

ROOT = Path(__file__).parents[2]
_BUILT = ("jupyter_pai/_labextension", "jupyter_pai/_widget", "node_modules")
_CATALOGUES = ("*.mo", "*.json")


class Checkout:
    """The copy. Its processes are found by a variable, because supervisors leave the process group of the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._changes = 0
        shutil.rmtree(folder, ignore_errors=True)
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        catalogues = [path for pattern in _CATALOGUES for path in (ROOT / "jupyter_pai/locale").rglob(pattern)]
        for name in {*filter(None, files), *(str(path.relative_to(ROOT)) for path in catalogues)}:
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        for name in _BUILT:
            (folder / name).symlink_to(ROOT / name)
        self.python = self._make_environment(folder / ".venv")

    def _make_environment(self, folder: Path) -> Path:
        """Make an environment with the packages of this one, in which `jupyter_pai` is the copy."""
        venv.create(folder, symlinks=True)
        site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
        packages = sysconfig.get_path("purelib")
        lines = [str(self.folder), f"import site; site.addsitedir({packages!r})"]
        (site / "copy.pth").write_text("\n".join(lines) + "\n", "utf-8")
        for name in ("share", "etc"):
            (folder / name).symlink_to(Path(sys.prefix, name))
        for program in Path(sys.prefix, "bin").iterdir():
            if not (folder / "bin" / program.name).exists():
                (folder / "bin" / program.name).symlink_to(program)
        return folder / "bin/python"

    @contextmanager
    def changed(self, path: str, code: str) -> Iterator[None]:
        """Replace a file for the time of the block."""
        file = self.folder / path
        original = file.read_text("utf-8")
        self._write(file, code)
        try:
            yield
        finally:
            self._write(file, original)

    def _write(self, file: Path, code: str) -> None:
        """Write code with a time that no earlier version had: compiled code is found by seconds and size."""
        file.write_text(code, "utf-8")
        self._changes += 1
        os.utime(file, (self._changes, self._changes))

    def passes(self, tests: Sequence[str], timeout: float, *options: str, **variables: str) -> tuple[bool, str]:
        """Run tests until the first one fails.

        Returns whether all passed in time, and the output.
        """
        words = self.folder / "tests.txt"
        words.write_text("\n".join(tests), "utf-8")
        command = [*_isolation(), str(self.python), "-m", "pytest", "-x", "-q", "-W", "ignore", *options, f"@{words}"]
        mark = f"MUTANT_OF={self.folder}"
        path = f"{self.python.parent}:{os.environ['PATH']}"
        environment = os.environ | {"MUTANT_OF": str(self.folder), "PATH": path, **variables}
        with Path(self.folder / "output.txt").open("w+", encoding="utf-8", errors="replace") as output:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                code = -1
            finally:
                _kill(mark.encode())
                process.wait()
            output.seek(0)
            text = output.read()[-3000:]
            # A change could replace the process of the tests by another one, which ends with 0.
            return code == 0 and " passed" in text, text


@cache
def _isolation() -> list[str]:
    """Return the words before a command that let it see only its own processes: a mutant may kill any other. Only root
    can do so. The shell is the first process, since it also waits for orphans."""
    if os.geteuid() != 0:
        return []
    return ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", '"$@"; exit $?', "sh"]


def _kill(variable: bytes) -> None:
    """Kill all processes with a variable, and the processes that they start meanwhile."""
    while found := [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if _has(path, variable)]:
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _has(path: Path, variable: bytes) -> bool:
    try:
        return variable in path.read_bytes().split(b"\0")
    except OSError:  # It ended meanwhile.
        return False
