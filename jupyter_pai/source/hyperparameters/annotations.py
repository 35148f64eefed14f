"""Reads type annotations: the name of the type and the allowed values."""

from __future__ import annotations

import ast

from .syntax import Module
from .values import Values

Annotation = tuple[str, tuple[str, ...]]

_TYPES = {
    "str": "str", "int": "int", "float": "float", "bool": "bool", "list": "list", "tuple": "list", "set": "list",
    "List": "list", "Tuple": "list", "Sequence": "list", "Iterable": "list", "dict": "dict", "Dict": "dict",
    "Mapping": "dict", "Path": "path", "PurePath": "path", "PathLike": "path", "FileType": "path",
}  # fmt: skip


def type_of(value: object) -> str:
    """Return the type name of a value; empty for None and other types."""
    return _TYPES.get(type(value).__name__, "")


def annotation(module: Module, node: ast.expr | None, values: Values, depth: int = 0) -> Annotation:
    """Return the type name and the choices. `Optional[int]` is int, since None cannot be passed."""
    if node is None or depth > 10:
        return "", ()
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return "", ()
    match node:
        case ast.BinOp(left, ast.BitOr(), right):
            return _either(module, [left, right], values, depth)
        case ast.Subscript(base, inner):
            return _subscript(module, module.meaning(base).rpartition(".")[2], inner, values, depth)
    if members := values.members(module, node):
        return "str", members
    return _TYPES.get(module.meaning(node).rpartition(".")[2], ""), ()


def _subscript(module: Module, base: str, inner: ast.expr, values: Values, depth: int) -> Annotation:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if base in ("Optional", "Union"):
        return _either(module, parts, values, depth)
    if base in ("Annotated", "Final", "Required") and parts:
        return annotation(module, parts[0], values, depth + 1)
    if base == "Literal":
        return type_of(values.known(module, parts[0])), values.choices(module, ast.Tuple(parts))
    return _TYPES.get(base, ""), ()


def _either(module: Module, parts: list[ast.expr], values: Values, depth: int) -> Annotation:
    left = [part for part in parts if not (isinstance(part, ast.Constant) and part.value is None)]
    return annotation(module, left[0], values, depth + 1) if len(left) == 1 else ("", ())
