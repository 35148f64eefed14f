"""On every storage, a URI is opened as it was checked."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from hypothesis import example, given, settings, strategies as st

from jupyter_pai.api import data
from jupyter_pai.api.endpoint import Context
from jupyter_pai.cloud.hadoop import HdfsSettings
from jupyter_pai.config.contents_root import ServerRoot
from jupyter_pai.core.errors import NotFound, PaiError
from jupyter_pai.engine.data.storages import Location, Storages
from jupyter_pai.engine.service import JobService
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.storage import load_storages
from jupyter_pai.storage.base import Storage
from jupyter_pai.storage.cos.storage import CosStorage
from jupyter_pai.storage.hdfs.storage import HdfsStorage
from jupyter_pai.storage.oss.storage import OssStorage
from jupyter_pai.storage.oss.uri import OssUri

from ...fakes.alibaba import StandIn
from ...fakes.cos_account import CosAccount
from ...fakes.oss_account import AccountOf
from ...fakes.tione import tione
from ...fakes.webhdfs import WebHdfsServer
from ...support.fuzz import MANY

# Each request takes milliseconds.
FEW = settings(max_examples=MANY.max_examples // 10)
FOLDERS = ["root", "root?", "root#", "root%3F", "root.", "root...", "root\\", "ROOT", ".ssh", "a%2F.ssh", "x"]
FILES = ["id", ".ssh%2Fid", "root%2Fid", "id?x=1", "id#", "id.", "..id", "%2e%2e", "%00", "id?host=x", "id?role_arn=r"]
ODD = ["", ".", "..", "...", "%2e%2e", ".%2E", "%252e%252e", "..%2F", "\0", "%00", "%", "\t", "\ud800", "é", "//", "\\"]
HOSTS = ["", "localhost", "LOCALHOST", "me@", "me:pw@localhost", "localhost:80", ":80", "other", "..", "%2F"]


def _name_forms(name: str) -> st.SearchStrategy[str]:
    once = quote(name, safe="", errors="replace")
    return st.sampled_from([name, once, once.lower(), quote(name, errors="replace"), quote(once), unquote(name)])


def _paths(first: Sequence[str] = ("",)) -> st.SearchStrategy[str]:
    """Paths to files of the tree, in odd notations."""
    known = [*FOLDERS, *FILES]
    names = st.one_of(st.sampled_from(known), st.sampled_from([*known, *ODD])).flatmap(_name_forms)
    between = st.sampled_from(["/"] * 6 + ["//", "%2F", "%252F", "%2f", "/./", "\\", "/../"])
    ends = st.sampled_from([""] * 6 + ["?", "#", "?x=1", "#/../../x", "/", "/.", "%3F", "?endpoint=x", "?role_arn=r"])
    steps = st.lists(st.tuples(names, between), min_size=1, max_size=3)
    odd = st.builds(lambda steps, end: "".join(sum(steps, ()))[: -len(steps[-1][1])] + end, steps, ends)
    exact = st.builds("{}/{}".format, *(st.sampled_from(names).flatmap(_name_forms) for names in (FOLDERS, FILES)))
    return st.builds("{}{}".format, st.sampled_from(first), st.one_of(exact, odd))


def _uris(scheme: str, hosts: Sequence[str], first: Sequence[str] = ("",)) -> st.SearchStrategy[str]:
    host = st.one_of(st.just(hosts[0]), st.sampled_from(hosts))
    schemes = st.sampled_from([scheme] * 3 + [scheme.upper(), scheme.title(), f" {scheme}"])
    return st.builds("{}://{}/{}".format, schemes, host, _paths(first))


def _opened(location: Location) -> bytes | None:
    """Return what is opened at a location; None if nothing is."""
    folder, name = location.split()
    with suppress(NotFound), folder.storage.open(folder.uri, name) as file:
        return file.read(0, 4096)
    return None


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with files of odd names. Each contains its path."""
    top = tmp_path / "tree"
    for above in (top, top / "root", top / "root/.ssh"):
        for folder in FOLDERS:
            for name in FILES:
                path = above / folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(os.fsencode(path))
    return top


@pytest.mark.slow("hundreds of examples")
def test_a_file_that_is_opened_is_the_one_that_was_checked(tree: Path, home: Home) -> None:
    storages, opened = Storages(JobService(home).profiles), 0
    top = quote(str(tree)).removeprefix("/") + "/"

    @MANY
    @given(_uris("file", HOSTS, (top, top, top.replace("/", "%2F"), top.replace("/", "//"), f"{top}root/.ssh/")))
    @example(f"file:///{top}root?/.ssh%2Fid")
    @example(f"file:///{top}root%3F/.ssh%252Fid")
    @example(f"FILE://LOCALHOST/{top}root//id%3Fx=1")
    def check(text: str) -> None:
        nonlocal opened
        try:
            location = storages.at(text)
        except PaiError as error:
            assert error.fix
            return
        assert storages.at(location.uri) == location
        content, path = _opened(location), location.path
        assert path
        assert content == (os.fsencode(path) if path.is_file() and not location.is_folder else None)
        opened += content is not None
        folder, name = location.split()
        assert name == "" or folder.join(name) == location
        if path.is_dir():
            below = location.folder
            entries = below.storage.entries(below.uri)
            assert {below.join(entry.path).path for entry in entries} == {*path.iterdir()}

    check()
    assert opened > 1


