"""Finds the options and arguments that a program declares with `argparse`, click or typer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...core.contract import REPEATED
from .syntax import Module, Program, called
from .values import (
    Form,
    Hyperparameter,
    Values,
    annotation,
    click_limits,
    is_list,
    limits,
    range_limits,
    type_of,
)  # fmt: skip

Function = ast.FunctionDef | ast.AsyncFunctionDef

_CLICK_TYPES = {
    "int": "int", "float": "float", "str": "str", "bool": "bool", "click.INT": "int", "click.FLOAT": "float",
    "click.STRING": "str", "click.BOOL": "bool", "click.Path": "path", "click.File": "path", "click.IntRange": "int",
    "click.FloatRange": "float", "pathlib.Path": "path",
}  # fmt: skip
_SILENT = ("help", "version")
_FLAG_DEFAULTS = {"store_true": "False", "store_false": "True"}
_FLAGS = {
    "BooleanOptionalAction": "bool",
    "store_true": "bool",
    "store_false": "bool",
    "count": "int",
    "store_const": "",
    "append_const": "list",
}
_CONVERTERS = {"int": "int", "float": "float", "str": "str", "bool": "bool", "pathlib.Path": "path"}


def read_argparse(program: Program, values: Values) -> Iterator[Hyperparameter]:
    """Yield the arguments of all parsers and groups, in the order of the code."""
    for module, nodes in program.reached:
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        updates = [key for call in calls if _is_method(call, "set_defaults") for key in call.keywords]
        defaults = {key.arg: key.value for key in updates if key.arg}
        for call in calls:
            if _is_method(call, "add_argument") and (argument := _argument(module, call, defaults, values)):
                yield argument


def _is_method(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == name


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
    nargs = _nargs(module, options, action, values) if form == "option" else ""
    least, most = range_limits(module, options.get("choices"), values)
    return Hyperparameter(
        name=names[0],
        type=_type(module, options, action, default, values),
        default=values.text(module, default) if default else _FLAG_DEFAULTS.get(action),
        required=_word(module, options.get("nargs"), values) not in ("?", "*", "REMAINDER", "...")
        if form == "argument"
        else values.known(module, options.get("required")) is True,
        choices=values.choices(module, options.get("choices")),
        # As `--help` shows it.
        help=values.words(module, options.get("help"))
        .replace("%(default)s", str(values.known(module, default)))
        .replace("%%", "%"),
        file=module.title(call.lineno),
        cell=module.at(call.lineno)[0],
        line=module.at(call.lineno)[1],
        origin="argparse",
        form=form,
        aliases=tuple(names[1:]),
        minimum=least,
        maximum=most,
        nargs=nargs,
        item=_item(module, options) if nargs else "",
    )


def _nargs(module: Module, options: dict[str, ast.expr], action: str, values: Values) -> str:
    """Return the number of words of an option, as in `Hyperparameter`."""
    count = _word(module, options.get("nargs"), values)
    if action in ("", "store", "extend") and (count in ("*", "+") or count.isdecimal()):
        return count
    return REPEATED if action == "append" and not count else ""


def _item(module: Module, options: dict[str, ast.expr]) -> str:
    """Return the type of each word of an option."""
    return _CONVERTERS.get(module.meaning(options["type"]), "") if "type" in options else "str"


def _word(module: Module, node: ast.expr | None, values: Values) -> str:
    """Return the name of an action or `nargs`, given as text or class."""
    found = values.known(module, node)
    return str(found) if found is not None else (module.meaning(node).rpartition(".")[2] if node else "")


def _form(flags: list[str], action: str) -> Form:
    if not flags[0].startswith("-"):
        return "argument"
    if not any(flag.startswith("--") for flag in flags):
        return "short"
    return "flag" if action in _FLAGS else "option"


def _type(module: Module, options: dict[str, ast.expr], action: str, default: ast.expr | None, values: Values) -> str:
    if action in _FLAGS:
        return _FLAGS[action]
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


def read_click(program: Program, values: Values) -> Iterator[Hyperparameter]:
    """Yield each `click.option` and `click.argument`, in the order of the code."""
    calls = ((module, node) for module, nodes in program.reached for node in nodes if isinstance(node, ast.Call))
    for module, call in calls:
        kind = module.meaning(call.func)
        if kind in ("click.option", "click.argument") and (option := _option(module, call, kind, values)):
            yield option


def _option(module: Module, call: ast.Call, kind: str, values: Values) -> Hyperparameter | None:
    words = [word for argument in call.args if isinstance(word := values.known(module, argument), str) and word]
    options = {key.arg: key.value for key in call.keywords if key.arg}
    if not words:
        return None
    names, off = _names(words)
    unset, is_flag = None, False
    type_word, choices = _click_type(module, options, values)
    if kind == "click.argument":
        names, off = [words[0]], []
    elif values.known(module, options.get("count")) is True:
        type_word, unset, is_flag = "int", "0", True
    elif off or "flag_value" in options or values.known(module, options.get("is_flag")) is True:
        type_word, unset, is_flag = "bool", "False", True
    least, most = click_limits(module, options.get("type"), values)
    form: Form = "flag" if is_flag else "option"
    if not any(word.startswith("--") for word in words):
        form = "argument" if kind == "click.argument" else "short"
    required = values.known(module, options.get("required"))
    if form == "argument" and required is None:
        required = "default" not in options and values.known(module, options.get("nargs")) != -1
    return Hyperparameter(
        name=names[0],
        type=type_word,
        default=values.text(module, options["default"]) if "default" in options else unset,
        required=required is True,
        choices=choices,
        help=values.words(module, options.get("help")),
        file=module.title(call.lineno),
        cell=module.at(call.lineno)[0],
        line=module.at(call.lineno)[1],
        origin="click",
        form=form,
        aliases=(*names[1:], *off),
        minimum=least,
        maximum=most,
        nargs=_click_nargs(module, options, values) if form == "option" else "",
        item=_CLICK_TYPES.get(module.meaning(options["type"]), "") if "type" in options else "",
    )


def _click_nargs(module: Module, options: dict[str, ast.expr], values: Values) -> str:
    """Return the number of words of an option, as in `Hyperparameter`."""
    count, is_multiple = values.known(module, options.get("nargs"), 1), values.known(module, options.get("multiple"))
    if isinstance(count, int) and count > 1 and not is_multiple:
        return str(count)
    return REPEATED if is_multiple is True and count == 1 else ""


def _names(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the names that turn an option on, and the names that turn it off: `--shout/--no-shout` has one of each."""
    pairs = [[part.strip() for part in word.partition("/")[::2]] for word in words]
    on = [first for first, _second in pairs if first.startswith("-")]
    off = [second for _first, second in pairs if second.startswith("-")]
    long = [name[2:] for name in on if name.startswith("--")]
    return long or [name.lstrip("-") for name in on or words], [name.lstrip("-") for name in off]


