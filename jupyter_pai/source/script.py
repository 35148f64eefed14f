"""Converts notebook code to a Python script that does what a kernel does (see `cell_code`)."""

from __future__ import annotations

import ast
import builtins
import json
import posixpath
import re
import symtable
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..core.errors import NotebookError
from ..core.i18n import _
from .cell_code import RUN, SHOW, CellCode, converted, defined_by_magics, expanded
from .notebook import INJECTED, MAY_FAIL, PARAMETERS, SKIPPED, CodeCell

# Bytes and words of a file whose code is inspected. Python's parser lets no other thread run, for 0.1 s at most.
_LARGEST, _MOST_WORDS = 500_000, 30_000
_WORD = re.compile(r"\w+|[^\w\s]|\n")
_parsing = threading.Lock()

# The declaration of an option of a command line.
_OPTION = re.compile(r"""["']--([^\W\d][\w-]*)""")

# The first line of the script of a cell ends with it.
HEADER = "# %%pai_train"
# The comments above the cells of a notebook, and above a submitted cell that others precede.
_HEAD = re.compile(r"# \[(\d+)\](?: tags=\[.*\])?")
_OWN = "# %%"
# The module that scripts take the parts of a kernel from, packed beside them.
_SHELL = "jupyter_pai_shell"
_IMPORT = f"from {_SHELL} import "
_END, _SET = "_pai_end", "_pai_parameters"
# Changes to the folder of the script.
_CHANGE = '__import__("os").chdir(__import__("sys").path[0])'
# Names of a kernel; variables that only its shell sets; those that it numbers.
_KERNEL = ("display", "get_ipython", "__IPYTHON__")
_SET_BY_SHELL = ("_", "__", "___", "_dh", "_exit_code")
_NUMBERED = re.compile(r"In|Out|_[io]h|_i{1,3}|_i?\d+")
_BUILTINS = {*dir(builtins), "__file__", "__name__", "__doc__", "__builtins__", "__annotations__"} - {*_KERNEL, "_"}
# The variable that a magic assigns its job to.
_AS = re.compile(r"^\s*%%?pai.* --as[ =](\w+)", re.MULTILINE)
# Code that may draw a figure.
_DRAWS = re.compile(r"(?:import|from) (?:matplotlib|seaborn|pylab|plotnine)|\.(?:plot|hist|boxplot)\b")


@dataclass
class Script:
    """A script made of cells. `notes` name the omitted magics."""

    text: str
    notes: list[str] = field(default_factory=list)


def is_large(code: str) -> bool:
    """Return whether the code is too large to be inspected. A hundred kilobytes of ordinary code are not."""
    return len(code) > _LARGEST or len(_WORD.findall(code)) > _MOST_WORDS


def parse(code: str, file: str = "<unknown>") -> ast.Module:
    """Parse Python code. One thread parses at a time, so that others wait for one file only.

    Raises:
        Exception: as `ast.parse`.
    """
    with _parsing:
        return ast.parse(code, file)


def from_cell(code: str, before: Sequence[CodeCell] = ()) -> Script:
    """Return the script of a submitted cell; `code` is the text below the magic's line.

    Without cells before it, line n of the script is line n of the cell, so that tracebacks fit.

    Raises:
        NotebookError: if a script cannot do what a kernel does, or if the cell uses undefined names.
    """
    parts = [*_parts(before), _Part(_OWN * bool(before), CodeCell("", code), first_line=2)]
    made = _Parts(parts)
    missing = {} if made.has_unknown_names else made.missing
    if missing:
        lines = _lines_of(ast.parse(expanded(parts[-1].made.text)), missing)
        names = ", ".join(_("`{name}` (line {line})").format(name=n, line=lines.get(n, 0) + 1) for n in missing)
        raise NotebookError(
            _("The cell uses undefined names: {names}.").format(names=names),
            fix=_(
                "Define them in the cell, tag the defining cells with `pai`, or include all cells above: --with-above."
            ),
            names=list(missing),
        )
    return Script("  ".join(filter(None, [made.header(), HEADER])) + "\n" + made.text + "\n", made.notes)


def from_cells(cells: Sequence[CodeCell], *, changes_folder: bool = False) -> Script:
    """Return the script of a whole notebook. `changes_folder`: it runs in its own folder.

    Raises:
        NotebookError: if a script cannot do what a kernel does, or if the notebook uses the job of a cell.
    """
    made = _Parts(_parts(cells))
    for name in made.missing.keys() & {name for cell in cells for name in _AS.findall(cell.code)}:
        text = _("The notebook uses the job in the variable `{name}`, which a script does not have.")
        fix = _("Run it as a notebook, on the local backend, or remove the cells that use `{name}`.")
        raise NotebookError(text.format(name=name), fix=fix.format(name=name))
    header = made.header(_CHANGE if changes_folder else "")
    return Script((header + "\n") * bool(header) + made.text + "\n", made.notes)


