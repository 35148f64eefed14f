"""`JobHandle`: a job in the user's hands."""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.errors import JobFailed, ServerUnreachable
from ..core.i18n import _
from ..core.text import printable
from . import summary
from .base import Client
from .connect import connect
from .context import current_shell, page_of
from .log_printer import Printer
from .transfers import finish_copy

if TYPE_CHECKING:
    import pandas

    from .widgets.job_view import JobWidget

__all__ = ["JobHandle", "get_job", "job_failed", "list_jobs", "submit"]

T = TypeVar("T")

_ENDED = ("succeeded", "failed", "stopped", "lost")
# The end of a log that a view shows: so many lines, and of them not more than so many bytes.
_TAIL_LINES, _TAIL_BYTES = 20, 1 << 16
# Points of a metric that a picture of it needs.
_POINTS = 1000
_WIDGET_TYPE = "application/vnd.jupyter.widget-view+json"
_ASK_EVERY = 0.2
# Files of a channel that are asked for at once.
_FILES = 500
_PATIENCE = 10


class JobHandle:
    """A job that was submitted. What it tells is asked from the engine, so it is never older than the question."""

    def __init__(self, job: dict[str, Any], client: Client | None = None) -> None:
        self._job = job
        self._client = client or connect()
        self._widget: JobWidget | None = None

    def _ask(self, question: Callable[[Client], T]) -> T:
        """Ask the engine; if its server has gone, the one that we find then."""
        try:
            return question(self._client)
        except ServerUnreachable:
            self._client = connect(again=True)
            return question(self._client)

    def _call(self, verb: str, *, body: object = None, **arguments: object) -> Any:
        return self._ask(lambda client: client.call(verb, job=self.id, body=body, **arguments))

    @property
    def id(self) -> str:
        return str(self._job["id"])

    @property
    def name(self) -> str:
        return str(self._job["name"])

    @property
    def spec(self) -> dict[str, Any]:
        """What was asked for, with the names of `JobSpec`."""
        return dict(self._job["spec"])

    @property
    def info(self) -> dict[str, Any]:
        """All that is known of the job, as plain JSON values."""
        if self._job["status"] not in _ENDED:
            self._job = self._call("show")
        return dict(self._job)

    @property
    def status(self) -> str:
        """One of queued, starting, running, succeeded, failed, stopped, lost."""
        return str(self.info["status"])

    @property
    def ended(self) -> bool:
        return self.status in _ENDED

    @property
    def exit_code(self) -> int | None:
        code = self.info["exit_code"]
        return None if code is None else int(code)

    @property
    def reason(self) -> str:
        """Why the job ended as it did."""
        return str(self.info["reason"])

    @property
    def progress(self) -> float | None:
        """How much is done, 0 to 1, as the script reported it."""
        found = self._call("show")["progress"]
        return None if found is None else float(found)

    @property
    def outputs(self) -> dict[str, str]:
        """The output channels: name to URI."""
        return dict(self.info["outputs"])

    @property
    def labels(self) -> dict[str, str]:
        """The labels that the job has by now."""
        return dict(self._call("show")["labels"])

    def label(self, **labels: str | None) -> JobHandle:
        """Give the job labels; None takes one away."""
        self._job = self._call("label", body=labels)
        return self

    @property
    def output_parameters(self) -> dict[str, str]:
        """What the script wrote to /ml/output/output_parameters: name to text. Known when the job has ended."""
        return dict(self.info["output_parameters"])

    def logs(self, *, tail: int = 0, line: int = 0, lines: int = 0, instance: str = "") -> str:
        """The log as text, its last `tail` lines, or `lines` of them from `line` on, the first being 0; bytes that are
        no UTF-8 become U+FFFD."""
        wanted = {"tail": tail, "line": line, "lines": lines, "instance": instance}
        data = self._ask(lambda client: b"".join(client.read_log(self.id, **wanted)))
        return data.decode("utf-8", "replace")

    def tail(self) -> str:
        """The end of the log, as views show it: a few lines, however long they are."""
        pieces = self._ask(lambda client: list(client.read_log(self.id, tail=_TAIL_LINES, limit=_TAIL_BYTES)))
        return b"".join(pieces).decode("utf-8", "replace")

    def follow(self, *, instance: str = "") -> Iterator[str]:
        """The log from its beginning, as it grows, until the job has ended."""
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        for data in self.follow_bytes(instance=instance):
            if text := decode(data):
                yield text
        if rest := decode(b"", True):
            yield rest

    def follow_bytes(self, *, instance: str = "") -> Iterator[bytes]:
        """`follow`, byte for byte. If the server goes, on from the same place with the engine that we find then."""
        offset, patience = 0, 0
        while True:
            try:
                for data in self._client.follow_log(self.id, instance=instance, offset=offset):
                    offset += len(data)
                    patience = 0
                    yield data
                return
            except ServerUnreachable:
                patience += 1
                if patience > _PATIENCE:
                    raise
                time.sleep(_ASK_EVERY)
                self._client = connect(again=True)

    def metrics(self, *, system: bool = False) -> pandas.DataFrame | list[dict[str, Any]]:
        """All points of all metrics: a DataFrame with name, step, value and time; a list of dicts without pandas.

        With `system` also those of the machine's use: system/cpu (cores), system/memory (bytes), system/gpu (percent of
        a GPU), system/gpu_memory (bytes).
        """
        found = self._call("metrics", system=system)["metrics"]
        rows = [
            {"name": name, "step": step, "value": float(value), "time": when}
            for name, points in found.items()
            for step, value, when in zip(points["step"], points["value"], points["time"], strict=False)
        ]
        try:
            import pandas
        except ImportError:
            return rows
        frame = pandas.DataFrame(rows, columns=["name", "step", "value", "time"])
        frame["time"] = pandas.to_datetime(frame["time"], unit="s", utc=True)
        return frame

    def wait(
        self, timeout: float | None = None, *, logs: bool = False, write: Callable[[str], object] | None = None
    ) -> JobHandle:
        """Wait until the job has ended; with `logs`, print its log meanwhile. Interrupting leaves the job alone.

        Raises:
            TimeoutError: if it has not ended within `timeout` seconds.
        """
        if logs:
            write = write or Printer(self.id)
            for text in self.follow():
                write(text)
            if isinstance(write, Printer):
                write.flush()
        until = None if timeout is None else time.monotonic() + timeout
        while not self.ended:
            if until is not None and time.monotonic() > until:
                raise TimeoutError(
                    _("The job {job} is still {status}.").format(job=self.id, status=summary.status_word(self.status))
                )
            time.sleep(_ASK_EVERY)
        return self

    def stop(self) -> JobHandle:
        """Ask for the job's end."""
        self._call("stop")
        return self

    def rerun(self, *, backend: str = "", resume: bool = False, confirmed: bool = False, **changes: Any) -> JobHandle:
        """Submit its spec and code once more: a new job. The keywords are fields of `JobSpec` that change; in a table
        (hyperparameters, inputs …) only the names that are given, and None removes one. `resume` gives the new job
        this one's checkpoints, as the input channel `checkpoints`; `confirmed` agrees to what it costs.

        Raises:
            BadInput: naming the field that is wrong.
            Unconfirmed: saying what it costs, where that is to be agreed to.
            Conflict: if it is to be resumed and has not ended, or has no checkpoints.
        """
        reply = self._client.rerun(self.id, changes, backend=backend, resume=resume, confirmed=confirmed)
        return JobHandle(reply["job"], self._client)

    def delete(self, *, force: bool = False) -> None:
        """Forget the job, which must have ended, with all its files; if `force`, also one whose host is gone."""
        self._ask(lambda client: client.call("delete", job=self.id, force=force))

    def files(self, channel: str = "model") -> list[dict[str, Any]]:
        """What is in an output channel by now: path, bytes, modified (seconds since 1970), and the problem with what
        cannot be read."""
        found: list[dict[str, Any]] = []
        while True:
            page = self._call("outputs", channel=channel, limit=_FILES, offset=len(found))["channels"][0]
            found += page["files"]
            if not page["files"] or len(found) >= page["count"]:
                return found

    def read_file(self, path: str, channel: str = "model") -> bytes:
        """The bytes of a file of an output channel."""
        return self._ask(lambda client: b"".join(client.read("file", job=self.id, channel=channel, path=path)))

    def download(
        self,
        channel: str = "model",
        folder: str | Path = ".",
        *,
        files: Sequence[str] | None = None,
        overwrite: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ) -> Path:
        """Copy an output channel, or these of its files, into a folder; the folder. `progress` is told bytes done and
        in all. Interrupting ends the copy, and nothing is left of it.

        Raises:
            NotFound: if there is no such channel or file.
            Conflict: if files are there already and `overwrite` is not set.
        """
        place = str(Path(folder).expanduser().absolute())
        chosen = None if files is None else list(files)
        body = {"channel": channel, "folder": place, "files": chosen, "overwrite": overwrite}
        copy = self._call("download", body=body)

        def ask(verb: str, number: str) -> dict[str, Any]:
            found: dict[str, Any] = self._ask(lambda client: client.call(verb, copy=number))
            return found

        return Path(finish_copy(ask, copy, progress)["folder"])

    def output_models(self) -> list[dict[str, Any]]:
        """The models that the job has made, as its platform notes them: uri, channel, labels, metrics.

        Raises:
            Unsupported: on a platform that notes none; see `files` for what the job has written.
        """
        return list(self._call("output_models")["models"])

    def terminal(self, instance: str = "") -> str:
        """The address of a terminal in an instance of the job, which must run; in the first if none is named. It is
        made anew each time, and lets in whoever has it, for a moment.

        Raises:
            Conflict: if the job has ended, or has no instance yet.
            NotFound: if it has no instance of that name.
            Unsupported: on a platform that opens none.
        """
        return str(self._call("open_terminal", instance=instance)["url"])

    def text(self) -> str:
        """The job in several lines."""
        return summary.text(self._view())

    def _view(self) -> summary.View:
        return summary.View(self.info, self.tail(), self._call("metrics", points=_POINTS)["metrics"])

    def __repr__(self) -> str:
        return summary.line(self.info)

    def __format__(self, form: str) -> str:
        """The id: ``%pai logs {job}`` is the log of the job in the variable `job`."""
        return format(self.id, form)

    def widget(self) -> JobWidget:
        """The job's view for a page without our extension, as in VS Code: fed by this kernel, and live while it lives.

        Jobs are shown so by themselves where that is needed.
        """
        from .widgets.job_view import JobWidget

        if self._widget is None:
            self._widget = JobWidget(self.id, self.text(), self._client)
        return self._widget

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        bundle = summary.mime_bundle(self._view())
        # Where our extension shows jobs, it needs no kernel, and nothing is to be shown twice.
        page = page_of(current_shell())
        if page in ("vscode", "colab") or (page and self._client.embedded):
            shown = self.widget()
            shown.snapshot = bundle["text/plain"]
            bundle |= {_WIDGET_TYPE: {"version_major": 2, "version_minor": 1, "model_id": shown.model_id}}
        return bundle


