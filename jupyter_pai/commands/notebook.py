"""What the magics do in a notebook: make a script of the cell, show results as outputs, keep a view up to date."""

from __future__ import annotations

import codecs
import json
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from ..client.connect import connect
from ..client.context import Place, of_shell
from ..client.job import JobHandle, job_failed
from ..client.log_printer import Printer, print_end
from ..core.errors import PaiError, UsageError
from ..core.i18n import _
from ..core.secret import Secret
from ..source import notebook, script
from .console import Screen, as_json
from .jobs import Commands
from .magic_variables import words_of
from .parser import parser as grammar

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["run_cell", "run_line"]

# Seconds between two looks at a job whose output is kept up to date: where our renderer shows it live, only the text
# that is saved with the notebook; elsewhere, all that the user sees.
_REFRESH = 2.0
_WIDGET_TYPE = "application/vnd.jupyter.widget-view+json"


class Cell(Screen):
    """Results as the outputs of a cell."""

    def say(self, text: str = "") -> None:
        print(text)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        from IPython.display import display

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

    def log(self, pieces: Iterable[bytes], job: str, *, follow: bool) -> None:
        if not follow:
            print_end(pieces, job)
            return
        write = Printer(job)
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        for data in pieces:
            write(decode(data))
        write(decode(b"", True))
        write.flush()

    def job(self, handle: JobHandle) -> None:
        show(handle)

    def link(self, text: str, address: str, url: str) -> None:
        from IPython.display import display

        # By its address alone: it is the browser that knows how this server is reached.
        html = f'<a href="{escape(address)}" target="_blank" rel="noopener">{escape(text)}</a>'
        display({"text/html": html, "text/plain": f"{text}: {url}"}, raw=True)

    @property
    def can_ask(self) -> bool:
        return False

    def ask(self, question: str) -> bool:
        with _somebody(fix=_("Say --yes.")):
            return input(f"{question} [y/N] ").strip().lower() in ("y", "yes", "是", "好")

    def ask_secret(self, question: str) -> Secret:
        from getpass import getpass  # In a kernel this is the front end's field for passwords.

        with _somebody(fix=_("In a terminal: jupyter pai secret set NAME")):
            return Secret(getpass(f"{question}: "))


@contextmanager
def _somebody(fix: str) -> Iterator[None]:
    """Says that nobody answers, and what to do."""
    try:
        yield
    except (EOFError, NotImplementedError):
        raise UsageError(_("Nobody is here to be asked."), fix=fix) from None
    except Exception as error:
        # IPython's StdinNotImplementedError, in a kernel whose front end takes no input.
        if type(error).__name__ == "StdinNotImplementedError":
            raise UsageError(_("Nobody is here to be asked."), fix=fix) from None
        raise


def run_cell(shell: InteractiveShell, line: str, cell: str) -> None:
    """``%%pai_train``: submit the cell's code. In a front end return at once, with a live view; else wait."""
    try:
        options = grammar.parse(grammar.cell_parser(), words_of(line, shell.user_ns))
    except SystemExit:
        return
    place = of_shell(shell)
    commands = Commands(connect(), place, Cell())
    made = script.from_cell(cell, _before(shell, place, cell, options.with_above))
    handle = commands.submit(options, cell=made.text, attach=True)
    if handle:
        for note in made.notes:
            print(note)
        _after(shell, place, options, handle, display_it=True)


def run_line(shell: InteractiveShell, line: str) -> object:
    """``%pai VERB …``. `submit` and `rerun` give the job, `form` the form, which the cell shows if nobody
    takes it."""
    try:
        options = grammar.parse(grammar.parser("%pai"), words_of(line, shell.user_ns))
    except SystemExit:
        return None
    place = of_shell(shell)
    if options.verb == "form":
        from ..client.widgets.form import form_at

        return form_at(place, options.target, profile=options.profile, backend=options.backend)
    commands = Commands(connect(), place, Cell())
    if options.verb == "submit":
        result: object = commands.submit(options, attach=True)
    else:
        result = commands.run(options)
    if options.verb not in ("submit", "rerun") or not isinstance(result, JobHandle):
        return None
    return _after(shell, place, options, result, display_it=False)


def _before(shell: InteractiveShell, place: Place, cell: str, all_above: bool) -> list[notebook.CodeCell]:
    """The cells whose code goes before the cell's."""
    if place.notebook is None:
        if not all_above:
            return []
        # Without a notebook, what was run before is what stands above.
        history = shell.history_manager.input_hist_raw[1:-1] if shell.history_manager else []
        return [notebook.CodeCell("", code) for code in history if not code.lstrip().startswith("%%pai_train")]
    parent: dict[str, Any] = getattr(getattr(shell, "kernel", None), "get_parent", lambda _channel: {})("shell")
    cell_id = str(parent.get("metadata", {}).get("cellId", ""))
    whole = parent.get("content", {}).get("code", cell)
    try:
        cells = notebook.read(place.notebook)
    except PaiError:
        if all_above:
            raise
        return []  # A notebook that was never saved has no tags that we could know.
    before = notebook.above(cells, cell_id, whole, all_above=all_above)
    return [one for one in before if not one.code.lstrip().startswith("%%pai_train")]


def _after(
    shell: InteractiveShell, place: Place, options: grammar.Options, handle: JobHandle, *, display_it: bool
) -> JobHandle | None:
    """Name the job, wait for it or show it."""
    if variable := getattr(options, "variable", None):
        shell.user_ns[variable] = handle
    wait = options.wait if options.wait is not None else display_it and not place.live
    if wait and not options.json:
        for note in handle.info["notes"]:
            print(_("note: {note}").format(note=note))
    if wait:
        _wait(handle, quiet=options.json)
    if options.json:
        print(json.dumps(as_json(handle.info), ensure_ascii=False))
    elif display_it and not wait:
        show(handle)
    elif display_it:
        print(handle)
    return None if display_it or options.json else handle


def _wait(handle: JobHandle, *, quiet: bool) -> None:
    """Print the log until the job has ended; interrupted, leave it alone and say how to stop it.

    Raises:
        JobFailed: if it did not succeed.
    """
    import sys

    try:
        handle.wait(logs=True, write=Printer(handle.id, sys.stderr) if quiet else None)
    except KeyboardInterrupt:
        print(_("\nThe job {job} goes on. Stop it: %pai stop {job}").format(job=handle.id))
        if handle.info.get("paid"):
            print(_("It costs money until it ends."))
        raise
    if handle.status != "succeeded":
        raise job_failed(handle)


def show(handle: JobHandle) -> None:
    """Show a job as a cell's output, and keep what is saved with the notebook up to date until it has ended."""
    from IPython.display import display

    shown = display(handle._repr_mimebundle_(), raw=True, display_id=True)
    if shown is not None and not handle.ended:
        threading.Thread(target=_refresh, args=(handle, shown), name=f"jupyter-pai {handle.id}", daemon=True).start()


def _refresh(handle: JobHandle, shown: Any) -> None:
    last: dict[str, Any] = {}
    while True:
        time.sleep(_REFRESH)
        try:
            ended = handle.ended
            bundle = handle._repr_mimebundle_()
        except PaiError:
            return  # The server has gone, or the job was deleted: what is shown stays.
        # A widget is live without that, and begins anew when its output is replaced: once, for the notebook's file.
        if bundle != last and (ended or _WIDGET_TYPE not in bundle):
            shown.update(bundle, raw=True)
            last = bundle
        if ended:
            return
