"""Errors of a launch line: the options and arguments that a script certainly rejects.

A script is refused only if it certainly parses its command line, with a parser that is known as a whole. Everything
else is left to the script: a wrong refusal is worse than none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from ...core.i18n import _, join
from .check import PARSE_CALLS, check_value, reads_argv, unknown_option
from .command_line import commands
from .syntax import Definition, Module, Program, dotted, is_guard
from .values import Hyperparameter, names_of

# Calls and parameters of parsers with several commands, and of values from elsewhere.
_SEVERAL = frozenset({"add_subparsers", "add_parser", "group", "add_command", "add_typer", "callback"})
_ELSEWHERE = frozenset({"envvar", "auto_envvar_prefix", "prompt", "default_map", "fromfile_prefix_chars"})
_HELP = frozenset({"-h", "--help", "--version"})
_EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit"})
_NUMBER = re.compile(r"-\d*\.?\d+([eE][-+]?\d+)?$")
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEEPEST = 20


def refusals(
    program: Program,
    declared: Sequence[Hyperparameter],
    hyperparameters: Mapping[str, str],
    args: Sequence[str],
    wrong: Mapping[str, str],
) -> dict[str, str]:
    """Return the errors with which a closed program (`is_closed`) certainly exits, by field of the spec. `wrong` has
    the messages of `check_values`."""
    if _HELP & set(args) or not _parses_always(program):
        return {}
    options = [one for one in declared if one.origin in ("argparse", "click", "typer")]
    given = _Arguments(program, options, args)
    faults = {f"hyperparameters.{name}": text for name, text in wrong.items()}
    if given.errors:
        faults["args"] = join(" ", given.errors)
    return faults | dict(_missing(program, options, hyperparameters, given))


class _Arguments:
    """Free arguments: the names of their options, the words without a name, and their errors.

    `is_unclear`: the meaning of a word depends on settings of the parser that are not known.
    """

    def __init__(self, program: Program, options: Sequence[Hyperparameter], args: Sequence[str]) -> None:
        self.names: set[str] = set()
        self.words: list[str] = []
        self.errors: list[str] = []
        self.is_unclear = False
        self._program = program
        self._options = options
        waiting = [*args]
        while waiting:
            word = waiting.pop(0)
            if word == "--":
                self.words += waiting
                break
            if word.startswith("--"):
                self._option(word, waiting)
            elif word.startswith(("-", "@")) and not _NUMBER.match(word):
                self.is_unclear = True
            else:
                self.words.append(word)

    def _option(self, word: str, rest: list[str]) -> None:
        """Process an option; its value is removed from `rest`."""
        name, equals, value = word[2:].partition("=")
        matches = [one for one in self._options if name in names_of(one)]
        if len(matches) != 1:
            self.is_unclear = True
            # It may be an option without a value of its own, such as `--version`.
            if not matches and not any(text.startswith(f"--{name}") for text in _texts(self._program)):
                self.errors.append(unknown_option(name, value, self._options, ("option", "flag")))
            return
        one = matches[0]
        self.names.update(names_of(one))
        if one.form == "flag":
            if equals:
                text = _("`--{name}` is a flag in {file}, line {line}, and takes no value.")
                self.errors.append(text.format(name=name, file=one.place, line=one.line))
            return
        if one.type in ("list", "") or (not equals and (not rest or rest[0].startswith("-"))):
            self.is_unclear = True  # It may take several values, or none.
            return
        if message := check_value(name, value if equals else rest.pop(0), one):
            self.errors.append(message)


def _texts(program: Program) -> Iterator[str]:
    nodes = (node for module in program.modules.values() for node in module.nodes)
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _missing(
    program: Program, options: Sequence[Hyperparameter], hyperparameters: Mapping[str, str], given: _Arguments
) -> Iterator[tuple[str, str]]:
    """Yield field and message of each required option or argument that is missing."""
    if given.is_unclear or _has_several_parsers(program):
        return
    lines = ((module, line) for module, nodes in program.reached for line in _conditional_lines(nodes))
    optional = {(module.title(line), *module.at(line)) for module, line in lines}
    required = [one for one in options if one.required and (one.file, one.cell, one.line) not in optional]
    for one in required:
        known = names_of(one)
        is_given = any(full.startswith(name) for name in (*hyperparameters, *given.names) for full in known)
        is_other = any(not other.required and set(names_of(other)) & set(known) for other in options)
        if one.form == "option" and not is_given and not is_other:
            text = _("`{name}` is required in {file}, line {line}: --hp {name}=VALUE.")
            yield f"hyperparameters.{one.name}", text.format(name=one.name, file=one.place, line=one.line)
    arguments = [one for one in required if one.form == "argument"]
    if absent := arguments[len(given.words) :]:
        one = absent[0]
        text = _("The positional argument `{name}` is required in {file}, line {line}: pass its value after `--`.")
        yield "args", text.format(name=one.name, file=one.place, line=one.line)


def _has_several_parsers(program: Program) -> bool:
    """Return whether required options may belong to one of several commands, or get values from elsewhere."""
    calls = [(m, node) for m, nodes in program.reached for node in nodes if isinstance(node, ast.Call)]
    names = {m.meaning(call.func).rpartition(".")[2] or getattr(call.func, "attr", "") for m, call in calls}
    parsers = sum(m.meaning(call.func) == "argparse.ArgumentParser" for m, call in calls)
    keywords = {keyword.arg for _m, call in calls for keyword in call.keywords}
    several = parsers + len(list(commands(program))) != 1
    return several or bool(names & _SEVERAL) or bool(keywords & _ELSEWHERE)


def _conditional_lines(nodes: Sequence[ast.AST]) -> Iterator[int]:
    """Yield the lines of calls inside conditions, loops and `try`."""
    for node in nodes:
        if isinstance(node, (ast.If, ast.For, ast.While, ast.Try, ast.Match, ast.IfExp)) and not (
            isinstance(node, ast.If) and is_guard(node)
        ):
            yield from (inner.lineno for inner in ast.walk(node) if isinstance(inner, ast.Call))


def _parses_always(program: Program) -> bool:
    """Return whether the script certainly parses its command line, before anything that may end it."""
    seen: set[int] = set()
    functions = {function.name for _module, function, _library in commands(program)}
    apps = {library for _module, _function, library in commands(program)}

    def is_parse(module: Module, call: ast.Call) -> bool:
        name = dotted(call.func)
        if isinstance(call.func, ast.Attribute) and call.func.attr in PARSE_CALLS:
            return reads_argv(module, call)
        return (
            name in functions
            or ("typer" in apps and name in module.constants)
            or module.meaning(call.func) == "typer.run"
        )

    def search(module: Module, statements: Sequence[ast.stmt], depth: int) -> bool:
        for call in _certain(statements):
            if is_parse(module, call):
                return True
            found = program.definition(module, call.func)
            if not found or not isinstance(found[1], _FUNCTION) or id(found[1]) in seen or depth > _DEEPEST:
                continue
            seen.add(id(found[1]))
            if search(found[0], found[1].body, depth + 1):
                return True
            if any(map(_is_exit, ast.walk(found[1]))):
                return False
        return False

    entry = program.modules[program.entry]
    return search(entry, entry.tree.body, 0)


def _certain(statements: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    """Yield the calls that certainly run, in order, up to a statement that may leave the block."""
    for statement in statements:
        match statement:
            case ast.If() if is_guard(statement):
                yield from _certain(statement.body)
            case ast.With(items, body) | ast.AsyncWith(items, body):
                for item in items:
                    yield from _calls(item.context_expr)
                yield from _certain(body)
            case ast.Try(body, handlers):
                if not all(map(_is_narrow, handlers)):
                    return
                yield from _certain(body)
            case ast.If() | ast.For() | ast.AsyncFor() | ast.While() | ast.Match():
                if any(isinstance(node, (ast.Return, ast.Raise)) or _is_exit(node) for node in ast.walk(statement)):
                    return
            case ast.Raise():
                return
            case _ if not isinstance(statement, Definition):
                yield from _calls(statement)
                if isinstance(statement, ast.Return) or any(map(_is_exit, ast.walk(statement))):
                    return


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls in a node that certainly run, inner ones first."""
    match node:
        case ast.Lambda() | ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            return
        case ast.IfExp(test):
            yield from _calls(test)
        case ast.BoolOp(values=values):
            yield from _calls(values[0])
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _calls(child)
    if isinstance(node, ast.Call):
        yield node


def _is_exit(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) in _EXITS


def _is_narrow(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler names exceptions, none of which is that of an exit."""
    names = {dotted(node) for node in ast.walk(handler.type)} if handler.type else {"BaseException"}
    return not names & {"BaseException", "SystemExit"}
