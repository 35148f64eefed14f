"""Checks hyperparameter values against the options that a program declares: names, types, choices and ranges.

Only a program that certainly rejects undeclared options is checked: a wrong warning is worse than none.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property

from ...core.i18n import _
from ...core.text import closest
from .command_line import commands
from .syntax import Definition, Module, Program, called, dotted
from .values import Hyperparameter, Values, names_of, one_line
from .words import fault_of_words, items_of

_NUMBERS: dict[str, Callable[[str], object]] = {"int": int, "float": float}
_MAX_LISTED = 8

PARSE_CALLS = ("parse_args", "parse_intermixed_args")
# Calls that leave unknown options unparsed, or import modules that are not read.
_OPEN_CALLS = frozenset(
    "parse_known_args parse_known_intermixed_args parse_args_into_dataclasses import_module __import__".split()
)
# Command-line libraries that are not supported.
_OTHERS = frozenset(
    "absl argh configargparse cyclopts defopt docopt draccus fire gflags hydra jsonargparse plac pydantic_settings "
    "pyrallis simple_parsing tap tyro".split()
)
# A script with these texts reads hyperparameters without its command line.
_CONTRACT = re.compile(r"PAI_HPS|PAI_USER_ARGS|PAI_CONFIG_DIR|hyperparameters\.json")
_PARSER = re.compile(r"(?i)(^|_)(arg_?)?(parser|group)$")
_MAKERS = {"ArgumentParser", "add_parser", "add_argument_group", "add_mutually_exclusive_group", "add_subparsers"}
_CLICK = frozenset("option argument command group pass_context pass_obj callback version_option help_option".split())


def check_values(declared: Sequence[Hyperparameter], values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name and a message for each value (passed as ``--name value``) that makes a closed program fail."""
    options = [one for one in declared if one.origin in ("argparse", "click", "typer")]
    for name, value in values.items():
        matches = [one for one in options if one.form == "option" and name in names_of(one)]
        if matches:
            messages = [check_value(name, value, one) for one in matches]
            if all(messages):
                yield name, messages[0]
        # argparse may complete the name to that of an option.
        elif not any(
            full.startswith(name)
            for one in options
            if one.origin == "argparse" and one.form == "option"
            for full in names_of(one)
        ):
            yield name, unknown_option(name, value, options)


def check_value(name: str, value: str, one: Hyperparameter) -> str:
    """Return the error of a value; empty if none is known."""
    if one.nargs:
        if fault := fault_of_words(value, one):
            return fault
        return next(filter(None, (check_value(name, word, item) for word, item in items_of(value, one))), "")
    convert = _NUMBERS.get(one.type, str)
    blanks = {"name": name, "value": one_line(value), "file": one.place, "line": one.line}
    try:
        number = convert(value)
    except ValueError:
        return _("`{name}`: `{value}` is not a valid {type} ({file}, line {line}).").format(type=one.type, **blanks)
    if one.choices and one.type in ("str", *_NUMBERS) and number not in list(map(convert, one.choices)):
        return _("`{name}`: `{value}` is not one of the choices in {file}, line {line}: {choices}.").format(
            choices=", ".join(one.choices[:_MAX_LISTED]) + (", …" if len(one.choices) > _MAX_LISTED else ""), **blanks
        )
    least, most = float(one.minimum or "-inf"), float(one.maximum or "inf")
    # NaN is not out of range.
    if one.type in _NUMBERS and (float(value) < least or float(value) > most):
        return _("`{name}`: `{value}` is out of the range in {file}, line {line}: {range}.").format(
            range=_range(one.minimum, one.maximum), **blanks
        )
    return ""


def _range(least: str | None, most: str | None) -> str:
    if least is not None and most is not None:
        return _("{least} to {most}").format(least=least, most=most)
    return _("{least} or more").format(least=least) if most is None else _("{most} or less").format(most=most)


def unknown_option(
    name: str, value: str, options: Sequence[Hyperparameter], forms: Collection[str] = ("option",)
) -> str:
    """Return the message for a name that no option of these forms has, with the closest one."""
    if other := next((one for one in options if one.form not in forms and name in names_of(one)), None):
        return _other_form(name, value, other)
    known = sorted({full for one in options if one.form in forms for full in names_of(one)})
    message = _("The script has no option `{name}` and will exit with an error.").format(name=name)
    if twin := next((other for other in known if _plain(other) == _plain(name)), None):
        return message + " " + _("The option is spelled `{name}`: `_`, `-` and case matter.").format(name=twin)
    if near := closest(name, known, 0.5):
        return message + " " + _("Did you mean `{name}`?").format(name=near)
    return message + " " + _("Known are: {names}.").format(names=", ".join(known[:_MAX_LISTED])) if known else message


def _plain(name: str) -> str:
    return name.replace("-", "_").casefold()


def _other_form(name: str, value: str, one: Hyperparameter) -> str:
    texts = {
        "flag": _(
            "`{name}` is a flag in {file}, line {line}, and takes no value: `{value}` would become a positional "
            "argument. Pass the flag after `--`: -- --{name}"
        ),
        "argument": _(
            "`{name}` is a positional argument in {file}, line {line}. Pass its value after `--`: -- {value}"
        ),
        "short": _(
            "`{name}` is called -{name} in {file}, line {line}, but is passed as --{name}. Pass it after `--`: "
            "-- -{name} {value}"
        ),
    }
    return texts[one.form].format(name=name, value=one_line(value), file=one.place, line=one.line)


def is_closed(program: Program) -> bool:
    """Return whether the program certainly exits with an error on an undeclared option."""
    options = _CommandLine(program)
    return not any(options.opens(module, node) for module, node in options.nodes) and options.is_parsed


