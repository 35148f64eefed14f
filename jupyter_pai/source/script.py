"""Converts notebook code to a plain Python script: magics and shell commands become Python.

IPython's transformer converts magics into calls, which are replaced here by equivalent code without IPython. Magics
without a meaning in scripts (``%matplotlib inline``) are omitted, with a note.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import symtable
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from tokenize import TokenError

from ..core.errors import NotebookError
from ..core.i18n import _
from .notebook import CodeCell

# Bytes and words of a file whose code is inspected. Python's parser lets no other thread run, for 0.1 s at most.
_LARGEST, _MOST_WORDS = 500_000, 30_000
_WORD = re.compile(r"\w+|[^\w\s]|\n")
_parsing = threading.Lock()

_OURS = ("pai_train", "pai")
_TRANSPARENT = ("time", "timeit", "capture", "prun", "memit", "memray_flamegraph", "pai_train")
_USELESS = """
    alias autoawait autocall automagic autoreload aimport colors config doctest_mode history lsmagic load_ext
    matplotlib pai pdb pinfo pinfo2 precision psearch pylab quickref reload_ext tensorboard unload_ext who whos
    watermark xmode html javascript js latex markdown svg
""".split()
_SHELL_ALIASES = "cat cp conda git ldir ll ls lx mamba mkdir mv rm rmdir uv".split()
_SHELLS = ("bash", "sh", "script", "system", "sx", "!")
# The variable that a magic assigns its job to.
_AS = re.compile(r"^\s*%%?pai.* --as[ =](\w+)", re.MULTILINE)
# Builtins of IPython, which jobs do not have.
_IPYTHON = {"display", "get_ipython", "__IPYTHON__"}
_DISPLAY = "display = print  # jobs have no cells"
_BUILTINS = {*dir(builtins), "__file__", "__name__", "__doc__", "__builtins__", "__annotations__"} - _IPYTHON


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
        NotebookError: if it is not valid Python, or uses undefined names.
    """
    script = Script("")
    parts = [f"# [{number}]{_tags(cell)}\n{_plain(cell.code, script)}" for number, cell in enumerate(before, 1)]
    body = _plain(code, script, first_line=2)
    missing = undefined_names("\n".join([*parts, body]))
    header = _DISPLAY if missing.pop("display", None) else "# %%pai_train"
    if missing:
        lines = _lines_of(body, missing)
        raise NotebookError(
            _("The cell uses undefined names: {names}.").format(
                names=", ".join(_("`{name}` (line {line})").format(name=n, line=lines.get(n, 0) + 1) for n in missing)
            ),
            fix=_(
                "Define them in the cell, tag the defining cells with `pai`, or include all cells above: --with-above."
            ),
            names=list(missing),
        )
    # Start a new cell: tags of the cells above do not apply to it.
    script.text = "\n".join([header, *parts, *["# %%"] * bool(parts), body]) + "\n"
    return script


def from_cells(cells: Sequence[CodeCell]) -> Script:
    """Return the script of a whole notebook.

    Raises:
        NotebookError: if a cell is not valid Python, or uses the job of another cell.
    """
    script = Script("")
    body = "\n\n".join(f"# [{n}]{_tags(cell)}\n{_plain(cell.code, script)}" for n, cell in enumerate(cells, 1))
    missing = undefined_names(body)
    for name in missing.keys() & {name for cell in cells for name in _AS.findall(cell.code)}:
        text = _("The notebook uses the job in the variable `{name}`, which a script does not have.")
        fix = _("Run it as a notebook, on the local backend, or remove the cells that use `{name}`.")
        raise NotebookError(text.format(name=name), fix=fix.format(name=name))
    script.text = (_DISPLAY + "\n" if "display" in missing else "") + body + "\n"
    return script


def _tags(cell: CodeCell) -> str:
    """Return a cell's tags in jupytext's format; hyperparameters are found by one of them."""
    return f" tags={json.dumps(cell.tags)}" if cell.tags else ""


