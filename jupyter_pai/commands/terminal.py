"""``jupyter pai …`` and ``python -m jupyter_pai …``: the verbs in a terminal.

Exit codes: 0 done, and a job that was waited for succeeded; 1 it did not; 2 bad usage; 3 the engine failed; 130
interrupted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

from ..client.connect import connect
from ..client.context import of_command_line
from ..client.job import JobHandle
from ..core.errors import EngineError, PaiError, UsageError
from ..core.i18n import _
from ..core.secret import Secret
from .console import Screen, as_json
from .jobs import Commands
from .parser import parser as grammar

__all__ = ["main"]

SUCCESS, NO_SUCCESS, USAGE, ENGINE, INTERRUPTED = 0, 1, 2, 3, 130


class Terminal(Screen):
    """Results on standard output."""

    def say(self, text: str = "") -> None:
        sys.stdout.write(_encodable(text) + "\n")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False)
        for row in rows:
            # Not markup: a job may be called "[red]".
            table.add_row(*(Text(cell) for cell in row))
        width = None if sys.stdout.isatty() else 200
        Console(width=width, soft_wrap=not sys.stdout.isatty()).print(table)

    def log(self, pieces: Iterable[bytes], job: str, *, follow: bool) -> None:
        sys.stdout.flush()
        for data in pieces:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def job(self, handle: JobHandle) -> None:
        self.say(handle.text())

    def link(self, text: str, address: str, url: str) -> None:
        self.say(f"{text}: {url}")

    @property
    def can_ask(self) -> bool:
        return sys.stdin.isatty()

    def ask(self, question: str) -> bool:
        if not sys.stdin.isatty():
            raise UsageError(_("Nobody is here to be asked."), fix=_("Say --yes."))
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes", "是", "好")

    def ask_secret(self, question: str) -> Secret:
        if not sys.stdin.isatty():
            return _piped()
        from getpass import getpass

        try:
            return Secret(getpass(f"{question}: "))
        except EOFError:
            raise UsageError(_("Nothing was given.")) from None


def _piped() -> Secret:
    """What is piped in, without the end of its last line."""
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(_("What is piped in is not UTF-8 text.")) from None
    if not text:
        raise UsageError(
            _("Nobody is here to be asked."), fix=_("Pipe the value in: jupyter pai secret set NAME < FILE")
        )
    return Secret(text.removesuffix("\n").removesuffix("\r"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one line; its exit code."""
    command = grammar.parser("jupyter pai")
    try:
        options = grammar.parse(command, sys.argv[1:] if argv is None else argv)
        return _run(options)
    except PaiError as error:
        _complain(error)
        return ENGINE if isinstance(error, EngineError) else USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # As when piped into `head`: Python would complain at the end.
        return SUCCESS


def _run(options: grammar.Options) -> int:
    commands = Commands(connect(), of_command_line(), Terminal())
    result = commands.run(options)
    if options.verb not in ("submit", "rerun") or not isinstance(result, JobHandle):
        return SUCCESS
    code = SUCCESS
    if options.wait:
        code = _wait(result, sys.stderr.buffer if options.json else sys.stdout.buffer)
    if options.json:
        commands.screen.say(json.dumps(as_json(result.info), ensure_ascii=False))
        return code
    commands.screen.say(repr(result))
    _say_more(commands.screen, result, waited=bool(options.wait))
    return code


def _say_more(screen: Screen, job: JobHandle, *, waited: bool) -> None:
    info = job.info
    for note in info["notes"]:
        screen.say(_("note: {note}").format(note=note))
    if info["console_url"]:
        screen.say(info["console_url"])
    if info["fix"]:
        screen.say(info["fix"])
    if waited:
        for name, value in info["output_parameters"].items():
            screen.say(f"{name}: {value}")
        if info["status"] == "succeeded" and "model" in info["outputs"]:
            screen.say(_("model: {uri}").format(uri=info["outputs"]["model"]))
        if "notebook" in info["outputs"]:
            screen.say(_("notebook: {uri}").format(uri=info["outputs"]["notebook"]))
    else:
        screen.say(_("Follow it: jupyter pai logs {job} --follow   Stop it: jupyter pai stop {job}").format(job=job.id))


def _wait(job: JobHandle, target: object) -> int:
    """Print the log until the job has ended. Interrupted, leave it alone and say how to stop it."""
    try:
        for data in job.follow_bytes():
            target.write(data)  # type: ignore[attr-defined]  # a binary stream
            target.flush()  # type: ignore[attr-defined]
        job.wait()
    except KeyboardInterrupt:
        sys.stderr.write(_("\nThe job {job} goes on. Stop it: jupyter pai stop {job}\n").format(job=job.id))
        if job.info.get("paid"):
            sys.stderr.write(_("It costs money until it ends.") + "\n")
        raise
    return SUCCESS if job.status == "succeeded" else NO_SUCCESS


def _complain(error: PaiError) -> None:
    sys.stdout.flush()
    for text in (_("Error: {message}").format(message=error.message), error.fix):
        if text:
            sys.stderr.write(_encodable(text.replace("%pai ", "jupyter pai ")) + "\n")


def _encodable(text: str) -> str:
    """Text that the terminal can show, whatever its encoding."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