def readable(cells: Sequence[CodeCell]) -> str:
    """Return the code of a notebook for its analysis. A cell that a script cannot run is left blank."""
    texts = []
    for number, cell in enumerate(cells, 1):
        try:
            text = expanded(converted(cell.code).text)
        except NotebookError:
            text = "\n" * cell.code.count("\n")
        texts.append(f"{_head(number, cell)}\n{text}")
    return "\n\n".join(texts) + "\n"


def readable_text(text: str) -> str:
    """Return the code of a script for its analysis."""
    return expanded(text) if _IMPORT in text.partition("\n")[0] else text


def heads(text: str) -> list[tuple[int, int]]:
    """Return the line above each cell in the code of a notebook, with the number of the cell; 0 for a submitted cell.
    Empty for other code."""
    lines = text.split("\n")
    found = [(line, int(match[1])) for line, words in enumerate(lines, 1) if (match := _HEAD.fullmatch(words))]
    if not found or found[0][0] > 2:
        return []
    if is_cell(text) and _OWN in lines[found[-1][0] :]:
        found.append((lines.index(_OWN, found[-1][0]) + 1, 0))
    return found


def is_cell(text: str) -> bool:
    """Return whether a script was made of a submitted cell."""
    return text.partition("\n")[0].endswith(HEADER)


def sets_parameters(text: str) -> bool:
    """Return whether a script sets the variables of the cell `parameters` to the hyperparameters of its job."""
    return _SET in text.partition("\n")[0].partition(_IMPORT)[2]


def changes_folder(text: str) -> bool:
    """Return whether a script was made of a notebook and runs in its own folder."""
    return text.partition("\n")[0].endswith(_CHANGE)


def needs_ipython(text: str) -> bool:
    """Return whether a script was made of a notebook and needs IPython."""
    _before, is_made, names = text.partition("\n")[0].partition(_IMPORT)
    return bool(is_made) and "get_ipython" in names


def with_shell(files: Mapping[str, str]) -> dict[str, str]:
    """Return files by path, with the module that their scripts import."""
    folders = {posixpath.dirname(path) for path, text in files.items() if _IMPORT in text.partition("\n")[0]}
    text = Path(__file__).with_name(f"{_SHELL}.py").read_text("utf-8") if folders else ""
    return {**files, **{posixpath.join(folder, f"{_SHELL}.py"): text for folder in folders}}


def undefined_names(code: str) -> dict[str, int]:
    """Return undefined names with the line of their first use. Empty if the code may define any name, by
    ``from module import *`` or ``%run``."""
    names, has_unknown = _undefined(code)
    return {} if has_unknown else names


class _Part:
    """A cell of a script. `head` is the comment above it. Cells have a number in the messages of a notebook."""

    def __init__(self, head: str, cell: CodeCell, *, number: int = 0, first_line: int = 1) -> None:
        self.head = head
        self.cell = cell
        self.number = number
        self.first_line = first_line
        try:
            self.made: CellCode = converted(cell.code, may_fail=MAY_FAIL in cell.tags)
        except NotebookError as error:
            raise self.error(error) from None

    def error(self, error: NotebookError) -> NotebookError:
        """Return an error of the cell with its place."""
        line = int(str(error.details.get("line") or 1))
        text = self.note(line, error.message)
        return NotebookError(text, fix=error.fix, line=line + self.first_line - 1)

    def note(self, line: int, what: str) -> str:
        line += self.first_line - 1
        if self.number:
            return _("Cell {number}, line {line}: {what}").format(number=self.number, line=line, what=what)
        return _("Line {line}: {what}").format(line=line, what=what)


def _parts(cells: Sequence[CodeCell]) -> list[_Part]:
    kept = [(number, cell) for number, cell in enumerate(cells, 1) if SKIPPED not in cell.tags]
    return [_Part(_head(number, cell), cell, number=number) for number, cell in kept]


def _head(number: int, cell: CodeCell) -> str:
    """Return the comment above a cell, with its tags in jupytext's format: one of them marks hyperparameters."""
    return f"# [{number}]" + (f" tags={json.dumps(cell.tags)}" if cell.tags else "")


