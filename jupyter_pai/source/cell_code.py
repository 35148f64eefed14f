"""Converts one cell of a notebook to Python.

Plain Python stays as it is, line by line. IPython's own transformer makes calls of its shell of the rest, which the
module `jupyter_pai_shell` provides in the job. The value of the last expression is shown, as a kernel does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from tokenize import TokenError

from ..core.errors import NotebookError
from ..core.i18n import _

# Magics without a meaning outside of a front end: omitted, with a note unless they are ours.
_OURS = ("pai_train", "pai")
_OMITTED = """
    autoawait autocall automagic autoreload aimport colors config doctest_mode lsmagic matplotlib page pai pdb pinfo
    pinfo2 pdef pdoc pfile psearch psource quickref tensorboard watermark xmode
""".split()
_EXTENSIONS = ("autoreload", "jupyter_pai", "tensorboard", "watermark")
# Magics that need the history of a kernel or its front end.
_REFUSED = """
    clear connect_info debug edit gui history hist load loadpy macro man more less notebook pastebin pylab qtconsole
    recall rep rerun save subshell
""".split()
# Attributes of a kernel's shell that no other shell has.
_KERNEL = ("kernel", "comm_manager", "get_parent", "set_parent", "parent_header", "payload_manager")
# Commands that IPython runs without `%`, in a cell of one line.
_BARE = "cat cd conda cp env ldir ll ls lx mamba mkdir mv pip pwd rm rmdir run time timeit uv who whos".split()
# Functions that need the running event loop of a kernel.
_OF_LOOP = ("create_task", "ensure_future", "get_running_loop")
# Magics whose body is Python code that runs in the notebook's variables.
_TIMING = ("capture", "memit", "mprun", "prun", "time", "timeit")
SHOW, RUN = "_pai_show", "_pai_cell"


@dataclass
class CellCode:
    """A cell as Python, with as many lines as the cell. `notes` are (line, text) of omitted magics; `features` are the
    names of ``from __future__``."""

    text: str
    notes: list[tuple[int, str]] = field(default_factory=list)
    features: list[str] = field(default_factory=list)


def converted(code: str, *, may_fail: bool = False) -> CellCode:
    """Return a cell as Python. `may_fail`: its error does not end the script.

    Raises:
        NotebookError: with `line`, the line of the cell, if a script cannot run it.
    """
    lines = code.split("\n")
    top = next((n for n, line in enumerate(lines) if line.strip()), 0)
    if re.match(r"\s*%%pai_train\b", lines[top]):
        lines[top] = ""
    code = "\n".join(lines)
    tree, text = _python(code, top)
    by_shell = may_fail or not text or _needs_loop(tree) or not _compiles(text)
    cell = CellCode(text or code)
    changes = sorted(_changes(cell, tree, by_shell=by_shell), key=lambda change: _place(change[0]), reverse=True)
    for node, replacement in changes:
        cell.text = _replace(cell.text, node, replacement)
    if by_shell:
        options = ", may_fail=True" if may_fail else ""
        cell.text = f"{RUN}({cell.text!r}{options})" + "\n" * cell.text.count("\n")
    return cell


def expanded(text: str) -> str:
    """Return the text of a script for the analysis of its code: cells that IPython runs become code in place."""
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is(node.value, SHOW):
            text = _replace(text, node.value, ast.get_source_segment(text, node.value.args[0]) or "None")
    lines = text.split("\n")
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.Expr) and (own := _body(node.value)):
            lines[node.lineno - 1 : node.lineno - 1 + len(own)] = own
    return "\n".join(lines)


def defined_by_magics(tree: ast.AST) -> set[str] | None:
    """Return the names that magics may define, such as that of ``%%capture out``; None if they may define any."""
    names: set[str] = set()
    shells = sum(isinstance(node, ast.Name) and node.id == "get_ipython" for node in ast.walk(tree))
    for call in _calls(tree):
        name, line, *_body = [*_texts(call), "", ""]
        if _method(call) in ("run_line_magic", "run_cell_magic") and name not in ("run", "store"):
            names |= set(re.findall(r"[^\W\d]\w*", line))
        elif _method(call) not in ("system", "getoutput"):
            return None
        shells -= 1
    return None if shells else names


def _python(code: str, top: int) -> tuple[ast.Module, str]:
    """Return a cell as a tree and as text; an empty text if only IPython can read it. `top` blank lines precede it."""
    from IPython.core.inputtransformer2 import TransformerManager

    word, *more = code.split(maxsplit=1) or [""]
    is_line = "\n" not in code.strip()
    try:
        tree = ast.parse(code)
        if is_line and not more and word in ("exit", "quit"):
            return ast.parse(f"{word}()"), code.replace(word, f"{word}()")
        if not (is_line and not more and word in _BARE):
            return tree, code
    except (SyntaxError, ValueError):
        try:
            text = "\n" * top + TransformerManager().transform_cell(code).rstrip("\n")
            tree = ast.parse(text)
            _compile(text)
            return tree, text + "\n" * (code.count("\n") - text.count("\n"))
        except (SyntaxError, ValueError, TokenError) as error:
            if not (is_line and word in _BARE):
                raise _no_python(error) from None
    return ast.Module([], []), ""


def _compile(text: str) -> None:
    compile(text, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def _compiles(text: str) -> bool:
    """Return whether a cell is a module of Python, without `await` outside of functions.

    Raises:
        NotebookError: if it is not valid in a cell either.
    """
    try:
        compile(text, "cell", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        try:
            _compile(text)
        except (SyntaxError, ValueError) as error:
            raise _no_python(error) from None
        return False
    return True


def _no_python(error: Exception) -> NotebookError:
    text = (getattr(error, "text", None) or "").strip()
    message = _("not valid Python: {text} ({error}).").format(text=text, error=getattr(error, "msg", error))
    fix = _("To run other programs than Python, submit a command: %pai submit --command '…'.")
    return NotebookError(message, fix=fix, line=getattr(error, "lineno", None) or 1)


def _changes(cell: CellCode, tree: ast.Module, *, by_shell: bool) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield the nodes of a cell that a script has otherwise, with their code. `by_shell`: IPython runs the cell."""
    if found := re.search(r"ast_node_interactivity", cell.text):
        line = cell.text[: found.start()].count("\n") + 1
        text = _("`{magic}` needs a notebook that is open.").format(magic=found[0])
        raise NotebookError(text, fix=_("Print the values that are to be shown."), line=line)
    for node in ast.walk(tree):
        if _method(node) in _KERNEL:
            text = _("only the kernel of a notebook has get_ipython().{name}.").format(name=_method(node))
            fix = _("Run the notebook as a job on the local backend.")
            raise NotebookError(text, fix=fix, line=getattr(node, "lineno", 1))
    omitted = [call for call in _calls(tree) if _is_omitted(call, cell)]
    for call in omitted:
        yield call, "None"
    if by_shell or not tree.body:
        return
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            cell.features += [alias.name for alias in statement.names]
            yield statement, "pass"
    last = tree.body[-1]
    if isinstance(last, ast.Expr) and last.value not in omitted and _is_shown(cell.text, last.value):
        inner = ast.get_source_segment(cell.text, last.value) or ""
        yield last.value, f"{SHOW}(({inner}))" if isinstance(last.value, ast.Tuple) else f"{SHOW}({inner})"


