"""Storage on COS beyond what every storage promises: parts, resuming, faults, keys that end, what refusals say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.cloud.tencent.account import TencentAccount, TencentSettings
from jupyter_pai.core.errors import (
    BucketError,
    ClockError,
    Conflict,
    CredentialsError,
    EngineError,
    NotFound,
    PaiError,
    PermissionDenied,
    Refused,
    Unreachable,
)
from jupyter_pai.storage.cos.storage import CosStorage
from jupyter_pai.storage.cos.uri import CosUri
from jupyter_pai.storage.objects.copy import copy_objects

from .cos_account import CosAccount
from .scripted_server import answering, reply
from .tione import SecretKey, TiOne, tione

MIB = 1 << 20


@pytest.fixture
def cos(tmp_path: Path) -> Iterator[TiOne]:
    with tione(tmp_path / "tione") as running:
        yield running


@pytest.fixture
def account(cos: TiOne) -> CosAccount:
    return CosAccount(cos)


@pytest.fixture
def storage(account: CosAccount, tmp_path: Path) -> CosStorage:
    return CosStorage(account, tmp_path / "transfers")


def large(tmp_path: Path, mib: int) -> Path:
    """A file of some parts of 8 MiB and a bit."""
    path = tmp_path / "large.bin"
    path.write_bytes(os.urandom(MIB) * mib + b"end")
    return path


# Transfers.


def test_large_files_are_transferred_in_parts(storage: CosStorage, cos: TiOne, tmp_path: Path) -> None:
    path, uri = large(tmp_path, 20), f"cos://{cos.bucket}/a/large.bin"
    reports: list[tuple[int, int]] = []
    written = storage.put(path, uri, progress=lambda *done: reports.append(done))
    assert cos.count("UploadPart") == 3
    assert reports[-1] == (path.stat().st_size,) * 2
    assert [*(tmp_path / "transfers").iterdir()] == []
    found = storage.stat(uri)
    assert found
    assert found.version == written.version
    reports.clear()
    cos.forget_requests()
    storage.get_tree(f"cos://{cos.bucket}/a/", tmp_path / "back", progress=lambda *done: reports.append(done))
    assert (tmp_path / "back/large.bin").read_bytes() == path.read_bytes()
    assert cos.count("GetObject") == 3
    assert reports[-1] == (path.stat().st_size,) * 2


def test_bucket_is_named_by_the_host_only(storage: CosStorage, cos: TiOne) -> None:
    storage.put(b"1", f"cos://{cos.bucket}/a")
    storage.move(f"cos://{cos.bucket}/a", f"cos://{cos.bucket}/b")
    storage.list(f"cos://{cos.bucket}/")
    assert {row["headers"]["host"] for row in cos.requests} == {cos.cos_host}
    assert not any(cos.bucket in row["path"] for row in cos.requests)


@pytest.mark.parametrize("network", ["public", "internal"])
def test_public_and_internal_hosts_are_reached(
    cos: TiOne, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: str
) -> None:
    for name, value in (cos.proxy_environment() | cos.environment()).items():
        monkeypatch.setenv(name, value)
    keys = cos.profile() | {"cos_endpoint": "", "network": network, "ca_file": str(cos.ca_file)}
    account = TencentAccount(TencentSettings.model_validate({"backend": "tione", **keys}))
    storage = CosStorage(account, tmp_path / "transfers")
    storage.put(b"1", f"cos://{cos.bucket}/a b/模型")
    storage.move(f"cos://{cos.bucket}/a b/", f"cos://{cos.bucket}/c/")
    assert [file.path for file in storage.list(f"cos://{cos.bucket}/c/")] == ["模型"]
    host = f"{cos.bucket}.cos-internal.{cos.region}.tencentcos.cn" if network == "internal" else cos.cos_host
    assert {row["headers"]["host"] for row in cos.requests} == {host}


def test_neighbour_of_a_folder_is_not_downloaded(storage: CosStorage, cos: TiOne, tmp_path: Path) -> None:
    for key in ("pre/a", "prefix2/a", "pre"):
        cos.objects.write(key, key.encode())
    for uri in (f"cos://{cos.bucket}/pre/", f"cos://{cos.bucket}/pre"):
        assert [file.path for file in storage.list(uri)] == ["a"]
    storage.get_tree(f"cos://{cos.bucket}/pre/", tmp_path / "here")
    assert [str(path.relative_to(tmp_path / "here")) for path in (tmp_path / "here").rglob("*")] == ["a"]
    assert storage.delete(f"cos://{cos.bucket}/pre/") == 1
    assert cos.objects.keys() == ["pre", "prefix2/a"]


def test_objects_are_copied_in_parts_without_download(storage: CosStorage, cos: TiOne) -> None:
    data, source, goal = os.urandom(3 * MIB), CosUri(cos.bucket, "a/模 1"), CosUri(cos.bucket, "b/1")
    cos.objects.write(source.key, data)
    copy_objects(storage.client, source, goal, [(source.key, goal.key, len(data))], whole=MIB, part=MIB)
    assert cos.objects.read("b/1") == data
    assert (cos.count("UploadPartCopy"), cos.count("GetObject")) == (3, 0)
    for key in ("b/1", "c"):
        cos.objects.write(key, b"mine")
        with pytest.raises(Conflict):
            copy_objects(storage.client, source, goal.at(key), [(source.key, key, len(data))], whole=MIB, part=MIB)
        with pytest.raises(Conflict):
            copy_objects(storage.client, source, goal.at(key), [(source.key, key, len(data))])
        assert cos.objects.read(key) == b"mine"
    assert cos.objects.uploads() == []


def test_interrupted_transfers_are_resumed(storage: CosStorage, cos: TiOne, tmp_path: Path) -> None:
    path, uri = large(tmp_path, 96), f"cos://{cos.bucket}/a/large.bin"
    cos.faults.add("refused", "cos:UploadPart", after=7, status=400, code="Odd")
    with pytest.raises(Refused, match="Odd"):
        storage.put(path, uri)
    assert cos.objects.uploads() == ["a/large.bin"]
    cos.faults.clear()
    cos.forget_requests()
    storage.put(path, uri)
    assert 0 < cos.count("UploadPart") < 13
    assert cos.count("InitiateMultipartUpload") == 0
    assert cos.objects.read("a/large.bin") == path.read_bytes()
    cos.faults.add("refused", "cos:GetObject", after=10, status=400, code="Odd")
    with pytest.raises(Refused, match="Odd"):
        storage.get_tree(f"cos://{cos.bucket}/a/", tmp_path / "here")
    cos.faults.clear()
    cos.forget_requests()
    storage.get_tree(f"cos://{cos.bucket}/a/", tmp_path / "here")
    assert 0 < cos.count("GetObject") < 13
    assert (tmp_path / "here/large.bin").read_bytes() == path.read_bytes()


def test_cancelled_upload_leaves_no_parts(storage: CosStorage, cos: TiOne, tmp_path: Path) -> None:
    path = large(tmp_path, 48)
    cos.faults.add("delay", "cos:UploadPart", after=2, seconds=1)

    def enough(done: int, whole: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        storage.put(path, f"cos://{cos.bucket}/large.bin", progress=enough)
    assert cos.objects.keys() == cos.objects.uploads() == []
    assert [*(tmp_path / "transfers").iterdir()] == []


def test_listing_reads_all_pages(storage: CosStorage, cos: TiOne) -> None:
    folder = f"cos://{cos.bucket}/many/"
    for n in range(1005):
        cos.objects.write(f"many/{n:04}/x", b"1")
    assert len(storage.list(folder)) == 1005
    assert len(storage.entries(folder, most=1003)) == 1003
    assert [file.path for file in storage.entries(folder, "1002/")] == ["1003/", "1004/"]
    assert storage.delete(folder) == 1005
    assert cos.count("DeleteMultipleObjects") == 2
    assert cos.objects.keys() == []


# Faults.


class Renewing(CosAccount):
    """Has another key when one was refused."""

    def drop(self, key: Any) -> None:
        self.access_key = self.server.sts(3600)


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("change", [{"expires": 0}, {"active": False}])
def test_keys_that_end_during_a_transfer_are_renewed(cos: TiOne, tmp_path: Path, change: dict[str, Any]) -> None:
    path, uri = large(tmp_path, 96), f"cos://{cos.bucket}/large.bin"
    account = Renewing(cos, old := cos.sts(3600))
    cos.faults.add("delay", "cos:UploadPart", seconds=0.3)

    def end(done: int, whole: int) -> None:
        if done:
            cos.change_key(old.id, **change)

    storage = CosStorage(account, tmp_path / "transfers")
    storage.put(path, uri, progress=end)
    assert account.access_key != old
    assert any(row["status"] == 403 for row in cos.requests)
    assert cos.objects.read("large.bin") == path.read_bytes()
    cos.change_key(account.access_key.id, **change)
    storage.get_tree(f"cos://{cos.bucket}/", tmp_path / "back")
    assert (tmp_path / "back/large.bin").read_bytes() == path.read_bytes()


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("kind", ["500", "503", "throttled", "reset", "cut", "lost"])
def test_transfers_survive_faults(storage: CosStorage, cos: TiOne, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    for n in range(40):
        (folder / f"{n:02}").write_bytes(os.urandom(n * 100))
    (folder / "large").write_bytes(os.urandom(MIB) * 20)
    cos.faults.add(kind, "cos:*", probability=0.1)
    storage.put_tree(folder, f"cos://{cos.bucket}/tree/")
    storage.move(f"cos://{cos.bucket}/tree/", f"cos://{cos.bucket}/moved/")
    storage.get_tree(f"cos://{cos.bucket}/moved/", tmp_path / "back")
    assert cos.faults.struck
    result = {path.name: path.read_bytes() for path in (tmp_path / "back").iterdir()}
    assert result == {path.name: path.read_bytes() for path in folder.iterdir()}
    assert cos.objects.uploads() == []
    assert cos.objects.keys("tree/") == []


@pytest.mark.parametrize("code", ["RequestTimeout", "IncompleteBody", "BadDigest", "SlowDown"])
def test_throttled_or_cut_requests_are_repeated_whatever_their_status(
    storage: CosStorage, cos: TiOne, code: str
) -> None:
    for action in ("PutObject", "GetObject", "ListObjects", "DeleteObject"):
        cos.faults.add("refused", f"cos:{action}", status=400, code=code, count=1)
    storage.put(b"1", f"cos://{cos.bucket}/a")
    assert [file.path for file in storage.list(f"cos://{cos.bucket}/")] == ["a"]
    with storage.open(f"cos://{cos.bucket}/", "a") as file:
        assert file.read(0, 9) == b"1"
    assert storage.delete(f"cos://{cos.bucket}/a") == 1
    assert cos.faults.struck == 4


@pytest.mark.parametrize("action", ["PutObject", "CompleteMultipartUpload"])
def test_lost_upload_reply_is_not_a_conflict(storage: CosStorage, cos: TiOne, tmp_path: Path, action: str) -> None:
    path = large(tmp_path, 20 if action.startswith("C") else 1)
    cos.faults.add("lost", f"cos:{action}", count=1)
    assert storage.put(path, f"cos://{cos.bucket}/large.bin").size == path.stat().st_size
    assert cos.objects.read("large.bin") == path.read_bytes()
    with pytest.raises(Conflict):
        storage.put(path, f"cos://{cos.bucket}/large.bin")


def test_object_changed_while_reading_raises(storage: CosStorage, cos: TiOne) -> None:
    cos.objects.write("a/b", b"one")
    with storage.open(f"cos://{cos.bucket}/a/", "b") as file:
        assert file.read(0, 2) == b"on"
        cos.objects.write("a/b", b"two")
        with pytest.raises(EngineError, match="changed while"):
            file.read(0, 3)


# Refusals.


def test_errors_have_a_fix(storage: CosStorage, account: CosAccount, cos: TiOne) -> None:
    def said(kind: type[PaiError], uri: str = f"cos://{cos.bucket}/a/") -> str:
        messages = []
        for request in (storage.list, storage.stat, lambda uri: storage.put(b"1", f"{uri}x")):
            with pytest.raises(kind) as caught:
                request(uri)
            assert account.access_key.secret not in str(caught.value)
            assert caught.value.fix
            messages.append(str(caught.value))
        return messages[0]

    assert "`bucket`" in said(BucketError, "cos://missing-1250000000/a/")
    cos.make_bucket("far-1250000000", "ap-beijing")
    assert "another region" in said(BucketError, "cos://far-1250000000/a/")
    account.access_key = cos.key._replace(secret="wrong")
    assert "SecretKey" in said(CredentialsError)
    account.access_key = SecretKey("AKIDunknown", "0" * 30)
    assert "SecretId" in said(CredentialsError)
    account.access_key = cos.sts(3600)._replace(token="wrong")
    assert "token" in said(CredentialsError)
    account.access_key = cos.make_key(["cos:*"])
    assert "cos:GetObject" in said(PermissionDenied)
    account.access_key = cos.key
    cos.move_clock(-1200)
    assert "20 minutes fast" in said(ClockError)
    cos.move_clock(1200 + 11_000)  # A signature is valid for 10,000 seconds.
    assert "183 minutes slow" in said(ClockError)


def test_refusals_of_head_requests_are_explained(storage: CosStorage, account: CosAccount, cos: TiOne) -> None:
    cos.objects.write("a", b"1")
    with pytest.raises(BucketError):
        storage.open("cos://missing-1250000000/", "a")
    with pytest.raises(NotFound):
        storage.open(f"cos://{cos.bucket}/", "no")
    cos.forget_requests()
    with pytest.raises(NotFound):
        storage.open(f"cos://{cos.bucket}/", "no")
    assert cos.count("GetObject") == 0  # The bucket is known to exist.
    account.access_key = cos.key._replace(secret="wrong")
    with pytest.raises(CredentialsError):
        storage.open(f"cos://{cos.bucket}/", "a")
    account.access_key = cos.make_key(["cos:HeadObject"])
    with pytest.raises(PermissionDenied):
        storage.open(f"cos://{cos.bucket}/", "a")


def test_archived_object_is_reported(storage: CosStorage, cos: TiOne) -> None:
    cos.objects.write("a/b", b"1")
    cos.faults.add("refused", "cos:GetObject", status=403, code="InvalidObjectState")
    with storage.open(f"cos://{cos.bucket}/a/", "b") as file, pytest.raises(Conflict, match="archived"):
        file.read(0, 1)


def storage_at(cos: TiOne, url: str, tmp_path: Path) -> CosStorage:
    """Return a storage with another endpoint."""
    account = CosAccount(cos)
    account.settings = account.settings.model_copy(update={"cos_endpoint": url})
    return CosStorage(account, tmp_path / "transfers")


def test_error_with_a_status_of_success_is_an_error(cos: TiOne, tmp_path: Path) -> None:
    listed = "<R><IsTruncated>false</IsTruncated><Contents><Key>a/b</Key><Size>1</Size><ETag>e</ETag></Contents></R>"
    failed = "<DeleteResult><Error><Key>a/b</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>"
    with answering() as server:
        storage = storage_at(cos, server.url, tmp_path)
        server.say(reply(200, listed), reply(200, failed))
        with pytest.raises(PermissionDenied):
            storage.delete(f"cos://{cos.bucket}/a/")
        busy = "<Error><Code>InternalError</Code><Message>busy</Message></Error>"
        done = "<CopyObjectResult><ETag>e</ETag></CopyObjectResult>"
        server.say(reply(200, busy), reply(200, done))
        storage.client.ask(storage.client.copy, CosUri(cos.bucket, "b"), CosUri(cos.bucket, "a"))
        assert len(server.seen) == 4
        server.say(reply(301, ""))
        with pytest.raises(PaiError, match="301"):
            storage.put(b"1", f"cos://{cos.bucket}/a")


@pytest.mark.slow("waits")
def test_damaged_upload_is_repeated(cos: TiOne, tmp_path: Path) -> None:
    with answering() as server:
        storage = storage_at(cos, server.url, tmp_path)
        server.say(*[reply(200, "", **{"etag": '"e"', "x-cos-hash-crc64ecma": "5"})] * 6)
        with pytest.raises(EngineError, match="corrupted in transit"):
            storage.put(b"1", f"cos://{cos.bucket}/a")
        assert len(server.seen) == 6


@pytest.mark.slow("waits")
def test_unreachable_endpoint_is_named(cos: TiOne, tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"No response from 127\.0\.0\.1:9.*cos_endpoint"):
        storage_at(cos, "http://127.0.0.1:9", tmp_path).list(f"cos://{cos.bucket}/")


def test_loopback_is_reached_without_a_proxy(storage: CosStorage, cos: TiOne, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert storage.list(f"cos://{cos.bucket}/") == []


def test_keys_are_not_logged(
    storage: CosStorage,
    account: CosAccount,
    cos: TiOne,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    account.access_key = cos.sts(3600)
    with caplog.at_level("DEBUG"):
        storage.put(b"1", f"cos://{cos.bucket}/a")
        cos.change_key(account.access_key.id, expires=0)
        with pytest.raises(CredentialsError) as caught:
            storage.list(f"cos://{cos.bucket}/")
    written = caplog.text + "".join(capfd.readouterr()) + str(caught.value)
    for secret in (account.access_key.secret, account.access_key.token):
        assert secret not in written