def undefined_names(code: str) -> dict[str, int]:
    """Return undefined names with the line of their first use.

    Empty if the code has ``from module import *``, since its names are unknown.
    """
    try:
        tree = parse(code)
    except SyntaxError:
        return {}
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree)):
        return {}
    top = symtable.symtable(code, "cell", "exec")
    symbols = [one for table in _tables(top) for one in table.get_symbols() if table is top or one.is_global()]
    defined = {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}
    used = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    return _lines_of(code, used - defined - _BUILTINS)


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _lines_of(code: str, names: Collection[str]) -> dict[str, int]:
    """Return the line of the first use of each of these names, in the order of the lines."""
    nodes = [node for node in ast.walk(parse(code)) if isinstance(node, ast.Name) and node.id in names]
    lines: dict[str, int] = {}
    for node in sorted(nodes, key=lambda node: node.lineno):
        lines.setdefault(node.id, node.lineno)
    return lines


def _plain(code: str, script: Script, first_line: int = 1) -> str:
    """Return a cell's code with magics and shell commands replaced. `first_line` is the number of its first line."""
    lines = code.split("\n")
    top = next((n for n, line in enumerate(lines) if line.strip()), 0)
    if (magic := re.match(r"%%(\w+)", lines[top].strip())) and magic[1] in _TRANSPARENT:
        lines[top] = ""
        return _plain("\n".join(lines), script, first_line)
    try:
        tree = parse(code)
    except (SyntaxError, ValueError):
        code = _without_magics(code, first_line)
        tree = _parse(code, first_line)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _ipython_call(node)]
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    rewrite = _Rewrite(tree, first_line)
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        code = _replace(code, call, rewrite.python(call, id(call) in statements))
    script.notes += reversed(rewrite.notes)
    _parse(code, first_line)
    return code


def _without_magics(code: str, first_line: int) -> str:
    """Return the code with each magic and shell command converted by IPython to a call."""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        return str(TransformerManager().transform_cell(code)).rstrip("\n")
    except (SyntaxError, TokenError) as error:
        raise _no_python(error, first_line) from None


def _parse(code: str, first_line: int) -> ast.Module:
    try:
        compile(code, "cell", "exec")
        return parse(code)
    except (SyntaxError, ValueError) as error:  # ValueError: a NUL in the code
        raise _no_python(error, first_line) from None


def _no_python(error: Exception, first_line: int) -> NotebookError:
    line = (getattr(error, "lineno", None) or 1) + first_line - 1
    text = (getattr(error, "text", None) or "").strip()
    message = str(getattr(error, "msg", error))
    return NotebookError(
        _("Line {line} is not valid Python: {text} ({error}).").format(line=line, text=text, error=message),
        fix=_("Scripts have no running event loop: use asyncio.run(…).")
        if "await" in message
        else _("To run other programs than Python, submit a command: %pai submit --command '…'."),
        line=line,
    )


def _ipython_call(node: ast.Call) -> str:
    """Return the called method of IPython's shell, such as `system`; empty for other calls."""
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        shell = node.func.value.func
        if isinstance(shell, ast.Name) and shell.id == "get_ipython":
            return node.func.attr
    return ""


def _replace(code: str, node: ast.expr, text: str) -> str:
    """Return the code with the expression `node` replaced. Columns count UTF-8 bytes."""
    lines = code.split("\n")
    last = (node.end_lineno or node.lineno) - 1
    head = lines[node.lineno - 1].encode()[: node.col_offset].decode()
    lines[node.lineno - 1 : last + 1] = [head + text + lines[last].encode()[node.end_col_offset :].decode()]
    return "\n".join(lines)


