"""`WorkflowHandle`: the Python API of a run of a workflow."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from ..core.errors import JobFailed, NotFound, ServerUnreachable
from ..core.i18n import _
from ..core.text import end_of_log, plain, printable
from . import summary
from .base import Client
from .connect import connect
from .context import widget_part
from .interrupts import explain_run
from .job import JobHandle
from .parameters import offered, options_shown, parameter_names, program
from .printing import print_line

if TYPE_CHECKING:
    from .widgets.workflow_view import WorkflowWidget

MIME_TYPE = "application/vnd.jupyter-pai.workflow+json"
_ACTIVE = ("running", "stopping")
# Seconds between two polls of a run, and in addition for each of its steps.
_POLL_INTERVAL, _POLL_INTERVAL_OF_STEP = 0.2, 0.001
# Characters of the last lines of a failed job.
_TAIL_LINES, _TAIL_BYTES = 20, 1 << 16


class RunStep:
    """A step of a run: its state, and its job."""

    def __init__(self, state: Mapping[str, Any], client: Client) -> None:
        self.info = dict(state)
        self._client = client

    @property
    def name(self) -> str:
        return str(self.info["name"])

    @property
    def status(self) -> str:
        """The status: waiting, skipped, or that of its job."""
        return str(self.info["status"])

    @property
    def reason(self) -> str:
        """The reason for a failure or a skip."""
        return str(self.info["reason"])

    @property
    def values(self) -> dict[str, str]:
        """The values that decided its condition, by reference."""
        return dict(self.info["values"])

    @property
    def job(self) -> JobHandle | None:
        """The job of the last attempt; None before the first."""
        job = self.info["job"]
        return JobHandle(self._client.call("show", job=job), self._client) if job else None

    def __repr__(self) -> str:
        return f"<{line_of(self.info)}>"


class WorkflowHandle:
    """A run of a workflow. Every property is fetched from the engine, so its value is current."""

    def __init__(self, run: dict[str, Any], client: Client | None = None) -> None:
        self._run = run
        self._client = client or connect()
        self._widget: WorkflowWidget | None = None

    def _call(self, verb: str, *, body: object = None, **arguments: object) -> dict[str, Any]:
        """Call a verb on the run and return the run. If the server is gone, connect anew."""
        with parameter_names():
            try:
                reply = self._client.call(verb, run=self.id, body=body, **arguments)
            except ServerUnreachable:
                self._client = connect(again=True)
                reply = self._client.call(verb, run=self.id, body=body, **arguments)
        self._run = dict(reply["run"])
        return self._run

    @property
    def id(self) -> str:
        return str(self._run["id"])

    @property
    def name(self) -> str:
        return str(self._run["name"])

    @property
    def info(self) -> dict[str, Any]:
        """The complete state, as JSON values."""
        return self._run if self._run["status"] not in _ACTIVE else self._call("show_workflow")

    @property
    def status(self) -> str:
        """The status: running, stopping, succeeded, failed or stopped."""
        return str(self.info["status"])

    @property
    def ended(self) -> bool:
        return self.status not in _ACTIVE

    @property
    def reason(self) -> str:
        """The reason for the final status."""
        return str(self.info["reason"])

    @property
    def steps(self) -> list[RunStep]:
        """The steps, in an order in which they can run."""
        return [RunStep(state, self._client) for state in self.info["steps"]]

    def step(self, name: str) -> RunStep:
        """Return a step by its name.

        Raises:
            NotFound: if no step has this name.
        """
        steps = {step.name: step for step in self.steps}
        if name not in steps:
            raise NotFound(
                _("No step has the name `{name}`.").format(name=name),
                fix=_("Valid names: {names}.").format(names=", ".join(steps)),
            )
        return steps[name]

    def wait(
        self,
        timeout: float | None = None,
        *,
        progress: bool = True,
        write: Callable[[str], object] = print_line,
        table: Callable[[Any, Any], object] | None = None,
    ) -> WorkflowHandle:
        """Wait until the run has ended. With `progress`, print a line for each change of a step, and a table at the
        end. `write` prints a line, and `table` a table. An interrupt does not stop the run.

        Raises:
            JobFailed: naming the failed step and its reason.
            TimeoutError: if the run has not ended within `timeout` seconds.
        """
        until = float("inf") if timeout is None else time.monotonic() + timeout
        shown: dict[str, str] = {}
        try:
            while True:
                run = self.info
                for line in _changes(run, shown) if progress else ():
                    write(line)
                    sys.stdout.flush()  # A pipe would keep the lines until the end.
                if run["status"] not in _ACTIVE:
                    break
                if time.monotonic() > until:
                    raise TimeoutError(
                        _("Workflow {run} is still {status}.").format(run=self.id, status=status_word(run["status"]))
                    )
                time.sleep(_POLL_INTERVAL + _POLL_INTERVAL_OF_STEP * len(run["steps"]))
        except KeyboardInterrupt as interrupt:
            explain_run(interrupt, self.id, embedded=self._client.embedded)
            raise
        if progress and table:
            table(columns(), rows(run))
        elif progress:
            write(_table(run))
        if run["status"] != "succeeded":
            raise _failure(run, self._client)
        return self

    def stop(self) -> WorkflowHandle:
        """Request that the run stops: active jobs are stopped, and no further step starts. Returns at once."""
        self._call("stop_workflow")
        return self

    def resume(self, *, confirmed: bool = False) -> WorkflowHandle:
        """Continue a run that failed or was stopped, at the steps that did not succeed. `confirmed` accepts the cost.

        Raises:
            Conflict: if the run is active, or has succeeded.
            Unconfirmed: stating the cost, if it must be confirmed.
        """
        self._call("resume_workflow", body={"confirmed": confirmed})
        return self

    def delete(self) -> None:
        """Delete the run, which must have ended. Its jobs remain."""
        self._call("delete_workflow")

    def text(self) -> str:
        """Return the run as a table of plain text."""
        return _text(self.info)

    def __repr__(self) -> str:
        return heading(self.info)

    def __format__(self, form: str) -> str:
        """Format as the ID: ``%pai workflow stop {run}`` stops the run in the variable `run`."""
        return format(self.id, form)

    def widget(self) -> WorkflowWidget:
        """Return the live view of the run for a page without our extension, as in VS Code. This kernel feeds it.

        Displaying a run shows this view where it is needed.
        """
        from .widgets.workflow_view import WorkflowWidget

        if self._widget is None:
            self._widget = WorkflowWidget(self.id, self.text(), self._client)
        return self._widget

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        run = self.info
        static = _text(run)
        bundle: dict[str, Any] = {
            MIME_TYPE: {"workflow": run["id"], "snapshot": static},
            "text/html": _html(run),
            "text/plain": static,
        }
        return bundle | widget_part(self.widget, static, embedded=self._client.embedded)


def get_workflow(run: str = "last") -> WorkflowHandle:
    """Return a run of a workflow by its ID, an ID prefix, the name of the workflow, or `last`.

    Raises:
        NotFound: if no run matches.
    """
    with parameter_names():
        client = connect()
        return WorkflowHandle(client.call("show_workflow", run=run)["run"], client)


def list_workflows(*, limit: int = 50, offset: int = 0) -> list[dict[str, Any]]:
    """Return runs, newest first: `id`, `name`, `status`, `submitted_at`, `ended_at` and `counts` of steps by status."""
    return list(connect().call("list_workflows", limit=limit, offset=offset)["runs"])


def notes_on(run: Mapping[str, Any], client: Client) -> list[str]:
    """Return the notes on a new run: those of the engine, and when its steps start."""
    notes = [*run.get("notes", ())]
    if client.embedded:
        text = _(
            "Steps start while this process runs. Later, the next step waits for a Jupyter server, or for: "
            "jupyter pai workflow show {run} --wait"
        )
        notes.append(text.format(run=run["id"]))
    elif not notes:  # The engine's note states the same.
        notes.append(
            _("Steps start while the Jupyter server runs. While it is off, jobs continue and the next step waits.")
        )
    return [_("note: {note}").format(note=offered(note)) for note in notes]


def status_word(status: str) -> str:
    """Return the status of a step or of a run in the user's language."""
    words = {"waiting": _("waiting"), "skipped": _("skipped"), "stopping": _("stopping")}
    return words.get(status) or summary.status_word(status)


