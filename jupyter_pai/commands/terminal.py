"""``jupyter pai …`` and ``python -m jupyter_pai …``: the verbs in a terminal.

Exit codes: 0 success; 1 the awaited job did not succeed; 2 usage error; 3 engine failure; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from ..client import printing
from ..client.connect import connect
from ..client.context import NotebookContext
from ..client.interrupts import explain_submit, explain_wait
from ..client.job import JobHandle
from ..client.parameters import offered, option_names
from ..client.workflow_run import WorkflowHandle
from ..core.errors import EngineError, PaiError, UsageError
from ..core.i18n import _
from ..core.secret import Secret
from .console import SUBMITS, YES, CommandContext, Console, as_json
from .parser import parser as grammar
from .registry import COMMANDS

SUCCESS, NO_SUCCESS, USAGE, ENGINE, INTERRUPTED = 0, 1, 2, 3, 130


class Terminal(Console):
    """Prints results on standard output."""

    def print(self, text: str = "") -> None:
        printing.print_line(text)

    def report(self, text: str) -> None:
        printing.print_line(text, sys.stderr)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        printing.print_table(columns, rows)

    def log(self, chunks: Iterable[bytes], job: str, *, follow: bool, raw: bool) -> None:
        printing.LogOutput(raw=raw).copy(chunks)

    def job(self, handle: JobHandle) -> None:
        self.print(handle.text())

    def link(self, text: str, address: str, url: str) -> None:
        self.print(f"{text}: {url}")

    @property
    def can_prompt(self) -> bool:
        return sys.stdin.isatty()

    def confirm(self, question: str) -> bool:
        if not self.can_prompt:
            raise UsageError(_("Cannot prompt for confirmation here."), fix=_("Pass --yes to confirm."))
        return printing.prompt(f"{question} [y/N] ").strip().lower() in YES

    def prompt_secret(self, question: str) -> Secret:
        if self.can_prompt:
            try:
                return Secret(printing.prompt_hidden(f"{question}: "))
            except EOFError:
                raise UsageError(_("No value was entered.")) from None
        try:
            text = sys.stdin.buffer.read().decode("utf-8")
        except UnicodeDecodeError:
            raise UsageError(_("Standard input is not UTF-8 text.")) from None
        if not text:
            raise UsageError(
                _("Cannot prompt for input here."), fix=_("Pipe the value in: jupyter pai secret set NAME < FILE")
            )
        return Secret(text.removesuffix("\n").removesuffix("\r"))


@option_names()
def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    Raises:
        KeyboardInterrupt: unless its outcome was printed.
    """
    words = sys.argv[1:] if argv is None else argv
    try:
        return _run(grammar.parse(grammar.parser(words=words), words))
    except PaiError as error:
        _print_error(error)
        return ENGINE if isinstance(error, EngineError) else USAGE
    except KeyboardInterrupt as interrupt:
        if "is_explained" not in vars(interrupt):
            raise
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # As when piped into `head`. Suppresses Python's own message at exit.
        return SUCCESS


def _run(options: grammar.Options) -> int:
    try:
        client = connect()
    except KeyboardInterrupt as interrupt:
        if options.verb in SUBMITS:
            explain_submit(interrupt, None, "")
        raise
    ctx = CommandContext(client, NotebookContext(Path.cwd()), Terminal())
    with ctx.submitting(options):
        result = COMMANDS[options.verb](ctx, options)
        if isinstance(result, WorkflowHandle):
            return SUCCESS if result.status == "succeeded" else NO_SUCCESS
        if options.verb not in SUBMITS or not isinstance(result, JobHandle):
            return SUCCESS
        return _show_submitted(ctx.console, options, result)


def _show_submitted(console: Console, options: grammar.Options, result: JobHandle) -> int:
    """Show a new job, wait for its end if that is wanted, and return the exit code."""
    if options.wait and not options.json:
        printing.print_line(repr(result), sys.stderr)  # To stop it while its log is printed.
    code = _wait(result, sys.stderr if options.json else sys.stdout) if options.wait else SUCCESS
    if options.json:
        console.json(as_json(result.info))
        return code
    console.print(repr(result))
    _print_details(console, result, waited=bool(options.wait))
    return code


def _print_details(console: Console, job: JobHandle, *, waited: bool) -> None:
    info = job.info
    console.notes(info["notes"])
    for text in filter(None, (info["console_url"], offered(info["fix"]))):
        console.print(text)
    if waited:
        for name, value in info["output_parameters"].items():
            console.print(f"{name}: {value}")
        for name, uri in job.filled_outputs().items():
            console.print(f"{name}: {uri}")
    else:
        console.print(
            _("To follow: jupyter pai logs {job} --follow   To stop: jupyter pai stop {job}").format(job=job.id)
        )


def _wait(job: JobHandle, target: TextIO) -> int:
    """Print the log until the job has ended. An interrupt leaves the job running and prints how to stop it."""
    try:
        printing.LogOutput(target).copy(printing.whole_lines(job.follow_bytes()))
        job.wait()
    except KeyboardInterrupt as interrupt:
        explain_wait(interrupt, job.info)
        raise
    return SUCCESS if job.status == "succeeded" else NO_SUCCESS


def _print_error(error: PaiError) -> None:
    sys.stdout.flush()
    for text in (_("Error: {message}").format(message=error.message), offered(error.fix)):
        if text:
            printing.print_line(text, sys.stderr)
