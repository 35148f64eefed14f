"""The job view fed by a kernel: messages of the comm, with a real kernel and real jobs."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from jupyter_pai.api.routes import ROUTES
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.http import HttpClient
from jupyter_pai.client.widgets.comm import CommServer, is_for_views
from jupyter_pai.core.discovery import ServerInfo
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, submit, until
from ..server.real_server import RealServer

WIDGET = "application/vnd.jupyter.widget-view+json"
TRAIN = """\
%%pai_train --name digits
import os, time
print('begun')
while not os.path.exists('{folder}/go'): time.sleep(0.02)
print('done')
"""


class Kernel:
    """A kernel without a server, and its page."""

    def __init__(self, folder: Path) -> None:
        # Variables that Jupyter servers set for kernels; this server has no extension of ours.
        environment = {**os.environ, "JPY_SESSION_NAME": str(folder / "a.ipynb")}
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(env=environment, cwd=str(folder))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)
        self.heard: list[dict[str, Any]] = []

    def stop(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()

    def execute(self, code: str) -> str:
        """Start a cell, and return the id of its messages."""
        return str(self.client.execute(code))

    def run(self, code: str) -> list[dict[str, Any]]:
        """Run a cell and return its messages."""
        cell = self.execute(code)
        self.listen(lambda m: m["msg_type"] == "status" and _state(m) == "idle" and _parent(m) == cell)
        mine = [message for message in self.heard if _parent(message) == cell]
        assert not [message for message in mine if message["msg_type"] == "error"], mine
        return mine

    def listen(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the next message of a kind."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            message: dict[str, Any] = self.client.get_iopub_msg(timeout=PATIENCE)
            self.heard.append(message)
            if wanted(message):
                return message
        raise AssertionError(self.heard[-5:])

    def tell(self, comm: str, **content: Any) -> None:
        """Send a message of a view."""
        data = {"comm_id": comm, "data": {"method": "custom", "content": content}}
        self.client.shell_channel.send(self.client.session.msg("comm_msg", data))

    def sent(self, comm: str, **wanted: Any) -> dict[str, Any]:
        """Return the next message for a view with these values."""

        def fits(message: dict[str, Any]) -> bool:
            output = _custom(message, comm)
            return output is not None and wanted.items() <= output.items()

        return dict(self.listen(fits)["content"]["data"]["content"])


def _state(message: dict[str, Any]) -> object:
    return message["content"].get("execution_state")


def _parent(message: dict[str, Any]) -> object:
    return message["parent_header"].get("msg_id")


def _custom(message: dict[str, Any], comm: str) -> dict[str, Any] | None:
    data = message["content"].get("data", {})
    if message["msg_type"] != "comm_msg" or message["content"]["comm_id"] != comm or data.get("method") != "custom":
        return None
    return dict(data["content"])


@pytest.fixture
def kernel(home: Home, folder: Path) -> Iterator[Kernel]:
    started = Kernel(folder)
    yield started
    started.stop()


def shown(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the MIME bundle of the last output."""
    return dict(next(m for m in reversed(messages) if m["msg_type"] == "display_data")["content"]["data"])


