"""The stand-in as tests use it: addresses, and control from outside."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...support.waiting import PATIENCE
from .settings import Settings

__all__ = ["WebHdfsServer", "web_hdfs"]

_ROOT = Path(__file__).parents[3]


@contextmanager
def web_hdfs(folder: Path, **settings: Any) -> Iterator[WebHdfsServer]:
    """Run a stand-in in its own process, with its files in a folder. Settings: `settings.Settings`."""
    chosen = Settings(**settings)
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", f"{__package__}", str(folder), json.dumps(asdict(chosen))]
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"the stand-in did not start: {(folder / 'server.log').read_text()}"
        yield WebHdfsServer(folder, chosen.host, json.loads(line))
    finally:
        process.communicate(timeout=PATIENCE)


class WebHdfsServer:
    """A running stand-in. All methods may be called from any thread."""

    def __init__(self, folder: Path, host: str, ports: dict[str, int]) -> None:
        self._folder, self.host, self._ports = folder, host, ports
        self.faults = FaultSwitch(self)

    @property
    def name_node(self) -> str:
        """Base URL of the NameNode, as the official clients take it."""
        return f"http://{self.host}:{self._ports['name_node']}"

    @property
    def gateway(self) -> str:
        """WebHDFS address of the gateway."""
        return f"http://{self.host}:{self._ports['gateway']}/webhdfs/api/v1"

    @property
    def uri(self) -> str:
        """URI of the root, at the NameNode."""
        return f"hdfs://{self.host}:{self._ports['name_node']}/"

    @property
    def gateway_uri(self) -> str:
        """URI of the root, at the gateway."""
        return f"hdfs://{self.host}:{self._ports['gateway']}/"

    def path(self, path: str) -> Path:
        """Return the file of this machine that holds a file of HDFS."""
        return self._folder / "files" / path.strip("/")

    @property
    def requests(self) -> list[dict[str, Any]]:
        """All requests so far: time, service, operation, path, query, user, status, received, sent."""
        result: list[dict[str, Any]] = self.call("requests")
        return result

    def reset(self) -> None:
        """Remove faults and recorded requests, and restore the settings of the start. Files remain."""
        self.call("reset")

    def count(self, service: str, operation: str) -> int:
        """Return the number of requests of an operation to a service."""
        return sum((r["service"], r["operation"]) == (service, operation) for r in self.requests)

    def set(self, **values: Any) -> None:
        """Change settings."""
        self.call("set", **values)

    def own(self, path: str, user: str, mode: int) -> None:
        """Set the owner and the permissions of a path."""
        self.call("own", path=path, user=user, mode=mode)

    def call(self, name: str, **arguments: Any) -> Any:
        """Execute a call by name."""
        connection = http.client.HTTPConnection(self.host, self._ports["control"], timeout=PATIENCE)
        try:
            connection.request("POST", "/", json.dumps({"call": name, "arguments": arguments}))
            response = connection.getresponse()
            assert response.status == 200, response.read()
            return json.loads(response.read())["result"]
        finally:
            connection.close()


class FaultSwitch:
    """Adds and removes faults."""

    def __init__(self, server: WebHdfsServer) -> None:
        self._server = server

    def add(self, kind: str, match: str = "*", **fields: Any) -> None:
        """Add a fault for `service:OPERATION` that match a pattern: `..alibaba.faults.Fault`."""
        self._server.call("add_fault", kind=kind, match=match, **fields)

    def clear(self) -> None:
        """Remove all faults."""
        self._server.call("clear_faults")

    @property
    def struck(self) -> int:
        """The number of requests that failed."""
        return int(self._server.call("struck"))
