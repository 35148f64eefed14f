"""The paths that code names: texts of a syntax tree or of a shell script, with the names around each."""

from __future__ import annotations

import ast
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...core.i18n import _
from ...jobs.spec import JobSpec
from ..hyperparameters.syntax import Module, dotted

_LONGEST = 300
# Bytes of a shell script that is read, and the files that are none.
_LARGEST_SCRIPT = 200_000
_NO_SHELL = (".py", ".ipynb")
# Characters of a line of a shell script that are read.
_LONGEST_LINE = 2_000
# Parts of an expression that are followed to find a path.
_MOST_PARTS = 30
_DECLARATIONS = ("add_argument", "option", "Option", "argument", "Argument")
# Names around a text that is the path of a result, and folders of results: the job creates them.
_WRITES = re.compile(
    r"sav|writ|dump|log|out|mkdir|makedirs|ckpt|checkpoint|result|export|cache|tmp|temp|to_|unlink|remove|rmtree|"
    r"tensorboard|figure|plot|artifact|record|exist_ok",
    re.IGNORECASE,
)
_RESULTS = re.compile(
    r"(?i)(^|/)(out|outputs?|logs?|results?|runs?|checkpoints?|ckpts?|figures?|plots?|tmp|cache|wandb|mlruns|"
    r"lightning_logs|artifacts?|build|dist)(/|$)"
)
# Names around a word that may be the name of a folder.
_READS = re.compile(r"path|dir|folder|root|file|open|join|glob|walk|load|read|exists|dataset", re.IGNORECASE)
_CALLS = re.compile(r"open$|load|read")
# Calls that use a folder itself.
_USES_FOLDER = frozenset("cd chdir run_line_magic append insert listdir scandir walk iterdir glob rglob".split())
# Calls that return the path of their first argument or of their object, and those that join paths.
_SAME = ("str", "fspath", "abspath", "realpath", "normpath", "expanduser", "resolve", "absolute", "as_posix")
_JOINS = ("join", "joinpath", "Path", "PurePath", "PosixPath")
_CURRENT = ("Path.cwd", "pathlib.Path.cwd", "os.getcwd")
# In a shell script: an absolute path, or one to a folder above, from the working folder or from that of the script; the
# name of a file.
_ABOVE = r"\.\.(?:/[^\s\"'`;&|()<>{}$*?]*)?"
_ABSOLUTE = r"(?<!:)~?/(?!/)[^\s\"'`;&|()<>{}$*?:,]+"
_SHELL = re.compile(
    rf"(?:(?<![\w./$}})\"'])|(?<=[\s=<>][\"']))(?P<path>{_ABOVE}|{_ABSOLUTE})(?![\w.])"
    rf"|dirname\b[^)\n]*\)+\"?/(?P<beside>{_ABOVE})"
    r"|(?<![\w./$}\-])(?P<file>\w[\w./-]*\.\w+)"
)
# Configuration files; the number that is read, and the characters of each. A setting is a key with one word, or a word
# of a list.
_CONFIGURATIONS = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg")
_MOST_CONFIGURATIONS, _LARGEST_CONFIGURATION = 20, 100_000
_SETTING = re.compile(
    r"""\s*+(?:-\s++)?+(?:["']?(?P<key>[\w.-]++)["']?\s*+[:=])?+\s*+["']?(?P<value>[^\s"',#\[\]{}]++)["']?"""
    r"[\s,}\]]*+(?:#.*)?$"
)
_COMMANDS = re.compile(r"[;&|(]")
# Commands that test a path.
_TESTS = frozenset(("test", "[", "[["))


