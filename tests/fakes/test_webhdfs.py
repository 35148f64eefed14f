"""The stand-in for HDFS and our storage, by the PyPI client `hdfs`, which knows neither."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hdfs import HdfsError, InsecureClient

from jupyter_pai.cloud.hadoop import HdfsSettings
from jupyter_pai.storage.hdfs.storage import HdfsStorage

from .webhdfs import WebHdfsServer


@pytest.fixture
def official(hdfs: WebHdfsServer) -> InsecureClient:
    return InsecureClient(hdfs.name_node, user="me")


@pytest.fixture
def ours(hdfs: WebHdfsServer, tmp_path: Path) -> HdfsStorage:
    return HdfsStorage(HdfsSettings(backend="local", hdfs=hdfs.uri, hdfs_user="me"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with files of several sizes and names."""
    folder = tmp_path / "tree"
    (folder / "sub/deep").mkdir(parents=True)
    (folder / "a.bin").write_bytes(os.urandom(3 << 20))
    (folder / "b.bin").write_bytes(os.urandom(300_000))
    (folder / "empty").touch()
    (folder / "sub/模型 #?%20.txt").write_text("1")
    (folder / "sub/deep/b").write_text("2")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_official_client_and_storage_read_files_of_each_other(
    official: InsecureClient, ours: HdfsStorage, hdfs: WebHdfsServer, tree: Path, tmp_path: Path
) -> None:
    theirs, own = f"/{tmp_path.name}/theirs", f"/{tmp_path.name}/own"
    official.upload(theirs, str(tree), n_threads=4)
    assert ours.put_tree(tree, f"{hdfs.uri}{own[1:]}/") == 5
    assert contents(hdfs.path(theirs)) == contents(hdfs.path(own)) == contents(tree)

    official.download(own, str(tmp_path / "by official"), n_threads=4)
    ours.get_tree(f"{hdfs.uri}{theirs[1:]}/", tmp_path / "by ours")
    assert contents(tmp_path / "by official") == contents(tmp_path / "by ours") == contents(tree)

    listed = [
        f"{path.removeprefix(own).lstrip('/')}/{name}".lstrip("/")
        for path, _folders, names in official.walk(own)
        for name in names
    ]
    assert sorted(listed) == [file.path for file in ours.list(f"{hdfs.uri}{own[1:]}/")]
    there = ours.stat(f"{hdfs.uri}{own[1:]}/a.bin")
    assert there
    assert there.size == official.status(f"{own}/a.bin")["length"]


def test_official_client_and_storage_rename_and_delete_the_same(
    official: InsecureClient, ours: HdfsStorage, hdfs: WebHdfsServer, tmp_path: Path
) -> None:
    top, uri = f"/{tmp_path.name}", f"{hdfs.uri}{tmp_path.name}/"
    official.write(f"{top}/a/b", b"1")
    official.rename(f"{top}/a", f"{top}/c")
    assert ours.move(f"{uri}c/", f"{uri}d/") == 1
    assert official.list(top) == ["d"]
    official.makedirs(f"{top}/e")
    ours.make_folder(f"{uri}f/")
    assert (
        [file.path for file in ours.entries(uri)] == [f"{name}/" for name in official.list(top)] == ["d/", "e/", "f/"]
    )
    assert official.delete(f"{top}/d", recursive=True)
    assert ours.delete(f"{uri}e/") == 0
    assert official.list(top) == ["f"]
    assert not official.delete(f"{top}/d")


def test_bytes_go_to_the_data_node_by_redirect(official: InsecureClient, hdfs: WebHdfsServer, tmp_path: Path) -> None:
    official.write(f"/{tmp_path.name}/a", b"12")
    official.write(f"/{tmp_path.name}/a", b"34", append=True)
    with official.read(f"/{tmp_path.name}/a", offset=1, length=2) as reader:
        assert reader.read() == b"23"
    asked = [
        (one["service"], one["operation"], one["status"])
        for one in hdfs.requests
        if one["operation"] != "GETFILESTATUS"
    ]
    assert asked == [
        ("namenode", "CREATE", 307),
        ("datanode", "CREATE", 201),
        ("namenode", "APPEND", 307),
        ("datanode", "APPEND", 200),
        ("namenode", "OPEN", 307),
        ("datanode", "OPEN", 200),
    ]
    assert {one["user"] for one in hdfs.requests} == {"me"}


def test_permissions_quota_and_safe_mode_refuse_the_official_client(
    official: InsecureClient, hdfs: WebHdfsServer, tmp_path: Path
) -> None:
    top = f"/{tmp_path.name}"
    official.makedirs(top)
    hdfs.own(top, "other", 0o700)
    with pytest.raises(HdfsError, match="Permission denied: user=me, access=WRITE"):
        official.write(f"{top}/a", b"1")
    with pytest.raises(HdfsError, match="access=READ"):
        official.list(top)
    with pytest.raises(HdfsError, match="not a valid DFS filename"):
        official.write(f"/{tmp_path.name}-a:b", b"1")
    hdfs.set(quota=0)
    with pytest.raises(HdfsError, match="quota"):
        official.write(f"/{tmp_path.name}-b", b"1")
    hdfs.set(safe_mode=True)
    with pytest.raises(HdfsError, match="safe mode"):
        official.makedirs(f"/{tmp_path.name}-c")
