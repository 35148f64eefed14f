"""Outputs of jobs: listed, read and copied over HTTP, with any names and contents."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from ...support.waiting import PATIENCE
from .conftest import PREFIX
from .test_rest import ask, run

NAMES = [
    "a b.txt",
    "100%41#?&=+.txt",
    "模型 é.txt",
    "new\nline.txt",
    "'\"<b>.txt",
    "sub/…/deep.txt",
    "-x",
    "\\..\\a",
    "~",
]


@pytest.fixture
def job(jp_fetch: Any, spec: dict[str, Any], jp_asyncio_loop: Any) -> tuple[str, Path]:
    """A job that has ended, and the folder of its channel `model`."""
    done = jp_asyncio_loop.run_until_complete(run(jp_fetch, spec))
    return done["id"], Path(done["outputs"]["model"].removeprefix("file://"))


async def outputs(jp_fetch: Any, job_id: str, **wanted: Any) -> dict[str, Any]:
    """The channel `model`."""
    result = await ask(jp_fetch, "GET", "jobs", job_id, "outputs", channel="model", **wanted)
    return dict(result["channels"][0])


async def fetch(jp_fetch: Any, job_id: str, path: str, **wanted: Any) -> Any:
    return await jp_fetch(*PREFIX, "jobs", job_id, "outputs", "model", params={"path": path, **wanted})


async def refusal(answer: Any) -> tuple[int, dict[str, Any]]:
    with pytest.raises(HTTPClientError) as caught:
        await answer
    assert caught.value.response
    return caught.value.code, json.loads(caught.value.response.body)


async def copied(jp_fetch: Any, job_id: str, **body: Any) -> dict[str, Any]:
    """Copy, and wait for the end."""
    copy = await ask(jp_fetch, "POST", "jobs", job_id, "download", body=body)
    async with asyncio.timeout(PATIENCE):
        while copy["status"] in ("waiting", "running"):
            await asyncio.sleep(0.01)
            copy = await ask(jp_fetch, "GET", "copies", copy["id"])
    return dict(copy)


async def test_channels_report_their_state(jp_fetch: Any, job: tuple[str, Path]) -> None:
    job_id, folder = job
    (folder / "w").write_bytes(b"x" * 10)
    result = (await ask(jp_fetch, "GET", "jobs", job_id, "outputs"))["channels"]
    states = {one["name"]: (one["state"], one["count"], one["bytes"]) for one in result}
    assert states["model"] == ("files", 1, 10)
    assert states["checkpoints"] == ("empty", 0, 0)
    (folder / "w").unlink()
    folder.rmdir()
    assert (await outputs(jp_fetch, job_id))["state"] == "gone"
    assert (await refusal(outputs(jp_fetch, "nowhere")))[0] == 404
    code, output = await refusal(ask(jp_fetch, "GET", "jobs", job_id, "outputs", channel="weights"))
    assert (code, "model" in output["fix"]) == (404, True)


async def test_outputs_of_a_running_job_are_listed(jp_fetch: Any, spec: dict[str, Any], tmp_path: Path) -> None:
    command = f"echo 1 > $PAI_OUTPUT_MODEL/m; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"
    job = (await ask(jp_fetch, "POST", "jobs", body={"spec": spec | {"command": command}}))["job"]
    async with asyncio.timeout(PATIENCE):
        while not (await outputs(jp_fetch, job["id"]))["files"]:
            await asyncio.sleep(0.02)
    assert (await ask(jp_fetch, "GET", "jobs", job["id"]))["ended_at"] is None
    (tmp_path / "go").touch()


async def test_thousands_of_files_are_paged_sorted_and_searched(jp_fetch: Any, job: tuple[str, Path]) -> None:
    job_id, folder = job
    for n in range(1200):
        (folder / f"f{n:04}").write_bytes(b"x" * (n % 7))
        os.utime(folder / f"f{n:04}", (n, n))
    page = await outputs(jp_fetch, job_id, limit=500, offset=1000)
    assert [file["path"] for file in page["files"]] == [f"f{n}" for n in range(1000, 1200)]
    assert page["count"] == page["matching"] == 1200
    newest = await outputs(jp_fetch, job_id, sort="modified", order="desc", limit=2)
    assert [(file["path"], file["modified"]) for file in newest["files"]] == [("f1199", 1199), ("f1198", 1198)]
    assert (await outputs(jp_fetch, job_id, sort="bytes", order="desc", limit=1))["files"][0]["bytes"] == 6
    result = await outputs(jp_fetch, job_id, match="F119")
    assert (result["matching"], result["count"]) == (10, 1200)
    for wrong in ({"sort": "x"}, {"order": "x"}, {"limit": 0}, {"limit": 501}, {"offset": -1}):
        assert (await refusal(outputs(jp_fetch, job_id, **wrong)))[0] == 400


@pytest.mark.slow("cases", first=3)
@pytest.mark.parametrize("name", NAMES)
async def test_any_file_name_is_read_and_copied(
    jp_fetch: Any, job: tuple[str, Path], name: str, tmp_path: Path
) -> None:
    job_id, folder = job
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(name)
    assert [file["path"] for file in (await outputs(jp_fetch, job_id))["files"]] == [name]
    reply = await fetch(jp_fetch, job_id, name)
    assert reply.body == name.encode()
    assert "\n" not in reply.headers["Content-Disposition"]
    assert (await copied(jp_fetch, job_id, folder=str(tmp_path / "x"), files=[name]))["status"] == "done"
    assert (tmp_path / "x" / name).read_text() == name


async def test_undecodable_file_name_is_copied(jp_fetch: Any, job: tuple[str, Path], tmp_path: Path) -> None:
    job_id, folder = job
    (folder / os.fsdecode(b"\xff.bin")).write_text("1")
    name = (await outputs(jp_fetch, job_id))["files"][0]["path"]
    assert (await copied(jp_fetch, job_id, folder=str(tmp_path / "x"), files=[name]))["status"] == "done"
    assert os.listdir(os.fsencode(tmp_path / "x")) == [b"\xff.bin"]


async def test_links_devices_and_pipes_are_not_followed(jp_fetch: Any, job: tuple[str, Path], tmp_path: Path) -> None:
    job_id, folder = job
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "model-2").mkdir()
    (folder / "good").write_text("good")
    (folder / "sub").mkdir()
    (folder / "sub/best").symlink_to("../good")
    links: dict[str, str | Path] = {
        "out": tmp_path / "secret",
        "up": "../../spec.json",
        "self": "self",
        "device": "/dev/zero",
        "all": "sub",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    (folder / "tree").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(folder)
    listening.bind("socket")
    os.chdir(here)
    result = {file["path"]: file["problem"] for file in (await outputs(jp_fetch, job_id))["files"]}
    assert {path for path, problem in result.items() if not problem} == {"good", "sub/best"}
    assert result.keys() == {*links, "tree", "pipe", "socket", "good", "sub/best"}
    assert (await fetch(jp_fetch, job_id, "sub/best")).body == b"good"
    bad = [*links, "tree", "pipe", "socket", "tree/secret", "sub/../good", "../model/good", "/etc/passwd", ""]
    for path in bad:
        body = {"folder": str(tmp_path / "x"), "files": [path]}
        for request in (
            fetch(jp_fetch, job_id, path),
            ask(jp_fetch, "GET", "jobs", job_id, "outputs", "model", "text", path=path),
            ask(jp_fetch, "POST", "jobs", job_id, "download", body=body),
        ):
            assert (await refusal(request))[0] == 404, path
    copy = await copied(jp_fetch, job_id, folder=str(tmp_path / "x"))
    # A link to a folder of the channel is copied as a link.
    assert (copy["status"], copy["files"], copy["left_out"]) == ("done", 3, len(result) - 3)
    assert {text.partition(" (")[0] for text in copy["skipped"]} == result.keys() - {"good", "sub/best", "all"}
    assert [os.readlink(path) for path in (tmp_path / "x").rglob("*") if path.is_symlink()] == ["sub"]
    listening.close()


@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize("name", ["a.html", "a.svg", "a.png", "a.js", "a.HTM", "a"])
async def test_files_are_served_without_execution(jp_fetch: Any, job: tuple[str, Path], name: str) -> None:
    job_id, folder = job
    (folder / name).write_text("<script>alert(1)</script>")
    reply = await fetch(jp_fetch, job_id, name)
    types = {"svg": "image/svg+xml", "png": "image/png"}
    assert reply.headers["Content-Type"] == types.get(name.rpartition(".")[2], "application/octet-stream")
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{name}"
    policy = reply.headers.get_list("Content-Security-Policy")
    assert len(policy) == 1
    assert policy[0].startswith("sandbox; default-src 'none';")


async def test_huge_file_is_previewed_and_read_in_parts(jp_fetch: Any, job: tuple[str, Path]) -> None:
    job_id, folder = job
    with (folder / "huge.txt").open("wb") as file:
        file.write("中".encode() * 100_000)
        file.truncate(1 << 40)
    peek = await ask(jp_fetch, "GET", "jobs", job_id, "outputs", "model", "text", path="huge.txt")
    assert (peek["text"], peek["whole"], peek["binary"], peek["bytes"]) == (
        "中" * ((1 << 18) // 3),
        False,
        False,
        1 << 40,
    )
    part = await fetch(jp_fetch, job_id, "huge.txt", offset=3, limit=6)
    assert (part.body.decode(), part.headers["X-Size"], part.headers["X-Offset"]) == ("中中", str(1 << 40), "3")
    assert (await fetch(jp_fetch, job_id, "huge.txt", offset=1 << 41)).body == b""
    last = await fetch(jp_fetch, job_id, "huge.txt", offset=(1 << 40) - 2)
    assert last.body == b"\0\0"
    assert (await refusal(fetch(jp_fetch, job_id, "huge.txt", offset=-1)))[0] == 400


@pytest.mark.slow("cases", first=3)
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"caf\xc3\xa9\r\n", "café\r\n"),
        (b"\xef\xbb\xbfa", "a"),
        ("a中".encode("utf-16"), "a中"),
        (b"a long line with one \xff", "a long line with one \ufffd"),
        (b"\x89PNG\r\n\0\0", None),
        (bytes(range(128, 256)), None),
    ],
)
async def test_text_and_binary_files_are_distinguished(
    jp_fetch: Any, job: tuple[str, Path], data: bytes, text: str | None
) -> None:
    job_id, folder = job
    (folder / "f").write_bytes(data)
    peek = await ask(jp_fetch, "GET", "jobs", job_id, "outputs", "model", "text", path="f")
    assert (peek["text"], peek["binary"], peek["whole"]) == (text or "", text is None, True)


async def test_outputs_are_copied_into_the_workspace(jp_fetch: Any, job: tuple[str, Path], jp_root_dir: Path) -> None:
    job_id, folder = job
    (folder / "sub").mkdir()
    (folder / "sub/w").write_bytes(b"x" * 5_000_000)
    (folder / "v").write_text("1")
    copy = await copied(jp_fetch, job_id, folder="my models/a")
    assert (copy["status"], copy["place"], copy["done"]) == ("done", "my models/a", copy["bytes"])
    assert (jp_root_dir / "my models/a/sub/w").stat().st_size == 5_000_000
    code, reply = await refusal(copied(jp_fetch, job_id, folder="my models/a"))
    assert (code, sorted(reply["details"]["files"])) == (409, ["sub/w", "v"])
    assert (await copied(jp_fetch, job_id, folder="my models/a", overwrite=True))["status"] == "done"
    assert (await ask(jp_fetch, "GET", "jobs", job_id, "copies"))["copies"][0]["id"] == copy["id"]
    (jp_root_dir / "out").symlink_to(jp_root_dir.parent)
    for wrong in ("..", "a/../../b", "out", "out/x", "\0"):
        assert (await refusal(copied(jp_fetch, job_id, folder=wrong)))[0] == 400, wrong
    assert (await refusal(ask(jp_fetch, "GET", "copies", "x")))[0] == 404


async def test_channel_in_the_workspace_reports_its_path(
    jp_fetch: Any, spec: dict[str, Any], jp_root_dir: Path
) -> None:
    done = await run(jp_fetch, spec | {"outputs": {"model": f"file://{jp_root_dir}/here/"}})
    assert (await outputs(jp_fetch, done["id"]))["place"] == "here"


async def test_cancelled_copy_leaves_no_files(jp_fetch: Any, job: tuple[str, Path], jp_root_dir: Path) -> None:
    job_id, folder = job
    with (folder / "w").open("wb") as file:
        file.truncate(1 << 42)  # No disk has room for it.
    copy = await ask(jp_fetch, "POST", "jobs", job_id, "download", body={"folder": "x"})
    async with asyncio.timeout(PATIENCE):
        while not copy["done"]:
            copy = await ask(jp_fetch, "GET", "copies", copy["id"])
        assert (jp_root_dir / "x").exists()
        await ask(jp_fetch, "DELETE", "copies", copy["id"])
        while copy["status"] == "running":
            copy = await ask(jp_fetch, "GET", "copies", copy["id"])
    assert copy["status"] == "cancelled"
    assert not (jp_root_dir / "x").exists()
    assert (await ask(jp_fetch, "DELETE", "copies", copy["id"]))["status"] == "cancelled"


async def test_full_disk_fails_a_copy(jp_fetch: Any, job: tuple[str, Path], small_disk: Path) -> None:
    job_id, folder = job
    (folder / "w").write_bytes(b"x" * 3_000_000)
    copy = await copied(jp_fetch, job_id, folder=str(small_disk / "x"))
    assert (copy["status"], copy["error"]["code"]) == ("failed", "EngineError")
    assert "No space" in copy["error"]["message"]
    assert [*small_disk.iterdir()] == []
