"""Hyperparameters and their values, read statically: constant expressions, type annotations, limits of numbers."""

from __future__ import annotations

import ast
import operator
import posixpath
import re
from collections.abc import Callable, Mapping, Sized
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from ...core.contract import text
from ...core.i18n import _
from .syntax import Module, Program

# `--name value`, `--name`, a word without a name, only `-n`; not on the command line.
Form = Literal["option", "flag", "argument", "short", "none"]
Origin = Literal["argparse", "click", "typer", "cell", "dict", "dataclass"]

_LONGEST_TEXT = 2_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# The least and greatest allowed number as texts; None if unknown.
Limits = tuple[str | None, str | None]
# The name of a type, and the allowed values.
Annotation = tuple[str, tuple[str, ...]]

_TYPES = {
    "str": "str", "int": "int", "float": "float", "bool": "bool", "list": "list", "tuple": "list", "set": "list",
    "List": "list", "Tuple": "list", "Sequence": "list", "Iterable": "list", "dict": "dict", "Dict": "dict",
    "Mapping": "dict", "Path": "path", "PurePath": "path", "PathLike": "path", "FileType": "path",
}  # fmt: skip

_STEPS = 5_000
_DEEPEST = 50
_LARGEST = 1 << 64
_LONGEST = 10_000

_BINARY: dict[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitOr: operator.or_, ast.BitAnd: operator.and_,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[..., object]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert,
}  # fmt: skip


@dataclass(frozen=True)
class Hyperparameter:
    """A hyperparameter that code declares, with the data for a form.

    `name` is the name for `--hp`, `aliases` are its other names, and `origin` is the kind of declaration. `type` is
    str, int, float, bool, list, dict or path; empty if code of the user reads the text. `default` is in the training
    contract's format; None without a default, or for one that cannot be read. `choices`, `minimum` and `maximum` are
    the allowed values; empty or None if unknown. `form` is how a command line takes it: `--hp` sets options only.
    `nargs` is the number of words that an option takes, as in argparse (`+`, `*`, `2`), or `repeated` for an option
    that is given once for each word; empty for one word. `item` is the type of each of several words. In the code of a
    notebook, `line` counts within the code cell of number `cell`; 0 for a line of the file. For `file`
    see `Module.title`.
    """

    name: str
    type: str
    default: str | None
    required: bool
    choices: tuple[str, ...]
    help: str
    file: str
    line: int
    origin: Origin
    form: Form = "option"
    aliases: tuple[str, ...] = ()
    minimum: str | None = None
    maximum: str | None = None
    nargs: str = ""
    item: str = ""
    cell: int = 0

    @property
    def place(self) -> str:
        """The file, with the cell of a notebook's code; see `Module.title`."""
        return _("{file}, cell {cell}").format(file=self.file, cell=self.cell) if self.cell else self.file


def names_of(one: Hyperparameter) -> tuple[str, ...]:
    """Return the names of an option."""
    return (one.name, *one.aliases)


def default_text(value: object) -> str | None:
    """Return a value in the training contract's format; None for other types, and for one too long to be shown."""
    if isinstance(value, str | int | float | list | tuple | dict):
        with suppress(TypeError, ValueError, RecursionError):
            if (shown := text(value)) is not None and len(shown) <= _LONGEST_TEXT:
                return _sound(shown)
    return None


def one_line(words: str) -> str:
    """Return display text in one line, without control characters."""
    return _sound(_CONTROL.sub("", " ".join(words.split())))[:_LONGEST_TEXT]


def _sound(words: str) -> str:
    """Return the text without lone surrogates, which JSON in UTF-8 cannot represent."""
    return words.encode("utf-8", "replace").decode()


class Unknown(Exception):
    """The value is not constant."""


def _range(*bounds: int) -> list[int]:
    numbers = range(*bounds)
    if len(numbers) > _LONGEST:
        raise Unknown
    return list(numbers)


# Calls evaluated statically; Path(x) evaluates to the string x.
_CALLS: dict[str, Callable[..., object]] = {
    "str": str, "int": int, "float": float, "bool": bool, "list": list, "tuple": tuple, "sorted": sorted, "set": sorted,
    "dict": dict, "range": _range,
    "pathlib.Path": posixpath.join, "pathlib.PurePath": posixpath.join, "os.path.join": posixpath.join,
}  # fmt: skip
_ENUMS = ("Enum", "StrEnum", "IntEnum")


