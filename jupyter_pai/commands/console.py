"""Output and prompts of a command: `Console` is implemented by the terminal and by a notebook's cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..client.base import Client, progress_printer
from ..client.context import NotebookContext
from ..client.interrupts import explain_submit, new_key
from ..client.job import JobHandle
from ..client.parameters import offered
from ..client.printing import json_text
from ..core.i18n import _
from ..core.secret import Secret
from .parser.parser import Options

# Accepted answers to a prompt for confirmation.
YES = ("y", "yes", "是", "好")
# The verbs that submit a job.
SUBMITS = ("submit", "rerun")

_FIELDS = (
    "id name backend profile status exit_code reason remote_id submitted_at started_at ended_at "
    "outputs metrics usage console_url rerun_of resumed_from pinned labels notebook"
).split()


class Console(ABC):
    """The output and prompts of a command."""

    @abstractmethod
    def print(self, text: str = "") -> None:
        """Print a line."""

    def report(self, text: str) -> None:
        """Print a line about what the command did, which is not its result."""
        self.print(text)

    def json(self, value: object, *, indent: int | None = None) -> None:
        """Print a value as JSON."""
        self.print(json_text(value, indent=indent))

    @abstractmethod
    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table."""

    def notes(self, notes: Iterable[str]) -> None:
        """Print notes of the engine."""
        for note in notes:
            self.print(_("note: {note}").format(note=offered(note)))

    @abstractmethod
    def log(self, chunks: Iterable[bytes], job: str, *, follow: bool, raw: bool) -> None:
        """Print a log; with `follow`, each chunk as it arrives. `raw`: a terminal receives it unchanged."""

    @abstractmethod
    def job(self, handle: JobHandle) -> None:
        """Show a job."""

    @abstractmethod
    def link(self, text: str, address: str, url: str) -> None:
        """Print a link to a page of the server. `address` is its path there, `url` its URL on this machine."""

    @property
    @abstractmethod
    def can_prompt(self) -> bool:
        """True if a command may prompt without being asked to. False in a notebook, where a prompt blocks Run All."""

    @abstractmethod
    def confirm(self, question: str) -> bool:
        """Prompt for confirmation and return the answer.

        Raises:
            UsageError: if standard input is closed.
        """

    @abstractmethod
    def prompt_secret(self, question: str) -> Secret:
        """Prompt for a secret without echoing it.

        Raises:
            UsageError: if standard input is closed.
        """


@dataclass(frozen=True)
class CommandContext:
    """Everything that a command works with: the engine's client, the notebook or folder that it was called in, the
    console that it prints to, and the idempotency key of its submit."""

    client: Client
    caller: NotebookContext
    console: Console
    key: str = field(default_factory=new_key)

    def job(self, reference: str) -> JobHandle:
        """Return the job with this ID, ID prefix or name; `last` is the newest job."""
        return JobHandle(self.client.call("show", job=reference), self.client)

    @contextmanager
    def submitting(self, options: Options) -> Iterator[None]:
        """Print the outcome of a submit that is interrupted in this block, which ends when the job has been shown."""
        try:
            yield
        except KeyboardInterrupt as interrupt:
            # A cell has no verb.
            if getattr(options, "verb", "submit") in SUBMITS:
                explain_submit(interrupt, self.client.call, self.key)
            raise

    def print_json(self, options: Options, value: object, *, indent: int | None = 1) -> bool:
        """Print a value as JSON if the command was called with `--json`. Return whether it was."""
        if options.json:
            self.console.json(value, indent=indent)
        return bool(options.json)

    def print_table(
        self, options: Options, value: object, columns: Sequence[str], rows: Sequence[Sequence[str]]
    ) -> None:
        """Print a value as JSON if the command was called with `--json`; otherwise, print a table."""
        if not self.print_json(options, value):
            self.console.table(columns, rows)

    def progress(self, options: Options) -> Callable[[int, int], None] | None:
        """Return a callback that prints the progress of a transfer; None with `--json`."""
        return None if getattr(options, "json", False) else progress_printer(self.console.print)


# A group of verbs, and the functions that run them.
Commands = dict[str, Callable[[CommandContext, Options], object]]


def as_json(info: dict[str, Any], *, spec: bool = False) -> dict[str, Any]:
    """Return the fields of a job that `--json` prints."""
    return {name: info[name] for name in _FIELDS} | ({"spec": info["spec"]} if spec else {})
