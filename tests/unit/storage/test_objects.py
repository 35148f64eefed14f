"""The base of object storages, over a service in memory whose requests fail as a test says."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from jupyter_pai.core.errors import (
    BadInput,
    Conflict,
    CredentialsError,
    EngineError,
    Refused,
    Unreachable,
    Unsupported,
)
from jupyter_pai.storage.meter import Meter
from jupyter_pai.storage.objects.client import Received, Stored
from jupyter_pai.storage.objects.copy import copy_objects
from jupyter_pai.storage.objects.multipart import upload_file
from jupyter_pai.storage.objects.transfer import UploadBody

from ...support.memory_objects import MemoryStorage, MemoryUri, RefusalError, Service

MIB = 1 << 20
PART = 8 * MIB


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def storage(service: Service, tmp_path: Path) -> MemoryStorage:
    return MemoryStorage(service, tmp_path / "transfers")


def fill(service: Service, *keys: str) -> None:
    service.objects |= {("b", key): key.encode() for key in keys}


def large(tmp_path: Path, parts: int) -> Path:
    """A file of so many parts, the last of them small."""
    (tmp_path / "large").write_bytes(os.urandom(MIB) * 8 * (parts - 1) + b"end")
    return tmp_path / "large"


# Addresses and folders.


@pytest.mark.parametrize(
    ("key", "prefix", "above", "name"),
    [("", "", "", ""), ("a", "a/", "", "a"), ("a/", "a/", "", "a/"), ("a/b", "a/b/", "a/", "b")],
)
def test_address_is_split_into_folder_and_name(key: str, prefix: str, above: str, name: str) -> None:
    uri = MemoryUri("b", key)
    assert uri.prefix == prefix
    assert uri.split() == (MemoryUri("b", above), name)
    assert uri.join("c/d") == MemoryUri("b", f"{prefix}c/d")


def test_folder_takes_no_neighbour(service: Service, storage: MemoryStorage, tmp_path: Path) -> None:
    fill(service, "pre/a", "prefix2/a", "pre-", "pre")
    assert [file.path for file in storage.list("memory://b/pre")] == ["a"]
    assert storage.get_tree("memory://b/pre/", tmp_path / "here") == 1
    assert storage.move("memory://b/pre/", "memory://b/new/") == 1
    assert storage.delete("memory://b/new/") == 1
    assert [key for _bucket, key in sorted(service.objects)] == ["pre", "pre-", "prefix2/a"]


def test_listing_has_pages(service: Service, storage: MemoryStorage) -> None:
    fill(service, *(f"d/{n:04}" for n in range(1500)), *(f"d/sub{n}/x" for n in range(3)))
    assert len(storage.list("memory://b/d/")) == 1503
    assert service.asked["page"] == 2
    names = [file.path for file in storage.entries("memory://b/d/", most=2000)]
    assert names == [*(f"{n:04}" for n in range(1500)), "sub0/", "sub1/", "sub2/"]
    after: list[str] = []
    while page := storage.entries("memory://b/d/", after[-1] if after else "", 400):
        after += [file.path for file in page]
    assert after == names


def test_folder_is_deleted_in_batches(service: Service, storage: MemoryStorage) -> None:
    fill(service, "d/", *(f"d/{n}" for n in range(2001)))
    assert storage.delete("memory://b/d/") == 2001  # The marker of the folder does not count.
    assert (service.asked["delete_many"], service.objects) == (3, {})


def test_keys_that_are_no_paths_stay_in_the_bucket(service: Service, storage: MemoryStorage, tmp_path: Path) -> None:
    fill(service, "d/ok", "d/../out", "d//b", "d/./c")
    assert storage.get_tree("memory://b/d/", tmp_path / "here") == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["here", "ok"]


def test_nothing_is_moved_between_endpoints(service: Service, storage: MemoryStorage) -> None:
    fill(service, "a")
    with pytest.raises(Unsupported, match="different endpoints"):
        storage.move("memory://b/a", "memory://far/a")


# Requests.


@pytest.mark.parametrize(
    "error",
    [RefusalError(500, ""), RefusalError(429, ""), RefusalError(400, "SlowDown"), RefusalError(400, "BadDigest")],
)
def test_passing_error_is_retried(service: Service, storage: MemoryStorage, error: Exception) -> None:
    service.fail["put"] = [error, error]
    storage.put(b"1", "memory://b/a")
    assert (service.objects, service.asked["put"]) == ({("b", "a"): b"1"}, 3)


def test_network_error_is_retried_then_named(service: Service, storage: MemoryStorage) -> None:
    import requests

    service.fail["put"] = [requests.ConnectionError("gone")] * 6
    with pytest.raises(Unreachable, match=r"No response from memory: gone\. Check the cable"):
        storage.put(b"1", "memory://b/a")
    service.fail["put"] = [requests.ConnectionError("CERTIFICATE_VERIFY_FAILED")]
    with pytest.raises(Unreachable, match="certificate of memory"):
        storage.put(b"1", "memory://b/a")
    assert service.asked["put"] == 7


def test_ended_key_is_renewed_while_there_are_others(service: Service, storage: MemoryStorage) -> None:
    service.fail["put"] = [RefusalError(403, "KeyEnded")]
    storage.put(b"1", "memory://b/a")
    service.fail["put"] = [RefusalError(403, "KeyEnded")] * 6
    with pytest.raises(CredentialsError):
        storage.put(b"1", "memory://b/b")
    assert service.asked["put"] == 4


# Uploads.


def test_damaged_file_is_sent_again(tmp_path: Path) -> None:
    class Damaging(Service):
        def put(self, uri: MemoryUri, body: UploadBody, *, overwrite: bool) -> Stored:
            return super().put(uri, replace(body, data=b"x") if self.asked["put"] < 2 else body, overwrite=True)

    service = Damaging()
    MemoryStorage(service, tmp_path).put(b"1", "memory://b/a")
    assert (service.objects, service.asked["put"]) == ({("b", "a"): b"1"}, 3)


def test_service_without_checksums_is_trusted(tmp_path: Path) -> None:
    storage = MemoryStorage(Service(has_crc=False), tmp_path / "transfers")
    path = large(tmp_path, 3)
    storage.put(path, "memory://b/d/large")
    storage.get_tree("memory://b/d/", tmp_path / "here")
    assert (tmp_path / "here/large").read_bytes() == path.read_bytes()


def test_lost_reply_is_not_a_conflict(service: Service, storage: MemoryStorage, tmp_path: Path) -> None:
    fill(service, "a")
    service.lose = {name: [RefusalError(500, "")] for name in ("put", "copy", "complete")}
    storage.put(b"1", "memory://b/new")
    storage.move("memory://b/a", "memory://b/c")
    storage.put(large(tmp_path, 2), "memory://b/large")
    assert [key for _bucket, key in sorted(service.objects)] == ["c", "large", "new"]
    for source in (b"1", large(tmp_path, 2)):
        service.lose = {name: [RefusalError(500, "")] for name in ("put", "complete")}
        with pytest.raises(Conflict, match="already exists"):
            storage.put(source, "memory://b/c")
    assert service.objects["b", "c"] == b"a"


def test_only_missing_parts_are_sent(service: Service, storage: MemoryStorage, tmp_path: Path) -> None:
    path = large(tmp_path, 4)
    service.fail["complete"] = [RefusalError(400, "Odd")]
    with pytest.raises(Refused, match="Odd"):
        storage.put(path, "memory://b/large")
    (parts,) = service.uploads.values()
    del parts[2]
    parts[3] = b"other"
    service.asked.clear()
    storage.put(path, "memory://b/large")
    assert (service.asked["put_part"], service.asked["begin"]) == (2, 0)
    assert service.objects["b", "large"] == path.read_bytes()
    assert [*(tmp_path / "transfers").iterdir()] == []


def test_upload_unknown_to_the_service_begins_again(service: Service, storage: MemoryStorage, tmp_path: Path) -> None:
    path = large(tmp_path, 2)
    service.fail["complete"] = [RefusalError(400, "Odd")]
    with pytest.raises(Refused):
        storage.put(path, "memory://b/large")
    service.uploads.clear()
    storage.put(path, "memory://b/large")
    assert service.objects["b", "large"] == path.read_bytes()


def test_file_that_changes_while_it_is_sent_is_not_stored(
    service: Service, storage: MemoryStorage, tmp_path: Path
) -> None:
    path = large(tmp_path, 2)

    def change(done: int, whole: int) -> None:
        os.utime(path, (1, 1))

    with pytest.raises(BadInput, match="changed during the upload"):
        storage.put(path, "memory://b/large", progress=change)
    assert not service.objects
    assert not service.uploads


def test_abandoned_upload_is_aborted_by_the_next_one(service: Service, storage: MemoryStorage, tmp_path: Path) -> None:
    path, notes = large(tmp_path, 2), tmp_path / "transfers"
    service.fail["complete"] = [RefusalError(400, "Odd")]
    with pytest.raises(Refused):
        storage.put(path, "memory://b/old")
    for note in notes.iterdir():
        os.utime(note, (0, 0))
    # That of another service is kept.
    (notes / "other.upload").write_text('{"to": "https://other other://b/a", "upload_id": "1"}\n')
    os.utime(notes / "other.upload", (0, 0))
    upload_file(service, path, MemoryUri("b", "new"), notes, Meter(1), overwrite=False)
    assert service.uploads == {}
    assert [path.name for path in notes.iterdir()] == ["other.upload"]


# Downloads and copies.


def test_damaged_download_is_reported(tmp_path: Path) -> None:
    class Damaging(Service):
        def get(self, uri: MemoryUri, start: int, end: int, version: str, meter: Meter | None) -> Received:
            data, crc = super().get(uri, start, end, version, meter)
            return Received(b"x" * len(data), crc)

    service = Damaging()
    fill(service, "d/a")
    with pytest.raises(EngineError, match="corrupted in transit"):
        MemoryStorage(service, tmp_path).get_tree("memory://b/d/", tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_resumed_download_asks_for_the_rest(tmp_path: Path) -> None:
    class Ending(Service):
        limit = 8 * PART

        def get(self, uri: MemoryUri, start: int, end: int, version: str, meter: Meter | None) -> Received:
            if start >= self.limit:
                raise RefusalError(400, "Odd")
            return super().get(uri, start, end, version, meter)

    service, data = Ending(), large(tmp_path, 12).read_bytes()
    storage = MemoryStorage(service, tmp_path / "transfers")
    service.objects["b", "d/large"] = data
    with pytest.raises(Refused, match="Odd"):
        storage.get_tree("memory://b/d/", tmp_path / "here")
    service.limit = len(data)
    service.asked.clear()
    storage.get_tree("memory://b/d/", tmp_path / "here")
    assert service.asked["get"] == 4
    assert (tmp_path / "here/large").read_bytes() == data


def test_replaced_object_is_not_mixed(service: Service, storage: MemoryStorage) -> None:
    fill(service, "a")
    file = storage.open("memory://b/", "a")
    fill(service, "a")
    assert file.read(0, 1) == b"a"
    service.objects["b", "a"] = b"new"
    with pytest.raises(EngineError, match="changed while"):
        file.read(0, 1)


def test_failed_copy_leaves_nothing(service: Service) -> None:
    fill(service, "a/1", "a/2")
    service.objects["b", "a/3"] = b"x" * 30
    service.fail["copy_part"] = [RefusalError(400, "Odd")]
    rows = [("a/1", "c/1", 3), ("a/2", "c/2", 3), ("a/3", "c/3", 30)]
    with pytest.raises(Refused, match="Odd"):
        copy_objects(service, MemoryUri("b", "a/"), MemoryUri("b", "c/"), rows, whole=10, part=10)
    assert [key for _bucket, key in sorted(service.objects)] == ["a/1", "a/2", "a/3"]
    assert service.uploads == {}
    reports: list[tuple[int, int]] = []
    copy_objects(
        service, MemoryUri("b", "a/"), MemoryUri("b", "c/"), rows, lambda *done: reports.append(done), whole=10, part=10
    )
    assert service.objects["b", "c/3"] == b"x" * 30
    assert reports[-1] == (36, 36)
