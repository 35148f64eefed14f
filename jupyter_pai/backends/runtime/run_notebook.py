"""Runs a notebook as a job, cell by cell, in a kernel of the job's own interpreter.

    python -m jupyter_pai.backends.runtime.run_notebook NOTEBOOK [ARGUMENTS …]

The executed notebook is saved to the output channel `notebook` after every cell, with HTML at the end. The interpreter
needs nbclient and ipykernel, and nbconvert for HTML. Output of this process goes to the job's log; the kernel writes
the output of cells there itself (see `kernel`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ... import report
from ...core.i18n import _

if TYPE_CHECKING:
    from .executed_notebook import ExecutedNotebook

_STOPPED = 128 + signal.SIGTERM
# Paths of sockets have at most 107 bytes.
_LONGEST_FOLDER = 70
# Seconds from a stop to the HTML if the cell continues: the process may be killed soon.
_PATIENCE = 2
_LONGEST_LINE = 80
_LONGEST_ERROR = 1000


def main() -> None:
    """Run the notebook of the command line and exit with its exit code."""
    # Modules in the code's folder must not shadow those of libraries.
    sys.path[:] = [path for path in sys.path if path not in ("", os.getcwd())]
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]  # a text stream
    temporary = tempfile.gettempdir()
    scratch = tempfile.mkdtemp(prefix="pai-", dir=temporary if len(temporary) < _LONGEST_FOLDER else "/tmp")  # noqa: S108
    # Ignore the user's IPython settings and Jupyter servers.
    os.environ |= {"IPYTHONDIR": f"{scratch}/ipython", "JUPYTER_RUNTIME_DIR": scratch}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_STOPPED))
    try:
        code = _run(Path(sys.argv[1]).absolute(), sys.argv[2:], scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(code)


def _run(path: Path, arguments: list[str], scratch: str) -> int:
    from .executed_notebook import SECRETS, ExecutedNotebook

    folder = Path(os.environ.get("PAI_OUTPUT_NOTEBOOK") or path.parent / "executed")
    variables = map(os.fsencode, os.environ.get(SECRETS, "").split())
    secrets = {os.fsdecode(name): os.environb[name] for name in variables if name in os.environb}
    try:
        notebook = ExecutedNotebook(path, folder, secrets)
    except FileNotFoundError:
        return _failed(f"can't open file '{path}': [Errno 2]")
    except (OSError, ValueError) as error:
        return _failed(_("{path} is not a valid notebook: {error}").format(path=path, error=error))
    for note in notebook.set_parameters(_hyperparameters()):
        print(f"pai: {note}")
    return asyncio.run(Runner(notebook, scratch).run([str(path), *arguments]))


def _hyperparameters() -> dict[str, str]:
    with contextlib.suppress(FileNotFoundError):
        values = json.loads(Path(os.environ.get("PAI_CONFIG_DIR", ""), "hyperparameters.json").read_text("utf-8"))
        return {str(name): str(value) for name, value in values.items()}
    return {}


def _left_well(name: str, value: str) -> bool:
    return name == "SystemExit" and value in ("", "0", "None")


def _failed(why: str) -> int:
    print(f"pai: {why}")
    report.failure(why)
    return 1


class Runner:
    """Runs one notebook."""

    def __init__(self, notebook: ExecutedNotebook, scratch: str) -> None:
        from .notebook_client import JobClient

        self.notebook = notebook
        self.client = JobClient(notebook, scratch)
        self.stopping = False
        self.late: asyncio.TimerHandle | None = None

    async def run(self, arguments: list[str]) -> int:
        """Run the notebook and return the exit code of the job."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.stop)
        self.save()
        try:
            await self.client.start(str(self.notebook.path.parent), arguments)
        except RuntimeError as error:
            code = _STOPPED if self.stopping else _failed(_("The kernel did not start: {error}.").format(error=error))
        else:
            code = await self.run_cells()
        if self.late:
            self.late.cancel()
        if not self.save():
            code = code or 1
        self.save_html()
        await self.client.end()
        return code

    async def run_cells(self) -> int:
        from nbclient.exceptions import CellExecutionError, DeadKernelError

        from ...source.magic_line import cell_line

        cells = [
            (place, cell)
            for place, cell in enumerate(self.notebook.node.cells)
            if cell.cell_type == "code" and cell.source.strip()
            if "skip-execution" not in cell.metadata.get("tags", [])
        ]
        for number, (place, cell) in enumerate(cells, 1):
            if self.stopping:
                return _STOPPED
            line = str(cell.source).strip().splitlines()[0]
            print(f"[{number}/{len(cells)}] {line[:_LONGEST_LINE]}{'…' if len(line) > _LONGEST_LINE else ''}")
            try:
                await self.client.async_execute_cell(cell, place)
            except CellExecutionError as error:
                # A script that ends with `sys.exit()` succeeds; the cells below use its results.
                if self.stopping or cell_line(cell.source) is None or not _left_well(error.ename, error.evalue):
                    return self.after_error(error.ename, error.evalue, number)
            except DeadKernelError:
                return await self.after_death(number)
            self.save()
            report.progress(round(number / len(cells), 3))
            if self.client.was_left:
                break
        return 0

    def after_error(self, name: str, value: str, cell: int) -> int:
        """Return the exit code after a failed cell. ``sys.exit`` behaves as in a script."""
        if self.stopping:
            return _STOPPED
        if _left_well(name, value):
            return 0
        report.failure(f"{name}: {value[:_LONGEST_ERROR]}", cell=cell)
        return int(value) & 255 if name == "SystemExit" and value.isdecimal() else 1

    async def after_death(self, cell: int) -> int:
        """Return the exit code after the kernel died: its own, or 128 + n for signal n."""
        if self.stopping:
            return _STOPPED
        status = await self.client.exit_status() or 1
        print(_("pai: the kernel died in cell {n}").format(n=cell))
        report.failure("", cell=cell)
        return status if status > 0 else 128 - status

    def stop(self) -> None:
        """Interrupt the cell and save the notebook: this process may be killed before the cell ends."""
        if not self.stopping:
            self.stopping = True
            print(_("pai: stopping …"))
            self.client.interrupt()
            self.save()
            self.late = asyncio.get_running_loop().call_later(_PATIENCE, self.save_html)

    def save(self) -> bool:
        """Save the executed notebook and return whether it succeeded. A full disk does not end a training."""
        try:
            self.notebook.save()
        except OSError as error:
            print(_("pai: saving the executed notebook failed: {error}").format(error=error))
            return False
        return True

    def save_html(self) -> None:
        """Write the HTML if possible."""
        try:
            self.notebook.save_html()
        except ImportError:
            print(_("pai: HTML not created, since nbconvert is not installed: --requirement nbconvert"))
        except Exception as error:  # Templates and filters may raise anything; the notebook is saved.
            print(_("pai: HTML not created: {error}").format(error=error))


if __name__ == "__main__":
    main()
