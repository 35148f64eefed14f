"""The stand-in's OSS, tested with the official client."""

from __future__ import annotations

import os
import select
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import oss2
import pytest
import requests

from ..support.waiting import PATIENCE
from .alibaba import AccessKey, StandIn
from .alibaba.blobs import Writer

ODD = ["a b/ü+%.txt", "中文/数据.csv", "x=1&y=2?z", "back\\slash", "dots/../here", "q'uote\"<>"]


def bucket_of(pai: StandIn, version: str = "v4", key: AccessKey | None = None, name: str = "") -> Any:
    """A bucket as a user has it."""
    key = key or pai.key
    auth = oss2.StsAuth(*key, auth_version=version) if key.token else oss2.make_auth(key.id, key.secret, version)
    return oss2.Bucket(auth, pai.oss_endpoint, name or pai.bucket, region=pai.region)


@pytest.fixture
def pai(platform: StandIn) -> StandIn:
    """The stand-in of the test process, without objects."""
    platform.clear()
    return platform


@pytest.fixture(params=["v1", "v4"])
def bucket(pai: StandIn, request: pytest.FixtureRequest) -> Any:
    return bucket_of(pai, request.param)


def test_objects_keep_bytes_metadata_and_unusual_keys(bucket: Any, pai: StandIn) -> None:
    for key in ODD:
        put = bucket.put_object(key, key.encode(), headers={"x-oss-meta-who": "ada", "Content-Type": "text/x"})
        got = bucket.get_object(key)
        assert got.read() == key.encode() and got.headers["x-oss-meta-who"] == "ada"
        assert (got.etag, got.content_type) == (put.etag, "text/x")
    listed = [result.key for result in oss2.ObjectIterator(bucket)]
    assert listed == sorted(ODD) == [result.key for result in oss2.ObjectIteratorV2(bucket)] == pai.objects.keys()
    assert bucket.batch_delete_objects(ODD[:3]).deleted_keys == ODD[:3]
    bucket.delete_object(ODD[3])
    assert pai.objects.keys() == sorted(ODD[4:])


def test_thousand_objects_are_deleted_at_once(bucket: Any, pai: StandIn) -> None:
    keys = [f"{'x' * 1000}{number:04}" for number in range(1000)]
    pai.objects.write(keys[0], b"y" * 3_000_000)
    assert bucket.get_object(keys[0]).read() == b"y" * 3_000_000
    assert len(bucket.batch_delete_objects(keys).deleted_keys) == 1000
    assert pai.objects.keys() == []
    assert [path.name for path in (pai.folder / "blobs").iterdir()] == []


def test_listings_have_pages_folders_and_markers(bucket: Any, pai: StandIn) -> None:
    for key in ["a", *(f"d/{number:03}" for number in range(120)), "d/e/f", "z/1"]:
        pai.objects.write(key, b"x")
    page = bucket.list_objects(delimiter="/", max_keys=2)
    assert ([o.key for o in page.object_list], page.prefix_list, page.next_marker) == (["a"], ["d/"], "d/")
    rest = bucket.list_objects(delimiter="/", marker=page.next_marker)
    assert (rest.object_list, rest.prefix_list, rest.is_truncated) == ([], ["z/"], False)
    pages = [bucket.list_objects_v2(prefix="d/", delimiter="/")]
    while pages[-1].is_truncated:
        token = pages[-1].next_continuation_token
        pages.append(bucket.list_objects_v2(prefix="d/", delimiter="/", continuation_token=token))
    assert [len(result.object_list) for result in pages] == [100, 20] and pages[1].prefix_list == ["d/e/"]
    assert [o.key for o in bucket.list_objects_v2(start_after="d/118", prefix="d/1").object_list] == ["d/119"]


def test_ranges_and_conditions_are_honoured(bucket: Any) -> None:
    etag = bucket.put_object("k", b"0123456789").etag
    assert bucket.get_object("k", byte_range=(2, 4)).read() == b"234"
    assert bucket.get_object("k", byte_range=(None, 3)).read() == b"789"
    with pytest.raises(oss2.exceptions.NotModified):
        bucket.get_object("k", headers={"If-None-Match": etag})
    with pytest.raises(oss2.exceptions.PreconditionFailed):
        bucket.get_object("k", headers={"If-Match": "other"})
    with pytest.raises(oss2.exceptions.ServerError, match="FileAlreadyExists"):
        bucket.put_object("k", b"", headers={"x-oss-forbid-overwrite": "true"})