class Values:
    """Evaluates expressions of a program, with limits on steps, depth and size."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._steps = 0

    def known(self, module: Module, node: ast.expr | None, otherwise: object = None) -> object:
        """Return the value of an expression; `otherwise` if it is not constant."""
        self._steps = 0
        try:
            return self._value(module, node, 0) if node else otherwise
        except Exception:
            # User code may raise anything, as when it runs.
            return otherwise

    def text(self, module: Module, node: ast.expr | None) -> str | None:
        """Return a value in the training contract's format; None if unknown."""
        return default_text(self.known(module, node))

    def words(self, module: Module, node: ast.expr | None) -> str:
        """Return display text; empty if unknown."""
        text = self.known(module, node)
        return one_line(text) if isinstance(text, str) else ""

    def choices(self, module: Module, node: ast.expr | None) -> tuple[str, ...]:
        """Return the values of a list or enumeration; empty if unknown."""
        if node and (members := self.members(module, node)):
            return members
        options = self.known(module, node)
        return _all([*map(default_text, options)]) if isinstance(options, list | tuple | dict) else ()

    def members(self, module: Module, node: ast.expr) -> tuple[str, ...]:
        """Return the values of the program's `Enum` that an expression names; empty for other expressions."""
        owner, definition = self.program.definition(module, node) or (module, None)
        if not isinstance(definition, ast.ClassDef) or not any(
            owner.meaning(base).rpartition(".")[2] in _ENUMS for base in definition.bases
        ):
            return ()
        assigned = (statement for statement in definition.body if isinstance(statement, ast.Assign))
        return _all([self.text(owner, statement.value) for statement in assigned])

    def _value(self, module: Module, node: ast.expr, depth: int) -> object:
        self._steps += 1
        if self._steps > _STEPS or depth > _DEEPEST:
            raise Unknown
        value = self._plain(module, node, depth + 1)
        is_large = isinstance(value, int) and abs(value) > _LARGEST
        if is_large or (isinstance(value, Sized) and len(value) > _LONGEST):
            raise Unknown
        return value

    def _plain(self, module: Module, node: ast.expr, depth: int) -> object:
        def inner(part: ast.expr) -> object:
            return self._value(module, part, depth)

        match node:
            case ast.Constant(value):
                return value
            case ast.UnaryOp(operation, operand):
                return _UNARY[type(operation)](inner(operand))
            case ast.BinOp(left, operation, right):
                return _binary(operation, inner(left), inner(right))
            case ast.List(parts) | ast.Set(parts):
                return list(map(inner, parts))
            case ast.Tuple(parts):
                return tuple(map(inner, parts))
            case ast.Dict(keys, parts):
                return {inner(key): inner(part) for key, part in zip(filter(None, keys), parts, strict=True)}
            case ast.JoinedStr(parts):
                return "".join(str(inner(part)) for part in parts)
            case ast.FormattedValue(part, -1, None):
                return inner(part)
            case ast.Name() | ast.Attribute():
                return self._named(module, node, depth)
            case ast.Call():
                return self._call(module, node, depth)
        raise Unknown

    def _named(self, module: Module, node: ast.Name | ast.Attribute, depth: int) -> object:
        owner, name = self.program.owner(module, module.meaning(node))
        if name.endswith(".value") and name.removesuffix(".value") in owner.constants:
            name = name.removesuffix(".value")
        if name not in owner.constants:
            raise Unknown
        return self._value(owner, owner.constants[name], depth)

    def _call(self, module: Module, node: ast.Call, depth: int) -> object:
        arguments = [self._value(module, argument, depth) for argument in node.args]
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("keys", "values") and not arguments:
            table = self._value(module, node.func.value, depth)
            return list(getattr(table, node.func.attr)()) if isinstance(table, dict) else None
        known = _CALLS[module.meaning(node.func)]
        options = {key.arg: self._value(module, key.value, depth) for key in node.keywords if key.arg}
        if len(options) < len(node.keywords) or (options and known is not dict):
            raise Unknown
        return known(*arguments, **options)


def _all(texts: list[str | None]) -> tuple[str, ...]:
    known = tuple(text for text in texts if text is not None)
    return known if len(known) == len(texts) else ()


