"""Whether a program refuses names that it does not declare. In doubt no: a wrong warning is worse than none."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cached_property

from .from_click import commands
from .syntax import Definition, Module, Program, dotted
from .values import Values

__all__ = ["is_closed"]

_PARSE = ("parse_args", "parse_intermixed_args")
# What leaves names over; and what brings modules that are not seen.
_OPEN_CALLS = frozenset(
    "parse_known_args parse_known_intermixed_args parse_args_into_dataclasses import_module __import__".split()
)
# Libraries that make command lines in ways that are not read here.
_OTHERS = frozenset(
    "absl argh configargparse cyclopts defopt docopt draccus fire gflags hydra jsonargparse plac pydantic_settings "
    "pyrallis simple_parsing tap tyro".split()
)
# A script that reads these takes hyperparameters by another way than its command line.
_CONTRACT = re.compile(r"PAI_HPS|PAI_USER_ARGS|PAI_CONFIG_DIR|hyperparameters\.json")
_PARSER = re.compile(r"(?i)(^|_)(arg_?)?(parser|group)$")
_MAKERS = ("ArgumentParser", "add_parser", "add_argument_group", "add_mutually_exclusive_group", "add_subparsers")
_CLICK = frozenset("option argument command group pass_context pass_obj callback version_option help_option".split())


def is_closed(program: Program) -> bool:
    """Whether the program certainly ends with an error if it is given an option that it does not declare."""
    return _Reading(program).is_closed


class _Reading:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.values = Values(program)

    @property
    def is_closed(self) -> bool:
        if any(self.opens(module, node) for module, nodes in self.program.reached for node in nodes):
            return False
        return self.parses or self.has_command

    @cached_property
    def calls(self) -> list[tuple[Module, ast.Call, str]]:
        """Every call, with the last of the names by which it is called."""
        return [
            (module, node, _name(module, node))
            for module, nodes in self.program.reached
            for node in nodes
            if isinstance(node, ast.Call)
        ]

    @property
    def parses(self) -> bool:
        """Whether a parser of argparse reads the command line."""
        made = any(module.meaning(call.func) == "argparse.ArgumentParser" for module, call, _name in self.calls)
        return made and any(name in _PARSE and _reads_line(module, call) for module, call, name in self.calls)

    @property
    def has_command(self) -> bool:
        """Whether a command of click or typer is called: by its name, or as the app that it belongs to."""
        called = {dotted(call.func) for _module, call, _name in self.calls}
        run = any(module.meaning(call.func) == "typer.run" for module, call, _name in self.calls)
        return any(
            function.name in called or (library == "typer" and (run or bool(called & module.constants.keys())))
            for module, function, library in commands(self.program)
        )

    @cached_property
    def own(self) -> set[str]:
        """The names of the program's own functions and classes, and of what is always there."""
        nodes = (node for module in self.program.modules.values() for node in module.nodes)
        return {node.name for node in nodes if isinstance(node, Definition)} | set(dir(builtins))

    @cached_property
    def parsers(self) -> set[str]:
        """The names of parsers, and of groups of them."""
        made = (
            node.targets
            for module, nodes in self.program.reached
            for node in nodes
            if isinstance(node, ast.Assign)
            if isinstance(node.value, ast.Call) and _name(module, node.value) in _MAKERS
        )
        return {dotted(target) for targets in made for target in targets} - {""}

    @cached_property
    def innocent(self) -> set[int]:
        """Uses of `sys.argv` that keep a set closed: its first word, and all of it for the parser."""
        found = set()
        for _module, nodes in self.program.reached:
            for node in nodes:
                if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0:
                    found.add(id(node.value))
        for module, call, name in self.calls:
            if name in _PARSE and _reads_line(module, call):
                found |= {id(part) for word in _line(call) for part in ast.walk(word)}
        return found

    def opens(self, module: Module, node: ast.AST) -> bool:
        """Whether a node is a sign of names that are not declared, or of values that come another way."""
        match node:
            case ast.Constant(str(text)):
                return bool(_CONTRACT.search(text))
            case ast.Import(names):
                return any(alias.name.split(".")[0] in _OTHERS for alias in names)
            case ast.ImportFrom(str(name), names, 0):
                known = name in ("argparse", "click") or name in module.paths
                return name.split(".")[0] in _OTHERS or (
                    not known and any(_PARSER.search(alias.name) for alias in names)
                )
            case ast.Assign(targets, ast.Call() as call):
                return any(map(self.is_parser, targets)) and _name(module, call) not in self.own | set(_MAKERS)
            case ast.ExceptHandler(ast.expr() as kind):
                return any(isinstance(part, ast.Name) and part.id == "SystemExit" for part in ast.walk(kind))
            case ast.ClassDef():
                return any(dotted(base).endswith(("Parser", "Command")) for base in node.bases)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self.decorators_open(module, node)
            case ast.Attribute() | ast.Name():
                return module.meaning(node) == "sys.argv" and id(node) not in self.innocent
            case ast.Call():
                return self.call_opens(module, node)
        return False

    def decorators_open(self, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether a command of click has a decorator that may add options, and is not the program's own."""
        calls = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
        is_click = any(module.meaning(call) in ("click.command", "click.group", "click.option") for call in calls)
        names = (dotted(call).rpartition(".")[2] for call in calls)
        return is_click and not all(name in _CLICK | self.own for name in names)

    def call_opens(self, module: Module, call: ast.Call) -> bool:
        """Whether a call lets in what is not declared."""
        name, keys = _name(module, call), {key.arg for key in call.keywords}
        if name in _OPEN_CALLS or any(_is_rest(key.value) for key in call.keywords if key.arg == "nargs"):
            return True
        if name == "add_argument" or module.meaning(call.func) in ("click.option", "click.argument"):
            return any(not isinstance(self.values.known(module, word), str) for word in call.args)
        if name in ("command", "group", "Typer", "callback"):
            return bool(keys & {"context_settings", "cls", None})
        if name in ("ArgumentParser", "add_parser"):
            return bool(keys & {"prefix_chars", "exit_on_error", None}) or not all(self.parents_known(module, call))
        given = [*call.args, *(key.value for key in call.keywords)]
        # A parser that somebody else's function is given may get further arguments there.
        return any(self.is_parser(part) for part in given) and name not in self.own

    def is_parser(self, node: ast.expr) -> bool:
        name = dotted(node)
        return name in self.parsers or bool(_PARSER.search(name.rpartition(".")[2]))

    def parents_known(self, module: Module, call: ast.Call) -> Iterator[bool]:
        """For each of a parser's parents, whether it is the program's own."""
        for key in call.keywords:
            if key.arg == "parents":
                for part in getattr(key.value, "elts", [key.value]):
                    maker = dotted(part.func if isinstance(part, ast.Call) else part)
                    yield maker.rpartition(".")[2] in self.own | self.parsers


def _name(module: Module, call: ast.Call) -> str:
    """The last of the names of what is called, by its own name: not that of an ``import … as``."""
    return module.meaning(call.func).rpartition(".")[2] or getattr(call.func, "attr", "")


def _is_rest(node: ast.expr) -> bool:
    """Whether `nargs` takes all that is left, options too."""
    return dotted(node).endswith(("REMAINDER", "PARSER")) or getattr(node, "value", "") in ("...", "A...")


def _line(call: ast.Call) -> list[ast.expr]:
    return [*call.args[:1], *(key.value for key in call.keywords if key.arg == "args")]


def _reads_line(module: Module, call: ast.Call) -> bool:
    """Whether `parse_args` reads the command line, and not a list of the program's own."""
    return all(
        (isinstance(words, ast.Constant) and words.value is None)
        or (isinstance(words, ast.Name) and words.id not in module.constants)
        or (isinstance(words, ast.Subscript) and module.meaning(words.value) == "sys.argv")
        for words in _line(call)
    )
