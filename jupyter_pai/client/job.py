"""`JobHandle`: the Python API of a submitted job."""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.errors import ServerUnreachable
from ..core.file_uri import path_of
from ..core.i18n import _
from ..core.text import end_of_log, without_reports
from ..jobs.events import MetricPoint
from ..jobs.metrics.points import Metrics
from . import summary
from .base import Client, finish_copy
from .connect import connect
from .context import widget_part
from .interrupts import explain_wait
from .log_printer import LogPrinter
from .parameters import FIELDS, check_names, parameter_names, plain

if TYPE_CHECKING:
    from .widgets.job_view import JobWidget

T = TypeVar("T")

_ENDED = ("succeeded", "failed", "stopped", "lost")
# Maximum lines and bytes of the end of a log in a view.
_TAIL_LINES, _TAIL_BYTES = 20, 1 << 16
# Points per metric in a sparkline.
_POINTS = 1000
# Seconds between two polls of a job's status, and for which a request waits for its end.
_POLL_INTERVAL, _LONGEST_WAIT = 0.2, 30
# Files per page when listing a channel; attempts to find a server again after the connection broke.
_PAGE, _RECONNECTS = 500, 10


class JobHandle:
    """A submitted job. Every property is fetched from the engine, so its value is current."""

    def __init__(self, job: dict[str, Any], client: Client | None = None) -> None:
        self._job = job
        self._client = client or connect()
        self._widget: JobWidget | None = None

    def _request(self, request: Callable[[Client], T]) -> T:
        """Send a request; if the server is gone, connect anew and send it again."""
        with parameter_names():
            try:
                return request(self._client)
            except ServerUnreachable:
                self._client = connect(again=True)
                return request(self._client)

    def _call(self, verb: str, *, body: object = None, **arguments: object) -> Any:
        return self._request(lambda client: client.call(verb, job=self.id, body=body, **arguments))

    def _read(self, verb: str, **arguments: object) -> bytes:
        return self._request(lambda client: b"".join(client.read(verb, job=self.id, **arguments)))

    @property
    def id(self) -> str:
        return str(self._job["id"])

    @property
    def name(self) -> str:
        return str(self._job["name"])

    @property
    def spec(self) -> dict[str, Any]:
        """The submitted spec, with the field names of `JobSpec`."""
        return dict((self._job if "spec" in self._job else self.info)["spec"])

    @property
    def info(self) -> dict[str, Any]:
        """The job's complete record, as JSON values."""
        return dict(self._current(complete=True))

    def _current(self, *, complete: bool = False, refresh: bool = True, wait: int = 0) -> dict[str, Any]:
        """Return the current record. `complete`: with the fields that an item of a list lacks."""
        if self._job["status"] not in _ENDED or (complete and "spec" not in self._job):
            self._job = self._call("show", refresh=refresh, wait=wait)
        return self._job

    @property
    def status(self) -> str:
        """The status: queued, starting, running, succeeded, failed, stopped or lost."""
        return str(self._current()["status"])

    @property
    def ended(self) -> bool:
        return self._current()["status"] in _ENDED

    @property
    def exit_code(self) -> int | None:
        code = self._current()["exit_code"]
        return None if code is None else int(code)

    @property
    def reason(self) -> str:
        """The reason for the job's final status."""
        return str(self.info["reason"])

    @property
    def progress(self) -> float | None:
        """The progress that the script reported, from 0 to 1."""
        progress = self._call("show")["progress"]
        return None if progress is None else float(progress)

    @property
    def outputs(self) -> dict[str, str]:
        """The URIs of the output channels, by name."""
        return dict(self.info["outputs"])

    @property
    def labels(self) -> dict[str, str]:
        """The job's current labels."""
        return dict(self._call("show")["labels"])

    def label(self, **labels: str | None) -> JobHandle:
        """Set labels of the job; None removes a label."""
        self._job = self._call("label", body=labels)
        return self

    @property
    def output_parameters(self) -> dict[str, str]:
        """The files in /ml/output/output_parameters: name to text. Empty until the job has ended."""
        return dict(self.info["output_parameters"])

    def logs(self, *, tail: int = 0, line: int = 0, lines: int = 0, instance: str = "") -> str:
        """Return the log as text: all of it, the last `tail` lines, or `lines` lines from index `line`. Invalid UTF-8
        is replaced by U+FFFD."""
        return self._read("log", tail=tail, line=line, lines=lines, instance=instance).decode("utf-8", "replace")

    def tail(self) -> str:
        """Return the end of the log, as views show it: a few lines, of limited length, without those of `report`."""
        data = self._read("log", tail=_TAIL_BYTES, limit=_TAIL_BYTES)
        return end_of_log(data, _TAIL_LINES).decode("utf-8", "replace")

    def follow(self, *, instance: str = "") -> Iterator[str]:
        """Yield the log from its beginning, as it grows, until the job has ended."""
        return codecs.iterdecode(self.follow_bytes(instance=instance), "utf-8", "replace")

    def follow_bytes(self, *, instance: str = "") -> Iterator[bytes]:
        """Yield the log as `follow` does, in bytes. If the server is gone, connect anew and resume at the offset."""
        offset, failures = 0, 0
        while True:
            try:
                for data in self._client.read("log", job=self.id, instance=instance, offset=offset, follow=True):
                    offset += len(data)
                    failures = 0
                    yield data
                return
            except ServerUnreachable:
                failures += 1
                if failures > _RECONNECTS:
                    raise
                time.sleep(_POLL_INTERVAL)
                self._client = connect(again=True)

    def metrics(self, *, system: bool = False) -> Metrics:
        """Return all points of all metrics: a sequence with `to_pandas` and `to_dict`.

        `system` includes the system metrics: system/cpu (cores), system/memory (bytes), system/gpu (percent of a GPU),
        system/gpu_memory (bytes). PAI documents no units of its values.
        """
        return Metrics(
            MetricPoint(name, step, float(value), when)
            for name, points in self._call("metrics", system=system)["metrics"].items()
            for step, value, when in zip(points["step"], points["value"], points["time"], strict=False)
        )

    def wait(
        self,
        timeout: float | None = None,
        *,
        logs: bool = False,
        write: Callable[[str], object] | None = None,
        refresh: bool = True,
    ) -> JobHandle:
        """Wait until the job has ended; with `logs`, print its log meanwhile. An interrupt does not stop the job.
        Without `refresh`, its platform is polled as for an unwatched job.

        Raises:
            TimeoutError: if the job has not ended within `timeout` seconds.
        """
        if logs:
            write = write or LogPrinter(self.id)
            try:
                for text in codecs.iterdecode(without_reports(self.follow_bytes()), "utf-8", "replace"):
                    write(text)
            finally:
                if isinstance(write, LogPrinter):
                    write.finish()
        until = float("inf") if timeout is None else time.monotonic() + timeout
        while True:
            wait = int(max(min(until - time.monotonic(), _LONGEST_WAIT), 0))
            if (job := self._current(refresh=refresh, wait=wait))["status"] in _ENDED:
                return self
            if time.monotonic() > until:
                status = summary.status_word(job["status"])
                raise TimeoutError(_("Job {job} is still {status}.").format(job=self.id, status=status))
            time.sleep(_POLL_INTERVAL)  # A server of an earlier version replies at once.

    def stop(self) -> JobHandle:
        """Request that the job stops. Returns at once."""
        self._call("stop")
        return self

    def rerun(
        self,
        *,
        backend: str = "",
        resume: bool = False,
        confirmed: bool = False,
        anyway: bool = False,
        **changes: Any,
    ) -> JobHandle:
        """Submit the job's spec and code again and return the new job.

        The keywords are the fields of `JobSpec` to change. Tables (hyperparameters, inputs …) are merged; None removes
        a name. `resume` passes this job's checkpoints as the input channel `checkpoints`. `confirmed` accepts the cost;
        `anyway` submits although the script will reject its hyperparameters or arguments.

        Raises:
            BadInput: naming the invalid field.
            Unconfirmed: stating the cost, if it must be confirmed.
            Conflict: if `resume` is set and the job has not ended or has no checkpoints.
        """
        with parameter_names():
            check_names(changes, {*FIELDS, "backend", "resume", "confirmed", "anyway"})
            removed = {name: None for name, value in changes.items() if value is None}
            changes = plain(changes) | removed
            reply = self._client.rerun(
                self.id, changes, backend=backend, resume=resume, confirmed=confirmed, anyway=anyway
            )
        return JobHandle(reply["job"], self._client)

    def delete(self, *, force: bool = False) -> None:
        """Delete the job, which must have ended, and all its files. `force` includes a job of an unreachable
        host."""
        self._call("delete", force=force)

    def files(self, channel: str = "") -> list[dict[str, Any]]:
        """Return the current files of an output channel, or of all: channel, path, bytes, modified (seconds since the
        epoch), and problem for an unreadable file."""
        listed = self._call("outputs", channel=channel, limit=_PAGE)["channels"]
        return [{"channel": one["name"]} | file for one in listed for file in self._all_files(one)]

    def _all_files(self, channel: dict[str, Any]) -> list[dict[str, Any]]:
        """Return all files of a channel, of which the first are known."""
        files, page = [*channel["files"]], channel
        while page["files"] and len(files) < page["count"]:
            page = self._call("outputs", channel=channel["name"], limit=_PAGE, offset=len(files))["channels"][0]
            files += page["files"]
        return files

    def filled_outputs(self) -> dict[str, str]:
        """Return the URIs of the output channels that have files, or cannot be read, by name."""
        channels = self._call("outputs", limit=1)["channels"]
        return {one["name"]: one["uri"] for one in channels if one["count"] or one["problem"]}

    def read_file(self, path: str, channel: str = "model") -> bytes:
        """Return the bytes of a file in an output channel."""
        return self._read("file", channel=channel, path=path)

    @parameter_names()
    def download(
        self,
        channel: str = "model",
        folder: str | Path = ".",
        *,
        files: Sequence[str] | None = None,
        overwrite: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ) -> Path:
        """Copy an output channel, or some of its files, into a folder and return the folder. `progress` receives the
        bytes copied so far and in total. An interrupt cancels the copy and removes partial files.

        Raises:
            NotFound: if the channel or a file does not exist.
            Conflict: if files exist already and `overwrite` is not set.
        """
        body = {
            "channel": channel,
            "folder": str(Path(folder).expanduser().absolute()),
            "files": None if files is None else list(files),
            "overwrite": overwrite,
        }

        def call(verb: str, number: str) -> dict[str, Any]:
            return dict(self._request(lambda client: client.call(verb, copy=number)))

        return Path(finish_copy(call, self._call("download", body=body), progress)["folder"])

    def instances(self) -> list[dict[str, Any]]:
        """Return the instances in the order of their ranks: name, role, status … Unknown values are empty or None."""
        return list(self._call("job_instances")["instances"])

    def output_models(self) -> list[dict[str, Any]]:
        """Return the models of the job, registered or recorded by its platform: version, uri, channel, metrics …

        Raises:
            Unsupported: if the platform has no registry; `files` lists the job's files.
        """
        return list(self._call("job_models")["models"])

    def terminal(self, instance: str = "") -> str:
        """Return what opens a terminal in an instance of the running job, by default in the first one: a URL or a
        command line. A URL is new each time and expires soon. Anyone who has it can open the terminal.

        Raises:
            Conflict: if the job has ended, or has no instance yet.
            NotFound: if the job has no instance of that name.
            Unsupported: if the platform offers no terminals.
        """
        reply = self._call("open_terminal", instance=instance, attach=True)
        return str(reply["command"] or reply["url"])

    def text(self) -> str:
        """Return a summary of the job in several lines."""
        return summary.text(self._view())

    def _view(self) -> summary.View:
        info, metrics = self.info, self._call("metrics", points=_POINTS)["metrics"]
        is_single = max(info["spec"]["instance_count"], len(info.get("instances", ()))) < 2
        instances = [] if is_single else self.instances()
        # A remote storage is not listed, since that may take long.
        is_listed = info["status"] in _ENDED and all(map(path_of, info["outputs"].values()))
        outputs = self.filled_outputs() if is_listed else None
        return summary.View(info, self.tail(), metrics, instances, outputs)

    def __repr__(self) -> str:
        return summary.line(self._current())

    def __format__(self, form: str) -> str:
        """Format as the ID: ``%pai logs {job}`` prints the log of the job in the variable `job`."""
        return format(self.id, form)

    def widget(self) -> JobWidget:
        """Return the live view of the job for a page without our extension, as in VS Code. This kernel feeds it.

        Displaying a job shows this view where it is needed.
        """
        from .widgets.job_view import JobWidget

        if self._widget is None:
            self._widget = JobWidget(self.id, self.text(), self._client)
        return self._widget

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        bundle = summary.mime_bundle(self._view())
        return bundle | widget_part(self.widget, bundle["text/plain"], embedded=self._client.embedded)