class _Parts:
    """The cells of a script, together."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self.notes = [
            part.note(line, _("`{what}` has no effect in a job and was omitted.").format(what=what))
            for part in parts
            for line, what in part.made.notes
        ]
        draws = any(_DRAWS.search(part.cell.code) for part in parts)
        self.features = {name: None for part in parts for name in part.made.features}
        setter, setting = _parameters(parts)
        lines: list[str] = []
        # The cell of each line, and the line's number there.
        places: list[tuple[_Part, int]] = []
        for part in parts:
            own = [*([part.head] if part.head else []), *part.made.text.split("\n")]
            own += [setting] * (part is setter) + [f"{_END}()"] * draws + [""] * (part is not parts[-1])
            places += [(part, number) for number, _line in enumerate(own, 0 if part.head else 1)]
            lines += own
        self.text = "\n".join(lines)
        try:
            compile(self.text, "script", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            part, line = places[min((getattr(error, "lineno", None) or 1) - 1, len(places) - 1)]
            text = _("this is valid in its cell, but not with the cells above ({error}).").format(
                error=getattr(error, "msg", error)
            )
            raise part.error(NotebookError(text, fix=_("Rename the variable."), line=line)) from None
        lazy = "annotations" in self.features
        self.missing, self.has_unknown_names = _undefined(expanded(self.text), annotations=not lazy)
        for name in filter(_NUMBERED.fullmatch, self.missing):
            part, line = places[min(self.missing[name], len(places)) - 1]
            text = _("`{name}` is kept by a kernel only.").format(name=name)
            raise part.error(NotebookError(text, fix=_("Assign the value to a variable."), line=line))
        imports_ipython = any(re.search(r"^\s*(?:from|import)\s+IPython\b", part.cell.code, re.M) for part in parts)
        used = {name for name in (*_KERNEL, *_SET_BY_SHELL) if self.missing.pop(name, None)}
        self.imported = [name for name in (SHOW, RUN, _END, _SET) if f"{name}(" in self.text]
        if used or imports_ipython or RUN in self.imported:
            self.imported.append("get_ipython")

    def header(self, more: str = "") -> str:
        """Return the statements before the cells, in one line."""
        features = f"from __future__ import {', '.join(self.features)}" if self.features else ""
        names = _IMPORT + ", ".join(self.imported) if self.imported else ""
        return "; ".join(filter(None, [features, names, more]))


def _parameters(parts: Sequence[_Part]) -> tuple[_Part | None, str]:
    """Return the cell after which a script sets the hyperparameters that the cell `parameters` assigns, and the line
    that does; as papermill, after the parameters that an earlier execution has injected. None without such a cell.

    Names that the code declares as options are left to their parser.
    """
    tagged = {tag: part for part in reversed(parts) for tag in part.cell.tags if tag in (PARAMETERS, INJECTED)}
    if PARAMETERS not in tagged:
        return None, ""
    table = symtable.symtable(expanded(tagged[PARAMETERS].made.text), "cell", "exec")
    names = [one.get_name() for one in table.get_symbols() if one.is_assigned() and not one.is_namespace()]
    code = "\n".join(part.cell.code for part in parts)
    options = set(_OPTION.findall(code))
    names = [name for name in names if name not in options]
    words = ", ".join(["globals()", *map(repr, names)])
    return tagged.get(INJECTED, tagged[PARAMETERS]) if names else None, f"{_SET}({words})"


def _undefined(code: str, *, annotations: bool = True) -> tuple[dict[str, int], bool]:
    """Return undefined names with the line of their first use, and whether the code may define any name.
    `annotations`: those of functions, arguments and variables count."""
    try:
        tree = parse(code)
        if not annotations:
            tree = _Unannotated().visit(tree)
            code = ast.unparse(tree)
        top = symtable.symtable(code, "cell", "exec")
    except SyntaxError:
        return {}, True
    by_magics = defined_by_magics(tree)
    stars = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*")
    symbols = [one for table in _tables(top) for one in table.get_symbols() if table is top or one.is_global()]
    defined = {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}
    # From Python 3.12 on, `:=` in a comprehension declares its name, and seems not to assign it.
    walrus = {node.target.id for node in ast.walk(tree) if isinstance(node, ast.NamedExpr)}
    defined |= {symbol.get_name() for symbol in symbols if symbol.is_declared_global()} & walrus
    used = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    names = used - defined - _BUILTINS - (by_magics or set()) - {SHOW, RUN, _END, _SET}
    return _lines_of(tree, names), by_magics is None or any(True for _node in stars)


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


class _Unannotated(ast.NodeTransformer):
    """Removes annotations."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def _lines_of(tree: ast.AST, names: Collection[str]) -> dict[str, int]:
    """Return the line of the first use of each of these names, in the order of the lines."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names]
    lines: dict[str, int] = {}
    for node in sorted(nodes, key=lambda node: node.lineno):
        lines.setdefault(node.id, node.lineno)
    return lines
