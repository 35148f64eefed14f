"""Rows about TI-ONE: its official SDK Tikit and jupyter-pai against the same stand-in."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from jupyter_pai.jobs.state_dir import Home

from ..conftest import until
from ..fakes.tikit import python_of_tikit, run_tikit
from ..fakes.tione import TiOne, tione
from ..integration.server.real_server import RealServer
from ..integration.tione.conftest import IMAGE, INSTANCE_TYPE, use_key, write_profile
from .measure import Row, pairs, ratio
from .platform import printed_in_kernel
from .rows import fill, server

__all__ = ["ALL"]

# Seconds that are added to each request for COS.
_DELAY = 0.02
_BILLION = 10**9
_WRITTEN = ("PutObject", "UploadPart", "PostObject")

_TIMED = '\nresults["took"] = time.perf_counter() - begun\n'
UPLOAD = 'client.upload_to_cos(arguments["folder"], arguments["bucket"], arguments["to"])'
# From here on, the client has been imported.
ONLY_UPLOAD = f"begun = time.perf_counter()\n{UPLOAD}{_TIMED}"
CREATE = f"""
from tikit import models
{UPLOAD}
client.create_training_task(
    arguments["name"],
    models.FrameworkInfo.new_system_framework("PYTORCH", {IMAGE!r}, "DDP"),
    arguments["bucket"] + "/output/",
    models.ResourceConfigInfo.new_postpaid({INSTANCE_TYPE!r}, 1),
    code_package_path=arguments["bucket"] + "/" + arguments["to"] + "/",
    worker_start_cmd="true",
)
{_TIMED}"""
SUBMIT = """
import time
begun = time.perf_counter()
get_ipython().run_line_magic("load_ext", "jupyter_pai")
import jupyter_pai
jupyter_pai.submit(command="true", source={{"folder": {folder!r}}}, profile="tione", name="bench")
print(time.perf_counter() - begun)
"""
INPUT = """
import time
import jupyter_pai
begun = time.perf_counter()
jupyter_pai.submit(command="true", source="", inputs={{"train": {folder!r}}}, profile="tione", name="bench")
print(time.perf_counter() - begun)
"""
PUT = """
import time
begun = time.perf_counter()
from jupyter_pai.sdk.tikit.client import Client
Client(region={region!r}).upload_to_cos({folder!r}, {bucket!r}, "ours")
print(time.perf_counter() - begun)
"""


class Upload(NamedTuple):
    """The seconds of an upload, its requests for COS, and the bytes that they brought there."""

    seconds: float
    requests: int
    bytes: int


class Lab(NamedTuple):
    """A stand-in, a Jupyter server with a profile for it, and a folder of code."""

    tione: TiOne
    server: RealServer
    folder: Path

    def ours(self, code: str) -> float:
        """Return the seconds that the code prints in a fresh kernel."""
        place = {"folder": str(self.folder), "bucket": self.tione.bucket, "region": self.tione.region}
        return printed_in_kernel(self.server, code.format(**place))

    def theirs(self, script: str) -> float:
        """Return the seconds that a script of Tikit took."""
        place = {"folder": str(self.folder), "bucket": self.tione.bucket, "to": "theirs", "name": f"n{time.time_ns()}"}
        return float(run_tikit(self.tione, script, **place)["took"])

    def change_code(self) -> None:
        """Write other code, which is not uploaded yet, when no task runs."""
        self.rest()
        for n in range(10):
            (self.folder / f"f{n}.py").write_text(f"x = {time.time_ns()}")

    def rest(self) -> None:
        """Wait until no task runs, which would use the machine."""
        ended = ("SUCCEED", "FAILED", "STOPPED", "SUBMIT_FAILED")
        until(lambda: all(task.status in ended for task in self.tione.tasks), timeout=120)

    def measured(self, run: Callable[[], float]) -> Upload:
        """Measure a run, when no task runs."""
        self.rest()
        self.tione.forget_requests()
        seconds = run()
        notes = [note for note in self.tione.requests if note["service"] == "cos"]
        return Upload(seconds, len(notes), sum(note["received"] for note in notes if note["action"] in _WRITTEN))


@contextmanager
def lab(**profile: object) -> Iterator[Lab]:
    """A stand-in, and a server whose profile `tione` uses it."""
    python_of_tikit()
    with (
        tempfile.TemporaryDirectory() as name,
        tione(Path(name, "tione"), md5=False, calls_a_window=1000, balance=_BILLION) as running,
        pytest.MonkeyPatch.context() as patch,
    ):
        use_key(patch, running)

        def ready(_home: Home) -> None:
            write_profile(running, **profile)

        folder = Path(name, "code")
        folder.mkdir()
        with server(ready) as jupyter:
            yield Lab(running, jupyter, folder)


def first_submit() -> Iterator[Row]:
    """TI-ONE from a fresh kernel: load and first submit of a small folder, against Tikit."""
    with lab() as at:

        def ours() -> float:
            at.change_code()
            return at.ours(SUBMIT)

        def theirs() -> float:
            at.change_code()
            return at.theirs(CREATE)

        mine, baseline = pairs(5, ours, theirs)
    what = (
        "TI-ONE, from a fresh kernel: load and first submit of a small folder, against Tikit's import, upload, create"
    )
    yield ratio(what, mine, baseline, 2)


def large_code() -> Iterator[Row]:
    """TI-ONE, 2,000 files / 200 MB as code, first and again, against Tikit's `upload_to_cos`."""
    with lab(source_limit="1GB") as at:
        fill(at.folder)
        ours, theirs = [], []
        for _n in range(3):
            at.change_code()
            theirs.append(at.measured(lambda: at.theirs(ONLY_UPLOAD)))
            ours.append(at.measured(lambda: at.ours(SUBMIT)))
        baseline, again = at.measured(lambda: at.theirs(ONLY_UPLOAD)), at.measured(lambda: at.ours(SUBMIT))
        _first, data = (at.measured(lambda: at.ours(INPUT)) for _n in range(2))
    what = "TI-ONE, 2,000 files / 200 MB as code: load and first submit, against Tikit's `upload_to_cos`"
    row = ratio(what, [one.seconds for one in ours], [one.seconds for one in theirs], 3)
    row.result += f", {ours[-1].requests} requests for COS instead of {theirs[-1].requests:,}"
    row.bound += ", 1/50 of the requests"
    row.holds &= ours[-1].requests * 50 < theirs[-1].requests
    yield row
    yield _unchanged("the same again, unchanged", again, baseline)
    yield _unchanged("the same as an input, again and unchanged", data, baseline)


def large_data() -> Iterator[Row]:
    """TI-ONE, 2,000 files / 200 MB as data, with 20 ms added to each request, against Tikit."""
    with lab() as at:
        fill(at.folder)
        at.tione.faults.add("delay", "cos:*", seconds=_DELAY)
        mine, baseline = pairs(2, lambda: at.ours(PUT), lambda: at.theirs(ONLY_UPLOAD))
    what = f"TI-ONE, 2,000 files / 200 MB as data, {_DELAY * 1000:g} ms added to each request, against `upload_to_cos`"
    yield ratio(what, mine, baseline, 2)


def _unchanged(what: str, ours: Upload, theirs: Upload) -> Row:
    row = ratio(what, [ours.seconds], [theirs.seconds], 20)
    row.result += f", {ours.bytes} bytes uploaded instead of {theirs.bytes:,}"
    row.bound += ", 0 bytes uploaded"
    row.holds &= ours.bytes == 0
    return row


ALL: list[Callable[[], Iterator[Row]]] = [first_submit, large_code, large_data]
