"""``ls put get rm mkdir`` in terminals and in scripts."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_pai.client.base import finish_copy
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.commands.completion import complete
from jupyter_pai.core.errors import Conflict, NotFound, PaiError
from jupyter_pai.jobs.state_dir import Home

from ...fakes.alibaba import StandIn
from ..pai.conftest import write_profile

EMPTY = '{"entries": []}'
Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(params=["file", "oss", "cos", "hdfs"])
def top(request: pytest.FixtureRequest, home: Home, tmp_path: Path) -> str:
    """The URI of an empty folder in each storage."""
    if request.param == "oss":
        pai: StandIn = request.getfixturevalue("pai")
        return f"oss://{pai.bucket}/it's/"
    if request.param in ("cos", "hdfs"):
        return str(request.getfixturevalue(f"{request.param}_folder"))
    (tmp_path / "store").mkdir()
    return f"{tmp_path}/store/"


@pytest.mark.slow("cases", first=1)
def test_folders_survive_upload_and_download(cli: Cli, folder: Path, top: str) -> None:
    (folder / "data/sub").mkdir(parents=True)
    (folder / "data/a.csv").write_text("1,2")
    (folder / "data/sub/模型.bin").write_bytes(os.urandom(2000))
    done = cli("put", "data", top + "d")
    assert (done.returncode, "2 files" in done.stdout) == (0, True), done.stderr
    listed = cli("ls", top + "d")
    assert "a.csv" in listed.stdout
    assert "3 B" in listed.stdout
    assert "sub/" in listed.stdout
    result = json.loads(cli("ls", top + "d/", "--recursive", "--json").stdout)
    assert [(entry["path"], entry["bytes"]) for entry in result["entries"]] == [("a.csv", 3), ("sub/模型.bin", 2000)]
    assert not result["more"]
    assert cli("get", top + "d/", "back").returncode == 0
    assert (folder / "back/sub/模型.bin").read_bytes() == (folder / "data/sub/模型.bin").read_bytes()
    assert cli("get", top + "d/a.csv").returncode == 0
    assert (folder / "a.csv").read_text() == "1,2"


@pytest.mark.slow("cases", first=1)
def test_put_copies_a_file_into_a_folder_or_under_a_name(cli: Cli, folder: Path, top: str) -> None:
    (folder / "a.csv").write_text("1")
    assert cli("put", "a.csv", top + "new/").returncode == 0
    assert cli("put", "a.csv", top + "new").returncode == 2  # It is a folder by now, and has such a file.
    assert cli("put", "a.csv", top + "new/b.csv").returncode == 0
    result = json.loads(cli("ls", top + "new", "--json").stdout)
    assert [entry["path"] for entry in result["entries"]] == ["a.csv", "b.csv"]
    one = json.loads(cli("ls", top + "new/b.csv", "--json").stdout)["entries"]
    assert [(entry["path"], entry["bytes"], entry["is_folder"]) for entry in one] == [("b.csv", 1, False)]


@pytest.mark.slow("cases")
def test_overwriting_and_removing_need_an_option(cli: Cli, folder: Path, top: str) -> None:
    (folder / "a").write_text("1")
    assert cli("put", "a", top).returncode == 0
    (folder / "a").write_text("2")
    for words in (["put", "a", top], ["get", top + "a"]):
        refused = cli(*words)
        assert (refused.returncode, "--overwrite" in refused.stderr) == (2, True)
        assert cli(*words, "--overwrite").returncode == 0
    refused = cli("rm", top + "a")
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    assert "1 file" in cli("rm", top + "a", "--yes").stdout
    assert json.loads(cli("ls", top, "--json").stdout or EMPTY)["entries"] == []


@pytest.mark.slow("cases")
def test_overwriting_is_confirmed_on_a_terminal(home: Home, folder: Path, top: str) -> None:
    (folder / "a").write_text("1")

    def run(answer: str, *words: str) -> tuple[int, str]:
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyter_pai", *words],
            cwd=folder,
            stdin=follower,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        os.write(leader, f"{answer}\n".encode())
        output, _none = process.communicate()
        os.close(leader)
        os.close(follower)
        return process.returncode, output

    assert run("", "put", "a", top + "sub/")[0] == 0
    (folder / "a").write_text("22")
    assert run("n", "put", "a", top + "sub/")[0] == 2
    assert run("y", "put", "a", top + "sub/")[0] == 0
    code, output = run("n", "rm", top + "sub/")
    assert (code, "1 file" in output, "2 B" in output) == (0, True, True)
    assert run("y", "rm", top + "sub/") == (0, output.rpartition("]")[0] + "] Removed 1 file.\n")


@pytest.mark.slow("cases", first=1)
def test_mkdir_creates_nested_folders(cli: Cli, top: str) -> None:
    assert cli("mkdir", top + "a/b").returncode == 0
    assert [e["path"] for e in json.loads(cli("ls", top, "--json").stdout)["entries"]] == ["a/"]
    assert "is empty" in cli("ls", top + "a/b/").stdout
    refused = cli("rm", top + "a", "--yes")
    assert (refused.returncode, "a/" in refused.stderr) == (2, True)
    assert cli("rm", top + "a/", "--yes").returncode == 0


@pytest.mark.slow("cases")
def test_mv_moves_and_renames(cli: Cli, folder: Path, top: str) -> None:
    (folder / "data").mkdir()
    (folder / "data/a b.csv").write_text("1,2")
    (folder / "data/c").write_text("3")
    assert cli("put", "data", top + "d/").returncode == 0
    assert "Moved 1 file" in cli("mv", top + "d/a b.csv", top + "e/").stdout
    assert json.loads(cli("mv", top + "d/c", top + "d/c2", "--json").stdout)["status"] == "done"
    refused = cli("mv", top + "d/c2", top + "e/a b.csv")
    assert (refused.returncode, "already exists" in refused.stderr) == (2, True)
    refused = cli("mv", top + "d", top + "f")
    assert (refused.returncode, "d/" in refused.stderr) == (2, True)
    assert "Moved 1 file" in cli("mv", top + "d/", top + "e/d").stdout
    result = json.loads(cli("ls", top, "--recursive", "--json").stdout)["entries"]
    assert [entry["path"] for entry in result] == ["e/a b.csv", "e/d/c2"]
    elsewhere = cli("mv", top + "e/d/c2", "oss://other/x" if top.startswith("/") else "/tmp/x")
    assert (elsewhere.returncode, "different storages" in elsewhere.stderr) == (2, True)


@pytest.mark.slow("cases", first=1)
def test_missing_paths_are_rejected(cli: Cli, folder: Path, top: str) -> None:
    for words in (["ls", top + "no"], ["get", top + "no"], ["rm", top + "no", "--yes"], ["put", "no", top]):
        refused = cli(*words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "Traceback" not in refused.stderr


def test_missing_account_names_the_command_to_add_one(cli: Cli) -> None:
    refused = cli("ls", "oss://bucket/")
    assert (refused.returncode, "profile set" in refused.stderr) == (2, True)


def test_listing_has_pages(engine: EmbeddedClient, pai: StandIn) -> None:
    for n in range(7):
        pai.objects.write(f"p/{n}", b"1")
    uri = f"oss://{pai.bucket}/p/"
    page = engine.call("list_data", uri=uri, limit=4)
    assert ([entry["path"] for entry in page["entries"]], page["more"]) == (["0", "1", "2", "3"], True)
    page = engine.call("list_data", uri=uri, limit=4, after="3", recursive=True)
    assert ([entry["path"] for entry in page["entries"]], page["more"]) == (["4", "5", "6"], False)


def test_transfer_can_be_cancelled(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(40 << 20))
    pai.faults.add("delay", "oss:UploadPart", after=2, seconds=5)
    body = {"uri": f"oss://{pai.bucket}/large", "path": str(tmp_path / "large")}
    copy = engine.call("put_data", body=body)
    assert (copy["verb"], copy["bytes"], copy["files"]) == ("put", 40 << 20, 1)

    def enough(done: int, whole: int) -> None:
        if done:
            raise KeyboardInterrupt

    def ask(verb: str, number: str) -> dict[str, object]:
        return dict(engine.call(verb, copy=number))

    with pytest.raises(KeyboardInterrupt):
        finish_copy(ask, copy, enough)
    with pytest.raises(PaiError, match="was ended"):
        finish_copy(ask, engine.call("copy", copy=copy["id"]))
    assert pai.objects.keys() == pai.objects.uploads() == []


def test_failed_transfer_raises_in_the_caller(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    uri = f"oss://{pai.bucket}/a"
    body = {"uri": uri, "path": str(tmp_path / "a")}

    def ask(verb: str, number: str) -> dict[str, object]:
        return dict(engine.call(verb, copy=number))

    finish_copy(ask, engine.call("put_data", body=body))
    with pytest.raises(Conflict):
        engine.call("put_data", body=body)
    with pytest.raises(NotFound):
        finish_copy(ask, engine.call("remove_data", uri=f"oss://{pai.bucket}/no"))


def test_uris_are_completed(engine: EmbeddedClient, pai: StandIn) -> None:
    for key in ("models/a.bin", "models/b/c.bin", "other"):
        pai.objects.write(key, b"1")
    begun = f"oss://{pai.bucket}/mo"
    assert complete(f"%pai ls {begun}", begun) == [f"oss://{pai.bucket}/models/"]
    # A notebook's completer takes a colon for the end of a word.
    word = f"//{pai.bucket}/models/"
    assert complete(f"%pai get oss:{word}", word) == [f"{word}a.bin", f"{word}b/"]
    assert complete("%pai get oss://", "//") == [f"//{pai.bucket}/"]
    assert complete("%pai get oss://no-such-bucket/x", "x") == []


def test_listing_includes_parent_folders(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    pai.objects.write("a b/c/d", b"1")
    result = engine.call("list_data", uri=f"oss://{pai.bucket}/a b/c/")["parents"]
    assert [parent["name"] for parent in result] == [f"oss://{pai.bucket}/", "a b", "c"]
    assert result[1]["uri"] == f"oss://{pai.bucket}/a b/"
    (tmp_path / "模 型").mkdir()
    result = engine.call("list_data", uri=(tmp_path / "模 型").as_uri())["parents"]
    assert (result[0], result[-1]["name"]) == ({"name": "file:///", "uri": "file:///"}, "模 型")
    assert result[-2]["uri"] == tmp_path.as_uri() + "/"


def test_storages_of_a_profile_are_those_of_its_jobs(engine: EmbeddedClient, pai: StandIn) -> None:
    def schemes(profile: str) -> set[str]:
        return {root["scheme"] for root in engine.call("storages", profile=profile)["storages"]}

    assert schemes("local") == {"file"}  # Jobs of this machine read its files.
    assert schemes("pai") == {"oss"}
    assert schemes("") == {"file", "oss"}
    pai.forget_requests()
    schemes("local")
    assert pai.requests == []
    with pytest.raises(NotFound, match="nothing"):
        schemes("nothing")


def test_storages_list_their_start_folders(engine: EmbeddedClient, pai: StandIn) -> None:
    result = engine.call("storages")["storages"]
    assert [(one["scheme"], one["profile"], one["title"]) for one in result] == [
        ("file", "", "Home folder"),
        ("oss", "pai", pai.bucket),
    ]
    assert result[1]["uri"] == f"oss://{pai.bucket}/"
    write_profile(pai, oss_bucket_name="")
    assert engine.call("storages")["storages"][1]["uri"] == f"oss://{pai.bucket}/"  # The workspace's own.
    write_profile(pai, oss_bucket_name="", workspace_id="12")
    home, bucket = engine.call("storages")["storages"]
    assert (home["problem"], bucket["uri"]) == ("", "")
    assert "Workspace 12 does not exist" in bucket["problem"]
