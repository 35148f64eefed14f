"""A real TensorBoard behind a real Jupyter server: found, fed while a job runs, guarded, and ended in time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener, urlopen

import pytest

from binder.session import CellFailed
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, keep_below, until
from ...support.event_writers import event, opened, simple, write
from .real_server import RealServer

BASE = "/user/x/"
# Writes `loss` step by step: as many as the test asks for, until it says enough.
TRAIN = """
import os, sys, time
from pathlib import Path
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
place = Path(sys.argv[1])
writer = EventFileWriter(os.environ["PAI_OUTPUT_TENSORBOARD"])
step = 0
while not (place / "enough").exists():
    wanted = int((place / "steps").read_text())
    while step < wanted:
        value = Summary.Value(tag="loss", simple_value=1 / (step + 1))
        writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=[value])))
        writer.flush()
        step += 1
    time.sleep(0.02)
"""


WRITE = ": > $PAI_OUTPUT_TENSORBOARD/events.out.tfevents.1.x"


class Site:
    """A server below a base URL, with what the tests ask of it."""

    def __init__(self, place: Path, **environment: str) -> None:
        self.place = place
        self.steps(1)
        root = place / "notebooks"
        root.mkdir()
        self.temporary = place / "tmp"
        self.temporary.mkdir()
        self.server = RealServer(root, BASE, TMPDIR=str(self.temporary), **environment)

    def steps(self, number: int) -> None:
        """Set the number of steps that the jobs write."""
        new = self.place / "steps.new"
        new.write_text(str(number))
        new.replace(self.place / "steps")

    def train(self, name: str) -> str:
        """A job that runs until the test is over, and has written its first step."""
        command = f"{sys.executable} train.py {self.place}"
        spec = {"name": name, "command": command, "source": {"files": {"train.py": TRAIN}}}
        job = str(self.api("POST", "/jobs", {"spec": spec})["job"]["id"])
        folder = Home(self.place / "state").job(job).path / "output" / "tensorboard"
        until(lambda: any(folder.glob("*tfevents*")) or not self.assert_running(job))
        return job

    def run(self, name: str, command: str, **spec: Any) -> None:
        """A job that is over at once."""
        spec |= {"name": name, "command": command, "source": {"files": {"a": ""}}}
        job = self.api("POST", "/jobs", {"spec": spec})["job"]["id"]
        assert until(lambda: (result := self.server.job(job))["ended_at"] and result)["status"] == "succeeded"

    def assert_running(self, job: str) -> bool:
        result = self.server.job(job)
        assert result["status"] in ("queued", "starting", "running"), result["reason"]
        return True

    def clear(self) -> None:
        """End jobs and TensorBoards, and forget those jobs."""
        (self.place / "enough").touch()
        for board in self.api("GET", "/tensorboards")["tensorboards"]:
            self.api("DELETE", f"/tensorboards/{board['id']}")
        for job in self.api("GET", "/jobs")["jobs"]:
            until(lambda job=job: self.server.job(job["id"])["ended_at"])  # type: ignore[misc]
            self.api("DELETE", f"/jobs/{job['id']}")
        (self.place / "enough").unlink()
        self.steps(1)

    def end(self) -> None:
        (self.place / "enough").touch()
        self.server.stop()

    def api(self, method: str, path: str, body: object = None) -> Any:
        return self.server.rest(method, f"/pai/api/v1{path}", body)

    def start(self, *jobs: str) -> dict[str, Any]:
        return dict(self.api("POST", "/tensorboards", {"jobs": jobs}))

    def refused(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Return the error of a rejected request."""
        request = Request(
            f"{self.server.url}/pai/api/v1{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"token {self.server.token}"},
            method=method,
        )
        with pytest.raises(HTTPError) as caught, urlopen(request, timeout=PATIENCE):
            pass
        with caught.value as reply:
            return {"status": reply.code, **json.loads(reply.read())}

    def ask(self, address: str, data: bytes | None = None, **headers: str) -> HTTPResponse:
        """Ask as a browser does that is logged in by a cookie; `headers` with underscores."""
        cookie = {"Cookie": self.cookie()} | {name.replace("_", "-"): text for name, text in headers.items()}
        origin = self.server.url.removesuffix(BASE.rstrip("/"))
        try:
            reply = build_opener(_Stay).open(Request(origin + address, data, cookie), timeout=PATIENCE)
        except HTTPError as error:
            reply = error  # Also an answer.
        assert isinstance(reply, HTTPResponse | HTTPError)
        return reply  # type: ignore[return-value]  # an HTTPError reads like one

    def cookie(self) -> str:
        """A login's cookie."""
        if not hasattr(self, "_cookie"):
            request = Request(f"{self.server.url}/api/contents?token={self.server.token}")
            with urlopen(request, timeout=PATIENCE) as reply:
                self._cookie = "; ".join(text.split(";")[0] for text in reply.headers.get_all("Set-Cookie"))
        return self._cookie

    def json(self, address: str, data: bytes | None = None, **headers: str) -> Any:
        with self.ask(address, data, **headers) as reply:
            assert reply.status == 200, reply.read()
            return json.loads(reply.read())

    def scalars(self, board: dict[str, Any]) -> dict[str, set[str]]:
        """Return the tags of each run, as TensorBoard's own page requests them."""
        return {run: set(tags) for run, tags in self.json(f"{board['address']}data/plugin/scalars/tags").items()}

    def points(self, board: dict[str, Any], run: str) -> list[Any]:
        return list(self.json(f"{board['address']}data/plugin/scalars/scalars?tag=loss&run={run}"))


