"""A call of `jupyter_pai.submit` in Python as the values that it is given. Nothing is run: values are literals."""

from __future__ import annotations

import ast
from typing import Any

from .errors import UsageError
from .i18n import _

__all__ = ["read"]


def read(text: str) -> dict[str, Any]:
    """The keywords of the call.

    Raises:
        UsageError: if there is no such call, or a value is none that can be read; ``details`` has line and column.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise UsageError(
            _("This is no Python: {error}.").format(error=error.msg),
            fix=_("Paste a cell with %%pai_train, a command line, a call of jupyter_pai.submit(…), or JSON."),
            line=error.lineno or 1,
            column=max(error.offset or 1, 1),
        ) from None
    except (ValueError, RecursionError, MemoryError):  # a NUL; nested too deeply
        raise UsageError(_("This is no Python: {error}.").format(error=_("it is too deep"))) from None
    call = next((node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) == "submit"), None)
    if call is None:
        raise UsageError(
            _("Nothing here submits a job."),
            fix=_("Paste a cell with %%pai_train, a command line, a call of jupyter_pai.submit(…), or JSON."),
        )
    if call.args:
        raise _at(call.args[0], _("submit(…) takes all of its values by name."))
    found = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise _at(keyword.value, _("What ** brings along is not known here."))
        found[keyword.arg] = _value(keyword.value)
    return found


def _name(function: ast.expr) -> str:
    """The last name of what is called."""
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _value(node: ast.expr) -> Any:
    """A literal as JSON has it."""
    if isinstance(node, ast.Dict):
        if None in node.keys:
            raise _at(node, _("What ** brings along is not known here."))
        return {_value(key): _value(value) for key, value in zip(node.keys, node.values, strict=True) if key}
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Call) and _name(node.func) == "float" and len(node.args) == 1 and not node.keywords:
        return _number(node)
    try:
        found = ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        name = f"`{node.id}`" if isinstance(node, ast.Name) else _("This")
        raise _at(node, _("{what} is no value that can be read without running it.").format(what=name)) from None
    if found is None or isinstance(found, str | int | float):
        return found
    raise _at(node, _("A text, a number, a list or a table is needed here."))


def _number(node: ast.Call) -> float:
    """`float("inf")` and the like."""
    try:
        return float(ast.literal_eval(node.args[0]))
    except (ValueError, TypeError, RecursionError):
        raise _at(node, _("This is no number.")) from None


def _at(node: ast.expr, message: str) -> UsageError:
    return UsageError(
        message, fix=_("Write the value itself in its place."), line=node.lineno, column=node.col_offset + 1
    )