def _is_omitted(call: ast.Call, cell: CellCode) -> bool:
    """Return whether a call of the shell has no meaning in a script; add a note about it.

    Raises:
        NotebookError: if a script cannot run it.
    """
    method, (name, rest, *_body) = _method(call), [*_texts(call), "", ""]
    mark = "%%" if method == "run_cell_magic" else "%"
    if method not in ("run_line_magic", "run_cell_magic"):
        return False
    if name.startswith("%"):
        text = _("%{magic} must be the first line of its cell.").format(magic=name)
        raise NotebookError(text, fix=_("Move it to a separate cell."), line=call.lineno)
    if name in _REFUSED:
        text = _("`{magic}` needs a notebook that is open.").format(magic=mark + name)
        raise NotebookError(text, fix=_("Remove the line, or submit the code without it."), line=call.lineno)
    if name not in _OMITTED and not (name.endswith("load_ext") and rest.strip() in _EXTENSIONS):
        return False
    if name not in _OURS and rest.strip() != "jupyter_pai":
        cell.notes.append((call.lineno, f"{mark}{name} {rest}".strip()))
    return True


def _is_shown(text: str, value: ast.expr) -> bool:
    """Return whether a kernel may show the value of a cell's last expression: not before `;`, and nothing of print."""
    if any(_is(value, name) for name in ("print", "display", SHOW, RUN)):
        return False
    if isinstance(value, ast.Constant) and value.value is None:
        return False
    if _method(value) == "system":
        return False
    lines = text.split("\n")[(value.end_lineno or 1) - 1 :]
    rest = "\n".join([lines[0].encode()[value.end_col_offset :].decode(), *lines[1:]])
    return not re.match(r"[\s)]*;", rest)


def _needs_loop(tree: ast.Module) -> bool:
    """Return whether code outside of functions uses the event loop in which a kernel runs cells."""
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Call) and ast.unparse(node.func).removeprefix("asyncio.") in _OF_LOOP:
            return True
        waiting += ast.iter_child_nodes(node)
    return False


def _body(value: ast.expr) -> list[str]:
    """Return the lines of a cell that IPython runs; none for other expressions."""
    texts = _texts(value)
    if _is(value, RUN):
        lines = texts[0].split("\n")
        try:
            ast.parse(texts[0])
        except SyntaxError:  # A command that only IPython can read.
            return ["get_ipython()", *[""] * (len(lines) - 1)]
        return lines
    if _method(value) != "run_cell_magic" or texts[0] not in _TIMING:
        return []
    name, rest, code = texts
    try:
        inner = expanded(converted(code.rstrip("\n")).text).split("\n")
    except NotebookError:
        inner = [""] * (code.rstrip("\n").count("\n") + 1)
    return [f"get_ipython().run_line_magic({name!r}, {rest!r})", *inner]


def _is(value: ast.expr, name: str) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == name


def _texts(call: ast.AST) -> list[str]:
    """Return the constant texts among the arguments of a call."""
    arguments = call.args if isinstance(call, ast.Call) else []
    return [one.value for one in arguments if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def _calls(tree: ast.AST) -> list[ast.Call]:
    """Return the calls of IPython's shell."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _method(node)]


def _method(node: ast.AST) -> str:
    """Return the attribute of IPython's shell, such as `system`, that a node is or calls; empty for other nodes."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) and _is(node.value, "get_ipython") else ""


def _place(node: ast.expr | ast.stmt) -> tuple[int, int, int]:
    return node.lineno, node.col_offset, -(node.end_lineno or 0)


def _replace(code: str, node: ast.expr | ast.stmt, text: str) -> str:
    """Return the code with a node replaced, in as many lines. Columns count UTF-8 bytes."""
    lines = code.split("\n")
    last = (node.end_lineno or node.lineno) - 1
    head = lines[node.lineno - 1].encode()[: node.col_offset].decode()
    made = head + text + lines[last].encode()[node.end_col_offset :].decode()
    lines[node.lineno - 1 : last + 1] = made.split("\n") + [""] * (last + 1 - node.lineno - text.count("\n"))
    return "\n".join(lines)
