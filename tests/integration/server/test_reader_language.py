"""Reasons, fixes and notes of a job are in the language of their reader, not of the process that wrote them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import websocket

from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, script, until
from ...support.fake_keys import chance
from .real_server import RealServer

# A line of the reason, the fix and each note of the job of `submitted`, by language.
SHOWN = {
    "en": {
        "reason": "The script does not take these arguments: unrecognized arguments: --lrr 1",
        "fix": "Compare the hyperparameter `lrr` (--hp lrr=…) with the arguments that the script takes.",
        "memory": "of the requested 9216 GiB of memory is available.",
        "option": "will exit with an error. Did you mean `lr`?",
        "image": "The local backend runs on this machine and ignores image `busybox`.",
        "secret": "keys.py, line 1: possible secret (secret value); the file is packed.",
    },
    "zh-CN": {
        "reason": "脚本不接受这些参数：unrecognized arguments: --lrr 1",
        "fix": "请核对超参数 `lrr`（--hp lrr=…）与脚本接受的参数。",
        "memory": "内存，少于要求的 9216 GiB。",
        "option": "会因此报错退出。 是不是 `lr`？",
        "image": "local 后端在本机运行，忽略 image `busybox`。",
        "secret": "keys.py 第 1 行：看起来像密钥（保密的值），会一起打包。",
    },
}
PYTHON = """
import sys, jupyter_pai
info = jupyter_pai.get_job(sys.argv[1]).info
print(info["reason"], info["fix"], *info["notes"], sep="\\n")
"""

# The stream that feeds the views of a kernel.
STREAM = """
import json, queue, sys, jupyter_pai
received = queue.Queue()
stream = jupyter_pai.connect().open_stream(received.put, lambda: received.put("null"))
stream.receive(json.dumps({"type": "subscribe", "id": 1, "topic": "job", "job": sys.argv[1]}))
job = json.loads(received.get(timeout=180))["job"]
print(job["reason"], job["fix"], *job["notes"], sep="\\n")
stream.close()
"""


class Reader:
    """One reader of a server: a browser, a terminal or a script with a language."""

    def __init__(self, server: RealServer, language: str) -> None:
        self.server, self.language = server, language

    def get(self, path: str) -> Any:
        """Make a REST call with the header of the language."""
        return self.call("GET", path)

    def call(self, method: str, path: str, **fields: object) -> Any:
        """Make a REST call with `fields` as its body."""
        data = json.dumps(fields).encode() if fields else None
        headers = {"Authorization": f"token {self.server.token}", "Accept-Language": self.language}
        request = Request(f"{self.server.url}/pai/api/v1{path}", data, headers, method=method)
        with urlopen(request, timeout=PATIENCE) as reply:
            return json.loads(reply.read())

    def streamed(self, job: str, *, by_header: bool) -> dict[str, Any]:
        """Return the job as the WebSocket sends it. A page names its language in the address, a kernel in a header."""
        url = f"{self.server.url.replace('http', 'ws')}/pai/api/v1/stream?token={self.server.token}"
        other = next(tag for tag in SHOWN if tag != self.language)
        headers = {"Accept-Language": self.language if by_header else other}
        socket = websocket.create_connection(
            url if by_header else f"{url}&language={self.language}", header=headers, timeout=PATIENCE
        )
        socket.send(json.dumps({"type": "subscribe", "id": 1, "topic": "job", "job": job}))
        result: dict[str, Any] = json.loads(socket.recv())["job"]
        socket.close()
        return result

    def printed(self, *words: str, by_server: bool) -> str:
        """Return the output of a program that asks the server, or reads the state folder itself."""
        environment = os.environ | {"JUPYTER_PAI_LANGUAGE": self.language, "PYTHONIOENCODING": "utf-8"}
        if by_server:
            environment["JUPYTER_PAI_INFO"] = str(self.server.info_file)
        done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=True)
        return done.stdout


def submitted(writer: Reader, folder: Path) -> str:
    """Submit a job with notes of several origins. It fails with a reason and a fix. Return its id when it has ended."""
    script(
        folder, "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr')\nparser.parse_args()"
    )
    script(folder, f"access_key_secret = '{chance(30)}'", "keys.py")
    spec = {"name": "x", "entry_point": "train.py", "source": {"folder": str(folder)}, "hyperparameters": {"lrr": "1"}}
    job = writer.call("POST", "/jobs", anyway=True, spec=spec | {"memory": "9TiB", "image": "busybox"})["job"]["id"]
    until(lambda: writer.get(f"/jobs/{job}")["ended_at"])
    return str(job)


@pytest.mark.slow("cases")
@pytest.mark.parametrize(("writer", "reader"), [("zh-CN", "en"), ("en", "zh-CN")])
def test_texts_of_a_job_are_in_the_language_of_their_reader(
    home: Home, tmp_path: Path, folder: Path, writer: str, reader: str
) -> None:
    (tmp_path / "notebooks").mkdir()
    server = RealServer(tmp_path / "notebooks", JUPYTER_PAI_LANGUAGE=writer)
    try:
        job = submitted(Reader(server, writer), folder)
        record = json.loads(home.job(job).record.read_text())["job"]
        assert SHOWN[writer]["reason"] in record["reason"]["text"]
        for language in (writer, reader):
            _check_reader(Reader(server, language), job)
        # A change by the reader keeps the texts of both.
        Reader(server, reader).call("PUT", f"/jobs/{job}/pin")
        changes = {"hyperparameters": {"lr": "2"}}
        again = Reader(server, reader).call("POST", f"/jobs/{job}/rerun", changes=changes, anyway=True)["job"]["id"]
        until(lambda: server.job(again)["ended_at"])
        for language in (writer, reader):
            read = Reader(server, language).get(f"/jobs/{job}")
            assert read["notes"]
            _check(language, read)
            rerun = Reader(server, language).get(f"/jobs/{again}")
            assert SHOWN[language]["reason"].removesuffix("--lrr 1") in rerun["reason"]
            assert SHOWN[language]["image"] in rerun["notes"]
    finally:
        server.stop()


def _check_reader(reader: Reader, job: str) -> None:
    """Check each way to read the job's texts."""
    shown, language = SHOWN[reader.language], reader.language
    _check(language, reader.get(f"/jobs/{job}"))
    _check(language, next(one for one in reader.get("/jobs")["jobs"] if one["id"] == job))
    reasons = [
        event["data"]["reason"] for event in reader.get(f"/events?job={job}")["events"] if event["data"].get("reason")
    ]
    assert [shown["reason"] in reason for reason in reasons] == [True]
    compared = reader.get(f"/jobs/{job}/diff/{job}")["results"]
    assert [shown["reason"] in one["a"] for one in compared if one["name"] == "reason"] == [True]
    for by_header in (True, False):
        _check(language, reader.streamed(job, by_header=by_header))
    for by_server in (True, False):
        for words in (("-m", "jupyter_pai", "show", job), ("-c", PYTHON, job), ("-c", STREAM, job)):
            output = reader.printed(*words, by_server=by_server)
            assert [text for text in shown.values() if text not in output] == [], (words, output)


def _check(language: str, job: dict[str, Any]) -> None:
    shown = dict(SHOWN[language])
    assert shown.pop("reason") in job["reason"]
    assert shown.pop("fix") in job["fix"]
    if notes := job.get("notes"):  # A list lacks them.
        assert [text for text in shown.values() if not any(text in note for note in notes)] == [], notes
