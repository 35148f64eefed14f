"""The parts of a kernel that a script made of a notebook needs: hyperparameters in variables, the display of values and
figures, and IPython's shell for magics and for cells that are not plain Python.

Packed beside such scripts, for any Python of an image. Only the shell needs IPython, and starts when a script imports
`get_ipython`. `display` is a builtin then.
"""

from __future__ import annotations

import ast
import atexit
import json
import os
import re
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import lru_cache
from typing import Any

# Package managers whose commands a job replaces: they install for this job only, or refuse.
_INSTALLERS = ("pip", "conda", "mamba", "micromamba")
# Errors of `ast.literal_eval`.
INVALID = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_SPELLED = {"True": "true", "False": "false"}


def __getattr__(name: str) -> Any:
    if name == "get_ipython":
        return _shell().get_ipython
    raise AttributeError(name)


def _pai_parameters(variables: dict[str, Any], *names: str) -> None:
    """Set the hyperparameters of the job that the cell `parameters` assigns, as a notebook job does. `names` are the
    variables of the cell. A value of another type stays text, which the submit has noted."""
    if "PAI_CONFIG_DIR" not in os.environ:
        return  # Not in a job.
    with open(os.path.join(os.environ["PAI_CONFIG_DIR"], "hyperparameters.json"), encoding="utf-8") as file:
        given = {name: str(value) for name, value in json.load(file).items()}
    for name in given.keys() & {*names}:
        try:
            variables[name] = typed(given[name], variables.get(name))
        except (KeyError, *INVALID):
            variables[name] = given[name]


def typed(text: str, default: object) -> object:
    """Return the value of a hyperparameter with the type of its default; without a known one, as in ``PAI_HPS``.

    Raises:
        KeyError, or an error in `INVALID`: if it does not have this type.
    """
    if isinstance(default, str):
        return text
    if text == "None":
        return None
    if isinstance(default, bool):
        return _TRUTH[text.lower()]
    if isinstance(default, int):
        return int(text) if re.fullmatch(r"\s*[-+]?[\d_]+\s*", text) else float(text)
    if isinstance(default, float):
        return float(text)
    if isinstance(default, (list, tuple, set, dict)):
        return _container(text, default)
    if text.lstrip()[:1] in ("[", "{", "("):  # Without a type, a list, tuple or dict is one.
        with suppress(*INVALID):
            return _literal(text)
    with suppress(ValueError):
        value = json.loads(_SPELLED.get(text, text))
        if isinstance(value, (bool, int, float)) and value - value == 0:  # Not infinite.
            return value
    return text


def _container(text: str, default: object) -> object:
    """Return a list, tuple, set or dict written in JSON or Python, with the types of `default` inside."""
    value = _literal(text)
    if isinstance(value, dict) != isinstance(default, dict) or not isinstance(value, (list, tuple, set, dict)):
        raise ValueError(text)
    return _shaped(value, default)


def _literal(text: str) -> object:
    try:
        return json.loads(text, parse_constant=int)  # Refuses NaN, which has no Python literal.
    except ValueError:
        return ast.literal_eval(text.strip())


def _shaped(value: Any, like: Any) -> object:
    """Return a value with the types of another one that JSON lacks: tuples, sets, and numbers and None as keys."""
    if isinstance(value, dict) and isinstance(like, dict):
        keys = {json.loads(json.dumps({key: 0})).popitem()[0]: key for key in like if _is_key(key)}
        numbers = bool(like) and all(type(key) is int for key in like)
        pairs = ((keys.get(key, _number(key) if numbers else key), item) for key, item in value.items())
        return {key: _shaped(item, like.get(key)) for key, item in pairs}
    if isinstance(value, (list, tuple, set)) and isinstance(like, (list, tuple, set)):
        first = next(iter(like), None)
        models = list(like) if len(like) == len(value) and not isinstance(like, set) else [first] * len(value)
        return type(like)(_shaped(*pair) for pair in zip(value, models))  # noqa: B905  # Python 3.9 has no `strict`.
    return value


def _is_key(key: object) -> bool:
    return isinstance(key, (str, int, float, type(None)))


def _number(key: object) -> object:
    return int(key) if isinstance(key, str) and re.fullmatch(r"-?\d{1,300}", key) else key


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


@lru_cache
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
