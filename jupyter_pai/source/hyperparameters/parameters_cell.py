"""Finds hyperparameters in cells tagged `parameters`, top-level dicts and dataclasses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .syntax import Module, Program, assigned, called
from .values import Form, Hyperparameter, Origin, Values, annotation, default_text, one_line, type_of

_TABLE = re.compile(r"(default_)?(h(yper)?_?param(eter)?s|hps|param(eter)?s|config)", re.IGNORECASE)
_SETTINGS = re.compile(
    r"(config|configuration|args|arguments|h?params|(hyper)?parameters|options|settings)$", re.IGNORECASE
)
# Cells begin with `# %% … tags=["parameters"]`, as in jupytext's files and in scripts made of notebooks.
_CELL = re.compile(r"#\s(%%(?!\w)|\[\d+\])(?P<rest>.*)")
_TAG = re.compile(r"""tags=\[[^\]]*["']parameters["']""")
# papermill's type comments.
_TYPED = re.compile(r"#?\s*type:\s*(?P<type>[\w\[\], .]+?)(\s{2,}|\s*#|$)")
_DATACLASS = re.compile(r"(^|\.)dataclass$")
# Parsers that make options of dataclass fields.
_PARSERS = ("HfArgumentParser", "tyro.cli", "simple_parsing.parse", "add_arguments", "pyrallis.parse", "draccus.parse")


def read_cells(program: Program, values: Values) -> Iterator[Hyperparameter]:
    """Yield assignments in cells tagged `parameters`; trailing comments are the help."""
    module = program.modules[program.entry]
    lines = set(_tagged(module.text))
    for statement in module.tree.body:
        if statement.lineno in lines:
            yield from _assignment(module, statement, values)


def _tagged(text: str) -> Iterator[int]:
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if head := _CELL.match(line):
            inside = bool(_TAG.search(head["rest"]))
        elif inside:
            yield number


def _assignment(module: Module, statement: ast.stmt, values: Values) -> Iterator[Hyperparameter]:
    hint = getattr(statement, "annotation", None)
    match statement:
        case ast.Assign([ast.Name(name), *_], value) | ast.AnnAssign(ast.Name(name), _, value):
            comment = module.comments.get(statement.end_lineno or statement.lineno, "")
            if typed := _TYPED.match(comment):
                comment = comment[typed.end() :]
                hint = hint or ast.Constant(typed["type"])
            yield _written(module, name, hint, value, comment, statement, "cell", values)


def _written(
    module: Module, name: str, hint: ast.expr | None, value: ast.expr | None, help_text: str,
    node: ast.stmt | ast.expr, origin: Origin, values: Values, form: Form = "none",
) -> Hyperparameter:  # fmt: skip
    known = values.known(module, value)
    type_word, choices = annotation(module, hint, values)
    return Hyperparameter(
        name=name,
        type=type_word or type_of(known),
        default=default_text(known),
        required=value is None,
        choices=choices,
        help=one_line(help_text),
        file=module.file,
        line=node.lineno,
        origin=origin,
        form=form,
    )


def read_dicts(program: Program, values: Values) -> Iterator[Hyperparameter]:
    """Yield the entries of top-level dicts with names like `hyperparameters`."""
    for module in program.modules.values():
        for statement in module.tree.body:
            tables = [table for target, table in assigned(statement) if _TABLE.fullmatch(target)]
            for name, value in _entries(tables[0] if tables else None):
                comment = module.comments.get(value.end_lineno or value.lineno, "")
                yield _written(module, name, None, value, comment, value, "dict", values)


def _entries(node: ast.expr | None) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        yield from ((key.arg, key.value) for key in node.keywords if key.arg)


def read_dataclasses(program: Program, values: Values) -> Iterator[Hyperparameter]:
    """Yield the fields of dataclasses passed to parsers, and of those named like a configuration."""
    parsed = set(_parsed(program))
    for module, nodes in program.reached:
        for node in nodes:
            if isinstance(node, ast.ClassDef) and any(map(_DATACLASS.search, map(module.meaning, called(node)))):
                form: Form = "option" if id(node) in parsed else "none"
                if form == "option" or _SETTINGS.search(node.name):
                    yield from _fields(program, module, node, form, values)


def _parsed(program: Program) -> Iterator[int]:
    for module, nodes in program.reached:
        for call in nodes:
            if isinstance(call, ast.Call) and module.meaning(call.func).endswith(_PARSERS):
                parts = [part for argument in call.args for part in getattr(argument, "elts", [argument])]
                yield from (id(pair[1]) for part in parts if (pair := program.definition(module, part)))


def _fields(
    program: Program, module: Module, node: ast.ClassDef, form: Form, values: Values, depth: int = 0
) -> Iterator[Hyperparameter]:
    for base in node.bases if depth < 10 else []:
        owner, definition = program.definition(module, base) or (module, None)
        if isinstance(definition, ast.ClassDef) and definition is not node:
            yield from _fields(program, owner, definition, form, values, depth + 1)
    for statement in node.body:
        match statement:
            case ast.AnnAssign(ast.Name(name), hint) if name[0] != "_" and "ClassVar" not in ast.dump(hint)[:80]:
                help_text = module.comments.get(statement.end_lineno or statement.lineno, "")
                yield _field(module, statement, name, help_text, form, values)


def _field(
    module: Module, statement: ast.AnnAssign, name: str, help_text: str, form: Form, values: Values
) -> Hyperparameter:
    value = statement.value
    if isinstance(value, ast.Call) and module.meaning(value.func).rpartition(".")[2] in ("field", "HfArg"):
        options = {key.arg: key.value for key in value.keywords if key.arg}
        words = options.get("help", dict(_entries(options.get("metadata"))).get("help"))
        help_text = values.words(module, words) or help_text
        factory = options.get("default_factory")
        # The body of a lambda, or an empty list or dict.
        result = factory.body if isinstance(factory, ast.Lambda) else factory and ast.Call(factory, [], [])
        value = options.get("default") or result
    return _written(module, name, statement.annotation, value, help_text, statement, "dataclass", values, form)
