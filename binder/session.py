"""Runs cells in a notebook's kernel through a Jupyter server, as JupyterLab does: a session, then a WebSocket."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import websocket

__all__ = ["CellFailed", "NotebookSession", "Outputs"]


class CellFailed(Exception):
    """A cell raised an error; the message is its traceback."""


@dataclass
class Outputs:
    """What a cell gave: text that was printed, and outputs as a notebook stores them."""

    text: str = ""
    data: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""


class NotebookSession:
    """The kernel of one notebook. `url` is the server's, `path` the notebook's below the server's root."""

    def __init__(self, url: str, token: str, path: str, kernel: str = "python3") -> None:
        self.url = url.rstrip("/")
        self.headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
        body = {"path": path, "name": path.rpartition("/")[2], "type": "notebook", "kernel": {"name": kernel}}
        self.session = self.ask("POST", "/api/sessions", body)
        self.kernel_id = self.session["kernel"]["id"]
        self.socket = self._connect()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """A REST call to the server."""
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.url + path, data, self.headers, method=method), timeout=60) as reply:
            return json.loads(reply.read() or "null")

    def _connect(self, retries: int = 4) -> websocket.WebSocket:
        scheme = "wss" if urlsplit(self.url).scheme == "https" else "ws"
        url = f"{scheme}://{self.url.partition('://')[2]}/api/kernels/{self.kernel_id}/channels?session_id={uuid.uuid4().hex}"
        authorization = f"Authorization: {self.headers['Authorization']}"
        connection = websocket.create_connection(url, header=[authorization], timeout=300)
        try:
            _exchange(connection, _request("kernel_info", {}))
        except (ConnectionError, websocket.WebSocketConnectionClosedException):
            # A connection has been reset while a kernel started. JupyterLab connects again, too.
            connection.shutdown()
            if not retries:
                raise
            return self._connect(retries - 1)
        return connection

    def run(self, code: str, cell_id: str = "", *, check: bool = True) -> Outputs:
        """Run a cell to its end.

        Raises:
            CellFailed: if it raised an error and `check` is set.
        """
        outputs = _exchange(self.socket, _execute_request(code, cell_id))
        if outputs.error and check:
            raise CellFailed(outputs.error)
        return outputs

    def interrupt(self) -> None:
        """Interrupt the cell that runs."""
        self.ask("POST", f"/api/kernels/{self.kernel_id}/interrupt")

    def close(self) -> None:
        """End the kernel."""
        self.socket.close()
        self.ask("DELETE", f"/api/sessions/{self.session['id']}")


def _exchange(connection: websocket.WebSocket, request: dict[str, Any]) -> Outputs:
    """Send a request to the kernel, and return its outputs when it has replied and is idle."""
    header = request["header"]
    reply = header["msg_type"].replace("_request", "_reply")
    connection.send(json.dumps(request))
    outputs = Outputs()
    replied = idle = False
    while not (replied and idle):
        message = json.loads(connection.recv())
        if message["parent_header"].get("msg_id") != header["msg_id"]:
            continue
        replied |= message["msg_type"] == reply
        idle |= message["msg_type"] == "status" and message["content"]["execution_state"] == "idle"
        _collect(message, outputs)
    return outputs


def _execute_request(code: str, cell_id: str = "") -> dict[str, Any]:
    content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": True}
    return _request("execute", content) | {"metadata": {"cellId": cell_id}}


def _request(verb: str, content: dict[str, Any]) -> dict[str, Any]:
    header = {
        "msg_id": uuid.uuid4().hex,
        "msg_type": f"{verb}_request",
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "username": "",
        "session": "",
        "version": "5.3",
    }
    return {
        "header": header,
        "parent_header": {},
        "metadata": {},
        "content": content,
        "channel": "shell",
    }


def _collect(message: dict[str, Any], outputs: Outputs) -> None:
    content = message["content"]
    if message["msg_type"] == "stream":
        outputs.text += content["text"]
    elif message["msg_type"] in ("display_data", "execute_result"):
        outputs.data.append(content["data"])
    elif message["msg_type"] == "error":
        outputs.error = "\n".join(content["traceback"])
