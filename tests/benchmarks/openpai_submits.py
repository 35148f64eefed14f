"""Rows about submits to OpenPAI: a document at the limit, and an unchanged folder, at stand-ins on this machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from jupyter_pai.backends.openpai.protocol.check import LIMIT
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import SpecError
from jupyter_pai.jobs.state_dir import Home

from ..conftest import until
from ..fakes.openpai import OpenPai, openpai
from ..fakes.webhdfs import WebHdfsServer, web_hdfs
from ..integration.openpai.conftest import PASSWORD, USER
from ..integration.openpai.jobs import change_profile, ended, send
from .measure import Row
from .rows import place

__all__ = ["ALL"]

# Bytes of code that fits into no document.
_CODE = 300_000


class Lab(NamedTuple):
    """A cluster with a storage, HDFS, an engine, its state folder, and a folder of code."""

    server: OpenPai
    hdfs: WebHdfsServer
    share: Path
    engine: EmbeddedClient
    home: Home
    folder: Path


@contextmanager
def lab() -> Iterator[Lab]:
    with tempfile.TemporaryDirectory() as name, place() as home:
        share, folder = Path(name, "share"), Path(name, "code")
        for path in (share, folder):
            path.mkdir()
        with (
            openpai(Path(name, "openpai"), storages={"nfs": str(share)}, submits_an_hour=1000) as server,
            web_hdfs(Path(name, "hdfs")) as hdfs,
            closing(EmbeddedClient()) as engine,
        ):
            server.add_user(USER, PASSWORD, storages=["nfs"])
            yield Lab(server, hdfs, share, engine, home, folder)


def document_at_the_limit() -> Iterator[Row]:
    """OpenPAI, a document of 102,400 bytes, and one more."""
    with lab() as one:
        change_profile(one.engine, one.server)
        job = send(one.engine, **_filled(one, 0))
        state, sent = ended(one.server, job).state, _size(one, job)
        try:
            send(one.engine, **_filled(one, 1))
            refused = ""
        except SpecError as error:
            refused = error.message
        change_profile(one.engine, one.server, mounts={"nfs": str(one.share)})
        other = ended(one.server, send(one.engine, **_filled(one, 1))).state
        result = f"{sent:,} bytes: {state}; one more: {other} by a storage, else refused"
        holds = (sent, state, other) == (LIMIT, "SUCCEEDED", "SUCCEEDED") and f"{LIMIT + 1:,}" in refused
        yield Row("OpenPAI, a document at the limit", f"{sent:,} bytes", f"{LIMIT:,} bytes", result, "goes", holds)


def _filled(one: Lab, more: int) -> dict[str, Any]:
    """Return the fields of a spec whose document has the limit of bytes, and `more`: the label of a port fills it."""
    fields: dict[str, Any] = {"command": "cat a.txt", "source": {"files": {"a.txt": "x"}}}
    size = _size(one, send(one.engine, **fields, options={"ports": {"p" * 1000: 1}}))
    return fields | {"options": {"ports": {"p" * (1000 + LIMIT - size + more): 1}}}


def _size(one: Lab, job: JobHandle) -> int:
    return one.home.job(job.id).document.stat().st_size


def unchanged_folder() -> Iterator[Row]:
    """OpenPAI, an unchanged folder of code again, by a storage and by HDFS."""
    with lab() as one:
        (one.folder / "weights.bin").write_bytes(os.urandom(_CODE))
        for name, keys in (("a storage", {"mounts": {"nfs": str(one.share)}}), ("HDFS", {"hdfs": f"{one.hdfs.uri}me"})):
            change_profile(one.engine, one.server, **keys)
            first, again = (_written(one) for _n in range(2))
            yield Row(
                f"OpenPAI, an unchanged folder again, by {name}", f"{again:,} bytes", f"{first:,} bytes",
                f"{again:,} bytes of code", "0 bytes", again == 0 and first >= _CODE,
            )  # fmt: skip


def _written(one: Lab) -> int:
    """Return the bytes of code that a submit writes."""

    def known() -> dict[Path, tuple[int, int]]:
        states = {path: path.stat() for path in one.share.rglob("code/*/*")}
        return {path: (state.st_size, state.st_mtime_ns) for path, state in states.items()}

    before = known()
    one.hdfs.reset()
    job = send(one.engine, "ls", one.folder)
    until(lambda: ended(one.server, job).state == "SUCCEEDED")
    stored = sum(size for path, (size, time) in known().items() if before.get(path) != (size, time))
    return stored + sum(int(row["received"]) for row in one.hdfs.requests if "/code/" in row["path"])


ALL: list[Callable[[], Iterator[Row]]] = [document_at_the_limit, unchanged_folder]