def _binary(operation: ast.operator, left: object, right: object) -> object:
    kind = type(operation)
    grows = kind in (ast.Pow, ast.LShift) and isinstance(right, int) and right > 64
    many = any(isinstance(part, int) and part > _LONGEST for part in (left, right))
    repeats = kind is ast.Mult and many and (isinstance(left, Sized) or isinstance(right, Sized))
    formats = kind is ast.Mod and isinstance(left, Sized)  # May create text of any length.
    if grows or repeats or formats:
        raise Unknown
    if kind is ast.Div and isinstance(left, str):
        return posixpath.join(left, str(right))  # A path, represented by its text.
    return _BINARY[kind](left, right)


def click_limits(module: Module, node: ast.expr | None, values: Values) -> Limits:
    """Return the limits of a `click.IntRange(1, 10)`."""
    if not isinstance(node, ast.Call) or module.meaning(node.func) not in ("click.IntRange", "click.FloatRange"):
        return None, None
    arguments = dict(zip(("min", "max", "min_open", "max_open", "clamp"), node.args, strict=False))
    return limits(module, arguments | {key.arg: key.value for key in node.keywords if key.arg}, values)


def limits(module: Module, options: Mapping[str, ast.expr], values: Values) -> Limits:
    """Return the limits of a `typer.Option(min=1, max=10)`.

    Open limits are unknown, and so are those to which values are moved (``clamp``).
    """
    if values.known(module, options.get("clamp")) is True:
        return None, None
    return _limit(module, options, "min", values), _limit(module, options, "max", values)


def range_limits(module: Module, node: ast.expr | None, values: Values) -> Limits:
    """Return the limits of argparse's `choices=range(1, 11)`."""
    if not isinstance(node, ast.Call) or module.meaning(node.func) != "range" or node.keywords:
        return None, None
    bounds = [values.known(module, argument) for argument in node.args]
    numbers = [number for number in bounds if isinstance(number, int)]
    if len(numbers) != len(bounds) or len(numbers) not in (1, 2):
        return None, None
    low, end = (0, numbers[0]) if len(numbers) == 1 else numbers
    return (str(low), str(end - 1)) if low < end else (None, None)


def _limit(module: Module, options: Mapping[str, ast.expr], side: str, values: Values) -> str | None:
    value = values.known(module, options.get(side))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_open = values.known(module, options.get(f"{side}_open")) is True
    return values.text(module, options.get(side)) if is_number and not is_open else None


def type_of(value: object) -> str:
    """Return the type name of a value; empty for None and other types."""
    return _TYPES.get(type(value).__name__, "")


def annotation(module: Module, node: ast.expr | None, values: Values, depth: int = 0) -> Annotation:
    """Return the type name and the choices. `Optional[int]` is int, since None cannot be passed."""
    if depth > 10:
        return "", ()
    match node:
        case None:
            return "", ()
        case ast.Constant(str(text)):
            try:
                node = ast.parse(text, mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return "", ()
            return annotation(module, node, values, depth + 1)
        case ast.BinOp(left, ast.BitOr(), right):
            return _either(module, [left, right], values, depth)
        case ast.Subscript(base, inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return _subscript(module, module.meaning(base).rpartition(".")[2], parts, values, depth)
    members = values.members(module, node)
    return "str" if members else _TYPES.get(module.meaning(node).rpartition(".")[2], ""), members


def _subscript(module: Module, base: str, parts: list[ast.expr], values: Values, depth: int) -> Annotation:
    match base:
        case "Optional" | "Union":
            return _either(module, parts, values, depth)
        case "Annotated" | "Final" | "Required" if parts:
            return annotation(module, parts[0], values, depth + 1)
        case "Literal":
            return type_of(values.known(module, parts[0])), values.choices(module, ast.Tuple(parts))
    return _TYPES.get(base, ""), ()


def _either(module: Module, parts: list[ast.expr], values: Values, depth: int) -> Annotation:
    left = [part for part in parts if not (isinstance(part, ast.Constant) and part.value is None)]
    return annotation(module, left[0], values, depth + 1) if len(left) == 1 else ("", ())


def is_list(module: Module, node: ast.expr | None) -> bool:
    """Return whether an annotation is a list, or a list or None."""
    match node:
        case ast.Subscript(base, inner):
            name = module.meaning(base).rpartition(".")[2]
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if name in ("Optional", "Annotated"):
                return bool(parts) and is_list(module, parts[0])
            return name in ("list", "List", "Sequence")
        case ast.BinOp(left, ast.BitOr(), right):
            return is_list(module, left) or is_list(module, right)
    return bool(node) and module.meaning(node).rpartition(".")[2] in ("list", "List") if node else False