class _Stay(HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_args: Any) -> None:
        return None


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The server of those tests that leave it alive."""
    place = tmp_path_factory.mktemp("tensorboard")
    with pytest.MonkeyPatch.context() as patch:
        keep_below(place, patch)
        site = Site(place)
        yield site
        site.end()


@pytest.fixture
def site(shared: Site) -> Iterator[Site]:
    """A server without jobs and TensorBoards of other tests."""
    yield shared
    shared.clear()


def boards(place: Path) -> list[int]:
    """Return the TensorBoard processes of a state folder."""
    results = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words, environment = (path / "cmdline").read_bytes(), (path / "environ").read_bytes()
        except OSError:
            continue
        if b"tensorboard/launcher" in words and str(place / "state").encode() in environment:
            results.append(int(path.name))
    return results


SAME: Any = {"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty"}


def test_tensorboard_of_a_running_job_is_served(site: Site) -> None:
    name = "net/1 <b>"
    job = site.train(name)
    board = site.start(job)
    assert board["address"] == f"{BASE}pai/tensorboard/{job}/"
    assert (board["jobs"], board["idle_timeout"]) == ([{"id": job, "name": name}], 1800)
    with site.ask(board["address"]) as page:
        text, policies = page.read().decode(), page.headers.get_all("Content-Security-Policy", [])
        assert page.headers.get_all("Set-Cookie") is None
    assert "<tensorboard-webapp" in text or "tb-relative-root" in text
    assert any("frame-ancestors 'self'" in policy for policy in policies)
    assert any(policy.startswith("default-src 'self' 'unsafe-inline'") for policy in policies)
    with site.ask(board["address"].rstrip("/")) as reply:
        assert (reply.status, reply.headers["Location"]) == (302, board["address"])
    assert until(lambda: site.scalars(board)) == {"net-1-b": {"loss"}}
    site.steps(3)
    until(lambda: len(site.points(board, "net-1-b")) == 3)
    assert [(step, round(value, 3)) for _time, step, value in site.points(board, "net-1-b")] == [
        (0, 1.0),
        (1, 0.5),
        (2, 0.333),
    ]
    assert site.server.job(job)["status"] == "running"
    # TensorBoard's own page asks so for its charts: without any token, but from this site.
    request = (
        b'--x\r\nContent-Disposition: form-data; name="requests"\r\n\r\n'
        b'[{"plugin": "scalars", "tag": "loss"}]\r\n--x--\r\n'
    )
    address = f"{board['address']}experiment/defaultExperimentId/data/plugin/timeseries/timeSeries"
    headers = {"Content_Type": "multipart/form-data; boundary=x"}
    (result,) = site.json(address, request, **headers, **SAME)
    assert [point["step"] for point in result["runToSeries"]["net-1-b"]] == [0, 1, 2]
    origin = site.server.url.removesuffix(BASE.rstrip("/"))
    assert site.json(address, request, **headers, Origin=origin)
    # Once more: the same one, also by name.
    assert site.start(name) == site.start(job) == board
    assert site.api("GET", "/tensorboards") == {"tensorboards": [board]}
    assert len(boards(site.place)) == 1
    site.server.rest("POST", f"/pai/api/v1/jobs/{job}/stop", {})
    site.api("DELETE", f"/tensorboards/{board['id']}")


@pytest.mark.slow("tensorboard")
def test_tensorboard_opens_from_cells_and_terminals(site: Site) -> None:
    """Each front end gives a link for a logged-in browser, or an error with a fix."""
    site.run("digits", WRITE)
    site.run("empty", "true")
    notebook = site.server.notebook()
    (shown,) = notebook.run("%pai tensorboard digits").data
    address = re.findall('href="([^"]+)" target="_blank" rel="noopener">TensorBoard of digits<', shown["text/html"])[0]
    with site.ask(address) as page:
        assert page.status == 200
    assert shown["text/plain"].endswith(address)
    with pytest.raises(CellFailed, match="PAI_OUTPUT_TENSORBOARD"):
        notebook.run("%pai tensorboard empty")

    environment = {**os.environ, "JUPYTER_PAI_INFO": str(site.server.info_file)}
    words = "get_ipython().run_line_magic('load_ext', 'jupyter_pai'); get_ipython().run_line_magic('pai', '{}')"
    link = f"TensorBoard of digits: http://localhost:{site.server.port}{address}"
    for command in (
        ["-m", "jupyter_pai", "tensorboard", "digits"],
        ["-m", "IPython", "--no-banner", "-c", words.format("tensorboard digits")],
    ):
        done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=True)
        assert link in done.stdout, command
    assert len(boards(site.place)) == 1
    assert "digits" in notebook.run("%pai tensorboard --stop").text
    until(lambda: not boards(site.place))


@pytest.mark.slow("tensorboard")
def test_other_users_and_sites_are_rejected(site: Site) -> None:
    board = site.start(site.train("digits"))
    address = board["address"]
    posted = f"{address}data/plugin/timeseries/timeSeries"
    foreign: Any = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty"}
    document = foreign | {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    frame = document | {"Sec_Fetch_Dest": "iframe"}

    def status(address: str, data: bytes | None = None, **headers: str) -> int:
        with site.ask(address, data, **headers) as reply:
            return reply.status

    assert status(address, **SAME) == status(address) == status(address, **document) == 200
    assert status(address, **foreign) == status(address, **frame) == 403
    assert status(posted, b"", Sec_Fetch_Site="same-site") == status(posted, b"", **document) == 403
    assert status(posted, b"", Origin="https://elsewhere.example") == status(posted, b"") == 403
    assert status(posted, b"", Origin="null") == 403
    # Nobody's cookie: refused, or sent to log in where a page is asked for.
    assert status(address, Cookie="") == status(posted, b"", Cookie="", **SAME) == 403
    assert status(address, Cookie="", **document) == 302
    assert status(f"{BASE}pai/tensorboard/nothing/", **SAME) == 404


@pytest.mark.slow("tensorboard")
def test_tensorboard_port_rejects_unauthenticated_requests(site: Site) -> None:
    """Every user of the machine can knock at a port of loopback, and read command lines."""
    board = site.start(site.train("digits"))
    (pid,) = boards(site.place)
    ports = until(lambda: listening(pid))
    assert len(ports) == 1
    for path in ("/", "/data/runs", board["address"], f"{board['address']}data/runs"):
        with pytest.raises(HTTPError) as caught:
            urlopen(f"http://127.0.0.1:{ports[0]}{path}", timeout=PATIENCE)
        caught.value.close()
        assert caught.value.code == 404
    assert b"path_prefix" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    with site.ask(board["address"]) as page:
        assert "path_prefix" not in page.read().decode()


def listening(pid: int) -> list[int]:
    """The ports of loopback on which a process listens."""
    sockets = {os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink()}
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [
        int(words[1].split(":")[1], 16) for words in lines if words[3] == "0A" and f"socket:[{words[9]}]" in sockets
    ]


# Prints and reports metrics when a file says so.
PRINT = """
import os, pathlib, sys, time
from jupyter_pai import report
def wait(sign):
    while not pathlib.Path(sys.argv[1], sign).exists():
        time.sleep(0.02)
