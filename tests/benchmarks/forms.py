"""The form that submits a folder: how long until it shows what will be sent."""

from __future__ import annotations

import http.client
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..integration.server.real_server import RealServer
from .measure import Row, ms, pairs
from .rows import server

__all__ = ["ALL"]

FILES, BYTES, TIMES, BOUND, LOOK_BOUND = 2_000, 10_000, 15, 5, 10


def form() -> Iterator[Row]:
    """Time until a form on a folder of 2,000 files shows what will be sent, through a server, against `os.walk` +
    stat."""
    with tempfile.TemporaryDirectory() as name, server() as running:
        folder = Path(name)
        fill(folder)
        form = FormClient(running, folder)

        def walk() -> float:
            begun = time.perf_counter()
            count = sum(
                os.stat(os.path.join(top, file)).st_size > 0 for top, _, files in os.walk(folder) for file in files
            )
            assert count == FILES
            return time.perf_counter() - begun

        for title, quick in (("opened on", True), ("looking for keys in all files again of", False)):
            ours, baseline = pairs(TIMES, lambda: form.opened(quick=quick), walk)  # noqa: B023
            times = statistics.median(ours) / statistics.median(baseline)
            what = f"a form {title} a folder of {FILES:,} files; what is sent and what stays, against `os.walk` + stat"
            yield Row(what, ms(ours), ms(baseline), f"{times:.1f} ×", f"{BOUND} × its time", times < BOUND)


def first_look() -> Iterator[Row]:
    """A form that looks for keys in 2,000 files that it has not seen, against reading them. To read them takes three
    times as long as `os.walk` + stat: the form shows the list of files before it, and the keys after."""
    with tempfile.TemporaryDirectory() as name, server() as running:
        folder = Path(name)
        fill(folder)
        paths = [path for path in folder.rglob("*") if path.is_file()]
        form = FormClient(running, folder)

        def read() -> float:
            begun = time.perf_counter()
            assert sum(len(path.read_bytes()) for path in paths) == FILES * BYTES
            return time.perf_counter() - begun

        def looked() -> float:
            for path in paths:
                os.utime(path)  # It may be another file now: it is looked through as if it were new.
            return form.opened(quick=False)

        ours, baseline = pairs(TIMES, looked, read)
        times = statistics.median(ours) / statistics.median(baseline)
        what = f"a form looking for the first time for keys in {FILES:,} files / 20 MB, against reading them"
        yield Row(what, ms(ours), ms(baseline), f"{times:.1f} ×", f"{LOOK_BOUND} × its time", times < LOOK_BOUND)


def fill(folder: Path) -> None:
    """Files of code, a few seconds old: what is younger is read again each time, since it may change unseen."""
    words = random.Random(1)
    some = "def return import self loss model train data for in x = y\n".split(" ")
    for n in range(FILES):
        path = folder / f"part{n % 40}" / f"file{n}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {n}\n{' '.join(words.choices(some, k=BYTES // 4))}"[:BYTES])
    (folder / "part0" / "file0.py").rename(folder / "train.py")
    time.sleep(2.1)


class FormClient:
    """The requests of a form, over one connection."""

    def __init__(self, running: RealServer, folder: Path) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", running.port)
        self.headers = {"Authorization": f"token {running.token}", "Content-Type": "application/json"}
        self.folder = folder

    def opened(self, *, quick: bool) -> float:
        """Seconds until what will be sent is known."""
        begun = time.perf_counter()
        request = self._ask("GET", f"form?path={quote(str(self.folder))}")["request"]
        result = self._ask("POST", "preview?quick=true" if quick else "preview", request)
        assert (result["files"], result["leaks"]) == (FILES, None if quick else [])
        return time.perf_counter() - begun

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        self.connection.request(method, f"/pai/api/v1/{path}", data, self.headers)
        return json.loads(self.connection.getresponse().read())


ALL = [form, first_look]
