"""The lesson of seed 003 from its first to its last step: a cluster by its address, the login, the data in HDFS, the
job file with the settings of its folder, and the result.

Its files are in `seed/`, as printed. Installed packages and the training programs are stand-ins.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, until
from ...fakes.openpai import OpenPai, openpai
from ...fakes.webhdfs import WebHdfsServer
from ..server.real_server import RealServer
from .conftest import PASSWORD, USER

SEED = Path(__file__).parent / "seed"
ACTIVE = ("waiting", "running")
DATA = {
    "__init__.py": b"",
    "merge_vocab.py": b"print('vocabulary')\n",
    "train.txt.up.clean": "春风\n".encode(),
    "train.txt.down.clean": "秋月\n".encode(),
    "merge.txt.vocab.clean": b"0\n",
}
# What the image and the package index have: each program writes its arguments.
PROGRAMS = {
    "pip3": "exit 0",
    "t2t-datagen": 'echo "datagen $*"; test -s data/train.txt.up.clean',
    "t2t-trainer": 'echo "trainer $*"; echo model > output/model.ckpt-200000.index',
}


class Browser:
    """The REST calls of the panels in JupyterLab."""

    def __init__(self, server: RealServer) -> None:
        self.server = server

    def call(self, method: str, path: str, body: object = None) -> Any:
        return self.server.rest(method, f"/pai/api/v1/{path}", body)

    def read(self, method: str, path: str, data: bytes | None = None) -> bytes:
        headers = {"Authorization": f"token {self.server.token}", "Content-Type": "application/octet-stream"}
        with urlopen(
            Request(f"{self.server.url}/pai/api/v1/{path}", data, headers, method=method), timeout=PATIENCE
        ) as reply:
            return bytes(reply.read())

    def upload(self, folder: str, path: str, data: bytes) -> None:
        """Upload a file as the Explorer does."""
        number = self.call("POST", "uploads", {"uri": folder, "path": path, "bytes": len(data)})["id"]
        if data:
            self.read("PUT", f"uploads/{number}?offset=0", data)
        transfer = until(lambda: (found := self.call("GET", f"copies/{number}"))["status"] not in ACTIVE and found)
        assert transfer and transfer["status"] == "done", transfer

    def entries(self, folder: str) -> dict[str, str]:
        """Return the URIs of the files below a folder, by their paths."""
        reply = self.call("GET", f"data?recursive=true&uri={quote(folder, safe='')}")
        return {one["path"]: one["uri"] for one in reply["entries"]}

    def submit(self, path: str, profile: str = "", **changes: Any) -> dict[str, Any]:
        """Submit a file as *Train…* of the file browser's menu does, and wait for the end of its job."""
        form = self.call("GET", f"form?path={quote(path)}&profile={profile}")
        assert form["kind"] == "job_file"
        request = {**form["request"], "spec": {**form["request"]["spec"], **changes}}
        preview = self.call("POST", "preview", request)
        assert [one for one in preview["problems"] if one["is_error"]] == []
        assert preview["files"] == 2  # Not the data, nor the job file.
        job = self.call("POST", "jobs", {**request, "confirmed": True})["job"]["id"]
        until(lambda: self.server.job(job)["ended_at"])
        return {**self.server.job(job), "notes_of_form": form["notes"]}

    def log(self, job: dict[str, Any]) -> str:
        return self.read("GET", f"jobs/{job['id']}/log").decode()


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the stand-ins of programs."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, script in PROGRAMS.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def cluster(tmp_path: Path, home: Home, programs: Path) -> Iterator[OpenPai]:
    with openpai(tmp_path / "openpai", programs=str(programs)) as running:
        running.add_user(USER, PASSWORD, vcs=["default"])
        yield running


@pytest.fixture
def browser(cluster: OpenPai, tmp_path: Path) -> Iterator[Browser]:
    root = tmp_path / "notebooks"
    root.mkdir()
    server = RealServer(root)
    yield Browser(server)
    server.stop()


@pytest.fixture
def demo(hdfs: WebHdfsServer, tmp_path: Path) -> str:
    """The path of the lesson's `/demo` in HDFS, which other tests do not use."""
    path = f"/{tmp_path.name}/demo"
    hdfs.path(path).mkdir(parents=True)
    hdfs.own(path, USER, 0o755)
    return path


def write_files(root: Path, hdfs: WebHdfsServer, demo: str) -> None:
    """Write the files of the lesson, with its three placeholders filled in."""
    values = {"YOUR_HDFS_URL": hdfs.name_node, "YOUR_HDFS_USERNAME": USER, "YOUR_PROJECT_ROOT_DIR": demo}
    text = (SEED / "run_samples.py.txt").read_text()
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    (root / "run_samples.py").write_text(text)
    shutil.copy(SEED / "train.sh.txt", root / "train.sh")
    shutil.copy(SEED / "new_job.pai.json", root)
    (root / ".vscode").mkdir()
    shutil.copy(SEED / "settings.json", root / ".vscode")


def test_lesson_from_the_address_of_the_cluster_to_the_result(
    cluster: OpenPai, hdfs: WebHdfsServer, browser: Browser, demo: str, programs: Path
) -> None:
    root = browser.server.root
    # Add the cluster by its address, log in, and name its HDFS.
    values = {"backend": "openpai", "endpoint": cluster.url, "allow_http": True}
    browser.call("PUT", "profiles/lab", {"values": {**values, "hdfs": hdfs.uri, "hdfs_user": USER}})
    browser.call("PUT", "profiles/lab/credentials", {"username": USER, "password": PASSWORD})
    # Upload the data in the Explorer.
    top = f"{hdfs.uri}{demo.strip('/')}/"
    made = browser.call("POST", "data/folder", {"uri": top, "path": "data"})["uri"]
    for name, content in DATA.items():
        browser.upload(made, name, content)
    assert set(browser.entries(made)) == set(DATA)
    # Submit the job file by its menu.
    write_files(root, hdfs, demo)
    job = browser.submit("new_job.pai.json")
    log = browser.log(job)
    assert job["status"] == "succeeded", (job["reason"], log)
    assert any("`demo_001` becomes `demo001`" in note for note in job["notes_of_form"])
    for line in ("Downloading from", "start generate data...", "datagen --t2t_usr_dir=", "Uploading from"):
        assert line in log
    user, name = job["remote_id"].split("~")
    assert (user, name.startswith("train_couplet_demo_")) == (USER, True)
    # Fetch the result.
    results = browser.entries(f"{top}output/{quote(job['remote_id'])}/")
    fetched = {path: browser.read("GET", f"data/file?uri={quote(uri, safe='')}") for path, uri in results.items()}
    assert fetched["model.ckpt-200000.index"] == b"model\n"
    assert b"trainer" in fetched["train_default.log"]
    # The same file on this machine.
    here = browser.submit(
        "new_job.pai.json", "local", environment={"PATH": f"{programs}:{os.environ['PATH']}"},
        options={"container": "none"},
    )  # fmt: skip
    assert (here["status"], here["backend"]) == ("succeeded", "local"), browser.log(here)
    outputs = [path for path in browser.entries(f"{top}output/") if path.endswith("model.ckpt-200000.index")]
    assert len(outputs) == 2
    assert PASSWORD not in json.dumps([job, here])
