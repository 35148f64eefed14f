"""Finds the hyperparameters that a job's code declares, and checks those of the spec."""

from __future__ import annotations

import posixpath
import threading
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ...core import contract
from ...core.errors import BadInput, SourceError, UsageError
from ...core.i18n import _
from ...core.shell_words import simple_commands
from ...jobs.spec import JobSpec
from .. import hyperparameters, import_paths, notebook, script
from ..entry_point import interpreter_of
from . import Hyperparameter, Module, Program
from .words import nargs_of

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
_inspecting = threading.Lock()


@dataclass(frozen=True)
class InspectedFile:
    """An inspected file, relative to the code folder, and the error of an unreadable one."""

    path: str
    problem: str = ""


@dataclass(frozen=True)
class Inspection:
    """The declared hyperparameters. `closed`: others are rejected. `notes` name problems of those in the spec;
    `refused` has the errors with which the script certainly exits, by field of the spec. `nargs` has the options
    of the started scripts that take several words."""

    hyperparameters: tuple[Hyperparameter, ...]
    files: tuple[InspectedFile, ...]
    closed: bool
    notes: tuple[str, ...]
    refused: dict[str, str] = field(default_factory=dict)
    nargs: dict[str, str] = field(default_factory=dict)


def inspect(spec: JobSpec) -> Inspection:
    """Parse the scripts of a job and the local modules that they import. No code runs."""
    return inspect_modules(spec)[0]


def inspect_modules(spec: JobSpec) -> tuple[Inspection, tuple[Module, ...]]:
    """Return the inspection with the parsed modules. One thread inspects at a time: others wait for one only."""
    with _inspecting:
        return _inspect(spec)


def _inspect(spec: JobSpec) -> tuple[Inspection, tuple[Module, ...]]:
    code = _Code(spec.source.folder, spec.source.files)
    declared: dict[str, Hyperparameter] = {}
    notes: dict[str, None] = {}
    refused: dict[str, str] = {}
    closed = []
    started: list[list[Hyperparameter]] = []
    for path, takes_options in dict.fromkeys(_scripts(spec, code)):
        program, options, is_closed = _declared(path, code)
        # Hyperparameters replace the values of a notebook's parameters cell.
        is_set = spec.runs_notebook or script.sets_parameters(code.files.get(path, ""))
        for option in options:
            is_option = is_set and option.origin == "cell"
            declared.setdefault(option.name, replace(option, form="option") if is_option else option)
        if takes_options:
            closed.append(is_closed)
            started.append(options)
        if takes_options and is_closed:
            wrong = dict(hyperparameters.check_values(options, spec.hyperparameters))
            if not spec.command.strip():  # Our own launch line.
                with suppress(RecursionError, AttributeError, TypeError, ValueError):  # Unusual code is not refused.
                    refused = hyperparameters.refusals(program, options, spec.hyperparameters, spec.args, wrong)
            notes |= dict.fromkeys(text for text in wrong.values() if text not in refused.values())
    inspection = Inspection(
        tuple(declared.values()), tuple(code.inspected.values()), bool(closed) and all(closed), tuple(notes), refused,
        nargs_of(started),
    )  # fmt: skip
    return inspection, tuple(code.modules.values())


def _declared(path: str, code: _Code) -> tuple[Program, list[Hyperparameter], bool]:
    """Return a script with its hyperparameters, and whether it rejects others."""
    program, whole = _program(path, code)
    if path not in program.modules:
        return program, [], False
    try:
        return program, hyperparameters.read(program), whole and hyperparameters.is_closed(program)
    except Exception as error:
        # Unusual code must never make a job fail here.
        code.inspected[path] = InspectedFile(path, f"{type(error).__name__}: {error}")
        return program, [], False


@dataclass
class _Code:
    """The files of a job: of its folder, and of the spec, which take precedence."""

    folder: str
    files: dict[str, str]
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
            text = self._text(path)
            if script.is_large(text):
                raise SourceError(_("Too much code to inspect."))
            module = hyperparameters.parse(text, path)
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

    def _text(self, path: str) -> str:
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


def _program(entry: str, code: _Code) -> tuple[Program, bool]:
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


def _file_of(name: str, importer: str, entry: str, code: _Code) -> str:
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


def _scripts(spec: JobSpec, code: _Code) -> Iterator[tuple[str, bool]]:
    """Yield the scripts that a job's command names, and whether they are started with the hyperparameters."""
    if not spec.command.strip():
        path = posixpath.normpath(spec.entry_point)
        runs = ""
        with suppress(UsageError):  # The submit reports it.
            runs = interpreter_of(spec.source.folder, path, spec.source.files)
        is_python = path.endswith(".py") if not runs else runs.startswith("python")
        if (is_python or path.endswith(".ipynb")) and code.has(path):
            yield path, is_python  # Notebooks accept any name.
        return
    place, left = "", _MOST_WORDS
    for words in _commands(contract.expand_user_args(spec.command, {_MARK: ""})):
        if words[0] == "cd" and len(words) > 1:
            place = posixpath.normpath(posixpath.join(place, words[1]))
        elif path := _script_of(words[:_MOST_WORDS], place, code):
            yield path, f"--{_MARK}" in words and path.endswith(".py")
        left -= len(words)
        if left <= 0 or len(place) > _LONGEST_PATH:
            return


def _commands(line: str) -> Iterator[list[str]]:
    """Yield the simple commands of a shell command, as words."""
    with suppress(ValueError):  # An unclosed quotation, which the shell reports.
        yield from simple_commands(line.replace("\\\n", " "), _SEPARATORS)


def _script_of(words: list[str], place: str, code: _Code) -> str:
    """Return the script of a command: the first word that names one; empty if there is none."""
    for number, word in enumerate(words):
        if word == f"--{_MARK}" or (number == 0 and word.startswith("#")):
            return ""
        if word.endswith((".py", ".ipynb")):
            path = posixpath.normpath(posixpath.join(place, word))
            if code.has(path):
                return path
        if word == "-m" and number + 1 < len(words):
            inner = posixpath.join(place, words[number + 1].replace(".", "/"))
            for path in (f"{inner}.py", f"{inner}/__main__.py"):
                if code.has(posixpath.normpath(path)):
                    return posixpath.normpath(path)
    return ""
