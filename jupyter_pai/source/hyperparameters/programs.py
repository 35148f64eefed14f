"""The scripts that a job runs, with the local modules that they import. Standard library only; copied into jobs."""

from __future__ import annotations

import posixpath
import re
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ...core import contract
from ...core.errors import BadInput, SourceError, UsageError
from ...core.i18n import _
from ...core.shell_words import simple_commands
from .. import import_paths, notebook, script
from ..entry_point import interpreter_of
from .check import is_closed
from .command_line import read_argparse, read_click, read_typer
from .parameters_cell import read_cells, read_dataclasses, read_dicts
from .syntax import Module, Program, parse
from .values import Hyperparameter, Values
from .words import nargs_of

# The command line first: `--hp` sets its options.
_READERS = (read_argparse, read_click, read_typer, read_cells, read_dicts, read_dataclasses)
_MOST_FILES = 50
_LARGEST = 500_000
_LARGEST_TOGETHER = 2_000_000
# Nodes of the syntax trees, which take some hundred bytes each. Half a megabyte of ordinary code has as many.
_MOST_NODES = 100_000
# Words of a command that may name scripts.
_MOST_WORDS = 2_000
_LONGEST_PATH = 4_000
# Placeholder for the hyperparameters in a command.
_MARK = "jupyter-pai-hyperparameters"
_SEPARATORS = ";&|()<>\n"
_SHELL = re.compile(r"(?:^|[/ ])(?:ba|da|k|z)?sh\b")
# The folder of a shell script, and the path of a folder, as scripts write them.
_OWN_FOLDER = re.compile(r"\$\(\s?dirname\b[^)\n]{0,200}\)|\$\{0%/\*\}")
_CURRENT_FOLDER = re.compile(r"\$\(\s?cd \"?([^\s\"&;)]{1,200})\"?[^)\n]{0,40}\bpwd\b[^)\n]{0,40}\)")


@dataclass(frozen=True)
class InspectedFile:
    """An inspected file, relative to the code folder, and the error of an unreadable one."""

    path: str
    problem: str = ""


def read(program: Program) -> list[Hyperparameter]:
    """Return every hyperparameter that a program declares, with duplicates."""
    values = Values(program)
    return [one for reader in _READERS for one in reader(program, values)]


def declared_by(path: str, code: Code) -> tuple[Program, list[Hyperparameter], bool]:
    """Return a script with its hyperparameters, and whether it rejects others."""
    program, whole = _program(path, code)
    if path not in program.modules:
        return program, [], False
    try:
        return program, read(program), whole and is_closed(program)
    except Exception as error:
        # Unusual code must never make a job fail here.
        code.inspected[path] = InspectedFile(path, f"{type(error).__name__}: {error}")
        return program, [], False