class _CommandLine:
    """How a program parses its command line."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.values = Values(program)
        self.nodes = [(module, node) for module, nodes in program.reached for node in nodes]
        # Calls with the last part of the called name; an ``import … as`` is resolved.
        self.calls = [(module, node, _name(module, node)) for module, node in self.nodes if isinstance(node, ast.Call)]
        # The program's own functions and classes, and the builtins.
        self.own = set(dir(builtins)) | {
            node.name for module in program.modules.values() for node in module.nodes if isinstance(node, Definition)
        }

    @property
    def is_parsed(self) -> bool:
        """An argparse parser reads the command line, or a command of click or typer is called (by name or app)."""
        makes_parser = any(module.meaning(call.func) == "argparse.ArgumentParser" for module, call, _name in self.calls)
        if makes_parser and any(name in PARSE_CALLS and reads_argv(module, call) for module, call, name in self.calls):
            return True
        called = {dotted(call.func) for _module, call, _name in self.calls}
        runs = any(module.meaning(call.func) == "typer.run" for module, call, _name in self.calls)
        return any(
            function.name in called or (library == "typer" and (runs or bool(called & module.constants.keys())))
            for module, function, library in commands(self.program)
        )

    @cached_property
    def parsers(self) -> set[str]:
        """The names of parsers and argument groups."""
        return {
            dotted(target)
            for module, node in self.nodes
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            if _name(module, node.value) in _MAKERS
            for target in node.targets
        } - {""}

    @cached_property
    def harmless(self) -> set[int]:
        """Uses of `sys.argv` that read no options: its first word, and the list passed to the parser."""
        first = (node for _module, node in self.nodes if isinstance(node, ast.Subscript))
        ids = {id(node.value) for node in first if isinstance(node.slice, ast.Constant) and node.slice.value == 0}
        parsing = [call for module, call, name in self.calls if name in PARSE_CALLS and reads_argv(module, call)]
        return ids | {id(part) for call in parsing for words in _argv(call) for part in ast.walk(words)}

    def opens(self, module: Module, node: ast.AST) -> bool:
        """Return whether a node may add options that are not declared, or read values in another way."""
        match node:
            case ast.Constant(str(text)):
                return bool(_CONTRACT.search(text))
            case ast.Import(names):
                return any(alias.name.split(".")[0] in _OTHERS for alias in names)
            case ast.ImportFrom(str(name), names, 0):
                known = name in ("argparse", "click") or name in module.paths
                has_parser = any(_PARSER.search(alias.name) for alias in names)
                return name.split(".")[0] in _OTHERS or (has_parser and not known)
            case ast.Assign(targets, ast.Call() as call):
                return any(map(self.is_parser, targets)) and _name(module, call) not in self.own | _MAKERS
            case ast.ExceptHandler(ast.expr() as kind):
                return any(isinstance(part, ast.Name) and part.id == "SystemExit" for part in ast.walk(kind))
            case ast.ClassDef():
                return any(dotted(base).endswith(("Parser", "Command")) for base in node.bases)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                # A command of click with a decorator of another package.
                calls = called(node)
                is_click = {"click.command", "click.group", "click.option"} & set(map(module.meaning, calls))
                return bool(is_click) and not {dotted(call).rpartition(".")[2] for call in calls} <= _CLICK | self.own
            case ast.Attribute() | ast.Name():
                return module.meaning(node) == "sys.argv" and id(node) not in self.harmless
            case ast.Call():
                return self.call_opens(module, node)
        return False

    def call_opens(self, module: Module, call: ast.Call) -> bool:
        """Return whether a call allows undeclared options."""
        name, keys = _name(module, call), {key.arg: key.value for key in call.keywords}
        if name in _OPEN_CALLS or ("nargs" in keys and _is_rest(keys["nargs"])):
            return True
        if name == "add_argument" or module.meaning(call.func) in ("click.option", "click.argument"):
            return any(not isinstance(self.values.known(module, word), str) for word in call.args)
        if name in ("command", "group", "Typer", "callback"):
            return bool(keys.keys() & {"context_settings", "cls", None})
        if name in ("ArgumentParser", "add_parser"):
            parents = keys.get("parents", ast.List([]))
            makers = (part.func if isinstance(part, ast.Call) else part for part in getattr(parents, "elts", [parents]))
            known = {dotted(maker).rpartition(".")[2] for maker in makers} <= self.own | self.parsers
            return bool(keys.keys() & {"prefix_chars", "exit_on_error", None}) or not known
        # A function of another package may add arguments to a parser passed to it.
        return any(map(self.is_parser, [*call.args, *keys.values()])) and name not in self.own

    def is_parser(self, node: ast.expr) -> bool:
        name = dotted(node)
        return name in self.parsers or bool(_PARSER.search(name.rpartition(".")[2]))


def _name(module: Module, call: ast.Call) -> str:
    return module.meaning(call.func).rpartition(".")[2] or getattr(call.func, "attr", "")


def _is_rest(node: ast.expr) -> bool:
    """Return whether `nargs` takes all remaining words, including options."""
    return dotted(node).endswith(("REMAINDER", "PARSER")) or getattr(node, "value", "") in ("...", "A...")


def _argv(call: ast.Call) -> list[ast.expr]:
    return [*call.args[:1], *(key.value for key in call.keywords if key.arg == "args")]


def reads_argv(module: Module, call: ast.Call) -> bool:
    """Return whether `parse_args` parses the command line and not a list of the program."""
    return all(
        (isinstance(words, ast.Constant) and words.value is None)
        or (isinstance(words, ast.Name) and words.id not in module.constants)
        or (isinstance(words, ast.Subscript) and module.meaning(words.value) == "sys.argv")
        for words in _argv(call)
    )