def heading(run: Mapping[str, Any]) -> str:
    """Return a run in one line."""
    ended = [step for step in run["steps"] if step["ended_at"] or step["status"] == "skipped"]
    count = _("{done} of {all} steps ended").format(done=len(ended), all=len(run["steps"]))
    parts = (run["name"], status_word(run["status"]), count, run["reason"])
    return plain(f"<{run['id']} {', '.join(filter(None, parts))}>")


def columns() -> tuple[str, ...]:
    """Return the titles of the table of steps."""
    return _("step"), _("status"), _("job"), _("duration"), _("reason")


def rows(run: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the table of steps."""
    return [
        (step["name"], _status(step), step["job"], summary.duration(step), plain(_reason(step)))
        for step in run["steps"]
    ]


def line_of(step: Mapping[str, Any]) -> str:
    """Return the state of a step in one line."""
    job = _("job {job}").format(job=step["job"]) if step["job"] else ""
    reason = _reason(step) if step["reason"] else ""
    return plain(f"{step['name']}: {', '.join(filter(None, (_status(step), job, reason)))}")


def _status(step: Mapping[str, Any]) -> str:
    attempt = _("attempt {n}").format(n=step["attempt"]) if step["attempt"] > 1 else ""
    words = (status_word(step["status"]), _("of an earlier run") if step["reused"] else "", attempt)
    return ", ".join(filter(None, words))


def _reason(step: Mapping[str, Any]) -> str:
    """Return the reason of a step, or the condition that held, with the values that decided it."""
    values = ", ".join(f"{name} = {value}" for name, value in step["values"].items())
    reason = str(step["reason"]) or (str(step["when"]) if values else "")
    return f"{reason} ({values})" if values else reason


def _changes(run: Mapping[str, Any], shown: dict[str, str]) -> Iterator[str]:
    """Yield a line for each step whose state has changed since it was `shown`."""
    for step in run["steps"]:
        line = line_of(step)
        if line != shown.get(step["name"]) and (step["status"] != "waiting" or step["name"] in shown):
            shown[step["name"]] = line
            yield line


def _failure(run: Mapping[str, Any], client: Client) -> JobFailed:
    """Return the error for an awaited run that did not succeed: the first failed step, its reason and log."""
    failed = next((step for step in run["steps"] if step["status"] in ("failed", "lost")), None)
    status = status_word(run["status"])
    if failed is None:
        reason = run["reason"] or _("The status is {status}.").format(status=status)
        text = _("Workflow {run} ({name}) {status}: {reason}")
        message = text.format(run=run["id"], name=run["name"], status=status, reason=reason)
        return JobFailed(message, job_id="", reason=reason, tail="", status=run["status"], exit_code=None)
    reason = failed["reason"] or _("The status is {status}.").format(status=status_word(failed["status"]))
    text = _("Workflow {run} ({name}) {status}: step `{step}`: {reason}")
    message = text.format(run=run["id"], name=run["name"], status=status, step=failed["name"], reason=reason)
    tail = _tail(failed["job"], client)
    fixes = (
        offered(failed["fix"]),
        _("To run the steps again that did not succeed: {command}").format(command=_resume(run["id"])),
    )
    fix = "\n".join(filter(None, fixes))
    lines = "\n".join(printable(tail, _TAIL_LINES))
    details = {"job_id": failed["job"], "reason": reason, "tail": tail, "status": failed["status"], "exit_code": None}
    return JobFailed(f"{message}\n{lines}\n" if lines else message, fix=fix, **details)


def _resume(run: str) -> str:
    if not options_shown():
        return f'jupyter_pai.get_workflow("{run}").resume()'
    return f"{program()} workflow resume {run}"


def _tail(job: str, client: Client) -> str:
    try:
        data = b"".join(client.read("log", job=job, tail=_TAIL_BYTES, limit=_TAIL_BYTES)) if job else b""
        return end_of_log(data, _TAIL_LINES).decode("utf-8", "replace")
    except NotFound:
        return ""  # The job was deleted.


def _text(run: Mapping[str, Any]) -> str:
    return f"{heading(run)}\n{_table(run)}"


def _table(run: Mapping[str, Any]) -> str:
    table = [columns(), *rows(run)]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table)
    return "\n".join(lines)


def _html(run: Mapping[str, Any]) -> str:
    cell: Callable[[str, str], str] = partial("<{0}>{1}</{0}>".format)
    head = "".join(cell("th", escape(title)) for title in columns())
    body = "".join(cell("tr", "".join(cell("td", escape(text)) for text in row)) for row in rows(run))
    return f"<p>{escape(heading(run))}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