def _click_type(module: Module, options: dict[str, ast.expr], values: Values) -> tuple[str, tuple[str, ...]]:
    node, default = options.get("type"), values.known(module, options.get("default"))
    if values.known(module, options.get("multiple")) is True or values.known(module, options.get("nargs"), 1) != 1:
        return "list", ()
    if node is None:
        # click uses the type of the default; text without one.
        unknown = "" if "default" in options else "str"
        return (type_of(default) if type_of(default) in ("int", "float", "bool", "str") else unknown), ()
    if isinstance(node, ast.Call) and module.meaning(node.func) == "click.Choice":
        return _choice(module, node, values)
    return _CLICK_TYPES.get(module.meaning(node.func if isinstance(node, ast.Call) else node), ""), ()


def _choice(module: Module, call: ast.Call, values: Values) -> tuple[str, tuple[str, ...]]:
    strict = all(values.known(module, key.value) is not False for key in call.keywords if key.arg == "case_sensitive")
    # Enumerations are chosen by member names, which are not supported here.
    words = call.args[0] if call.args and not values.members(module, call.args[0]) else None
    return "str" if strict else "", values.choices(module, words)


def commands(program: Program) -> Iterator[tuple[Module, Function, str]]:
    """Yield each command function with its module and library, `click` or `typer`."""
    run = {
        module.meaning(node.args[0])
        for module, nodes in program.reached
        for node in nodes
        if isinstance(node, ast.Call) and module.meaning(node.func) == "typer.run" and node.args
    }
    functions = ((module, node) for module, nodes in program.reached for node in nodes if isinstance(node, Function))
    for module, function in functions:
        if function.name in run or _decorators(module, function, "typer"):
            yield module, function, "typer"
        elif _decorators(module, function, "click"):
            yield module, function, "click"