print("Epoch 1/3 loss: 0.5", flush=True)
print("measured 3", flush=True)
wait("go1")
print("Epoch 2/3 loss: 0.25", flush=True)
report.metric("loss", 7, step=9)
wait("enough")
"""


@pytest.mark.slow("tensorboard")
def test_metrics_of_any_source_are_in_tensorboard(site: Site) -> None:
    """New points appear, and those of a better source replace the others. The job's own event files are a run."""
    command = f"{sys.executable} train.py {site.place}"
    metric = {"name": "measured", "regex": "measured ([0-9]+)"}
    spec = {"name": "log", "command": command, "source": {"files": {"train.py": PRINT}}, "metric_definitions": [metric]}
    job = site.api("POST", "/jobs", {"spec": spec})["job"]["id"]
    until(lambda: len(site.server.job(job)["metrics"]) == 2)
    assert site.server.job(job)["tensorboard"] is True
    board = site.start(job)
    assert until(lambda: site.scalars(board)) == {"log (log)": {"loss", "measured"}}
    assert [(step, value) for _time, step, value in site.points(board, "log%20(log)")] == [(1, 0.5)]
    folder = Home(site.place / "state").job(job).path / "output" / "tensorboard"
    write(folder / "events.out.tfevents.1", [opened(time.time()), event(4, simple("lr", 0.125))])
    (site.place / "go1").touch()
    until(lambda: [point[1:] for point in site.points(board, "log%20(log)")] == [[9, 7.0]])
    assert until(lambda: len(runs := site.scalars(board)) == 2 and runs) == {
        "log (log)": {"loss", "measured"},
        "log": {"lr"},
    }
    # The written file is not an output of the job, and not a source of its metrics.
    until(lambda: "lr" in site.server.job(job)["metrics"])
    assert site.server.job(job)["metrics"].keys() == {"loss", "measured", "lr"}
    outputs = site.api("GET", f"/jobs/{job}/outputs")
    assert "jupyter-pai" not in json.dumps(outputs)
    (site.place / "go1").unlink()


