"""The magics' bodies: convert a cell to a script, show results as cell outputs, and keep a job's output up to date."""

from __future__ import annotations

import codecs
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from ..client import printing
from ..client.connect import connect
from ..client.context import NotebookContext, follow_notebook, shell_context
from ..client.job import JobHandle, wait_for_success
from ..client.log_printer import LogPrinter, print_end
from ..client.parameters import option_names
from ..client.workflow_run import WorkflowHandle
from ..core.errors import PaiError, UsageError
from ..core.i18n import _
from ..core.secret import Secret
from ..core.text import plain, without_reports
from ..source import notebook, script
from ..source.magic_line import words_of
from . import jobs
from .console import SUBMITS, YES, CommandContext, Console, as_json
from .parser import parser as grammar
from .registry import COMMANDS

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

# Seconds between two updates of a job's output. Where our renderer shows the job live, the update changes only the
# text that is saved with the notebook; elsewhere, everything that the user sees.
_REFRESH = 2.0
_WIDGET_TYPE = "application/vnd.jupyter.widget-view+json"


class CellConsole(Console):
    """Prints results as the outputs of a cell."""

    def print(self, text: str = "") -> None:
        printing.print_line(text)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        from IPython.display import display

        columns, *rows = ([plain(cell) for cell in row] for row in (columns, *rows))
        head = "".join(f"<th>{escape(column)}</th>" for column in columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=False)]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
            for row in (columns, *rows)
        )
        bundle = {
            "text/html": f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>",
            "text/plain": "\n".join(lines),
        }
        display(bundle, raw=True)

    def log(self, chunks: Iterable[bytes], job: str, *, follow: bool, raw: bool) -> None:
        if not follow:
            print_end(chunks, job, raw=raw)
            return
        write = LogPrinter(job, raw=raw)
        chunks = chunks if raw else without_reports(chunks)
        try:
            for text in codecs.iterdecode(chunks, "utf-8", "replace"):
                write(text)
        finally:
            write.finish()

    def job(self, handle: JobHandle) -> None:
        show(handle)

    def link(self, text: str, address: str, url: str) -> None:
        from IPython.display import display

        text = plain(text)
        # A relative address: only the browser knows the URL by which it reaches this server.
        html = f'<a href="{escape(address)}" target="_blank" rel="noopener">{escape(text)}</a>'
        display({"text/html": html, "text/plain": f"{text}: {url}"}, raw=True)

    @property
    def can_prompt(self) -> bool:
        return False

    def confirm(self, question: str) -> bool:
        with _prompting(fix=_("Pass --yes to confirm.")):
            return printing.prompt(f"{question} [y/N] ").strip().lower() in YES

    def prompt_secret(self, question: str) -> Secret:
        with _prompting(fix=_("In a terminal: jupyter pai secret set NAME")):
            return Secret(printing.prompt_hidden(f"{question}: "))


@contextmanager
def _prompting(fix: str) -> Iterator[None]:
    """Raise a UsageError with this fix if a prompt in the block finds no input."""
    try:
        yield
    except Exception as error:
        # IPython raises StdinNotImplementedError in a kernel whose front end provides no input.
        names = ("EOFError", "NotImplementedError", "StdinNotImplementedError")
        if type(error).__name__ not in names:
            raise
        raise UsageError(_("Cannot prompt for confirmation here."), fix=fix) from None


@option_names()
def run_cell(shell: InteractiveShell, line: str, cell: str) -> None:
    """Run ``%%pai_train``: submit the cell's code. With a page, return at once and show a live view; else wait."""
    try:
        options = grammar.parse(grammar.cell_parser(), words_of(line, shell.user_ns))
    except SystemExit:
        return
    ctx = _context(shell)
    converted = script.from_cell(cell, _cells_above(shell, ctx.caller, cell, options.with_above))
    with ctx.submitting(options):
        handle = jobs.submit(ctx, options, cell=converted.text, attach=True)
        for note in converted.notes if handle or options.step else ():
            ctx.console.print(note)
        if handle:
            _finish(ctx, options, handle, display_it=True)