def wait_for_success(
    handle: JobHandle,
    stop: str,
    timeout: float | None = None,
    *,
    logs: bool = True,
    write: Callable[[str], object] | None = None,
    allowed: Sequence[str] = ("succeeded",),
    refresh: bool = True,
) -> JobHandle:
    """Wait until a job has ended. An interrupt leaves it running and prints `stop`, the command that stops it.

    Raises:
        JobFailed: if the job ended with another status than the `allowed` ones.
    """
    try:
        JobHandle.wait(handle, timeout, logs=logs, write=write, refresh=refresh)  # That of a subclass calls this.
    except KeyboardInterrupt as interrupt:
        explain_wait(interrupt, handle.info, stop)
        raise
    if handle.status not in allowed:
        with parameter_names():
            raise summary.job_failed(handle.info, handle.tail())
    return handle


def get_job(job: str) -> JobHandle:
    """Return a job by its ID, an ID prefix, its name, or `last`.

    Raises:
        NotFound: if no job matches.
    """
    with parameter_names():
        return JobHandle(connect().call("show", job=job))


def list_jobs(**query: Any) -> list[JobHandle]:
    """Return jobs, newest first. Keywords: `status`, `name`, `label`, `backend`, `notebook`, `limit`, `offset`, `sort`,
    `order`. `status`, `label` and `backend` are texts or lists of texts."""
    query |= {name: [query[name]] for name in ("status", "label", "backend") if isinstance(query.get(name), str)}
    return [JobHandle(job) for job in connect().call("list_jobs", **query)["jobs"]]
