"""The client of the engine: its verbs for kernels, scripts and the command line, called with plain JSON values.

Light: of the packages that are installed, none is loaded.
"""

from __future__ import annotations

import sys
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import ServerUnreachable
from ..source.dataframes import is_frame, save_frame
from .context import notebook_here
from .transfers import finish_copy

if TYPE_CHECKING:
    from .streams import Stream

__all__ = ["Client"]


class Client(ABC):
    """Calls verbs of the engine (`routes.ROUTES`) with plain JSON values."""

    # Whether the engine lives in this process, and ends with it.
    embedded: bool

    @abstractmethod
    def call(self, verb: str, *, body: object = None, **arguments: object) -> Any:
        """The JSON answer to a verb.

        Raises:
            PaiError: as the engine raised it.
        """

    def url(self, address: str) -> str:
        """Where a browser on this machine finds what the server has at an address."""
        return address

    @abstractmethod
    def read(self, verb: str, **arguments: object) -> Iterator[bytes]:
        """The bytes that a verb answers, piece by piece.

        Raises:
            PaiError: as the engine raised it.
        """

    def follow_log(self, job: str, *, instance: str = "", offset: int = 0) -> Iterator[bytes]:
        """The log as it grows, until the job has ended; an empty piece now and then while nothing comes."""
        return self.read("log", job=job, instance=instance, offset=offset, follow=True)

    def read_log(self, job: str, **arguments: object) -> Iterator[bytes]:
        """The log as it is now."""
        return self.read("log", job=job, **arguments)

    @abstractmethod
    def open_stream(self, send: Callable[[str], None], closed: Callable[[], None]) -> Stream:
        """What moves, for a view (`topics.py`). `send` and `closed` (it broke) are called from another thread."""

    def submit(
        self,
        spec: dict[str, Any],
        *,
        backend: str = "",
        attach: bool = False,
        notebook: str = "",
        confirmed: bool = False,
        progress: Callable[[int, int], object] | None = None,
        script_if_needed: bool = False,
    ) -> dict[str, Any]:
        """Submit a job: `{job, attached, changed}`. Repeated once if the answer is lost, which makes no second job.
        `notebook` is the path of the one that the job is of, if it is another than that of this kernel; `confirmed`:
        the user knows what it costs; `progress` is told how far its inputs are on their way, in bytes;
        `script_if_needed`: a notebook's code goes as a script where no notebooks run."""
        body = {
            "spec": self._plain(spec),
            "backend": backend,
            "python": sys.executable,
            "key": uuid.uuid4().hex,
            "attach": attach,
            "notebook": notebook or notebook_here(),
            "confirmed": confirmed,
            "script_if_needed": script_if_needed,
        }
        if spec.get("inputs"):
            # Staging may take longer than the timeout of one request.
            transfer = self._twice("bring", body=body)
            transfer = finish_copy(lambda verb, number: self._twice(verb, copy=number), transfer, progress)
            body["staged"] = transfer["id"]
        return self._twice("submit", body=body)

    def _plain(self, spec: dict[str, Any]) -> dict[str, Any]:
        """A spec as JSON can have it: data frames among its inputs become files."""
        frames = {name: value for name, value in (spec.get("inputs") or {}).items() if is_frame(value)}
        if not frames:
            return spec
        folder = Path(self.call("about")["home"]) / "inputs"
        saved = {name: str(save_frame(frame, name, folder)) for name, frame in frames.items()}
        return spec | {"inputs": spec["inputs"] | saved}

    def preview(self, spec: dict[str, Any], *, backend: str = "") -> dict[str, Any]:
        """What `submit` would do."""
        body = {"spec": self._plain(spec), "backend": backend, "python": sys.executable}
        return dict(self.call("preview", body=body))

    def inspect(self, spec: dict[str, Any]) -> dict[str, Any]:
        """The hyperparameters that the code of a spec declares, and doubts about those that it has."""
        return dict(self.call("inspect", body={"spec": self._plain(spec)}))

    def rerun(
        self,
        job: str,
        changes: dict[str, Any] | None = None,
        *,
        backend: str = "",
        resume: bool = False,
        confirmed: bool = False,
    ) -> dict[str, Any]:
        """Submit the spec and code of a job once more, with changes; `resume` gives it the checkpoints of the job."""
        body = {"key": uuid.uuid4().hex, "changes": changes or {}, "backend": backend, "resume": resume}
        body["confirmed"] = confirmed
        return self._twice("rerun", job=job, body=body)

    def _twice(self, verb: str, **arguments: Any) -> dict[str, Any]:
        try:
            return dict(self.call(verb, **arguments))
        except ServerUnreachable:
            return dict(self.call(verb, **arguments))