def test_job_is_watched_through_its_kernel(kernel: Kernel, folder: Path) -> None:
    kernel.run("%load_ext jupyter_pai")
    messages = kernel.run(TRAIN.format(folder=folder))
    bundle = shown(messages)
    comm = bundle[WIDGET]["model_id"]
    assert "digits" in bundle["text/html"]
    state = next(
        m["content"]["data"]["state"]
        for m in messages
        if m["msg_type"] == "comm_open" and m["content"]["comm_id"] == comm
    )
    assert len(state["_esm"]) < 5_000
    job = state["job_id"]
    assert f"job: {job}" in state["snapshot"]

    kernel.tell(comm, type="load", page="x")
    loaded = kernel.listen(lambda m: (_custom(m, comm) or {}).get("type") == "bundle")
    script, style = (bytes(buffer) for buffer in loaded["buffers"])
    assert b"export{" in script
    assert b".jp-pai-Job" in style

    kernel.tell(comm, type="open", page="p", stream=1)
    kernel.sent(comm, type="open-ack", page="p", stream=1)
    for number, topic in enumerate(({"topic": "job"}, {"topic": "log"})):
        text = json.dumps({"type": "subscribe", "id": number, "job": job, **topic})
        kernel.tell(comm, type="send", page="p", stream=1, text=text)

    def data() -> list[dict[str, Any]]:
        return [content for m in kernel.heard if (content := _custom(m, comm)) and content["type"] == "data"]

    def log_has(text: str) -> bool:
        kernel.sent(comm, type="data", page="p")
        log = [json.loads(one["text"]) for one in data()]
        return text in "".join(one["text"] for one in log if one["type"] == "log")

    until(lambda: log_has("begun"))
    # While a cell runs, messages of the page are not processed, but the page gets updates.
    kernel.execute(f"import os, time\nwhile not os.path.exists({str(folder / 'cell')!r}): time.sleep(0.01)")
    kernel.tell(comm, type="call", page="p", id=1, verb="show", parameters={"job": job})
    (folder / "go").touch()
    until(lambda: log_has("done"))
    assert not [m for m in kernel.heard if (_custom(m, comm) or {}).get("type") == "result"]
    (folder / "cell").touch()
    assert kernel.sent(comm, type="result", id=1)["value"]["name"] == "digits"
    until(lambda: [one for one in data() if json.loads(one["text"])["type"] == "end"] or log_has("\0"))
    assert [one["n"] for one in data()] == list(range(1, len(data()) + 1))

    # In the notebook's file the job is as it ended.
    def ended(message: dict[str, Any]) -> bool:
        return message["msg_type"] == "update_display_data" and "succeeded" in message["content"]["data"]["text/html"]

    kernel.listen(ended)


@pytest.mark.slow("kernel")
def test_jupyterlab_with_the_extension_gets_no_widget(server: RealServer) -> None:
    notebook = server.notebook()
    notebook.run("%pai submit --command 'echo hi' --as job --wait")
    assert [sorted(data) for data in notebook.run("job").data] == [
        ["application/vnd.jupyter-pai.job+json", "text/html", "text/plain"]
    ]
    loaded = notebook.run("import sys; print('anywidget' in sys.modules)").text
    assert loaded == "False\n"
    assert WIDGET in notebook.run("job.widget()").data[0]


class Page:
    """A page of the widget: its messages, and the texts of its streams in order."""

    def __init__(self, client: EmbeddedClient | HttpClient) -> None:
        self.messages: list[dict[str, Any]] = []
        self.bridge = CommServer(client, self.messages.append)

    def tell(self, kind: str, **values: Any) -> None:
        self.bridge.receive({"type": kind, "page": "p", **values})

    def subscribe(self, stream: int, **topic: Any) -> None:
        text = json.dumps({"type": "subscribe", "id": 1, **topic})
        self.tell("send", stream=stream, text=text)

    def texts(self, kind: str) -> list[dict[str, Any]]:
        reply = [json.loads(one["text"]) for one in self.messages if one["type"] == "data"]
        return [one for one in reply if one["type"] == kind]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in self.messages if one["type"] == kind]

    def call(self, verb: object, **parameters: Any) -> dict[str, Any]:
        number = len(self.messages) + 1000
        self.tell("call", id=number, verb=verb, parameters=parameters)
        return until(lambda: next((one for one in self.messages if one.get("id") == number), None)) or {}


