"""`InPlaceJob`: the job of a cell or script that a notebook's job runs itself, because a job cannot submit jobs.

Code that uses a `JobHandle` works with it unchanged: same names, same types. Standard library only; copied into jobs.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...core import contract
from ...core.errors import Conflict, NotFound, Unsupported
from ...core.i18n import _
from ...jobs.metrics.points import Metrics
from .recorded_output import RecordedOutput

# The fields of a spec that a rerun merges.
_TABLES = ("hyperparameters", "environment", "inputs", "labels")


class InPlaceJob:
    """A job that runs in the process of a notebook's job, or as a child of it. Its outputs are those of that job.

    `fields` are those of its spec. `again` runs it once more, with changed fields.
    """

    def __init__(self, number: int, fields: dict[str, Any], again: Callable[[dict[str, Any]], InPlaceJob]) -> None:
        self.id = f"{os.environ.get('JUPYTER_PAI_JOB_ID', 'job')}-{number}"
        self.name = str(fields["name"])
        self.spec = fields
        self.status = "running"
        self.exit_code: int | None = None
        self.reason = ""
        self.labels: dict[str, str] = dict(fields["labels"])
        self._again = again
        self._output = RecordedOutput(fields["metric_definitions"])
        self._times: list[str | None] = [_now(), None]

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record the output of this process, and give it the job's variables and arguments."""
        self.start()
        try:
            yield
        finally:
            self.restore()
            self._output.stop()

    def start(self) -> None:
        """Set the variables and arguments of the job, and record the output of this process."""
        self._saved = dict(os.environ), sys.argv
        os.environ.update(self._variables())
        words = contract.user_args(self.spec["hyperparameters"], self.spec["args"], self.spec["nargs"])
        sys.argv = [sys.argv[0], *shlex.split(words)]
        self._output.start()

    def restore(self) -> None:
        """Restore the variables and arguments. Later output of this process still belongs to the job: output of its
        children may arrive late.
        """
        environment, sys.argv = self._saved
        for name in self._variables():
            if name in environment:
                os.environ[name] = environment[name]
            else:
                os.environ.pop(name, None)

    def stop_recording(self) -> None:
        """Leave the output of this process to the next job."""
        self._output.stop()

    def end(self, exit_code: int, reason: str = "") -> None:
        """Set the result of the job."""
        self._output.finish()
        self.exit_code = exit_code
        self.status = "failed" if exit_code else "succeeded"
        self.reason = (self._output.failure or reason) if exit_code else ""
        self._times[1] = _now()

    def _variables(self) -> dict[str, str]:
        values, _nameless = contract.environment(
            contract.Layout(), self.spec["hyperparameters"], {}, (), self.spec["args"], self.spec["nargs"]
        )
        inputs, _nameless = contract.variables("PAI_INPUT_", self.spec["inputs"])
        return {
            **{name: value for name, value in values.items() if name.startswith(("PAI_HPS", "PAI_USER_ARGS"))},
            **{name: self.spec["inputs"][channel] for channel, name in inputs.items()},
            **self.spec["environment"],
        }

    @property
    def info(self) -> dict[str, Any]:
        """The job's record, as JSON values."""
        latest = {
            point.name: {"value": point.value, "step": point.step, "time": point.time} for point in self.metrics()
        }
        return {
            "id": self.id,
            "name": self.name,
            "backend": "local",
            "profile": "",
            "status": self.status,
            "exit_code": self.exit_code,
            "reason": self.reason,
            "fix": "",
            "submitted_at": self._times[0],
            "started_at": self._times[0],
            "ended_at": self._times[1],
            "progress": self.progress,
            "metrics": latest,
            "outputs": self.outputs,
            "labels": self.labels,
            "notes": [],
            "output_parameters": self.output_parameters,
            "spec": self.spec,
        }

    @property
    def ended(self) -> bool:
        return self.status != "running"

    @property
    def progress(self) -> float | None:
        """The progress that the code reported, from 0 to 1."""
        return self._output.progress

    @property
    def outputs(self) -> dict[str, str]:
        """The URIs of the output channels, by name."""
        root = Path(os.environ.get("PAI_OUTPUT_MODEL", "model")).parent
        hidden = (*contract.ALIASES, "output_parameters")
        folders = [path for path in sorted(root.glob("*")) if path.is_dir() and path.name not in hidden]
        return {
            path.name: path.absolute().as_uri() + "/" for path in folders if self._variable(path.name) in os.environ
        }

    @property
    def output_parameters(self) -> dict[str, str]:
        """The files in the folder `output_parameters` of the outputs: name to text."""
        root = Path(os.environ.get("PAI_OUTPUT_MODEL", "model")).parent / "output_parameters"
        return {path.name: path.read_text("utf-8", "replace") for path in sorted(root.glob("*")) if path.is_file()}

    def label(self, **labels: str | None) -> InPlaceJob:
        """Set labels of this object; None removes a label."""
        self.labels = {name: value for name, value in {**self.labels, **labels}.items() if value is not None}
        return self

    def logs(self, *, tail: int = 0, line: int = 0, lines: int = 0, instance: str = "") -> str:
        """Return the output: all of it, the last `tail` lines, or `lines` lines from index `line`."""
        rows = self._output.text().splitlines(keepends=True)
        rows = rows[line : line + lines if lines else None]
        return "".join(rows[-tail:] if tail else rows)

    def tail(self) -> str:
        """Return the last lines of the output."""
        return self.logs(tail=20)

    def follow(self, *, instance: str = "") -> Iterator[str]:
        """Yield the output."""
        yield self.logs()

    def follow_bytes(self, *, instance: str = "") -> Iterator[bytes]:
        """Yield the output in bytes."""
        yield self.logs().encode("utf-8", "backslashreplace")

    def metrics(self, *, system: bool = False) -> Metrics:
        """Return the metrics that the output reports or that match a pattern. A job run in place has no system metrics
        of its own.
        """
        return Metrics(point for points in list(self._output.series.values()) for point in list(points))

    def wait(self, timeout: float | None = None, *, logs: bool = False, write: object = None) -> InPlaceJob:
        """Return the job, which has ended: its output was printed while it ran."""
        return self

    def stop(self) -> InPlaceJob:
        """Return the job, which has ended."""
        return self

    def rerun(
        self,
        *,
        backend: str = "",
        resume: bool = False,
        confirmed: bool = False,
        anyway: bool = False,
        **changes: Any,
    ) -> InPlaceJob:
        """Run the code again with changed fields and return the new job. Tables are merged; None removes a name."""
        fields = dict(self.spec)
        for field, value in changes.items():
            if field in _TABLES:
                merged = {**fields[field], **(value or {})}
                value = {name: text for name, item in merged.items() if (text := contract.text(item)) is not None}
            fields[field] = value
        return self._again(fields)

    def delete(self, *, force: bool = False) -> None:
        """Do nothing: the outputs belong to the job that runs the notebook."""

    def files(self, channel: str = "") -> list[dict[str, Any]]:
        """Return the current files of an output channel, or of all: channel, path, bytes, modified (seconds since the
        epoch)."""
        folders = {name: self._folder(name) for name in ([channel] if channel else self.outputs)}
        paths = [(name, path) for name, folder in folders.items() for path in sorted(folder.rglob("*"))]
        return [
            {
                "channel": name,
                "path": path.relative_to(folders[name]).as_posix(),
                "bytes": path.stat().st_size,
                "modified": path.stat().st_mtime,
            }
            for name, path in paths
            if path.is_file()
        ]

    def filled_outputs(self) -> dict[str, str]:
        """Return the URIs of the output channels that have files, by name."""
        filled = {file["channel"] for file in self.files()}
        return {name: uri for name, uri in self.outputs.items() if name in filled}

    def read_file(self, path: str, channel: str = "model") -> bytes:
        """Return the bytes of a file in an output channel.

        Raises:
            NotFound: if the channel or the file does not exist.
        """
        file = self._folder(channel) / path
        if not file.is_file():
            raise NotFound(_("{path} does not exist.").format(path=file))
        return file.read_bytes()

    def download(
        self,
        channel: str = "model",
        folder: str | Path = ".",
        *,
        files: Sequence[str] | None = None,
        overwrite: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ) -> Path:
        """Copy an output channel, or some of its files, into a folder and return the folder.

        Raises:
            NotFound: if the channel or a file does not exist.
            Conflict: if files exist already and `overwrite` is not set.
        """
        source, target = self._folder(channel), Path(folder).expanduser().absolute()
        names = [file["path"] for file in self.files(channel)] if files is None else list(files)
        if missing := [name for name in names if not (source / name).is_file()]:
            raise NotFound(_("{path} does not exist.").format(path=source / missing[0]))
        if not overwrite and (existing := [name for name in names if (target / name).exists()]):
            raise Conflict(
                _("Files with these names already exist in {folder}: {names}.").format(
                    folder=target, names=", ".join(existing)
                )
            )
        sizes = [(source / name).stat().st_size for name in names]
        for number, name in enumerate(names, 1):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name)
            if progress:
                progress(sum(sizes[:number]), sum(sizes))
        target.mkdir(parents=True, exist_ok=True)
        return target

    def instances(self) -> list[dict[str, Any]]:
        """Return nothing: the job has no instance of its own."""
        return []

    def output_models(self) -> list[dict[str, Any]]:
        """Raise Unsupported: the platform records models of the whole job."""
        raise _unsupported("output_models")

    def terminal(self, instance: str = "") -> str:
        """Raise Unsupported: the job has no instance of its own."""
        raise _unsupported("terminal")

    def widget(self) -> Any:
        """Raise Unsupported: jobs have no page."""
        raise _unsupported("widget")

    def text(self) -> str:
        """Return a summary of the job in several lines."""
        metrics = [f"{name}: {point['value']:.6g}" for name, point in self.info["metrics"].items()]
        return "\n".join([repr(self), *metrics])

    def __repr__(self) -> str:
        words = (self.name, self.status, _("run in place"), self.reason)
        return f"<{self.id} {', '.join(filter(None, words))}>"

    def __format__(self, form: str) -> str:
        """Format as the ID, as in ``%pai rerun {job}``."""
        return format(self.id, form)

    @staticmethod
    def _variable(channel: str) -> str:
        return contract.variables("PAI_OUTPUT_", [channel])[0].get(channel, "")

    def _folder(self, channel: str) -> Path:
        folder = os.environ.get(self._variable(channel))
        if not folder:
            raise NotFound(
                _("Job {job} has no output channel `{name}`.").format(job=self.id, name=channel),
                fix=_("Known are: {names}.").format(names=", ".join(self.outputs)),
            )
        return Path(folder)


def _unsupported(name: str) -> Unsupported:
    return Unsupported(_("`{name}` is not available inside a job.").format(name=name))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
