"""Files of a browser, uploaded in chunks over HTTP to each storage."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, until
from ...fakes.alibaba import StandIn
from ..server.real_server import RealServer


class Uploading:
    """A browser's view of a folder in a storage, by a real server."""

    def __init__(self, server: RealServer, uri: str) -> None:
        self.server = server
        self.uri = uri

    def ask(self, method: str, path: str, body: object = None, content: bytes | None = None) -> Any:
        data = content if content is not None else None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.server.token}", "Content-Type": "application/octet-stream"}
        request = Request(f"{self.server.url}/pai/api/v1/{path}", data, headers, method=method)
        with urlopen(request, timeout=PATIENCE) as reply:
            return json.loads(reply.read())

    def refused(self, *arguments: Any, **more: Any) -> tuple[int, dict[str, Any]]:
        with pytest.raises(HTTPError) as caught:
            self.ask(*arguments, **more)
        with caught.value as error:
            return error.code, json.loads(error.read())

    def begin(self, path: str, size: int, **more: Any) -> Any:
        return self.ask("POST", "uploads", {"uri": self.uri, "path": path, "bytes": size, **more})

    def send(self, number: str, offset: int, data: bytes) -> Any:
        return self.ask("PUT", f"uploads/{number}?offset={offset}", content=data)

    def names(self) -> list[str]:
        result = self.ask("GET", f"data?recursive=true&uri={quote(self.uri)}")
        return [entry["path"] for entry in result["entries"]]

    def read(self, path: str, **reach: int) -> tuple[bytes, Any]:
        uri = self.ask("GET", f"data?recursive=true&uri={quote(self.uri)}")["entries"]
        (results,) = [entry["uri"] for entry in uri if entry["path"] == path]
        query = "".join(f"&{name}={value}" for name, value in reach.items())
        headers = {"Authorization": f"token {self.server.token}"}
        address = f"{self.server.url}/pai/api/v1/data/file?uri={quote(results, safe='')}{query}"
        with urlopen(Request(address, headers=headers), timeout=PATIENCE) as reply:
            return reply.read(), reply.headers


@pytest.fixture(params=["file", "oss", "cos", "hdfs"])
def uploading(request: pytest.FixtureRequest, home: Home, tmp_path: Path) -> Iterator[Uploading]:
    """An empty folder of each storage."""
    (tmp_path / "store").mkdir()
    uri = (tmp_path / "store").as_uri() + "/"
    if request.param == "oss":
        pai: StandIn = request.getfixturevalue("pai")
        uri = f"oss://{pai.bucket}/it's/"
        pai.objects.write("it's/", b"")
    elif request.param in ("cos", "hdfs"):
        uri = request.getfixturevalue(f"{request.param}_folder")
    root = tmp_path / "notebooks"
    root.mkdir()
    server = RealServer(root)
    yield Uploading(server, uri)
    server.stop()


