"""Finds the arguments that a program adds to `argparse` parsers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .model import Form, Hyperparameter
from .syntax import Module, Program
from .values import Values, range_limits

_SILENT = ("help", "version")
_FLAGS = {"store_true": "bool", "store_false": "bool", "count": "int", "store_const": "", "append_const": "list"}
_CONVERTERS = {"int": "int", "float": "float", "str": "str", "bool": "bool", "pathlib.Path": "path"}


def read_argparse(program: Program, values: Values) -> Iterator[Hyperparameter]:
    """Yield the arguments of all parsers and groups, in the order of the code."""
    for module, nodes in program.reached:
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        defaults = _defaults(calls)
        for call in calls:
            if _is_method(call, "add_argument") and (found := _argument(module, call, defaults, values)):
                yield found


def _is_method(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == name


def _defaults(calls: list[ast.Call]) -> dict[str, ast.expr]:
    """Return the defaults of `set_defaults` by destination."""
    return {
        key.arg: key.value for call in calls if _is_method(call, "set_defaults") for key in call.keywords if key.arg
    }


def _argument(module: Module, call: ast.Call, defaults: dict[str, ast.expr], values: Values) -> Hyperparameter | None:
    flags = [name for word in call.args if isinstance(name := values.known(module, word), str) and name]
    options = {key.arg: key.value for key in call.keywords if key.arg}
    action = _word(module, options.get("action"), values)
    if not flags or action in _SILENT:
        return None
    long = [flag[2:] for flag in flags if flag.startswith("--") and flag != "--"]
    names = long or [flags[0].lstrip("-")]
    if action == "BooleanOptionalAction":
        names += [f"no-{name}" for name in long]
    destination = values.known(module, options.get("dest"), names[0].replace("-", "_"))
    default = defaults.get(str(destination), options.get("default"))
    form = _form(flags, action)
    least, most = range_limits(module, options.get("choices"), values)
    return Hyperparameter(
        name=names[0],
        type=_type(module, options, action, default, values),
        default=_default(module, default, action, values),
        required=_required(module, options, form, values),
        choices=values.choices(module, options.get("choices")),
        help=_help(module, options.get("help"), default, values),
        file=module.file,
        line=call.lineno,
        origin="argparse",
        form=form,
        aliases=tuple(names[1:]),
        minimum=least,
        maximum=most,
    )


def _word(module: Module, node: ast.expr | None, values: Values) -> str:
    """Return the name of an action or `nargs`, given as text or class."""
    found = values.known(module, node)
    return str(found) if found is not None else (module.meaning(node).rpartition(".")[2] if node else "")


def _form(flags: list[str], action: str) -> Form:
    if not flags[0].startswith("-"):
        return "argument"
    if not any(flag.startswith("--") for flag in flags):
        return "short"
    return "flag" if action in _FLAGS or action == "BooleanOptionalAction" else "option"


def _type(module: Module, options: dict[str, ast.expr], action: str, default: ast.expr | None, values: Values) -> str:
    if action in _FLAGS:
        return _FLAGS[action]
    if action == "BooleanOptionalAction":
        return "bool"
    count = _word(module, options.get("nargs"), values)
    if action in ("append", "extend") or count in ("*", "+", "REMAINDER", "...") or count.isdecimal():
        return "list"
    if "type" not in options:
        # Without a type, argparse passes text, whatever the default is. Action classes may do anything.
        return "str" if action in ("", "store") else ""
    converter = module.meaning(options["type"])
    if "bool" in converter or isinstance(values.known(module, default), bool):
        return "bool"
    return _CONVERTERS.get(converter, "path" if converter.endswith("FileType") else "")


def _default(module: Module, default: ast.expr | None, action: str, values: Values) -> str | None:
    if default is None and action in ("store_true", "store_false"):
        return str(action == "store_false")
    return values.text(module, default)


def _required(module: Module, options: dict[str, ast.expr], form: Form, values: Values) -> bool:
    if form == "argument":
        return _word(module, options.get("nargs"), values) not in ("?", "*", "REMAINDER", "...")
    return values.known(module, options.get("required")) is True


def _help(module: Module, node: ast.expr | None, default: ast.expr | None, values: Values) -> str:
    """Return the help with the default substituted, as `--help` shows it."""
    return values.words(module, node).replace("%(default)s", str(values.known(module, default))).replace("%%", "%")