def _decorators(module: Module, function: Function, library: str) -> bool:
    """Return whether a decorator makes a command: `@click.command()`, `@app.command()` of a `typer.Typer()`."""
    for target in called(function):
        if library == "click" and module.meaning(target) in ("click.command", "click.group"):
            return True
        if isinstance(target, ast.Attribute) and target.attr in ("command", "callback", "group"):
            made = module.constants.get(target.value.id) if isinstance(target.value, ast.Name) else None
            if (isinstance(made, ast.Call) and module.meaning(made.func) == "typer.Typer") == (library == "typer"):
                return True
    return False


def read_typer(program: Program, values: Values) -> Iterator[Hyperparameter]:
    """Yield the parameters of all commands, in the order of the code."""
    for module, function, library in commands(program):
        if library == "typer":
            arguments = function.args
            plain = [*arguments.posonlyargs, *arguments.args]
            empty = [None] * (len(plain) - len(arguments.defaults))
            defaults = [*empty, *arguments.defaults, *arguments.kw_defaults]
            for argument, default in zip([*plain, *arguments.kwonlyargs], defaults, strict=True):
                if parameter := _parameter(module, argument, default, values):
                    yield parameter


def _parameter(module: Module, argument: ast.arg, default: ast.expr | None, values: Values) -> Hyperparameter | None:
    type_word, choices = annotation(module, argument.annotation, values)
    if argument.annotation and module.meaning(argument.annotation).endswith("Context"):
        return None
    info, kind = _info(module, argument.annotation), _kind(module, default)
    if kind and isinstance(default, ast.Call):
        info = default
        default = info.args[0] if info.args else None
        if isinstance(default, ast.Constant) and default.value is ...:
            default = None
    kind = _kind(module, info) or ("typer.Argument" if default is None else "typer.Option")
    options = {key.arg: key.value for key in info.keywords if key.arg} if info else {}
    default = options.get("default", default)
    if "case_sensitive" in options or "parser" in options:
        type_word = ""  # Accepted values differ from the declared ones.
    words = [word for part in (info.args if info else []) if isinstance(word := values.known(module, part), str)]
    names, off = _names([word for word in words if word.startswith("-")] or ["--" + argument.arg.replace("_", "-")])
    form: Form = "flag" if type_word == "bool" else "option"
    if kind == "typer.Argument":
        form, names, off = "argument", [argument.arg], []
    elif form == "flag" and not off and not any(word.startswith("-") for word in words):
        off = [f"no-{names[0]}"]
    least, most = limits(module, options, values)
    return Hyperparameter(
        name=names[0],
        type=type_word or ("" if argument.annotation else "str"),
        default=values.text(module, default),
        required=default is None,
        choices=choices,
        help=values.words(module, options.get("help")),
        file=module.title(argument.lineno),
        cell=module.at(argument.lineno)[0],
        line=module.at(argument.lineno)[1],
        origin="typer",
        form=form,
        aliases=(*names[1:], *off),
        minimum=least,
        maximum=most,
        nargs=REPEATED if form == "option" and is_list(module, argument.annotation) else "",
    )


def _kind(module: Module, node: ast.expr | None) -> str:
    meant = module.meaning(node.func) if isinstance(node, ast.Call) else ""
    return meant if meant in ("typer.Option", "typer.Argument") else ""


def _info(module: Module, node: ast.expr | None) -> ast.Call | None:
    """Return the `typer.Option(…)` in an `Annotated[…]`."""
    match node:
        case ast.Subscript(_base, ast.Tuple(parts)):
            return next((part for part in parts if isinstance(part, ast.Call) and _kind(module, part)), None)
    return None