@pytest.mark.slow("cases", first=1)
def test_upload_accepts_repeated_chunks_and_rejects_gaps(uploading: Uploading, home: Home) -> None:
    data = os.urandom(3_000_000)
    begun = uploading.begin("sub 1/模型 #?%20.bin", len(data), modified=1_600_000_000)
    assert (begun["verb"], begun["status"], begun["bytes"]) == ("upload", "waiting", len(data))
    number = begun["id"]
    assert uploading.send(number, 0, data[:1_000_000])["done"] == 1_000_000
    assert uploading.names() == []
    # A piece may come twice; one that would leave a hole is refused, and says how far it is.
    uploading.send(number, 500_000, data[500_000:1_500_000])
    code, reply = uploading.refused("PUT", f"uploads/{number}?offset=2000000", content=data[2_000_000:])
    assert (code, reply["details"]["received"]) == (409, 1_500_000)
    assert uploading.refused("PUT", f"uploads/{number}?offset=1500000", content=data)[0] == 400
    uploading.send(number, 1_500_000, data[1_500_000:])
    until(lambda: uploading.ask("GET", f"copies/{number}")["status"] == "done")
    assert uploading.names() == ["sub 1/模型 #?%20.bin"]
    assert uploading.read("sub 1/模型 #?%20.bin")[0] == data
    code, reply = uploading.refused("PUT", f"uploads/{number}?offset=0", content=data[:1])
    assert (code, reply.get("details", {})) == (409, {})  # Unlike a hole: who lost the answer asks how the copy stands.
    until(lambda: [*(home.path / "uploads").iterdir()] == [])

    # Existing files are replaced only on request; a rejected upload leaves nothing.
    code, reply = uploading.refused(
        "POST", "uploads", {"uri": uploading.uri, "path": "sub 1/模型 #?%20.bin", "bytes": 1}
    )
    assert (code, reply["details"]["files"]) == (409, ["模型 #?%20.bin"])
    code, reply = uploading.refused("POST", "uploads", {"uri": uploading.uri, "path": "sub 1", "bytes": 1})
    assert (code, "files" in reply["details"]) == (409, False)
    again = uploading.begin("sub 1/模型 #?%20.bin", 2, overwrite=True)
    assert uploading.send(again["id"], 0, b"12")["status"] == "done"  # Small files are complete with the last chunk.
    assert uploading.read("sub 1/模型 #?%20.bin")[0] == b"12"
    assert uploading.begin("empty", 0)["status"] == "done"

    # One that is ended leaves nothing.
    ended = uploading.begin("ended", 100)["id"]
    uploading.send(ended, 0, b"x" * 50)
    assert uploading.ask("DELETE", f"copies/{ended}")["status"] == "cancelled"
    assert uploading.refused("PUT", f"uploads/{ended}?offset=50", content=b"x")[0] == 409
    assert uploading.names() == ["empty", "sub 1/模型 #?%20.bin"]
    assert [*(home.path / "uploads").iterdir()] == []

    # Nor does a name lead elsewhere.
    for path in ("../x", "/x", "a//b", "a/./b", "x\0"):
        assert uploading.refused("POST", "uploads", {"uri": uploading.uri, "path": path, "bytes": 1})[0] in (400, 409)
    assert uploading.refused("POST", "uploads", {"uri": uploading.uri, "path": "x", "bytes": 1 << 61})[0] == 500
    assert uploading.refused("PUT", "uploads/nonsense", content=b"1")[0] == 404
    assert uploading.names() == ["empty", "sub 1/模型 #?%20.bin"]


@pytest.mark.slow("cases", first=1)
def test_files_are_served_as_attachments_without_scripts(uploading: Uploading) -> None:
    uploading.send(uploading.begin("a.html", 24)["id"], 0, b"<script>evil()</script>\n")
    data, headers = uploading.read("a.html")
    assert data == b"<script>evil()</script>\n"
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == "attachment; filename*=UTF-8''a.html"
    assert headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    part, headers = uploading.read("a.html", offset=1, limit=6)
    assert (part, headers["X-Size"], headers["X-Offset"]) == (b"script", "24", "1")
    code, reply = uploading.refused("GET", f"data/file?uri={quote(uploading.uri + 'no')}")
    assert (code, bool(reply["message"])) == (404, True)


@pytest.mark.slow("cases", first=1)
def test_folder_is_created_and_file_renamed(uploading: Uploading) -> None:
    made = uploading.ask("POST", "data/folder", {"uri": uploading.uri, "path": "新 #1/b"})["uri"]
    assert uploading.ask("GET", f"data?uri={quote(made)}")["entries"] == []
    uploading.send(uploading.begin("a.txt", 1)["id"], 0, b"1")
    entry = next(
        one for one in uploading.ask("GET", f"data?uri={quote(uploading.uri)}")["entries"] if not one["is_folder"]
    )
    copy = uploading.ask("POST", "data/move", {"uri": entry["uri"], "name": "b %41.txt"})
    until(lambda: uploading.ask("GET", f"copies/{copy['id']}")["status"] == "done")
    assert uploading.names() == ["b %41.txt"]
    for body in ({"name": "a/b"}, {"name": ".."}, {}, {"name": "x", "to": uploading.uri + "y"}):
        assert uploading.refused("POST", "data/move", {"uri": entry["uri"], **body})[0] == 400
    for path, field in {"data/folder": "path", "data/move": "name", "uploads": "path"}.items():
        place = {"uri": uploading.uri, field: "gpj\u202e.exe"} | ({"bytes": 1} if path == "uploads" else {})
        code, reply = uploading.refused("POST", path, place)
        assert (code, "the control character U+202E" in reply["message"]) == (400, True)
