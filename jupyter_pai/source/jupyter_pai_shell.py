"""The parts of a kernel that a script made of a notebook needs: the display of values and figures, and IPython's shell
for magics and for cells that are not plain Python.

Packed beside such scripts. Only the shell needs IPython, and starts when a script imports `get_ipython`. `display` is a
builtin then.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import cache
from typing import Any

# Package managers whose commands a job replaces: they install for this job only, or refuse.
_INSTALLERS = ("pip", "conda", "mamba", "micromamba")


def __getattr__(name: str) -> Any:
    if name == "get_ipython":
        return _shell().get_ipython
    raise AttributeError(name)


def _pai_show(value: object) -> None:
    """Show the value of the last expression of a cell, as a kernel writes it as text."""
    if value is None:
        return
    if _shell.cache_info().currsize:
        _shell().displayhook(value)
        return
    text = repr
    with suppress(ImportError):
        from IPython.lib.pretty import pretty as text
    print(text(value))


def _pai_end() -> None:
    """Show the figures that a cell has drawn and not shown."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot and pyplot.get_fignums():
        pyplot.show()


def _pai_cell(code: str, *, may_fail: bool = False) -> None:
    """Run a cell by IPython, in its event loop. With `may_fail`, an error is only shown."""
    from IPython.core.async_helpers import get_asyncio_loop

    shell = _shell()
    if not may_fail:
        shell.showtraceback = lambda *_args, **_options: None  # Python shows it, as the error of the script.
    try:
        run = shell.run_cell_async(code, transformed_cell=shell.transform_cell(code))
        result = get_asyncio_loop().run_until_complete(run)
    finally:
        vars(shell).pop("showtraceback", None)
    if not may_fail:
        result.raise_error()


@cache
def _shell() -> Any:
    """Start the shell, whose variables are those of the script. It reads and writes no file of the user."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.history import HistoryManager
    from IPython.core.interactiveshell import InteractiveShell

    class Hook(DisplayHook):
        """Writes values without a number."""

        def quiet(self) -> bool:
            return False

        def write_output_prompt(self) -> None:
            pass

        def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
            print(format_dict.get("text/plain", ""))

    class Shell(InteractiveShell):
        """Keeps no history. Writes errors to the log also where the output is captured, as a kernel does."""

        def init_history(self) -> None:
            self.history_manager = HistoryManager(shell=self, parent=self, enabled=False)

        def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
            print(self.InteractiveTB.stb2text(stb), file=sys.__stdout__)

    folder = tempfile.mkdtemp(prefix="pai-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shell: Any = Shell.instance(
        user_module=sys.modules["__main__"],
        ipython_dir=folder,
        colors="nocolor",
        displayhook_class=Hook,
    )
    # A script is a cell that runs: cells in it, such as that of %%capture, leave its display as it is.
    shell.display_trap.__enter__()
    for name in ("exit", "quit"):
        shell.user_ns.pop(name, None)  # Python's own end the script.
    for name in _INSTALLERS:
        shell.register_magic_function(_command(shell, name), magic_name=name)
    return shell


def _command(shell: Any, name: str) -> Any:
    return lambda line: shell.system(f"{name} {line}")