def test_a_reader_gets_only_files_that_jupyterlab_shows(tree: Path, home: Home) -> None:
    root = ServerRoot(tree / "root")
    top = quote(str(tree)).removeprefix("/") + "/"
    service, got = JobService(home), 0

    async def no() -> bool:
        return False

    context = Context(service, root, may_execute=no)

    async def read(text: str) -> None:
        nonlocal got
        with suppress(PaiError):
            content = b"".join([chunk.data async for chunk in await data.data_file(context, text)])
            assert root.place_of(Path(os.fsdecode(content))) is not None, text
            got += 1
        with suppress(PaiError):
            for entry in (await data.list_data(context, text))["entries"]:
                location = service.storages.at(entry["uri"])
                assert location.path
                assert location.path.exists()
                assert root.place_of(location.path) is not None, text
        with suppress(PaiError):
            location = service.storages.at((await data.measure_data(context, text))["uri"])
            assert location.path
            assert root.place_of(location.path) is not None, text

    with asyncio.Runner() as runner:

        @MANY
        @given(_uris("file", HOSTS, (f"{top}root/", f"{top}root/", top, f"{top}root/.ssh/", f"{top}root%2F")))
        @example(f"file:///{top}root?/.ssh%2Fid")
        @example(f"file:///{top}root/x?/../.ssh%2Fid")
        @example(f"file:///{top}root/x/id")
        def check(text: str) -> None:
            runner.run(read(text))

        check()
    assert got


@pytest.mark.slow("hundreds of examples", first=1)
@pytest.mark.parametrize("scheme", ["cos", "hdfs", "odps", "oss"])
def test_a_uri_has_one_notation(scheme: str) -> None:
    kind, accepted = load_storages()[scheme], 0
    hosts = ["demo-1", "demo-1:80", "me@demo-1", "DEMO-1", "demo-1.example.com:80", "project/tables", "", ".."]

    @MANY
    @given(_uris(scheme, hosts))
    @example(f"{scheme}://demo-1/id?role_arn=r\ud800")
    @example(f"{scheme}://demo-1/id?role_arn=r\n")
    def check(text: str) -> None:
        nonlocal accepted
        try:
            uri = kind.canonical(text.lstrip())
        except PaiError:
            return
        accepted += 1
        assert kind.canonical(uri) == uri
        assert uri.startswith(f"{scheme}://")
        path = OssUri.parse(uri).key if scheme == "oss" else uri
        assert not {".", ".."} & {*path.split("/")}

    check()
    assert accepted


def _named(uri: str) -> str:
    """Return a canonical URI without the role, which an OSS URI may have besides its name."""
    if not uri.startswith("oss:"):
        return uri
    oss = OssUri.parse(uri)
    return f"oss://{oss.bucket}/{oss.key}"


def _check(storage: Storage, base: str) -> None:
    """Check that what is opened in a storage has the name that the canonical URI says. `base` is an empty folder."""
    for folder in FOLDERS:
        for name in FILES:
            path = f"{folder}/{name}"
            storage.put(path.encode(), storage.join(base, path))
    scheme, _slashes, rest = base.partition("://")
    host, _slash, top = rest.partition("/")
    opened = 0

    @FEW
    @given(_uris(scheme, [host, f"me@{host}", host.upper(), f"{host}:80"], (top, top, top.replace("/", "//"))))
    @example(f"{scheme}://{host}/{top}root/id?host=x")
    @example(f"{scheme}://{host}/{top}root/id?role_arn=r?role_arn=r")
    @example(f"{scheme.upper()}://{host}/{top}root?/id#")
    def check(text: str) -> None:
        nonlocal opened
        with suppress(PaiError):
            uri = storage.canonical(text)
            content = _opened(Location(storage, uri))
            if content is not None:
                assert _named(uri) == base + content.decode()
                opened += 1

    check()
    assert opened


@pytest.mark.slow("hundreds of requests")
def test_oss(platform: StandIn, tmp_path: Path) -> None:
    platform.faults.clear()
    _check(OssStorage(AccountOf(platform), tmp_path), f"oss://{platform.bucket}/{tmp_path.name}/")


def test_cos(tmp_path: Path) -> None:
    with tione(tmp_path / "tione") as server:
        _check(CosStorage(CosAccount(server), tmp_path), f"cos://{server.bucket}/data/")


@pytest.mark.slow("hundreds of requests")
def test_hdfs(hdfs: WebHdfsServer, tmp_path: Path) -> None:
    account = HdfsSettings(backend="local", hdfs=hdfs.uri, hdfs_user="me")
    _check(HdfsStorage.of(account, tmp_path), f"{hdfs.uri}{tmp_path.name}/")