def job_failed(handle: JobHandle) -> JobFailed:
    """The error for a job that was waited for and did not succeed: reason, fix, last lines."""
    info = handle.info
    tail = handle.tail()
    shown = "\n".join(printable(tail, _TAIL_LINES))
    reason = info["reason"] or _("It is {status}.").format(status=summary.status_word(info["status"]))
    message = _("The job {job} ({name}) {status}: {reason}").format(
        job=info["id"], name=info["name"], status=summary.status_word(info["status"]), reason=reason
    )
    return JobFailed(
        f"{message}\n{shown}\n" if shown else message,
        fix=info["fix"],
        job_id=info["id"],
        status=info["status"],
        exit_code=info["exit_code"],
        reason=reason,
        tail=tail,
    )


def submit(*, backend: str = "", wait: bool = False, confirmed: bool = False, **spec: Any) -> JobHandle:
    """Submit a job; the keywords are the fields of `JobSpec`. With `wait`, print its log and return when it has ended;
    `confirmed` agrees to what it costs.

    Raises:
        BadInput: naming what is wrong and what to do.
        Unconfirmed: saying what it costs, where that is to be agreed to.
    """
    client = connect()
    handle = JobHandle(client.submit(spec, backend=backend, confirmed=confirmed)["job"], client)
    return handle.wait(logs=True) if wait else handle


def get_job(job: str) -> JobHandle:
    """A job by its id, the beginning of its id, its name, or `last`.

    Raises:
        NotFound: if there is none.
    """
    client = connect()
    return JobHandle(client.call("show", job=job), client)


def list_jobs(**wanted: Any) -> list[JobHandle]:
    """Jobs, newest first. Keywords: `status`, `name`, `label`, `backend`, `notebook`, `limit`, `offset`, `sort`,
    `order`."""
    client = connect()
    return [JobHandle(job, client) for job in client.call("list_jobs", **wanted)["jobs"]]