@option_names()
def run_line(shell: InteractiveShell, line: str) -> object:
    """Run ``%pai VERB …``. Return the job of `submit` and `rerun`, the run of `workflow`, and the form of `form`: the
    cell shows it unless it is assigned.
    """
    words = words_of(line, shell.user_ns)
    try:
        options = grammar.parse(grammar.parser("%pai", words), words)
    except SystemExit:
        return None
    ctx = _context(shell)
    if options.verb == "form":
        from ..client.widgets.form import form_at

        return form_at(ctx.caller, options.target, profile=options.profile, backend=options.backend)
    with ctx.submitting(options):
        result = (
            jobs.submit(ctx, options, attach=True) if options.verb == "submit" else COMMANDS[options.verb](ctx, options)
        )
        if isinstance(result, WorkflowHandle):
            return result
        if options.verb not in SUBMITS or not isinstance(result, JobHandle):
            return None
        return _finish(ctx, options, result, display_it=False)


def _context(shell: InteractiveShell) -> CommandContext:
    client = connect()
    follow_notebook(client.call)
    return CommandContext(client, shell_context(shell), CellConsole())


def _cells_above(
    shell: InteractiveShell, caller: NotebookContext, cell: str, all_above: bool
) -> list[notebook.CodeCell]:
    """Return the cells whose code is prepended to the cell's: the tagged ones, or all of them."""
    if caller.notebook is None:
        if not all_above:
            return []
        # Without a notebook file, the history stands for the cells above.
        history = shell.history_manager.input_hist_raw[1:-1] if shell.history_manager else []
        cells = [notebook.CodeCell("", code) for code in history]
    else:
        parent: dict[str, Any] = getattr(getattr(shell, "kernel", None), "get_parent", lambda _channel: {})("shell")
        cell_id = str(parent.get("metadata", {}).get("cellId", ""))
        whole = parent.get("content", {}).get("code", cell)
        try:
            saved = notebook.read(caller.notebook)
        except PaiError:
            if all_above:
                raise
            return []  # The notebook was never saved, so it has no known tags.
        cells = notebook.above(saved, cell_id, whole, all_above=all_above)
    return [item for item in cells if not item.code.lstrip().startswith("%%pai_train")]


def _finish(ctx: CommandContext, options: grammar.Options, handle: JobHandle, *, display_it: bool) -> JobHandle | None:
    """Assign the job to its variable, then wait for it or show it."""
    if variable := getattr(options, "variable", None):
        ctx.caller.shell.user_ns[variable] = handle
    wait = options.wait if options.wait is not None else display_it and not ctx.caller.live
    if wait:
        ctx.console.notes([] if options.json else handle.info["notes"])
        write = LogPrinter(handle.id, sys.stderr) if options.json else None
        wait_for_success(handle, f"%pai stop {handle.id}", write=write)
    if options.json:
        ctx.console.json(as_json(handle.info))
    elif display_it and not wait:
        show(handle)
    elif display_it:
        ctx.console.print(repr(handle))
    return None if display_it or options.json else handle


def show(handle: JobHandle) -> None:
    """Show a job as a cell's output, and update the saved output until the job has ended."""
    from IPython.display import display

    output = display(handle._repr_mimebundle_(), raw=True, display_id=True)
    if output is not None and not handle.ended:
        threading.Thread(target=_refresh, args=(handle, output), name=f"jupyter-pai {handle.id}", daemon=True).start()


def _refresh(handle: JobHandle, output: Any) -> None:
    last: dict[str, Any] = {}
    while True:
        time.sleep(_REFRESH)
        try:
            ended = handle.ended
            bundle = handle._repr_mimebundle_()
        except PaiError:
            return  # The server has stopped, or the job was deleted: the output stays as it is.
        # A widget updates itself, and is reset when its output is replaced: replace it once, for the saved notebook.
        if bundle != last and (ended or _WIDGET_TYPE not in bundle):
            output.update(bundle, raw=True)
            last = bundle
        if ended:
            return
