"""Storage on OSS beyond what every storage promises: parts, resuming, faults, keys that expire, what refusals say."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from jupyter_pai.core.errors import (
    BadInput,
    BucketError,
    ClockError,
    Conflict,
    CredentialsError,
    EngineError,
    NotFound,
    PaiError,
    PermissionDenied,
    Unreachable,
    Unsupported,
)
from jupyter_pai.storage.objects.copy import copy_objects
from jupyter_pai.storage.objects.transfer import combine_crc64, crc64
from jupyter_pai.storage.oss.storage import OssStorage
from jupyter_pai.storage.oss.uri import OssUri

from ..conftest import until
from .alibaba import AccessKey, StandIn
from .oss_account import AccountOf
from .test_oss import pai as pai

MIB = 1 << 20


@pytest.fixture
def account(pai: StandIn) -> AccountOf:
    return AccountOf(pai)


@pytest.fixture
def storage(account: AccountOf, tmp_path: Path) -> OssStorage:
    return OssStorage(account, tmp_path / "transfers")


def large(tmp_path: Path, mib: int) -> Path:
    """A file of so many parts of 8 MiB and a bit."""
    path = tmp_path / "large.bin"
    path.write_bytes(os.urandom(MIB) * mib + b"end")
    return path


def test_crc64_equals_that_of_the_official_client() -> None:
    from oss2.utils import Crc64

    data = os.urandom(100_000)
    theirs = Crc64()
    theirs(data)
    assert crc64(data) == theirs.crc == crc64(data[500:], crc64(data[:500]))
    assert combine_crc64([(crc64(data[:7]), 7), (crc64(data[7:]), len(data) - 7), (0, 0)]) == theirs.crc


def test_large_files_are_transferred_in_parts(storage: OssStorage, pai: StandIn, tmp_path: Path) -> None:
    path, uri = large(tmp_path, 20), f"oss://{pai.bucket}/a/large.bin"
    reply: list[tuple[int, int]] = []
    storage.put(path, uri, progress=lambda done, whole: reply.append((done, whole)))
    assert pai.count("oss", "UploadPart") == 3
    assert reply[-1] == (path.stat().st_size,) * 2
    assert [*(tmp_path / "transfers").iterdir()] == []
    reply.clear()
    storage.get_tree(f"oss://{pai.bucket}/a/", tmp_path / "back", progress=lambda *done: reply.append(done))
    assert (tmp_path / "back/large.bin").read_bytes() == path.read_bytes()
    assert pai.count("oss", "GetObject") == 3
    assert reply[-1] == (path.stat().st_size,) * 2


def test_large_objects_are_moved_in_parts_without_download(storage: OssStorage, pai: StandIn) -> None:
    data, source, goal = os.urandom(MIB), OssUri(pai.bucket, "a/1"), OssUri(pai.bucket, "b/1")
    pai.objects.write("a/1", data)
    pai.objects.write("a/2", b"2")
    reply: list[tuple[int, int]] = []

    def copy() -> None:
        objects = [("a/1", "b/1", MIB), ("a/2", "b/2", 1)]
        progress = lambda done, whole: reply.append((done, whole))  # noqa: E731
        copy_objects(storage.client, source, goal, objects, progress, whole=MIB - 1, part=300_000)

    copy()
    assert (pai.objects.read("b/1"), pai.objects.read("b/2")) == (data, b"2")
    assert (pai.count("oss", "UploadPartCopy"), pai.count("oss", "CopyObject")) == (4, 1)
    assert pai.count("oss", "GetObject") == 0
    assert reply[-1] == (MIB + 1, MIB + 1)
    # A failed move leaves no copies and no parts.
    for key in ("b/1", "b/2"):
        pai.objects.delete(key)
    pai.faults.add("refused", "oss:UploadPartCopy", status=400, code="Odd", after=2)
    with pytest.raises(PaiError, match="Odd"):
        copy()
    assert pai.objects.keys() == ["a/1", "a/2"]
    assert pai.objects.uploads() == []


def test_move_with_a_lost_reply_succeeds(storage: OssStorage, pai: StandIn) -> None:
    pai.objects.write("a", b"1")
    pai.faults.add("lost", "oss:CopyObject", count=1)
    assert storage.move(f"oss://{pai.bucket}/a", f"oss://{pai.bucket}/b") == 1
    assert pai.objects.keys() == ["b"]
    with pytest.raises(Unsupported, match="endpoint"):
        storage.move(f"oss://{pai.bucket}/b", f"oss://{pai.bucket}.oss-cn-beijing.aliyuncs.com/c")


def test_killed_upload_is_resumed(storage: OssStorage, pai: StandIn, tmp_path: Path) -> None:
    path, uri = large(tmp_path, 48), f"oss://{pai.bucket}/large.bin"
    pai.faults.add("delay", "oss:UploadPart", after=4, seconds=10)
    script = (
        "import sys; from pathlib import Path; from types import SimpleNamespace as N\n"
        "from jupyter_pai.cloud.keys import AccessKey; from jupyter_pai.core.secret import Secret\n"
        "from jupyter_pai.storage.oss.storage import OssStorage\n"
        "endpoint, region, name, secret, state, path, uri = sys.argv[1:]\n"
        "key = AccessKey(name, Secret(secret))\n"
        "account = N(oss_endpoint=endpoint, region=region, ca_file='', keys=N(now=lambda: key))\n"
        "OssStorage(account, Path(state)).put(Path(path), uri)\n"
    )
    words = [pai.oss_endpoint, pai.region, pai.key.id, pai.key.secret, tmp_path / "transfers", path, uri]
    process = subprocess.Popen([sys.executable, "-c", script, *map(str, words)])
    arrived = threading.Event()

    def watch() -> None:
        while sum(len(note.read_bytes().splitlines()) for note in (tmp_path / "transfers").glob("*.upload")) < 5:
            if arrived.wait(0.05):
                return
        arrived.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert arrived.wait(60)
    watcher.join()
    process.send_signal(signal.SIGKILL)
    process.wait()
    pai.faults.clear()
    pai.forget_requests()
    storage.put(path, uri)
    assert pai.count("oss", "UploadPart") == 3
    assert pai.count("oss", "InitiateMultipartUpload") == 0
    assert pai.objects.uploads() == []
    storage.get_tree(f"oss://{pai.bucket}/", tmp_path / "back")
    assert (tmp_path / "back/large.bin").read_bytes() == path.read_bytes()


def test_changed_file_is_uploaded_again(storage: OssStorage, pai: StandIn, tmp_path: Path) -> None:
    path, uri = large(tmp_path, 16), f"oss://{pai.bucket}/large.bin"
    pai.faults.add("refused", "oss:CompleteMultipartUpload", status=400, code="Odd", count=1)
    with pytest.raises(PaiError, match="Odd"):
        storage.put(path, uri)
    path.write_bytes(b"x" * 17 * MIB)
    storage.put(path, uri)
    assert pai.objects.read("large.bin")[:9] == b"x" * 9
    assert pai.count("oss", "UploadPart") == 6


def test_cancelled_upload_leaves_no_parts(storage: OssStorage, pai: StandIn, tmp_path: Path) -> None:
    path = large(tmp_path, 48)
    pai.faults.add("delay", "oss:UploadPart", after=2, seconds=1)

    def enough(done: int, whole: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        storage.put(path, f"oss://{pai.bucket}/large.bin", progress=enough)
    assert pai.objects.keys() == pai.objects.uploads() == []
    assert [*(tmp_path / "transfers").iterdir()] == []


class Renewing(AccountOf):
    """Has another key when one was refused."""

    def drop(self, key: Any) -> None:
        self.access_key = self.pai.sts(3600)


@pytest.mark.slow("transfers")
def test_keys_expiring_during_a_transfer_are_renewed(pai: StandIn, tmp_path: Path) -> None:
    path, uri = large(tmp_path, 96), f"oss://{pai.bucket}/large.bin"
    account = Renewing(pai, old := pai.sts(3600))
    pai.faults.add("delay", "oss:UploadPart", seconds=0.3)

    def end(done: int, whole: int) -> None:
        if done:
            pai.change_key(old.id, expires=0)

    OssStorage(account, tmp_path / "transfers").put(path, uri, progress=end)
    assert account.access_key != old
    assert any(r["status"] == 403 for r in pai.requests)
    assert pai.objects.read("large.bin") == path.read_bytes()


def test_expired_keys_raise_credentials_error(storage: OssStorage, account: AccountOf, pai: StandIn) -> None:
    account.access_key = pai.sts(3600)
    pai.change_key(account.access_key.id, expires=0)
    with pytest.raises(CredentialsError) as caught:
        storage.list(f"oss://{pai.bucket}/")
    assert account.access_key.token not in str(caught.value)


@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize("kind", ["500", "503", "throttled", "reset", "cut", "lost"])
def test_transfers_survive_faults(storage: OssStorage, pai: StandIn, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    for n in range(40):
        (folder / f"{n:02}").write_bytes(os.urandom(n * 100))
    (folder / "large").write_bytes(os.urandom(MIB) * 20)
    pai.faults.add(kind, "oss:*", probability=0.1)
    uri = f"oss://{pai.bucket}/tree/"
    storage.put_tree(folder, uri)
    storage.get_tree(uri, tmp_path / "back")
    assert pai.faults.struck
    result = {path.name: path.read_bytes() for path in (tmp_path / "back").iterdir()}
    assert result == {path.name: path.read_bytes() for path in folder.iterdir()}
    assert pai.objects.uploads() == []


@pytest.mark.parametrize("code", ["Throttling", "DownloadTrafficRateLimitExceeded", "RequestTimeout", "IncompleteBody"])
def test_throttled_or_cut_requests_are_repeated_whatever_their_status(
    storage: OssStorage, pai: StandIn, tmp_path: Path, code: str
) -> None:
    (tmp_path / "a").write_bytes(b"1")
    uri = f"oss://{pai.bucket}/a"
    pai.faults.add("throttled", "oss:*", status=400, count=1)
    for action in ("PutObject", "GetObject", "ListObjectsV2", "HeadObject", "DeleteObject"):
        pai.faults.add("refused", f"oss:{action}", status=400, code=code, count=1)
    storage.put(tmp_path / "a", uri)
    assert [file.path for file in storage.list(f"oss://{pai.bucket}/")] == ["a"]
    with storage.open(f"oss://{pai.bucket}/", "a") as file:
        assert file.read(0, 9) == b"1"
    assert storage.delete(uri) == 1
    assert pai.faults.struck == 6


@pytest.mark.parametrize("action", ["PutObject", "CompleteMultipartUpload"])
def test_lost_upload_reply_is_not_a_conflict(storage: OssStorage, pai: StandIn, tmp_path: Path, action: str) -> None:
    path = large(tmp_path, 20 if action.startswith("C") else 1)
    pai.faults.add("lost", f"oss:{action}", count=1)
    assert storage.put(path, f"oss://{pai.bucket}/large.bin").size == path.stat().st_size
    assert pai.objects.read("large.bin") == path.read_bytes()
    with pytest.raises(Conflict):
        storage.put(path, f"oss://{pai.bucket}/large.bin")


def test_object_changed_while_reading_raises(storage: OssStorage, pai: StandIn, tmp_path: Path) -> None:
    pai.objects.write("a/b", b"one")
    with storage.open(f"oss://{pai.bucket}/a/", "b") as file:
        assert file.read(0, 2) == b"on"
        pai.objects.write("a/b", b"two")
        with pytest.raises(EngineError, match="changed while"):
            file.read(0, 3)


def test_object_keys_that_are_not_paths_are_not_downloaded(storage: OssStorage, pai: StandIn, tmp_path: Path) -> None:
    for key in ("a/ok", "a/../out", "a//b", "a/./c"):
        pai.objects.write(key, b"1")
    uri = f"oss://{pai.bucket}/a/"
    assert {file.path for file in storage.list(uri) if file.problem} == {"../out", "/b", "./c"}
    assert storage.get_tree(uri, tmp_path / "back") == 1
    assert [path.name for path in tmp_path.rglob("*") if path.name in ("out", "b", "c", "ok")] == ["ok"]


@pytest.mark.slow("transfers")
def test_listing_reads_all_pages(storage: OssStorage, pai: StandIn) -> None:
    folder = f"oss://{pai.bucket}/many/"
    for n in range(1005):
        pai.objects.write(f"many/{n:04}/x", b"1")
    assert len(storage.list(folder)) == 1005
    assert len(storage.entries(folder, most=1003)) == 1003
    assert [file.path for file in storage.entries(folder, "1002/")] == ["1003/", "1004/"]
    assert storage.delete(folder) == 1005
    assert pai.objects.keys() == []


def wrong(pai: StandIn) -> AccessKey:
    return AccessKey(pai.key.id, "not-the-secret-" + "0" * 20)


def test_errors_have_a_fix(storage: OssStorage, account: AccountOf, pai: StandIn, tmp_path: Path) -> None:
    uri = f"oss://{pai.bucket}/a/"

    def said(kind: type[PaiError], uri: str = uri) -> str:
        with pytest.raises(kind) as caught:
            storage.list(uri)
        assert account.access_key.secret not in str(caught.value)
        assert caught.value.fix
        return str(caught.value)

    assert "no-such-bucket" in said(BucketError, "oss://no-such-bucket/a/")
    pai.make_bucket("far-away", "cn-beijing")
    assert "oss://far-away.oss-cn-beijing.aliyuncs.com/" in said(BucketError, "oss://far-away/a/")
    account.access_key = wrong(pai)
    assert "SignatureDoesNotMatch" in said(CredentialsError)
    account.access_key = AccessKey("LTAI-unknown", "0" * 30)
    assert "InvalidAccessKeyId" in said(CredentialsError)
    account.access_key = pai.make_key(denied=("oss:ListObjects*",))
    assert "oss:ListObjects" in said(PermissionDenied)
    account.access_key = pai.key
    pai.set_clock(1200)
    assert "20 minutes" in said(ClockError)


def test_errors_of_head_requests_are_classified(storage: OssStorage, account: AccountOf, pai: StandIn) -> None:
    account.access_key = wrong(pai)
    with pytest.raises(CredentialsError):
        storage.stat(f"oss://{pai.bucket}/a")
    account.access_key = pai.key
    with pytest.raises(BucketError):
        storage.stat("oss://no-such-bucket/a")
    with pytest.raises(NotFound):
        storage.open(f"oss://{pai.bucket}/", "a")


def test_unreachable_endpoint_is_named(pai: StandIn, tmp_path: Path) -> None:
    account = AccountOf(pai)
    account.oss_endpoint = "http://127.0.0.1:9"
    with pytest.raises(Unreachable, match=r"No response from 127\.0\.0\.1:9"):
        OssStorage(account, tmp_path).list(f"oss://{pai.bucket}/")


def test_keys_are_sent_to_their_own_endpoint_only(storage: OssStorage, pai: StandIn) -> None:
    pai.objects.write("a/b", b"1")
    host = pai.oss_endpoint.removeprefix("http://")
    for uri in (f"oss://{pai.bucket}.{host}/a/", f"oss://{pai.bucket}/a/?endpoint={host}"):
        assert [file.path for file in storage.list(uri)] == ["b"]
    with pytest.raises(BadInput, match=r"storage\.example\.com"):
        storage.list(f"oss://{pai.bucket}.storage.example.com/a/")


@pytest.fixture
def proxy(pai: StandIn) -> Iterator[str]:
    """A proxy that maps every host to the stand-in."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            there = http.client.HTTPConnection(urlsplit(pai.oss_endpoint).netloc)
            path = "/" + self.path.split("/", 3)[3]
            there.request(self.command, path, body, dict(self.headers))
            reply = there.getresponse()
            self.send_response(reply.status)
            for name, value in reply.getheaders():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.read())
            there.close()

        do_GET = do_PUT = handle_any  # as the base class has it

        def log_message(self, *_words: object) -> None:
            """Nothing on the screen."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_netrc_logins_are_not_sent_through_a_proxy(
    pai: StandIn, proxy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("default login me password mine")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("HTTP_PROXY", proxy)
    account = AccountOf(pai)
    account.oss_endpoint = "http://oss.example.com"
    storage = OssStorage(account, tmp_path)
    storage.put(b"1", f"oss://{pai.bucket}/a b/c")
    assert [file.path for file in storage.list(f"oss://{pai.bucket}/a b/")] == ["c"]


def test_keys_are_not_logged(
    storage: OssStorage, account: AccountOf, pai: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    account.access_key = pai.sts(3600)
    with caplog.at_level("DEBUG"):
        storage.put(b"1", f"oss://{pai.bucket}/a")
        pai.change_key(account.access_key.id, expires=0)
        with pytest.raises(CredentialsError):
            storage.list(f"oss://{pai.bucket}/")
    for secret in (account.access_key.secret, account.access_key.token):
        assert secret not in caplog.text


@pytest.mark.slow("transfers")
def test_interrupted_download_is_resumed(storage: OssStorage, pai: StandIn, tmp_path: Path) -> None:
    data = os.urandom(MIB) * 96 + b"end"
    pai.objects.write("a/large", data)
    uri = f"oss://{pai.bucket}/a/"
    # Of 13 pieces: at most seven are asked for ahead of what is written, so by the eleventh the first are there.
    pai.faults.add("refused", "oss:GetObject", after=10, status=400, code="Odd")
    with pytest.raises(PaiError, match="Odd"):
        storage.get_tree(uri, tmp_path / "here")
    assert [path.name[:9] for path in (tmp_path / "here").iterdir()] == [".jupyter-"]
    pai.faults.clear()
    pai.forget_requests()
    storage.get_tree(uri, tmp_path / "here")
    assert 0 < pai.count("oss", "GetObject") < 13
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["large"]
    assert (tmp_path / "here/large").read_bytes() == data
    pai.faults.add("refused", "oss:GetObject", after=3, status=400, code="Odd")
    with pytest.raises(PaiError, match="Odd"):
        storage.get_tree(uri, tmp_path / "there")
    pai.faults.clear()
    pai.objects.write("a/large", data[::-1])  # Another version: what is there of the first is of no use.
    storage.get_tree(uri, tmp_path / "there")
    assert (tmp_path / "there/large").read_bytes() == data[::-1]


def test_damaged_partial_download_is_detected(storage: OssStorage, pai: StandIn, tmp_path: Path) -> None:
    pai.objects.write("large", bytes(20 * MIB))

    def partial() -> list[Path]:
        """Download two of three pieces. Requests are parallel: nothing is written if the first piece is refused."""
        pai.faults.add("refused", "oss:GetObject", after=2, status=400, code="Odd")
        with pytest.raises(PaiError, match="Odd"):
            storage.get_tree(f"oss://{pai.bucket}/", tmp_path / "here")
        pai.faults.clear()
        return [path for path in (tmp_path / "here").glob(".*") if path.stat().st_size]

    (part,) = until(partial)
    for size in (part.stat().st_size, 20 * MIB):
        part.write_bytes(b"x" * size)
        with pytest.raises(EngineError, match="corrupted in transit"):
            storage.get_tree(f"oss://{pai.bucket}/", tmp_path / "here")
    storage.get_tree(f"oss://{pai.bucket}/", tmp_path / "here")
    assert (tmp_path / "here/large").read_bytes() == bytes(20 * MIB)


def test_abandoned_uploads_are_aborted(storage: OssStorage, pai: StandIn, tmp_path: Path) -> None:
    path = large(tmp_path, 16)
    pai.faults.add("refused", "oss:CompleteMultipartUpload", status=400, code="Odd", count=1)
    with pytest.raises(PaiError, match="Odd"):
        storage.put(path, f"oss://{pai.bucket}/old")
    assert pai.objects.uploads() == ["old"]
    note = next((tmp_path / "transfers").iterdir())
    os.utime(note, (0, 0))
    storage.put(path, f"oss://{pai.bucket}/new")
    assert pai.objects.uploads() == []
    assert [*(tmp_path / "transfers").iterdir()] == []


def test_loopback_is_reached_without_a_proxy(
    storage: OssStorage, pai: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert storage.list(f"oss://{pai.bucket}/") == []


def test_archived_object_is_reported(storage: OssStorage, pai: StandIn) -> None:
    pai.objects.write("a/b", b"1")
    pai.faults.add("refused", "oss:GetObject", status=403, code="InvalidObjectState")
    with storage.open(f"oss://{pai.bucket}/a/", "b") as file, pytest.raises(Conflict, match="archived"):
        file.read(0, 1)
