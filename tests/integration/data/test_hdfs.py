"""Storage on HDFS beyond the promises of every storage: finding WebHDFS, redirects, hidden names, faults, refusals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from hypothesis import HealthCheck, given, settings as examples, strategies as st

from jupyter_pai.cloud.hadoop import HdfsSettings
from jupyter_pai.core.errors import (
    BackendError,
    BadInput,
    Conflict,
    CredentialsError,
    EngineError,
    NotFound,
    PaiError,
    PermissionDenied,
    QuotaExceeded,
    Refused,
    Unreachable,
    Unsupported,
)
from jupyter_pai.storage.hdfs.storage import HdfsStorage

from ...conftest import until
from ...fakes.alibaba.proxy import certificate
from ...fakes.scripted_server import Answers, answering, reply
from ...fakes.webhdfs import WebHdfsServer, web_hdfs

MIB = 1 << 20


def storage_of(hdfs: str, **keys: str) -> HdfsStorage:
    return HdfsStorage(HdfsSettings(backend="local", hdfs=hdfs, **{"hdfs_user": "me", **keys}))


@pytest.fixture
def storage(hdfs: WebHdfsServer) -> HdfsStorage:
    return storage_of(hdfs.uri)


@pytest.fixture
def top(hdfs: WebHdfsServer, tmp_path: Path) -> str:
    """The URI of an empty folder of the user."""
    hdfs.path(f"/{tmp_path.name}").mkdir()
    hdfs.own(f"/{tmp_path.name}", "me", 0o755)
    return f"{hdfs.uri}{tmp_path.name}/"


def names(hdfs: WebHdfsServer, tmp_path: Path) -> list[str]:
    """The files in the folder of the test, hidden ones too."""
    folder = hdfs.path(f"/{tmp_path.name}")
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "sub/deep").mkdir(parents=True)
    for name in ("a", "b", "sub/c", "sub/deep/d"):
        (folder / name).write_text(name)
    return folder


# Finding WebHDFS.


@pytest.mark.parametrize("port", [9870, 50070, 5070])
def test_name_node_is_found_by_its_usual_ports(tmp_path: Path, port: int) -> None:
    # Another address of loopback, where the ports are free.
    host = f"127.0.{port % 250}.77"
    with web_hdfs(tmp_path / "hdfs", host=host, name_node_port=port) as server:
        for uri in (f"hdfs://{host}/", f"hdfs://{host}:8020/"):
            storage = storage_of(uri)
            storage.put(b"1", f"{uri}a", overwrite=True)
            assert storage.stat(f"{uri}a")
        assert server.path("/a").read_bytes() == b"1"


def test_gateway_is_found_and_gets_the_bytes(hdfs: WebHdfsServer, tmp_path: Path) -> None:
    storage = storage_of(hdfs.gateway_uri)
    storage.put(b"12", f"{hdfs.gateway_uri}{tmp_path.name}/a")
    with storage.open(f"{hdfs.gateway_uri}{tmp_path.name}/", "a") as file:
        assert file.read(1, 5) == b"2"
    probes = [one for one in hdfs.requests if one["path"] == "/"]
    assert len(probes) == 1  # Of the address that is there.
    assert {one["service"] for one in hdfs.requests} == {"namenode", "datanode"}


def test_address_without_web_hdfs_is_named(tmp_path: Path) -> None:
    with answering() as other:
        other.say(reply(404, "<html>nothing</html>"))
        uri = other.url.replace("http", "hdfs") + "/"
        with pytest.raises(Unreachable, match="none of these addresses responds") as caught:
            storage_of(uri).stat(uri)
        assert f"{other.url}/webhdfs/v1" in caught.value.message
        other.say(reply(200, {"hello": 1}))
        with pytest.raises(Unreachable, match="none of these"):
            storage_of(uri).stat(uri)


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Answers]:
    """WebHDFS by HTTPS, whose authority is in `ca.pem`."""
    with answering(certificate(tmp_path, [x509.IPAddress(ip_address("127.0.0.1"))])) as answers:
        folder = {"pathSuffix": "", "type": "DIRECTORY", "length": 0, "modificationTime": 0}
        answers.say(reply(200, {"FileStatus": folder}))
        yield answers


def test_certificate_is_trusted_by_the_authority_of_the_profile(secure: Answers, tmp_path: Path) -> None:
    uri = secure.url.replace("https", "hdfs") + "/"
    with pytest.raises(Unreachable, match="is not trusted") as caught:
        storage_of(uri).stat(uri)
    assert "ca_file" in caught.value.fix
    assert secure.seen == []
    assert storage_of(uri, ca_file=str(tmp_path / "ca.pem")).stat(uri)


# Redirects.


def test_redirect_to_another_host_gets_no_byte(
    hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tree: Path, tmp_path: Path
) -> None:
    with answering() as other:
        address = other.url.removeprefix("http://").replace("127.0.0.1", "localhost")
        hdfs.set(data_node=address)
        hdfs.path(f"/{tmp_path.name}/there").write_bytes(b"1")
        for action in (
            lambda: storage.put(b"secret", f"{top}a"),
            lambda: storage.put_tree(tree, f"{top}new/"),
            lambda: read(storage, top, "there"),
            lambda: storage.get_tree(top, tmp_path / "back"),
        ):
            with pytest.raises(PermissionDenied, match=r"localhost.*hdfs_hosts"):
                action()
        assert other.seen == []
        other.say(reply(201, ""))
        allowed = storage_of(hdfs.uri, hdfs_hosts="localhost")
        with pytest.raises(NotFound):  # The server keeps nothing.
            allowed.put(b"bytes", f"{top}b")
        assert other.seen[0].body == b"bytes"
        assert "authorization" not in other.seen[0].headers


def test_page_in_place_of_a_name_node_did_nothing(tmp_path: Path) -> None:
    with answering() as server:
        folder = {"pathSuffix": "", "type": "DIRECTORY", "length": 0, "modificationTime": 0}
        missing = {"RemoteException": {"exception": "FileNotFoundException"}}
        server.say(reply(200, {"FileStatus": folder}), reply(404, missing), reply(302, "", location="/login"))
        uri = server.url.replace("http", "hdfs") + "/"
        with pytest.raises(Refused, match="status 302"):
            storage_of(f"{server.url}/webhdfs/v1").make_folder(f"{uri}a/")
        assert [one.method for one in server.seen] == ["GET", "GET", "PUT"]


def test_page_in_place_of_a_data_node_has_no_file(
    hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tree: Path, tmp_path: Path
) -> None:
    with answering() as other:
        hdfs.set(data_node=other.url.removeprefix("http://"))
        other.say(reply(302, "", location="/login"))
        for action in (lambda: storage.put(b"1", f"{top}a"), lambda: storage.put_tree(tree, f"{top}new/")):
            with pytest.raises(Refused, match="status 302"):
                action()
    assert names(hdfs, tmp_path) == []


def read(storage: HdfsStorage, uri: str, path: str) -> bytes:
    with storage.open(uri, path) as file:
        return file.read(0, file.file.size)


def test_inner_address_out_of_reach_is_explained(hdfs: WebHdfsServer, top: str, tmp_path: Path) -> None:
    hdfs.set(data_node="127.9.9.9:9")
    with pytest.raises(Unreachable, match=r"redirects to 127\.9\.9\.9:9, which does not respond") as caught:
        storage_of(hdfs.uri, hdfs_hosts="127.9.*").put(b"1", f"{top}a")
    assert "gateway" in caught.value.fix
    assert names(hdfs, tmp_path) == []


# Hidden names.


def test_file_appears_when_it_is_complete(hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(os.urandom(20 * MIB))
    seen: list[list[str]] = []

    def look(done: int, whole: int) -> None:
        if done < whole:
            seen.append([file.path for file in storage.list(top)])

    storage.put(tmp_path / "large", f"{top}large", progress=look)
    assert seen
    assert all(listed == [] for listed in seen)
    assert hdfs.path(f"/{tmp_path.name}/large").read_bytes() == (tmp_path / "large").read_bytes()
    created = [one["path"] for one in hdfs.requests if one["operation"] == "CREATE"]
    assert all(path.startswith(f"/{tmp_path.name}/._large.") for path in created)


def test_new_folder_appears_by_one_rename(hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tree: Path) -> None:
    storage.put_tree(tree, f"{top}new/")
    assert hdfs.count("namenode", "RENAME") == 1
    assert hdfs.count("datanode", "CREATE") == 4
    assert [file.path for file in storage.list(f"{top}new/")] == ["a", "b", "sub/c", "sub/deep/d"]


@pytest.mark.parametrize("old", [False, True])
def test_folder_that_exists_is_completed(
    hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tree: Path, tmp_path: Path, old: bool
) -> None:
    hdfs.set(old=old)
    for name in ("a", "sub/c", "sub/other"):
        storage.put(b"before", f"{top}{name}")
    with pytest.raises(Conflict, match=r"sub/c"):
        storage.put_tree(tree, top)
    assert names(hdfs, tmp_path) == ["a", "sub/c", "sub/other"]
    storage.put_tree(tree, top, overwrite=True)
    assert {file.path: read(storage, top, file.path).decode() for file in storage.list(top)} == {
        "a": "a",
        "b": "b",
        "sub/c": "sub/c",
        "sub/deep/d": "sub/deep/d",
        "sub/other": "before",
    }
    assert names(hdfs, tmp_path) == ["a", "b", "sub/c", "sub/deep/d", "sub/other"]


def test_folder_in_the_way_of_a_file_is_named(storage: HdfsStorage, top: str, tree: Path) -> None:
    storage.put(b"1", f"{top}a/below")
    with pytest.raises(Conflict, match="a is a folder"):
        storage.put_tree(tree, top, overwrite=True)
    assert read(storage, top, "a/below") == b"1"


@pytest.mark.parametrize("old", [False, True])
def test_file_is_replaced_only_on_request(hdfs: WebHdfsServer, storage: HdfsStorage, top: str, old: bool) -> None:
    hdfs.set(old=old)
    storage.put(b"1", f"{top}a")
    with pytest.raises(Conflict):
        storage.put(b"2", f"{top}a")
    storage.put(b"3", f"{top}a", overwrite=True)
    assert read(storage, top, "a") == b"3"


def test_cancelled_upload_leaves_nothing(hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for n in range(40):
        (tmp_path / f"files/{n}").write_bytes(b"x" * 1000)
    hdfs.faults.add("delay", "datanode:CREATE", after=20, seconds=1)

    def enough(done: int, whole: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        storage.put_tree(tmp_path / "files", f"{top}new/", progress=enough)
    until(lambda: all(one["status"] for one in hdfs.requests))  # Those in transit have ended, too.
    assert names(hdfs, tmp_path) == []
    hdfs.faults.clear()
    storage.put_tree(tmp_path / "files", f"{top}new/")
    assert len(storage.list(top)) == 40


def test_cancelled_upload_does_not_wait_for_a_silent_data_node(
    hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tree: Path, tmp_path: Path
) -> None:
    answered = []
    with answering() as other:

        def remain_silent(handler: BaseHTTPRequestHandler) -> None:
            other.released.wait(20)
            answered.append(handler.path)

        hdfs.set(data_node=other.url.removeprefix("http://"))
        other.say(reply(201, ""), remain_silent)

        def enough(done: int, whole: int) -> None:
            if done:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            storage.put_tree(tree, f"{top}new/", progress=enough)
        assert len(other.seen) == 4
        assert answered == []
    assert names(hdfs, tmp_path) == []


def test_hidden_files_of_killed_uploads_are_removed_after_a_week(
    hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tree: Path, tmp_path: Path
) -> None:
    folder = hdfs.path(f"/{tmp_path.name}")
    for name in ("._old.0123abcd.part", "._new.0123abcd.part", "._mine"):
        (folder / name).write_text("half")
    os.utime(folder / "._old.0123abcd.part", (0, 0))
    assert [file.path for file in storage.entries(top)] == [file.path for file in storage.list(top)] == ["._mine"]
    storage.put_tree(tree, top)
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == [
        "._mine",
        "._new.0123abcd.part",
        "a",
        "b",
    ]


def test_file_that_changes_during_the_upload_is_named(
    hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tmp_path: Path
) -> None:
    path = tmp_path / "growing"
    path.write_bytes(bytes(20 * MIB))
    hdfs.faults.add("delay", "datanode:CREATE", seconds=1)  # While the first bytes wait in buffers.

    def grow(done: int, whole: int) -> None:
        if done:
            with path.open("ab") as file:
                file.write(b"x")

    with pytest.raises(BadInput, match="changed during the upload"):
        storage.put(path, f"{top}a", progress=grow)
    assert names(hdfs, tmp_path) == []


# Listing.


def test_long_folders_are_listed_in_pages(hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tmp_path: Path) -> None:
    folder = hdfs.path(f"/{tmp_path.name}")
    for n in range(2500):
        (folder / f"part-{n:05}").touch()
    first = storage.entries(top)
    assert [file.path for file in first] == [f"part-{n:05}" for n in range(1000)]
    assert hdfs.count("namenode", "LISTSTATUS_BATCH") == 1
    assert hdfs.count("namenode", "LISTSTATUS") == 0
    assert [file.path for file in storage.entries(top, "part-01999")] == [f"part-{n:05}" for n in range(2000, 2500)]
    hdfs.set(old=True)
    assert storage_of(hdfs.uri).entries(top) == first


_NAMES = st.sets(st.text("ab-./ é", min_size=1, max_size=4).map(lambda text: text.replace("/", "~")), max_size=12)


@examples(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=_NAMES, folders=_NAMES, page=st.integers(1, 4), most=st.integers(1, 5))
def test_pages_have_each_entry_once_in_order(
    tmp_path_factory: pytest.TempPathFactory,
    hdfs: WebHdfsServer,
    files: set[str],
    folders: set[str],
    page: int,
    most: int,
) -> None:
    folder = hdfs.path(f"/{tmp_path_factory.mktemp('listed').name}")
    folder.mkdir()
    folders -= {".", ".."}
    files -= folders | {".", ".."}
    for name in folders:
        (folder / name).mkdir()
    for name in files:
        (folder / name).touch()
    hdfs.set(page=page)
    storage, uri, found = storage_of(hdfs.uri), f"{hdfs.uri}{folder.name}/", list[str]()
    while entries := storage.entries(uri, found[-1] if found else "", most):
        found += [file.path for file in entries]
        assert len(entries) <= most
    assert found == sorted([*files, *(f"{name}/" for name in folders)])


# Downloads.


def test_broken_download_is_resumed(hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tmp_path: Path) -> None:
    data = os.urandom(60 * MIB)
    hdfs.path(f"/{tmp_path.name}/large").write_bytes(data)
    hdfs.faults.add("500", "datanode:OPEN", after=3)
    with pytest.raises(PaiError):
        storage.get_tree(top, tmp_path / "back")
    hdfs.reset()
    assert storage.get_tree(top, tmp_path / "back") == 1
    assert (tmp_path / "back/large").read_bytes() == data
    assert hdfs.count("datanode", "OPEN") < 8


def test_file_that_changes_during_the_download_is_named(
    hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tmp_path: Path
) -> None:
    place = hdfs.path(f"/{tmp_path.name}/large")
    place.write_bytes(bytes(20 * MIB))

    def change(done: int, whole: int) -> None:
        os.utime(place, (1, 1))

    with pytest.raises(EngineError, match="changed while it was read"):
        storage.get_tree(top, tmp_path / "back", progress=change)
    assert not (tmp_path / "back").exists()


# Faults and refusals.


@pytest.mark.parametrize("kind", ["500", "503", "throttled", "reset", "cut", "lost"])
def test_faults_lose_nothing(
    hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tree: Path, tmp_path: Path, kind: str
) -> None:
    hdfs.faults.add(kind, probability=0.2)
    storage.put_tree(tree, f"{top}d/")
    storage.move(f"{top}d/", f"{top}e/")
    storage.put(b"1", f"{top}e/a", overwrite=True)
    storage.get_tree(f"{top}e/", tmp_path / "back")
    assert hdfs.faults.struck > 0
    hdfs.faults.clear()
    assert names(hdfs, tmp_path) == ["e/a", "e/b", "e/sub/c", "e/sub/deep/d"]
    assert (tmp_path / "back/a").read_text() == "1"
    assert (tmp_path / "back/sub/deep/d").read_text() == "sub/deep/d"


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        ({"safe_mode": True}, Conflict, "safe mode"),
        ({"quota": 0}, QuotaExceeded, "quota"),
        ({"full": True}, BackendError, "no space"),
        ({"standby": True}, Unreachable, "standby"),
        ({"kerberos": True}, CredentialsError, "Kerberos"),
    ],
)
def test_refused_upload_says_why_and_what_to_do(
    hdfs: WebHdfsServer, top: str, tmp_path: Path, change: dict[str, Any], kind: type[PaiError], text: str
) -> None:
    hdfs.set(**change)
    with pytest.raises(kind, match=text) as caught:
        storage_of(hdfs.uri).put(b"12", f"{top}a")
    assert caught.value.fix
    hdfs.reset()
    assert [name for name in names(hdfs, tmp_path) if not name.startswith("._")] == []


def test_denied_access_names_the_user(hdfs: WebHdfsServer, storage: HdfsStorage, top: str, tmp_path: Path) -> None:
    hdfs.own(f"/{tmp_path.name}", "other", 0o700)
    for action in (lambda: storage.put(b"1", f"{top}a"), lambda: storage.entries(top), lambda: storage.list(top)):
        with pytest.raises(PermissionDenied, match="user=me") as caught:
            action()
        assert "hdfs_user" in caught.value.fix
    storage_of(hdfs.uri, hdfs_user="other").put(b"1", f"{top}a")


def test_names_that_hdfs_does_not_allow_are_named(storage: HdfsStorage, top: str) -> None:
    with pytest.raises(Refused, match="not a valid DFS filename"):
        storage.put(b"1", f"{top}a:b")
    with pytest.raises(BadInput, match="not a valid path"):
        storage.put(b"1", f"{top}a//b")


def test_unreadable_reply_is_reported(tmp_path: Path) -> None:
    with answering() as server:
        server.say(reply(200, {"FileStatus": {"type": "FILE"}}))
        uri = server.url.replace("http", "hdfs") + "/"
        with pytest.raises(BackendError, match=r"cannot be read.*length"):
            storage_of(uri).stat(uri)
        known = storage_of(f"{server.url}/webhdfs/v1")
        server.say(reply(200, {"RemoteException": {}}), reply(400, "odd"))
        with pytest.raises(Refused, match="status 400"):
            known.stat(uri)


def test_nothing_is_moved_between_clusters(hdfs: WebHdfsServer, storage: HdfsStorage, top: str) -> None:
    storage.put(b"1", f"{top}a")
    with pytest.raises(Unsupported, match="different"):
        storage.move(f"{top}a", "hdfs://other/a")
