"""Places of code, inputs and outputs by the keys of a profile, and the program that jobs reach HDFS with."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.openpai.options import OpenPaiSettings
from jupyter_pai.backends.openpai.submit import locations

from ....fakes.webhdfs import WebHdfsServer

SCRIPT = runpy.run_path(str(Path(locations.__file__).parent / "script" / "webhdfs.py"))


def settings(**keys: Any) -> OpenPaiSettings:
    return OpenPaiSettings(backend="openpai", endpoint="pai.example.com", **keys)


@pytest.mark.parametrize(
    ("keys", "folder"),
    [
        ({}, ""),
        ({"hdfs": "hdfs://NameNode/user/me"}, "hdfs://namenode/user/me/jupyter-pai/"),
        ({"hdfs": "hdfs://nn:9870/", "hdfs_user": "you"}, "hdfs://nn:9870/user/you/jupyter-pai/"),
        ({"hdfs": "http://nn:9870/webhdfs/v1", "username": "me"}, "hdfs://nn:9870/user/me/jupyter-pai/"),
    ],
)
def test_folder_in_hdfs(keys: dict[str, Any], folder: str) -> None:
    assert locations.hdfs_folder(settings(**keys)) == folder


def test_storage_is_the_named_one_or_the_first_mount(tmp_path: Path) -> None:
    mounts = {"a": str(tmp_path / "a"), "b": str(tmp_path / "b")}
    assert [getattr(locations.share(settings(**keys)), "name", None) for keys in (
        {}, {"storage": "a"}, {"mounts": mounts}, {"mounts": mounts, "storage": "b"}, {"mounts": mounts, "storage": "c"}
    )] == [None, None, "a", "b", None]  # fmt: skip


def test_jobs_see_what_is_in_a_mounted_storage(tmp_path: Path) -> None:
    (tmp_path / "disk" / "data").mkdir(parents=True)
    (tmp_path / "mount").symlink_to(tmp_path / "disk")
    own = settings(mounts={"nfs": str(tmp_path / "mount")})
    for path in ("mount/data", "disk/data"):
        assert locations.seen_at(own, f"{tmp_path}/{path}") == ("nfs", "/mnt/nfs/data")
    assert locations.seen_at(own, f"file://{tmp_path}/mount/a%20b/") == ("nfs", "/mnt/nfs/a b")
    for uri in (f"{tmp_path}/mount2", f"{tmp_path}/mount/../x", "hdfs://nn/mnt", "/mnt/nfs/data"):
        assert locations.seen_at(own, uri) is None
    assert locations.uri_of_outputs(own, "/mnt/nfs/out/1/") == f"file://{tmp_path}/mount/out/1/"
    assert locations.uri_of_outputs(own, "/mnt/nfs/../../etc/") == ""


@pytest.mark.parametrize(
    ("address", "first", "count"),
    [
        ("hdfs://nn", "http://nn:9870/webhdfs/v1", 5),
        ("hdfs://nn:9000", "http://nn:9870/webhdfs/v1", 5),
        ("hdfs://nn:50070", "http://nn:50070/webhdfs/v1", 4),
        ("http://gate", "http://gate/webhdfs/v1", 2),
        ("http://gate/webhdfs/api/v1/", "http://gate/webhdfs/api/v1", 1),
    ],
)
def test_addresses_of_webhdfs(address: str, first: str, count: int) -> None:
    found = SCRIPT["candidates"](address)
    assert (found[0], len(found)) == (first, count)


def test_only_event_files_that_have_grown_are_sent_again(hdfs: WebHdfsServer, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    events, other = tmp_path / "run" / "events.out.tfevents.1", tmp_path / "model.bin"
    events.write_bytes(b"1")
    other.write_bytes(b"x")
    remote, sent = SCRIPT["Hdfs"]("me", "-", f"{hdfs.uri}followed/{tmp_path.name}"), dict[str, int]()
    for _round in range(2):
        SCRIPT["put"](remote, str(tmp_path), "tfevents", sent)
    assert hdfs.count("datanode", "CREATE") == 1
    events.write_bytes(b"12")
    SCRIPT["put"](remote, str(tmp_path), "tfevents", sent)
    folder = hdfs.path(f"/followed/{tmp_path.name}")
    assert (folder / "run" / events.name).read_bytes() == b"12"
    assert not (folder / "model.bin").exists()