def test_multipart_upload_has_the_right_checksum(bucket: Any, pai: StandIn, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4096
    (tmp_path / "big").write_bytes(data)
    store = oss2.ResumableStore(root=str(tmp_path))
    oss2.resumable_upload(
        bucket, "big", str(tmp_path / "big"), store, multipart_threshold=1, part_size=150_000, num_threads=3
    )
    got = bucket.get_object("big")
    assert got.read() == data == pai.objects.read("big")  # oss2 compares the sum of what it read with ours.
    assert bucket.head_object("big").object_type == "Multipart" and pai.objects.uploads() == []
    oss2.resumable_download(
        bucket, "big", str(tmp_path / "got"), multiget_threshold=1, part_size=300_000, num_threads=2,
        store=oss2.ResumableDownloadStore(root=str(tmp_path)),
    )  # fmt: skip
    assert (tmp_path / "got").read_bytes() == data


def test_unfinished_uploads_are_listed_and_aborted(bucket: Any, pai: StandIn) -> None:
    upload = bucket.init_multipart_upload("ü").upload_id
    first = bucket.upload_part("ü", upload, 1, b"x" * 200_000)
    bucket.upload_part("ü", upload, 2, b"y")
    parts = bucket.list_parts("ü", upload, max_parts=1)
    assert (parts.is_truncated, parts.parts[0].etag) == (True, first.etag)
    assert [result.key for result in bucket.list_multipart_uploads().upload_list] == ["ü"]
    with pytest.raises(oss2.exceptions.ServerError, match="InvalidPart"):
        bucket.complete_multipart_upload("ü", upload, [oss2.models.PartInfo(1, "0" * 32, part_crc=1)])
    bucket.abort_multipart_upload("ü", upload)
    with pytest.raises(oss2.exceptions.NoSuchUpload):
        bucket.upload_part("ü", upload, 3, b"z")
    assert pai.objects.uploads() == []


def test_objects_are_appended_and_copied(bucket: Any, pai: StandIn) -> None:
    first = bucket.append_object("log", 0, b"one,")
    bucket.append_object("log", first.next_position, b"two", init_crc=first.crc)
    with pytest.raises(oss2.exceptions.PositionNotEqualToLength):
        bucket.append_object("log", 0, b"three")
    bucket.copy_object(pai.bucket, "log", "copy of/log")
    assert bucket.get_object("copy of/log").read() == b"one,two"


def test_presigned_urls_are_checked(bucket: Any) -> None:
    bucket.put_object("a b", b"hello")
    address = bucket.sign_url("GET", "a b", 60)
    assert requests.get(address, timeout=PATIENCE).content == b"hello"
    assert requests.get(address.replace("a%20b", "b"), timeout=PATIENCE).status_code == 403
    put = bucket.sign_url("PUT", "new", 60, headers={"Content-Type": "text/x"})
    assert requests.put(put, b"x", headers={"Content-Type": "text/x"}, timeout=PATIENCE).status_code == 200
    assert requests.put(put, b"x", headers={"Content-Type": "text/y"}, timeout=PATIENCE).status_code == 403
    over = bucket.sign_url("GET", "a b", -20)
    assert "expired" in requests.get(over, timeout=PATIENCE).text


def test_bucket_reports_location_info_and_size(pai: StandIn) -> None:
    bucket = bucket_of(pai)
    assert bucket.get_bucket_location().location == f"oss-{pai.region}"
    assert bucket.get_bucket_info().name == pai.bucket
    bucket.put_object("k", b"123")
    assert bucket.get_bucket_stat().storage_size_in_bytes == 3
    service = oss2.Service(oss2.AuthV4(pai.key.id, pai.key.secret), pai.oss_endpoint, region=pai.region)
    assert [result.name for result in oss2.BucketIterator(service)] == [pai.bucket]


@pytest.mark.parametrize("version", ["v1", "v4"])
def test_requests_without_rights_are_rejected(pai: StandIn, version: str) -> None:
    def refusal(bucket: Any) -> tuple[int, str]:
        with pytest.raises(oss2.exceptions.ServerError) as caught:
            bucket.head_object("k")
        assert caught.value.request_id and pai.key.secret not in str(caught.value)
        return caught.value.status, caught.value.code

    assert refusal(bucket_of(pai, version)) == (404, "NoSuchKey")
    assert refusal(bucket_of(pai, version, name="other")) == (404, "NoSuchBucket")
    assert refusal(bucket_of(pai, version, AccessKey("LTAInone", "s"))) == (403, "InvalidAccessKeyId")
    assert refusal(bucket_of(pai, version, AccessKey(pai.key.id, "wrong"))) == (403, "SignatureDoesNotMatch")
    assert refusal(bucket_of(pai, version, pai.sts(-1))) == (403, "SecurityTokenExpired")
    sts = pai.sts(60)
    assert refusal(bucket_of(pai, version, sts)) == (404, "NoSuchKey")
    assert refusal(bucket_of(pai, version, AccessKey(sts.id, sts.secret))) == (403, "InvalidSecurityToken")
    assert refusal(bucket_of(pai, version, pai.make_key(denied=("oss:Head*",)))) == (403, "AccessDenied")
    pai.make_bucket("far", "cn-beijing")
    assert refusal(bucket_of(pai, version, name="far")) == (403, "AccessDenied")
    pai.set_clock(20 * 60)
    assert refusal(bucket_of(pai, version)) == (403, "RequestTimeTooSkewed")


def test_virtual_host_urls_are_accepted(pai: StandIn) -> None:
    endpoint = pai.oss_endpoint.replace("127.0.0.1", "oss.test")
    bucket = oss2.Bucket(oss2.Auth(pai.key.id, pai.key.secret), endpoint, pai.bucket)
    address = bucket.sign_url("PUT", "a/b", 60).replace(f"{pai.bucket}.oss.test", "127.0.0.1")
    host = {"Host": f"{pai.bucket}.oss.test"}
    assert requests.put(address, b"1", headers=host, timeout=PATIENCE).status_code == 200
    assert pai.objects.read("a/b") == b"1"


def test_faults_are_injected(pai: StandIn) -> None:
    bucket = bucket_of(pai)
    bucket.put_object("k", b"x" * 1_000_000)
    for kind, status in {"500": 500, "503": 503, "throttled": 503}.items():
        pai.faults.add(kind, "oss:Put*", count=1)
        with pytest.raises(oss2.exceptions.ServerError) as caught:
            bucket.put_object("new", b"x")
        assert caught.value.status == status
    pai.faults.add("reset", "oss:Put*", count=1)
    with pytest.raises(oss2.exceptions.RequestError):
        bucket.put_object("new", b"x")
    assert pai.objects.keys() == ["k"]
    pai.faults.add("lost", "oss:Put*", count=1)
    with pytest.raises(oss2.exceptions.RequestError):
        bucket.put_object("new", b"x")
    assert pai.objects.keys() == ["k", "new"]
    pai.faults.add("cut", "oss:Get*", count=1)
    with pytest.raises((oss2.exceptions.OssError, requests.RequestException)):
        bucket.get_object("k").read()
    pai.faults.add("delay", count=1, seconds=1)
    bucket.timeout = 0.2
    with pytest.raises(oss2.exceptions.RequestError, match="timed out"):
        bucket.get_object("k")
    assert pai.faults.struck == 7
    assert [r["status"] for r in pai.requests if r["action"] == "PutObject"] == [200, 500, 503, 503, 0, 0]


def test_data_of_a_cut_request_goes_into_no_other_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "blob")
    reader = os.open(tmp_path / "blob", os.O_RDONLY | os.O_NONBLOCK)
    writer = Writer(tmp_path / "blob")
    chunks = [b"x" * 4096] * 256
    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(writer.write, chunks)
        select.select([reader], [], [])
        os.set_blocking(reader, True)
        reading = pool.submit(lambda: b"".join(iter(lambda: os.read(reader, 1024), b"")))
        writer.drop()
        assert reading.result() == b"".join(chunks)
    writing.result()
    os.close(reader)
    assert not writer.path.exists()
