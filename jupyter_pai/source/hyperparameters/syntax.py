"""The syntax trees of a program: resolved names, and the code that the script reaches."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from ...core.errors import SourceError
from ...core.i18n import _
from .. import script

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_FILE = "code read by jupyter-pai"
# Maximum names in a chain of attributes.
_LONGEST = 20
# Decorators that only describe a command; its function is reached by calls, like others.
_DESCRIBING = ("command", "group", "option", "argument", "callback", "dataclass")


@dataclass
class Module:
    """A module. `paths` maps the imported modules of the program, by their names in the code, to files. `notebook` is
    the file that a script was made of."""

    file: str
    text: str
    tree: ast.Module
    paths: Mapping[str, str] = field(default_factory=dict)
    notebook: str = ""

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes in the order of the code."""
        return list(_walk(self.tree.body))

    @cached_property
    def imports(self) -> dict[str, str]:
        """The full names of imported names: `lr` is `.options.lr` after ``from .options import lr``."""
        aliases = [alias for node in self.nodes if isinstance(node, ast.Import) for alias in node.names]
        modules = {alias.asname: alias.name for alias in aliases if alias.asname}
        modules |= {top: top for top in (alias.name.split(".")[0] for alias in aliases if not alias.asname)}
        members = ((base, alias) for base, alias in self._members if alias.name != "*")
        return modules | {alias.asname or alias.name: join(base, alias.name) for base, alias in members}

    @cached_property
    def _members(self) -> list[tuple[str, ast.alias]]:
        """The names of each ``from … import …``, with their modules."""
        nodes = (node for node in self.nodes if isinstance(node, ast.ImportFrom))
        return [("." * node.level + (node.module or ""), alias) for node in nodes for alias in node.names]

    @cached_property
    def stars(self) -> list[str]:
        """The modules of ``from … import *``."""
        return [base for base, alias in self._members if alias.name == "*"]

    @cached_property
    def imported(self) -> dict[str, int]:
        """All modules that may be imported, with their lines: ``from a import b`` yields `a` and `a.b`."""
        plain = {alias.name: node.lineno for node in self.nodes if isinstance(node, ast.Import) for alias in node.names}
        bases = {base: alias.lineno for base, alias in self._members}
        return plain | bases | {join(base, one.name): one.lineno for base, one in self._members if one.name != "*"}

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        """Top-level functions and classes by name."""
        return {node.name: node for node in self.tree.body if isinstance(node, Definition)}

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """Names assigned exactly once, at the top level or in a class."""
        names = [node.id for node in self.nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
        names += [node.arg for node in self.nodes if isinstance(node, ast.arg)]
        names += [name for node in self.nodes if isinstance(node, ast.Global) for name in 2 * node.names]
        times = Counter(names)
        top = (pair for statement in self.tree.body for pair in assigned(statement))
        constants = {name: value for name, value in top if times[name] == 1}
        for node in self.definitions.values():
            if isinstance(node, ast.ClassDef):
                members = (pair for statement in node.body for pair in assigned(statement))
                constants |= {f"{node.name}.{name}": value for name, value in members}
        return constants

    @cached_property
    def comments(self) -> dict[int, str]:
        """The comments behind code, by line."""
        comments = {}
        with suppress(tokenize.TokenError, SyntaxError):  # Unfinished code has no comments further down.
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
                if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip():
                    comments[token.start[0]] = token.string.lstrip("#").strip()
        return comments

    @cached_property
    def _cells(self) -> list[tuple[int, int]]:
        return script.heads(self.text)

    def at(self, line: int) -> tuple[int, int]:
        """Return the cell of a line in the code of a notebook, and the line there; 0 and the line for other code."""
        above = bisect_left(self._cells, (line,)) - 1
        head, cell = self._cells[above] if above >= 0 else (0, 0)
        # The first line of a submitted cell is that of its magic.
        return cell, line - head + bool(head and not cell)

    def title(self, line: int) -> str:
        """Return the name of a line's code for users: of the file, of the notebook, or of the submitted cell."""
        if script.is_cell(self.text):
            return _("the cells above") if self.at(line)[0] else _("the cell")
        return self.notebook or self.file

    def place(self, line: int) -> str:
        """Return the title of a line with its number, and the cell in the code of a notebook."""
        title, (cell, line) = self.title(line), self.at(line)
        if cell:
            return _("{path}, cell {cell}, line {line}").format(path=title, cell=cell, line=line)
        return _("{file}, line {line}").format(file=title, line=line)

    def defines(self, name: str) -> bool:
        """Return whether a name is that of a function, a class or a constant of the module."""
        return name in self.definitions or name in self.constants

    def meaning(self, node: ast.expr) -> str:
        """Return the full name of a name or attribute, such as `argparse.ArgumentParser`; empty for other nodes."""
        head, _dot, rest = dotted(node).partition(".")
        if self.defines(head):
            return dotted(node)
        return join(self.imports.get(head, head), rest) if rest else self.imports.get(head, head)


@dataclass
class Program:
    """A script and its local modules. `entry` is the script's file."""

    entry: str
    modules: Mapping[str, Module]

    def owner(self, module: Module, name: str) -> tuple[Module, str]:
        """Return the module that defines a name, and its name there."""
        for _step in range(len(self.modules) + 1):
            if module.defines(name.split(".", maxsplit=1)[0]):
                break
            found = self._elsewhere(module, name)
            if not found:
                break
            module, name = found
            head, _dot, rest = name.partition(".")
            if head in module.imports:
                name = join(module.imports[head], rest) if rest else module.imports[head]
        return module, name

    def _elsewhere(self, module: Module, name: str) -> tuple[Module, str] | None:
        """Return the module and name that one import refers to."""
        for prefix in sorted(module.paths, key=len, reverse=True):
            if (rest := below(prefix, name)) and module.paths[prefix] in self.modules:
                return self.modules[module.paths[prefix]], rest
        head = name.partition(".")[0]
        for base in module.stars:
            other = self.modules.get(module.paths.get(base, ""))
            if other and (other.defines(head) or head in other.imports):
                return other, name
        return None

    def definition(self, module: Module, node: ast.expr) -> tuple[Module, Definition] | None:
        """Return the function or class that an expression names, with its module."""
        owner, name = self.owner(module, module.meaning(node))
        definition = owner.definitions.get(name)
        return (owner, definition) if definition else None

    @cached_property
    def reached(self) -> list[tuple[Module, list[ast.AST]]]:
        """Each module with its reached nodes, in the order of the code.

        All nodes of the script are reached. In a module, these are the code run by its import and named definitions.
        """
        used = {pair for module in self.modules.values() for pair in self._used(module)}
        names = {path: {name for file, name in used if file == path} for path in self.modules}
        return [
            (module, module.nodes if path == self.entry else list(_walk(_live(module, names[path]))))
            for path, module in self.modules.items()
        ]

    def _used(self, module: Module) -> Iterator[tuple[str, str]]:
        """Yield the names that a module uses of others, with their files; `*` for all names."""
        names = {module.meaning(node) for node in module.nodes if isinstance(node, ast.Attribute)}
        names |= set(module.imports.values()) | {join(base, "*") for base in module.stars}
        for prefix, path in module.paths.items():
            if path in self.modules:
                yield from ((path, rest.split(".")[0]) for name in names if (rest := below(prefix, name)))


def parse(text: str, file: str) -> Module:
    """Parse a module.

    Raises:
        SourceError: naming the line, if it is not valid Python.
    """
    # The parser's warnings on user code belong in the job's log.
    warnings.filterwarnings("ignore", module=_FILE)
    try:
        return Module(file, text, script.parse(text, _FILE))
    except SyntaxError as error:
        raise SourceError(_("line {line}: {error}").format(line=error.lineno or 1, error=error.msg)) from None
    except (RecursionError, MemoryError):  # the parser's own stack
        raise SourceError(_("nested too deeply")) from None
    except ValueError as error:  # a NUL, a lone surrogate
        raise SourceError(_("not valid Python: {error}").format(error=error)) from None


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for a name or attribute; empty for other nodes."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < _LONGEST:
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def join(base: str, name: str) -> str:
    """Join a module and a name: `.` and `options` are `.options`."""
    return base + name if not base.strip(".") else f"{base}.{name}"


def below(base: str, name: str) -> str:
    """Return the rest of a name below a module: `lr` for `.options.lr` below `.options`; empty if not below."""
    start = base if not base.strip(".") else base + "."
    rest = name[len(start) :] if name.startswith(start) else ""
    return "" if rest.startswith(".") else rest


def assigned(statement: ast.stmt) -> list[tuple[str, ast.expr]]:
    """Return the names that a statement assigns, with their values."""
    match statement:
        case ast.Assign(targets, value):
            return [(target.id, value) for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(ast.Name(name), _hint, ast.expr() as value):
            return [(name, value)]
    return []


def called(definition: Definition) -> list[ast.expr]:
    """Return the names of a definition's decorators, without their arguments."""
    return [node.func if isinstance(node, ast.Call) else node for node in definition.decorator_list]


def _live(module: Module, names: set[str]) -> list[ast.stmt]:
    """Return the statements that an import runs, and the definitions reached by these names."""
    live = [node for node in module.tree.body if not isinstance(node, Definition) and not is_guard(node)]
    defined = dict(module.definitions)
    wanted = {name for name, node in defined.items() if "*" in names or name in names or _is_registered(node)}
    waiting: list[ast.stmt] = list(live)
    while waiting or wanted:
        waiting += [defined.pop(name) for name in wanted if name in defined]
        live += [node for node in waiting if isinstance(node, Definition)]
        used = {inner.id for node in waiting for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        wanted, waiting = used & defined.keys(), []
    return live


def _is_registered(node: Definition) -> bool:
    """Return whether a decorator may call or register a function."""
    return any(dotted(name).rpartition(".")[2] not in _DESCRIBING for name in called(node))


def is_guard(node: ast.stmt) -> bool:
    """Return whether a statement is ``if __name__ == "__main__"``."""
    return isinstance(node, ast.If) and any(
        isinstance(inner, ast.Name) and inner.id == "__name__" for inner in ast.walk(node.test)
    )


def _walk(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield all nodes below these in the order of the code; `ast.walk` yields them by depth."""
    waiting: list[ast.AST] = [*reversed(statements)]
    while waiting:
        yield (node := waiting.pop())
        waiting += reversed(list(ast.iter_child_nodes(node)))
