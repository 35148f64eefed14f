"""The engine's verbs for kernels, scripts and the command line, called with plain JSON values; and their transfers.

Light: imports the standard library only.
"""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import PaiError, ServerUnreachable
from ..core.i18n import _
from ..core.text import show_size
from ..source.dataframes import is_frame, save_frame
from .context import current_notebook
from .interrupts import explain_submit, new_key
from .parameters import offered_fixes
from .printing import print_line

if TYPE_CHECKING:
    from .streams import Stream

# Seconds between two polls of a transfer.
_POLL_INTERVAL = 0.2
# Seconds between two lines of progress.
_PRINT_INTERVAL = 3.0
# Seconds between two lines on what a submit waits for.
_TELL_INTERVAL = 5.0


class Client(ABC):
    """Calls verbs of the engine (`api.routes.ROUTES`) with plain JSON values."""

    # True if the engine runs in this process and ends with it.
    embedded: bool

    def call(self, verb: str, *, body: object = None, **arguments: object) -> Any:
        """Call a verb and return its JSON reply.

        Raises:
            PaiError: as the engine raised it, with the commands of its fix as the caller runs them.
        """
        with offered_fixes():
            return self._call(verb, body, arguments)

    def url(self, address: str) -> str:
        """Return the URL, for a browser on this machine, of a path on the server."""
        return address

    def read(self, verb: str, **arguments: object) -> Iterator[bytes]:
        """Call a verb and yield its reply in chunks of bytes.

        Raises:
            PaiError: as for `call`.
        """
        with offered_fixes():
            yield from self._read(verb, arguments)

    @abstractmethod
    def _call(self, verb: str, body: object, arguments: Mapping[str, object]) -> Any:
        """Call a verb and return its JSON reply."""

    @abstractmethod
    def _read(self, verb: str, arguments: Mapping[str, object]) -> Iterator[bytes]:
        """Call a verb and yield its reply."""

    @abstractmethod
    def open_stream(self, send: Callable[[str], None], closed: Callable[[], None]) -> Stream:
        """Open a stream of live data for a view (`api.subscriptions`). `send` and `closed` (the connection broke) are
        called from another thread.
        """

    def submit(
        self,
        spec: dict[str, Any],
        *,
        backend: str = "",
        attach: bool = False,
        notebook: str = "",
        confirmed: bool = False,
        anyway: bool = False,
        progress: Callable[[int, int], object] | None = None,
        script_if_needed: bool = False,
        key: str = "",
    ) -> dict[str, Any]:
        """Submit a job and return `{job, attached}`. A lost reply is retried once, with an idempotency key.

        An interrupt cancels the submit until its job is stored. Its outcome is printed: that no job was submitted, or
        the id of the job and how to stop it.

        `notebook` overrides the notebook of this kernel as the job's notebook. `confirmed` accepts the cost; `anyway`
        submits although the script will reject its hyperparameters or arguments. `progress` receives the bytes of
        inputs uploaded so far and in total. `script_if_needed` converts a notebook to a script for backends that run no
        notebooks. `key`: the idempotency key; by default a random one.
        """
        key = key or new_key()
        body = {
            "spec": spec,
            "backend": backend,
            "python": sys.executable,
            "key": key,
            "attach": attach,
            "notebook": notebook or current_notebook(),
            "confirmed": confirmed,
            "anyway": anyway,
            "script_if_needed": script_if_needed,
        }
        try:
            return self._submit(body, progress)
        except KeyboardInterrupt as interrupt:
            explain_submit(interrupt, self.call, key)
            raise

    def _submit(self, body: dict[str, Any], progress: Callable[[int, int], object] | None) -> dict[str, Any]:
        body["spec"] = self._plain(body["spec"])
        if body["spec"].get("inputs"):
            # Staging may take longer than the timeout of one request.
            transfer = self._retry("bring", body=body)
            finish_copy(lambda verb, number: self._retry(verb, copy=number), transfer, progress)
            body["staged"] = transfer["id"]
        with self._telling(body["key"]):
            return self._retry("submit", body=body)

    @contextlib.contextmanager
    def _telling(self, key: str) -> Iterator[None]:
        """Print every five seconds what the submit with a key waits for. On standard error: standard output may be
        JSON."""
        done, begun = threading.Event(), time.monotonic()

        def tell() -> None:
            while not done.wait(_TELL_INTERVAL):
                with contextlib.suppress(PaiError):
                    job = self.call("find_submit", key=key)["job"]
                    if job and job["reason"] and not done.is_set():
                        print_line(f"{job['reason']} ({time.monotonic() - begun:.0f} s)", sys.stderr)

        threading.Thread(target=contextvars.copy_context().run, args=(tell,), daemon=True).start()
        try:
            yield
        finally:
            done.set()

    def _plain(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Save the data frames among a spec's inputs as files and return the spec as JSON values."""
        frames = {name: value for name, value in (spec.get("inputs") or {}).items() if is_frame(value)}
        if not frames:
            return spec
        folder = Path(self.call("about")["home"]) / "inputs"
        files = {name: str(save_frame(frame, name, folder)) for name, frame in frames.items()}
        return spec | {"inputs": spec["inputs"] | files}

    def preview(self, spec: dict[str, Any], *, backend: str = "") -> dict[str, Any]:
        """Return the plan of a submit: command, files, notes and cost."""
        return dict(
            self.call("preview", body={"spec": self._plain(spec), "backend": backend, "python": sys.executable})
        )

    def inspect(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Return the hyperparameters that a spec's code declares, and notes on the spec's own."""
        return dict(self.call("inspect", body={"spec": self._plain(spec)}))

    def rerun(
        self,
        job: str,
        changes: dict[str, Any] | None = None,
        *,
        backend: str = "",
        resume: bool = False,
        confirmed: bool = False,
        anyway: bool = False,
        key: str = "",
    ) -> dict[str, Any]:
        """Submit the spec and code of a job again, with changes. `resume` passes the job's checkpoints on. `key` and
        interrupts: as for `submit`."""
        key = key or new_key()
        body = {
            "key": key,
            "changes": changes or {},
            "backend": backend,
            "resume": resume,
            "confirmed": confirmed,
            "anyway": anyway,
        }
        try:
            with self._telling(key):
                return self._retry("rerun", job=job, body=body)
        except KeyboardInterrupt as interrupt:
            explain_submit(interrupt, self.call, key)
            raise

    def run_workflow(
        self,
        workflow: dict[str, Any],
        *,
        confirmed: bool = False,
        anyway: bool = False,
        reuse: bool = False,
        key: str = "",
    ) -> dict[str, Any]:
        """Start a run of a workflow, whose steps may have data frames as inputs, and return the run. `reuse` takes over
        unchanged steps of earlier runs. Other arguments: as for `submit`."""
        body = self._workflow_body(workflow) | {
            "key": key or new_key(),
            "confirmed": confirmed,
            "anyway": anyway,
            "reuse": reuse,
        }
        return dict(self._retry("run_workflow", body=body)["run"])

    def check_workflow(self, workflow: dict[str, Any]) -> dict[str, Any]:
        """Return the plan of a workflow: its steps with profile, cost, notes and questions."""
        return dict(self.call("check_workflow", body=self._workflow_body(workflow)))

    def _workflow_body(self, workflow: dict[str, Any]) -> dict[str, Any]:
        steps = [step | {"spec": self._plain(step.get("spec", {}))} for step in workflow["steps"]]
        return {
            "workflow": workflow | {"steps": steps},
            "python": sys.executable,
            "notebook": current_notebook(),
        }

    def _retry(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """Call an idempotent verb, and once more if the connection breaks."""
        try:
            return dict(self.call(verb, **arguments))
        except ServerUnreachable:
            return dict(self.call(verb, **arguments))


def finish_copy(
    call: Callable[[str, str], dict[str, Any]],
    copy: dict[str, Any],
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Wait for a transfer and return its final state. `call` calls a verb of the engine with a transfer's id;
    `progress` receives the bytes copied so far and in total. An interrupt cancels the transfer. Skipped files are named
    on standard error.

    Raises:
        PaiError: the error with which the transfer ended.
    """
    number, pause = copy["id"], 0.02
    try:
        while copy["status"] in ("waiting", "running"):
            if progress:
                progress(copy["done"], copy["bytes"])
            time.sleep(pause)
            pause = min(pause * 1.2, _POLL_INTERVAL)
            copy = call("copy", number)
        if progress and copy["status"] == "done":
            progress(copy["done"], copy["bytes"])
    except BaseException:
        with contextlib.suppress(PaiError):
            call("cancel_copy", number)
        raise
    if copy["status"] == "done":
        skipped = copy.get("skipped", ())  # A server of an earlier version names none.
        for text in skipped:
            print_line(_("Skipped: {file}").format(file=text), sys.stderr)
        if more := copy.get("left_out", 0) - len(skipped):
            print_line(_("Skipped {n} unreadable files.").format(n=more), sys.stderr)
        return copy
    with offered_fixes():
        raise PaiError.from_json(copy["error"] or {"message": _("The copy was ended."), "code": "Conflict"})


def progress_printer(write: Callable[[str], object]) -> Callable[[int, int], None]:
    """Return a progress callback that writes a line every few seconds."""
    written = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal written
        if total and time.monotonic() - written >= _PRINT_INTERVAL:
            written = time.monotonic()
            write(
                _("{done} of {whole} copied, {percent} %").format(
                    done=show_size(done), whole=show_size(total), percent=100 * done // total
                )
            )

    return progress