@dataclass
class Code:
    """The files of a job: of its folder, and of the spec, which take precedence."""

    folder: str
    files: Mapping[str, str]
    inspected: dict[str, InspectedFile] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    read: int = 0
    nodes: int = 0

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The folders that may contain packages of the project."""
        text = self.files.get("pyproject.toml", "")
        if not text and self.folder:
            with (
                suppress(OSError),
                Path(self.folder, "pyproject.toml").open(encoding="utf-8", errors="replace") as file,
            ):
                text = file.read(import_paths.LARGEST)
        return import_paths.roots(text)

    def has(self, path: str) -> bool:
        """Return whether the file exists inside the folder."""
        if path in self.files:
            return True
        if not self.folder or path.startswith(("/", "../")) or "\0" in path:
            return False
        try:
            root, real = Path(self.folder).resolve(), Path(self.folder, path).resolve()
            return real.is_relative_to(root) and real.is_file()
        except (OSError, RuntimeError):  # a loop of links; a name too long
            return False

    def module(self, path: str) -> Module | None:
        """Return a file as a module; None if it cannot be read, with the error recorded."""
        try:
            text = self.text(path)
            if script.is_large(text):
                raise SourceError(_("Too much code to inspect."))
            module = parse(text, path)
            module.notebook = self._notebook_of(path)
            self._count_nodes(module)
        except (
            BadInput,
            OSError,
            SyntaxError,
            ValueError,
        ) as error:  # an invalid source encoding
            self.inspected[path] = InspectedFile(path, getattr(error, "message", "") or str(error))
            return None
        self.inspected[path] = InspectedFile(path)
        self.modules[path] = module
        return module

    def _notebook_of(self, path: str) -> str:
        """Return the notebook beside a script of the spec that was made of it; empty for other files. The script of
        `a.ipynb` is `a_1.py` if the folder has an `a.py`."""
        if path not in self.files or not script.heads(self.files[path]):
            return ""
        names = (path.removesuffix(".py"), re.sub(r"_\d+\.py$", "", path))
        return next((f"{name}.ipynb" for name in names if self.has(f"{name}.ipynb")), "")

    def text(self, path: str) -> str:
        """Return the text of a file, as Python code if it is a notebook.

        Raises:
            BadInput, OSError, SyntaxError, ValueError: if it cannot be read.
        """
        if path not in self.files:
            file = Path(self.folder, path)
            self._count(file.stat().st_size if file.suffix != ".ipynb" else 0)
            if file.suffix == ".ipynb":
                return script.readable(notebook.read(file))
            with tokenize.open(file) as text:
                return text.read()
        self._count(len(self.files[path]))
        return script.readable_text(self.files[path])

    def _count_nodes(self, module: Module) -> None:
        self.nodes += len(module.nodes)
        if self.nodes > _MOST_NODES:
            raise SourceError(_("Too much code to inspect."))

    def _count(self, size: int) -> None:
        self.read += size
        is_much = self.read > _LARGEST_TOGETHER or self.nodes > _MOST_NODES or len(self.inspected) >= _MOST_FILES
        if size > _LARGEST or is_much:
            raise SourceError(_("Too much code to inspect."))


def _program(entry: str, code: Code) -> tuple[Program, bool]:
    """Return a script with its local modules, and whether all could be read."""
    modules: dict[str, Module] = {}
    paths = [entry]
    for path in paths:  # The list grows while it is read.
        if module := code.module(path):
            files = {name: _file_of(name, path, entry, code) for name in sorted(module.imported)}
            module.paths = {name: file for name, file in files.items() if file}
            modules[path] = module
            paths += dict.fromkeys(file for file in module.paths.values() if file not in paths)
    return Program(entry, modules), len(modules) == len(paths)


def _file_of(name: str, importer: str, entry: str, code: Code) -> str:
    """Return the file of a local module, beside the script or below the folder; empty for other modules."""
    bare = name.lstrip(".")
    below = bare.replace(".", "/")
    if level := len(name) - len(bare):
        bases = [posixpath.normpath(posixpath.join(posixpath.dirname(importer), *[".."] * (level - 1)))]
    else:
        bases = [posixpath.dirname(entry), "", *code.roots]
    places = [posixpath.normpath(posixpath.join(base, below)) for base in bases]
    files = (file for place in places for file in (f"{place}.py", posixpath.normpath(f"{place}/__init__.py")))
    return next(filter(code.has, files), "")


def nargs(code: Code, command: str, entry_point: str) -> dict[str, str]:
    """Return the options that take several words in the scripts that a job starts with its hyperparameters."""
    started = (path for path, takes_options in scripts(code, command, entry_point) if takes_options)
    return nargs_of(declared_by(path, code)[1] for path in started)


def scripts(code: Code, command: str, entry_point: str) -> Iterator[tuple[str, bool]]:
    """Yield the scripts that a job runs, by its command or as its entry point, and whether they are started with the
    hyperparameters."""
    if not command.strip():
        path = posixpath.normpath(entry_point)
        runs = ""
        with suppress(UsageError):  # The submit reports it.
            runs = interpreter_of(code.folder, path, code.files)
        is_python = path.endswith(".py") if not runs else runs.startswith("python")
        if not code.has(path):
            return
        if is_python or path.endswith(".ipynb"):
            yield path, is_python  # Notebooks accept any name.
        elif not runs or _SHELL.search(runs):
            yield from _started(_shell_text(path, code), ["", posixpath.dirname(path)], code)
        return
    yield from _started(contract.expand_user_args(command, {_MARK: ""}), [""], code)


def _shell_text(path: str, code: Code) -> str:
    """Return a shell script with its own folder in place of the expressions for it; empty if it cannot be read."""
    with suppress(BadInput, OSError, SyntaxError, ValueError):
        text = _OWN_FOLDER.sub(lambda _match: posixpath.dirname(path) or ".", code.text(path))
        return _CURRENT_FOLDER.sub(r"\1", text)
    return ""


def _started(text: str, places: list[str], code: Code) -> Iterator[tuple[str, bool]]:
    """Yield the scripts that a shell command starts, and whether with the hyperparameters. `places`: the folders in
    which it may run."""
    left = _MOST_WORDS
    for words in _commands(text):
        if words[0] == "cd" and len(words) > 1:
            places = [posixpath.normpath(posixpath.join(place, words[1])) for place in places]
        elif path := next(filter(None, (_script_of(words[:_MOST_WORDS], place, code) for place in places)), ""):
            yield path, path.endswith(".py") and not {f"--{_MARK}", "$@"}.isdisjoint(words)
        left -= len(words)
        if left <= 0 or max(map(len, places)) > _LONGEST_PATH:
            return


def _commands(line: str) -> Iterator[list[str]]:
    """Yield the simple commands of a shell command, as words."""
    with suppress(ValueError):  # An unclosed quotation, which the shell reports.
        yield from simple_commands(line.replace("\\\n", " "), _SEPARATORS)


def _script_of(words: list[str], place: str, code: Code) -> str:
    """Return the script of a command: the first word that names one; empty if there is none."""
    for number, word in enumerate(words):
        if word == f"--{_MARK}" or (number == 0 and word.startswith("#")):
            return ""
        if word.endswith((".py", ".ipynb")):
            path = posixpath.normpath(posixpath.join(place, word))
            if code.has(path):
                return path
        if word == "-m" and number + 1 < len(words):
            for root in (place, *code.roots):
                inner = posixpath.join(root, words[number + 1].replace(".", "/"))
                for path in (f"{inner}.py", f"{inner}/__main__.py"):
                    if code.has(posixpath.normpath(path)):
                        return posixpath.normpath(path)
    return ""