@dataclass(frozen=True)
class NamedPath:
    """A text of the code that may be a path. `names` are the functions, parameters, variables and keys around it,
    innermost last. `base` is the folder of the code where it starts; None for the working folder. `is_joined`: it is
    the value of an expression that joins paths. `is_part`: it is a part of one."""

    text: str
    place: str
    names: tuple[str, ...]
    base: str | None = None
    is_joined: bool = False
    is_part: bool = False

    @property
    def is_path(self) -> bool:
        """True if it may be a path of this machine. A word is a path only if the names suggest it."""
        text = self.text
        if not text.strip() or len(text) > _LONGEST or "\n" in text or "\0" in text or "://" in text:
            return False
        near = self.names[-2:]
        if not text.strip("./"):
            return any(map(_READS.search, near)) or not _USES_FOLDER.isdisjoint(near)
        return "/" in text or "." in text or any(map(_READS.search, near))

    @property
    def shown_place(self) -> str:
        """The place for users; that of a value is its hyperparameter."""
        return self.place or _("hyperparameter `{name}`").format(name=self.names[-1])

    @property
    def is_read(self) -> bool:
        """True if the call around it reads it."""
        calls = [name for name in self.names if name != "path"]
        return bool(calls and _CALLS.match(calls[-1])) and not any(map(_WRITES.search, self.names))

    @property
    def is_used(self) -> bool:
        """True for a folder that is used itself, not only as the start of a path."""
        return not _USES_FOLDER.isdisjoint(self.names)

    @property
    def is_written(self) -> bool:
        """True if the names around it, or the path itself, are those of a result."""
        return any(map(_WRITES.search, self.names)) or bool(_RESULTS.search(self.text))


def in_code(spec: JobSpec, modules: Iterable[Module]) -> Iterator[NamedPath]:
    """Yield what may be paths in the values, the command, the shell script and the modules of a job."""
    for name, value in spec.hyperparameters.items():
        yield NamedPath(value, "", (name,))
    for word in spec.args:
        option, equals, value = word.partition("=")
        yield NamedPath(value if equals else word, _("arguments"), (option,) if equals else ())
    for command in commands(spec):
        yield from _in_shell(command)
    if not spec.command.strip() and not spec.entry_point.endswith(_NO_SHELL):
        yield from _in_shell(script_text(spec), spec.entry_point)
    for module in modules:
        yield from _in_module(module, spec.hyperparameters)


def in_job(spec: JobSpec, modules: Iterable[Module]) -> Iterator[NamedPath]:
    """Yield these, and the paths in the configuration files that they name."""
    names = list(in_code(spec, modules))
    yield from names
    yield from _in_configurations(names, spec.source.folder)


def commands(spec: JobSpec) -> list[str]:
    """Return the commands of a job, of each role once."""
    return [command for command in dict.fromkeys(one.command for one in spec.by_role.values()) if command.strip()]


def script_text(spec: JobSpec) -> str:
    """Return the text of the script; empty if it cannot be read."""
    if spec.entry_point in spec.source.files:
        return spec.source.files[spec.entry_point]
    try:
        with open(os.path.join(spec.source.folder, spec.entry_point), encoding="utf-8", errors="replace") as file:
            text = file.read(_LARGEST_SCRIPT)
    except (OSError, ValueError):
        return ""
    return "" if "\0" in text else text


def _in_module(module: Module, given: Mapping[str, str]) -> Iterator[NamedPath]:
    """Yield the texts of a module that may be paths. Defaults of options in `given` are skipped: they are not used."""
    waiting: list[tuple[ast.AST, tuple[str, ...], bool]] = [(module.tree, (), False)]
    while waiting:
        node, names, is_part = waiting.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield NamedPath(node.value, module.place(node.lineno), names, is_part=is_part)
        elif not is_part and isinstance(node, ast.expr) and _joins(node):
            is_part = True
            if value := _value(node, module, [_MOST_PARTS]):
                base = posixpath.dirname(module.file) if value[0] else None
                text = posixpath.normpath(value[1])
                yield NamedPath(text, module.place(node.lineno), (*names, "path"), base, is_joined=True)
        waiting += [(child, (*names, *more), is_part) for child, more in _children(node, given)]


