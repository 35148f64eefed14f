"""Rows about HDFS: copies against the PyPI client `hdfs`, and a large folder, at a stand-in on this machine."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hdfs import InsecureClient

from jupyter_pai.cloud.hadoop import HdfsSettings
from jupyter_pai.engine.data.browse import describe
from jupyter_pai.engine.data.storages import Location
from jupyter_pai.storage.hdfs.storage import HdfsStorage

from ..fakes.webhdfs import WebHdfsServer, web_hdfs
from .measure import Row, pairs, ratio

__all__ = ["ALL"]

FILES, THREADS, LARGE, ENTRIES = 2_000, 8, 1 << 30, 10_000


class Site(NamedTuple):
    """A server, our storage, and an official client."""

    folder: Path
    server: WebHdfsServer
    storage: HdfsStorage
    official: InsecureClient


@contextmanager
def site(*, in_memory: bool = False) -> Iterator[Site]:
    """A stand-in with its files on a disk of this machine, or in its memory where that has a folder: a disk takes
    longer to create a small file than the stand-in to serve it."""
    place = "/dev/shm" if in_memory and os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as name, web_hdfs(Path(name, "hdfs")) as server:
        storage = HdfsStorage(HdfsSettings(backend="local", hdfs=server.uri, hdfs_user="me"))
        yield Site(Path(name), server, storage, InsecureClient(server.name_node, user="me"))


def uploads() -> Iterator[Row]:
    """HDFS, 2,000 files and one file of 1 GB, against the client `hdfs`."""
    with site(in_memory=True) as lab:
        small = lab.folder / "small"
        small.mkdir()
        for n in range(FILES):
            (small / f"{n:04}.bin").write_bytes(b"x" * 4096)
        yield _compared(lab, f"{FILES:,} files", small, 2.0)
    with site() as lab:
        (lab.folder / "large").write_bytes(bytes(LARGE))
        yield _compared(lab, "a file of 1 GB", lab.folder / "large", 0.8)


def _compared(lab: Site, what: str, source: Path, bound: float) -> Row:
    ours, theirs = pairs(5, _sent(lab, source), _sent_by_official(lab, source))
    return ratio(f"HDFS, upload of {what}, against the client `hdfs` with {THREADS} threads", ours, theirs, bound)


def _sent(lab: Site, source: Path) -> Callable[[], float]:
    def send() -> float:
        begun = time.perf_counter()
        if source.is_dir():
            lab.storage.put_tree(source, f"{lab.server.uri}ours/")
        else:
            lab.storage.put(source, f"{lab.server.uri}ours")
        took = time.perf_counter() - begun
        _clear(lab, "/ours", source)
        return took

    return send


def _sent_by_official(lab: Site, source: Path) -> Callable[[], float]:
    def send() -> float:
        begun = time.perf_counter()
        lab.official.upload("/theirs", str(source), n_threads=THREADS)
        took = time.perf_counter() - begun
        _clear(lab, "/theirs", source)
        return took

    return send


def _clear(lab: Site, path: str, source: Path) -> None:
    """Check that all bytes arrived, and delete them."""
    size = sum(file.stat().st_size for file in source.iterdir()) if source.is_dir() else source.stat().st_size
    assert lab.official.content(path)["length"] == size
    lab.official.delete(path, recursive=True)
    lab.server.reset()


def first_rows() -> Iterator[Row]:
    """HDFS, the first page of a folder of 10,000 entries in the Explorer."""
    with site() as lab:
        folder = lab.server.path("/folder")
        folder.mkdir()
        for n in range(ENTRIES):
            (folder / f"part-{n:05}").touch()
        took = []
        for _round in range(10):
            begun = time.perf_counter()
            page = describe(Location(lab.storage, f"{lab.server.uri}folder/"), "", 1000, recursive=False)
            took.append(time.perf_counter() - begun)
            assert (len(page["entries"]), page["more"]) == (1000, True)
        slowest = max(took) * 1000
        what = f"HDFS, first rows of a folder of {ENTRIES:,} entries"
        yield Row(what, f"{slowest:.0f} ms", "", f"**{slowest:.0f} ms at most**", "under 500 ms", slowest < 500)


ALL: list[Callable[[], Iterator[Row]]] = [uploads, first_rows]
