"""Finds hyperparameters in cells tagged `parameters`, top-level dicts and dataclasses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

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
_IN_WORDS = ("HfArgumentParser", "tyro.cli", "simple_parsing.parse", "add_arguments")  # A list is several words.
_PREFIXED = ("add_dataclass_arguments", "add_class_arguments")
_FILES = ("OmegaConf.structured",)  # No options: its command line has words such as `model.lr=0.1`.
_NESTED = ("tyro.cli", "jsonargparse.CLI", "jsonargparse.auto_cli", *_PREFIXED, *_FILES)
_PARSERS = (*_IN_WORDS, "pyrallis.parse", "draccus.parse", *(name for name in _NESTED if name not in _IN_WORDS))
_DEEPEST, _MOST_FIELDS = 10, 1_000


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
        file=module.title(node.lineno),
        cell=module.at(node.lineno)[0],
        line=module.at(node.lineno)[1],
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
    """Yield the fields of dataclasses passed to parsers, and of those named like a configuration. Where a parser takes
    a dataclass as a field, its fields have names such as ``model.lr``."""
    parsed = {id(node): (parser, prefix) for parser, node, prefix in _parsed(program)}
    inner: set[int] = set()
    for module, node in _classes(program):
        if parsed.get(id(node), ("", ""))[0] in _NESTED:
            _inside(program, module, node, inner)
    for module, node in _classes(program):
        parser, prefix = parsed.get(id(node), ("", ""))
        if not parser and (id(node) in inner or not _SETTINGS.search(node.name)):
            continue
        form: Form = "option" if parser and parser not in _FILES else "none"
        reading = _Reading(program, values, form, parser in _NESTED, prefix)
        for one in islice(reading.fields(module, node), _MOST_FIELDS):
            yield replace(one, nargs="*") if parser in _IN_WORDS and one.type == "list" else one


def _classes(program: Program) -> Iterator[tuple[Module, ast.ClassDef]]:
    for module, nodes in program.reached:
        for node in nodes:
            if isinstance(node, ast.ClassDef) and _is_dataclass(module, node):
                yield module, node


def _is_dataclass(module: Module, node: ast.ClassDef) -> bool:
    return any(map(_DATACLASS.search, map(module.meaning, called(node))))


def _parsed(program: Program) -> Iterator[tuple[str, ast.AST, str]]:
    """Yield each class that is passed to a parser: the parser's name, the class, and the prefix of its options."""
    for module, nodes in program.reached:
        for call in nodes:
            meant = module.meaning(call.func) if isinstance(call, ast.Call) else ""
            parser = next((name for name in _PARSERS if meant.endswith(name)), "")
            if not parser or not isinstance(call, ast.Call):
                continue
            parts = [part for argument in call.args for part in getattr(argument, "elts", [argument])]
            named = call.args[1] if parser in _PREFIXED and len(call.args) > 1 else None
            prefix = f"{named.value}." if isinstance(named, ast.Constant) and isinstance(named.value, str) else ""
            yield from ((parser, pair[1], prefix) for part in parts if (pair := program.definition(module, part)))


def _nested(program: Program, module: Module, hint: ast.expr) -> tuple[Module, ast.ClassDef] | None:
    """Return the dataclass that an annotation names; None for other types."""
    owner, definition = program.definition(module, hint) or (module, None)
    return (owner, definition) if isinstance(definition, ast.ClassDef) and _is_dataclass(owner, definition) else None


def _inside(program: Program, module: Module, node: ast.ClassDef, seen: set[int]) -> None:
    """Add the dataclasses that are fields of one to `seen`."""
    for statement in node.body:
        found = _nested(program, module, statement.annotation) if isinstance(statement, ast.AnnAssign) else None
        if found and id(found[1]) not in seen:
            seen.add(id(found[1]))
            _inside(program, *found, seen)


@dataclass(frozen=True)
class _Reading:
    """How the fields of a class are read. `prefix` precedes their names, `given` has values that replace their
    defaults, `above` are the classes around it. `nests`: the parser takes dataclasses as fields."""

    program: Program
    values: Values
    form: Form
    nests: bool
    prefix: str = ""
    given: Mapping[str, ast.expr] = field(default_factory=dict)
    above: tuple[int, ...] = ()

    def fields(self, module: Module, node: ast.ClassDef) -> Iterator[Hyperparameter]:
        """Yield the fields of a class and of its bases."""
        if len(self.above) > _DEEPEST or id(node) in self.above:
            return
        inner = replace(self, above=(*self.above, id(node)))
        for base in node.bases:
            owner, definition = self.program.definition(module, base) or (module, None)
            if isinstance(definition, ast.ClassDef):
                yield from inner.fields(owner, definition)
        for statement in node.body:
            match statement:
                case ast.AnnAssign(ast.Name(name), hint) if name[0] != "_" and "ClassVar" not in ast.dump(hint)[:80]:
                    found = _nested(self.program, module, hint) if self.nests else None
                    value = self.given.get(name, statement.value)
                    if found:
                        below = f"{self.prefix}{name}."
                        yield from replace(inner, prefix=below, given=_arguments(module, value)).fields(*found)
                        continue
                    help_text = module.comments.get(statement.end_lineno or statement.lineno, "")
                    written = ast.AnnAssign(statement.target, hint, value, 1)
                    yield _field(module, ast.copy_location(written, statement), self.prefix + name, help_text,
                                 self.form, self.values)  # fmt: skip


def _arguments(module: Module, value: ast.expr | None) -> dict[str, ast.expr]:
    """Return the arguments by name of the default of a nested dataclass."""
    if isinstance(value, ast.Call) and module.meaning(value.func).rpartition(".")[2] == "field":
        options = {key.arg: key.value for key in value.keywords if key.arg}
        factory = options.get("default_factory")
        value = options.get("default", factory.body if isinstance(factory, ast.Lambda) else None)
    return {key.arg: key.value for key in value.keywords if key.arg} if isinstance(value, ast.Call) else {}


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