def test_page_may_call_only_verbs_of_views(engine: EmbeddedClient) -> None:
    job = submit(engine, "echo hi").wait()
    page = Page(engine)
    assert page.call("show", job=job.id)["value"]["id"] == job.id
    assert page.call("metrics", job=job.id, points=10, system=True)["value"] == {"metrics": {}}
    assert page.call("pin", job=job.id)["value"]["pinned"]
    missing = page.call("show", job="nonsense")
    assert (missing["type"], missing["code"], missing["status"]) == ("error", "NotFound", 404)
    for verb in (
        "secrets",
        "set_secret",
        "profiles",
        "set_profile",
        "set_credentials",
        "submit",
        "prune",
        "log",
        "nonsense",
        None,
    ):
        assert page.call(verb)["status"] == 400, verb
    for wrong in ({"job": 3}, {"job": job.id, "nonsense": 1}, {"job": job.id, "points": True}):
        assert page.call("metrics", **wrong)["status"] == 400, wrong
    assert {verb for verb in ROUTES if not is_for_views(verb)} >= {"secrets", "profiles", "doctor", "prune", "submit"}


def test_closed_view_receives_nothing(engine: EmbeddedClient, tmp_path: Path) -> None:
    job = submit(engine, f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo after")
    page, other = Page(engine), Page(engine)
    for one in (page, other):
        one.tell("open", stream=1)
        one.subscribe(1, topic="log", job=job.id)
    page.tell("close", stream=1)
    assert page.bridge.pages == 0
    before = len(page.messages)
    (tmp_path / "go").touch()
    until(lambda: other.texts("end"))
    assert len(page.messages) == before
    # One that closed without a word is not heard any more.
    other.tell("here")
    ticks = 0
    while other.bridge.tick():
        ticks += 1
    assert ticks > 2
    assert other.bridge.pages == 0


def test_message_in_another_thread_is_processed_as_soon_as_a_stream_is_open(engine: EmbeddedClient) -> None:
    """A kernel with subshells processes the messages of a page in more than one thread."""
    job = submit(engine, "echo one").wait()
    page = Page(engine)
    subscribed: list[int] = []

    def receive(message: dict[str, Any]) -> None:
        page.messages.append(message)
        if message["type"] == "open-ack":
            thread = threading.Thread(target=page.subscribe, args=(1,), kwargs={"topic": "log", "job": job.id})
            thread.start()
            thread.join()
            subscribed.append(1)

    page.bridge = CommServer(engine, receive)
    page.tell("open", stream=1)
    assert subscribed
    assert until(lambda: page.texts("log"))[0]["text"] == "one\n"


def test_reconnected_page_resumes_at_its_offset(engine: EmbeddedClient, tmp_path: Path) -> None:
    job = submit(engine, f"echo one; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo two")
    page = Page(engine)
    page.tell("open", stream=1)
    page.subscribe(1, topic="log", job=job.id)
    place = until(lambda: page.texts("log"))[-1]["end"]
    page.tell("open", stream=2)
    page.subscribe(1, topic="log", job=job.id)  # The stream has ended, so there is no reply.
    page.subscribe(2, topic="log", job=job.id, offset=place)
    (tmp_path / "go").touch()
    until(lambda: page.texts("end"))
    assert "".join(one["text"] for one in page.texts("log")) == "one\ntwo\n"


@pytest.mark.slow("kernel")
def test_widget_resumes_after_a_server_restart(server: RealServer, tmp_path: Path, folder: Path) -> None:
    def client() -> HttpClient:
        return HttpClient(ServerInfo(**json.loads(server.info_file.read_text())))

    (folder / "code.txt").touch()
    job = submit(client(), f"echo one; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo two", folder)
    page = Page(client())
    page.tell("open", stream=1)
    page.subscribe(1, topic="log", job=job.id)
    place = until(lambda: page.texts("log"))[-1]["end"]
    server.kill()
    until(lambda: page.of("closed"))
    server.start_again()
    again = Page(client())
    again.tell("open", stream=2)
    again.subscribe(2, topic="log", job=job.id, offset=place)
    (tmp_path / "go").touch()
    until(lambda: again.texts("end"))
    assert "".join(one["text"] for one in again.texts("log")) == "two\n"
    assert again.call("show", job=job.id)["value"]["status"] == "succeeded"
    again.tell("close", stream=2)
    until(lambda: not [thread for thread in threading.enumerate() if thread.name == "jupyter-pai stream"])