class _Rewrite:
    """Generates plain Python for the IPython calls of one cell."""

    def __init__(self, tree: ast.Module, first_line: int) -> None:
        self.notes: list[str] = []
        self.first_line = first_line
        self.names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

    def python(self, call: ast.Call, is_statement: bool) -> str:
        method = _ipython_call(call)
        words = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        line = call.lineno + self.first_line - 1
        match method, *words:
            case "system", command:
                return f'__import__("subprocess").run({self.shell_text(command)}, shell=True)'
            case "getoutput", command:
                return self.output_of(command)
            case "run_line_magic", name, _rest if name.startswith("%"):
                raise NotebookError(
                    _("Line {line}: %{magic} must be the first line of its cell.").format(line=line, magic=name)
                )
            case "run_line_magic", name, rest:
                return self.line_magic(name, rest, line, is_statement)
            case "run_cell_magic", name, rest, body:
                return self.cell_magic(name, rest, body, line)
        raise NotebookError(
            _("Line {line} needs IPython, which scripts do not have: get_ipython().{method}.").format(
                line=line, method=method
            )
        )

    def line_magic(self, name: str, rest: str, line: int, is_statement: bool) -> str:
        if name in _TRANSPARENT:
            return re.sub(r"^(-\w+(\s+\d+)?\s+)*", "", rest) or "None"
        if name in _SHELL_ALIASES:
            return f'__import__("subprocess").run({self.shell_text(f"{name} {rest}")}, shell=True)'
        if name in ("sx", "sc"):
            return self.output_of(rest)
        if equivalent := _EQUIVALENTS.get(name):
            return equivalent(rest.strip())
        if is_statement or name in _USELESS:
            return self.left_out(f"%{name} {rest}", line)
        raise NotebookError(
            _("Line {line} uses the value of %{magic}, which scripts do not have.").format(line=line, magic=name)
        )

    def cell_magic(self, name: str, rest: str, body: str, line: int) -> str:
        if name in _USELESS:
            return self.left_out(f"%%{name}", line)
        if name in _SHELLS:
            shell = rest.split() if name == "script" else [name if name in ("bash", "sh") else "sh", *rest.split()]
            return f'__import__("subprocess").run({shell!r}, input={body!r}, text=True)'
        if name == "writefile":
            append = rest.startswith("-a ")
            path = rest.removeprefix("-a ").strip()
            return f'open({path!r}, {"a" if append else "w"!r}, encoding="utf-8").write({body!r})'
        raise NotebookError(
            _("Line {line}: the cell magic %%{magic} cannot run in a job.").format(line=line, magic=name)
        )

    def output_of(self, command: str) -> str:
        command = self.shell_text(command)
        return f'__import__("subprocess").run({command}, shell=True, stdout=-1, text=True).stdout.splitlines()'

    def left_out(self, what: str, line: int) -> str:
        if not what.startswith(tuple(f"%{name}" for name in _OURS)):
            self.notes.append(
                _("Line {line}: `{what}` has no effect in a job and was omitted.").format(line=line, what=what.strip())
            )
        return "None"

    def shell_text(self, command: str) -> str:
        """Return a shell command as an expression, with IPython's ``{name}`` and ``$name`` substituted."""
        parts: list[str] = []
        for piece in filter(None, _EXPANDED.split(command)):
            name = piece.strip("{}") if piece.startswith("{") else piece.removeprefix("$")
            if piece in ("{{", "}}"):
                parts.append(repr(piece[0]))
            elif _EXPANDED.fullmatch(piece) and (piece[0] == "{" or name in self.names):
                parts.append(f"str({name})")
            else:
                parts.append(repr(piece))
        return " + ".join(parts) or "''"


_EXPANDED = re.compile(r"(\{\{|\}\}|\{[A-Za-z_][\w.]*(?:\[[^\]{}]*\])?\}|\$[A-Za-z_]\w*)")


def _env(rest: str) -> str:
    if not rest:
        return 'dict(__import__("os").environ)'
    name, _equals, value = rest.partition("=") if "=" in rest else rest.partition(" ")
    name, value = name.strip(), value.strip()
    return (
        f'__import__("os").environ.update({{{name!r}: {value!r}}})' if value else f'__import__("os").environ[{name!r}]'
    )


def _run(rest: str) -> str:
    words = [word for word in rest.split() if not re.fullmatch(r"-[a-zA-Z]", word)]
    return f'globals().update(__import__("runpy").run_path({words[0] if words else ""!r}))'


_EQUIVALENTS = {
    "cd": lambda rest: f'__import__("os").chdir(__import__("os").path.expanduser({rest or "~"!r}))',
    "env": _env,
    "pip": lambda rest: (
        # The command: on this machine, it does not install into the interpreter.
        f'__import__("subprocess").run(["pip", *{rest.split()!r}], check=True)'
    ),
    "pwd": lambda _rest: '__import__("os").getcwd()',
    "run": _run,
    "set_env": _env,
}