@pytest.mark.slow("tensorboard")
def test_two_jobs_are_compared_in_tensorboard(site: Site) -> None:
    first, second = site.train("digits"), site.train("digits")
    board = site.start(second, first, second)
    assert {job["id"] for job in board["jobs"]} == {first, second}
    runs = {f"digits {job}": {"loss"} for job in (first, second)}
    until(lambda: site.scalars(board) == runs)
    assert site.start(first, second) == board
    alone = site.start(first)
    assert len(boards(site.place)) == 2
    assert site.api("DELETE", f"/tensorboards/{board['id']}")["tensorboards"] == [alone]
    until(lambda: len(boards(site.place)) == 1)
    assert site.refused("DELETE", f"/tensorboards/{board['id']}")["status"] == 404


@pytest.mark.slow("tensorboard")
def test_idle_tensorboard_ends(site: Site) -> None:
    settings = site.place / "jupyter-config" / "jupyter_pai.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("[tensorboard]\nidle_minutes = 0.03\n")
    site.run("digits", WRITE)
    board = site.start("digits")
    assert board["idle_timeout"] == pytest.approx(1.8)
    assert boards(site.place)
    until(lambda: not boards(site.place))
    until(lambda: site.api("GET", "/tensorboards") == {"tensorboards": []})
    with site.ask(board["address"]) as reply:
        assert reply.status == 404
        assert "Start it" in reply.read().decode()
    settings.unlink()
    assert site.start("digits")["address"] == board["address"]


@pytest.mark.slow("tensorboard")
def test_tensorboard_ends_with_its_server(home: Home, tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.run("digits", WRITE)
    for end in (site.server.kill, site.server.stop):
        site.start("digits")
        assert boards(tmp_path)
        assert list(site.temporary.glob("jupyter-pai-tensorboard-*"))
        end()
        until(lambda: not boards(tmp_path))
        until(lambda: not list(site.temporary.glob("jupyter-pai-tensorboard-*")))
        if end == site.server.kill:
            site.server.start_again()


def test_impossible_tensorboards_are_rejected(site: Site) -> None:
    site.run("empty", "true")
    reply = site.refused("POST", "/tensorboards", {"jobs": ["empty"]})
    assert (reply["status"], reply["code"]) == (404, "NotFound")
    assert "has no metrics for TensorBoard yet" in reply["message"]
    assert site.server.job("empty")["tensorboard"] is False
    assert "PAI_OUTPUT_TENSORBOARD" in reply["fix"]
    assert site.refused("POST", "/tensorboards", {"jobs": []})["status"] == 400
    assert site.refused("POST", "/tensorboards", {"jobs": ["nothing"]})["status"] == 404
    assert not boards(site.place)


@pytest.mark.slow("tensorboard")
def test_missing_or_broken_tensorboard_is_reported(home: Home, tmp_path: Path) -> None:
    site = Site(tmp_path, PYTHONPATH=str(tmp_path / "fake"))
    module = tmp_path / "fake" / "tensorboard" / "__init__.py"
    module.parent.mkdir(parents=True)
    module.write_text("raise ModuleNotFoundError('nothing there', name='tensorboard')")
    site.run("without", WRITE)
    reply = site.refused("POST", "/tensorboards", {"jobs": ["without"]})
    assert (reply["status"], reply["fix"]) == (404, f"Install it: {sys.executable} -m pip install tensorboard")
    # The interpreter of a job may have it where the server's has not.
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    site.run("with", WRITE, python=str(python))
    assert site.json(site.start("with")["address"] + "data/environment", **SAME)["window_title"] == "with · TensorBoard"
    module.write_text("raise RuntimeError('protobuf is too old')")
    reply = site.refused("POST", "/tensorboards", {"jobs": ["without"]})
    assert (reply["status"], reply["code"]) == (502, "BackendError")
    assert "protobuf is too old" in reply["message"]
    assert sys.executable in reply["fix"]
    site.end()