def _in_shell(text: str, file: str = "") -> Iterator[NamedPath]:
    """Yield the files, the absolute paths and the paths to folders above in a shell script, or in a command without a
    `file`."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line[:_LONGEST_LINE]
        if line.lstrip().startswith("#"):
            continue
        place = _("{file}, line {line}").format(file=file, line=number) if file else _("command")
        for match in _SHELL.finditer(line):
            before = line[: match.start()]
            names = ("write",) if before.rstrip(" \"'").endswith(">") else _around(before)
            base = posixpath.dirname(file) if match["beside"] else None
            yield NamedPath(match["path"] or match["beside"] or match["file"], place, names, base)


def _around(text: str) -> tuple[str, ...]:
    """Return the command before a path in a line of a shell, or before the expression that makes it, with the option or
    the variable that the path is given to."""
    words = _COMMANDS.split(text.rstrip("\"'$("))[-1].split()
    given = [word for word in words[-1:] if word.startswith("-") or word.endswith("=")]
    is_variable = any(not word.startswith("-") for word in given)
    names = [word for word in words[:1] if word.isidentifier() and not is_variable]
    is_output = not {"-o", "-O"}.isdisjoint(given)  # Of curl, wget, gcc and others.
    extra = [*["exists"] * (not _TESTS.isdisjoint(words)), *["out"] * is_output]
    return (*names, *(word.strip("-=") for word in given), *extra)


def _in_configurations(names: Iterable[NamedPath], folder: str) -> Iterator[NamedPath]:
    """Yield the paths in the configuration files of a folder that code names. May block."""
    texts = {name.text for name in names if name.is_path and name.text.lower().endswith(_CONFIGURATIONS)}
    for file in sorted(posixpath.normpath(text) for text in texts)[:_MOST_CONFIGURATIONS]:
        if file.startswith(("/", "../")):
            continue
        try:
            with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as stream:
                lines = stream.read(_LARGEST_CONFIGURATION).split("\n")
        except (OSError, ValueError):
            continue
        for number, line in enumerate(lines, 1):
            match = _SETTING.match(line[:_LONGEST_LINE])
            if match and "/" in match["value"]:
                place = _("{file}, line {line}").format(file=file, line=number)
                yield NamedPath(match["value"], place, tuple(filter(None, [match["key"]])))


def _joins(node: ast.expr) -> bool:
    """Return whether an expression makes a path of others."""
    match node:
        case ast.BinOp(op=ast.Div()) | ast.Attribute(attr="parent") | ast.Subscript(ast.Attribute(attr="parents")):
            return True
        case ast.Call(function):
            name = last(function)
            return name in (*_SAME[1:], *_JOINS, "dirname") and not (name == "join" and not _is_path_join(function))
    return False


def _is_path_join(function: ast.expr) -> bool:
    return dotted(function).endswith("path.join") or dotted(function) == "join"


def _value(node: ast.expr, module: Module, left: list[int]) -> tuple[bool, str] | None:
    """Return the path that an expression makes, and whether it starts at the folder of its file; None if that is not
    known. `left` has the number of parts to follow."""
    left[0] -= 1
    if left[0] < 0:
        return None
    match node:
        case ast.Constant(str() as text):
            return False, text
        case ast.JoinedStr([ast.Constant(str() as text), *_rest]):
            return False, text
        case ast.Name("__file__"):
            return True, posixpath.basename(module.file)
        case ast.Name(name) if name in module.constants:
            return _value(module.constants[name], module, left)
        case ast.BinOp(first, ast.Div(), second):
            return _joined([first, second], module, left)
        case ast.Attribute(value, "parent"):
            return _above(value, 1, module, left)
        case ast.Subscript(ast.Attribute(value, "parents"), ast.Constant(int() as number)) if 0 <= number < _MOST_PARTS:
            return _above(value, number + 1, module, left)
        case ast.Call(function, arguments):
            return _called(function, arguments, module, left)
    return None


def _called(function: ast.expr, arguments: list[ast.expr], module: Module, left: list[int]) -> tuple[bool, str] | None:
    name = last(function)
    if dotted(function) in _CURRENT:
        return False, "."
    if name == "dirname" and arguments:
        return _above(arguments[0], 1, module, left)
    if name in _SAME and (arguments or isinstance(function, ast.Attribute)):
        return _value(arguments[0] if arguments else function.value, module, left)  # type: ignore[attr-defined]
    if name == "joinpath" and isinstance(function, ast.Attribute):
        return _joined([function.value, *arguments], module, left)
    if name in _JOINS and arguments and (name != "join" or _is_path_join(function)):
        return _joined(arguments, module, left)
    return None


def _joined(nodes: Sequence[ast.expr], module: Module, left: list[int]) -> tuple[bool, str] | None:
    """Return the path of the first parts that are known."""
    made: tuple[bool, str] | None = None
    for node in nodes:
        value = _value(node, module, left)
        if value is None:
            return made
        is_start = made is None or value[0] or value[1].startswith("/")
        made = value if is_start or made is None else (made[0], posixpath.join(made[1], value[1]))
    return made


def _above(node: ast.expr, levels: int, module: Module, left: list[int]) -> tuple[bool, str] | None:
    value = _value(node, module, left)
    if value is None:
        return None
    return value[0], posixpath.normpath(posixpath.join(value[1], *[".."] * levels))


def _children(node: ast.AST, given: Mapping[str, str]) -> Iterator[tuple[ast.AST, Sequence[str]]]:
    """Yield the parts of a node that may contain paths, with the names around each."""
    match node:
        case ast.Expr(ast.Constant()) | ast.Compare():
            return  # A docstring; a text that another one is compared with.
        case ast.Call(function, arguments, keywords):
            name = last(function)
            flags = [word for word in map(_text_of, arguments) if word]
            if name in _DECLARATIONS and any(_is_given(flag, given) for flag in flags):
                return
            around = [name, *(flags if name in _DECLARATIONS else [])]
            if name == "open" and any(map(_is_writing, [*arguments[:2], *(keyword.value for keyword in keywords)])):
                around.append("write")
            if isinstance(function, ast.Attribute):
                yield function.value, around if name == "open" else [name]
            yield from ((argument, around) for argument in arguments)
            yield from ((keyword.value, [*around, keyword.arg or ""]) for keyword in keywords)
        case ast.Assign(targets, value):
            yield value, [last(target) for target in targets]
        case ast.AnnAssign(target, _, ast.expr() as value):
            yield value, [last(target)]
        case ast.Dict(keys, values):
            yield from ((value, [_text_of(key)]) for key, value in zip(keys, values, strict=True))
        case ast.arguments(posonlyargs=first, args=args, kwonlyargs=named, defaults=defaults, kw_defaults=own):
            pairs = [*zip(reversed([*first, *args]), reversed(defaults), strict=False), *zip(named, own, strict=True)]
            yield from ((default, [argument.arg]) for argument, default in pairs if default)
        case ast.JoinedStr(values):
            yield from ((value, []) for value in values[:1])
        case ast.Subscript(value):
            yield value, []
        case _:
            yield from ((child, []) for child in ast.iter_child_nodes(node))


def last(node: ast.expr) -> str:
    """Return the last part of a name, attribute or key; empty for other expressions."""
    if isinstance(node, ast.Subscript):
        return _text_of(node.slice)
    return node.attr if isinstance(node, ast.Attribute) else dotted(node)


def _text_of(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_given(flag: str, given: Mapping[str, str]) -> bool:
    name = flag.lstrip("-")
    return flag.startswith("-") and (name in given or name.replace("-", "_") in given)


def _is_writing(mode: ast.expr) -> bool:
    return _text_of(mode) in ("w", "wb", "wt", "a", "ab", "at", "x", "xb", "xt")
