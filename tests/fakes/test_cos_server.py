"""The COS of the stand-in of TI-ONE, by the official client, which knows nothing of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from qcloud_cos import CosConfig, CosS3Client
from qcloud_cos.cos_exception import CosClientError, CosServiceError
from urllib3.exceptions import ProtocolError

from .tione import SecretKey, TiOne, tione

ODD = ["a b+c", "a/b", "a/c/d", "plain", "模型/权重 #1?%20.bin", "~tilde(1)*!'"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TiOne]:
    with tione(tmp_path / "tione", smallest_part=65536) as running:
        yield running


def client(server: TiOne, key: SecretKey | None = None, retry: int = 0, **config: Any) -> Any:
    key, address = key or server.key, urlsplit(server.url)
    chosen = {"Region": server.region, "Scheme": "http", "IP": address.hostname, "Port": address.port} | config
    made = CosConfig(SecretId=key.id, SecretKey=key.secret, Token=key.token or None, **chosen)
    return CosS3Client(made, retry=retry)


def code(call: Any, *arguments: Any, **fields: Any) -> str:
    """Return the code of the error that a call raises."""
    with pytest.raises(CosServiceError) as raised:
        call(*arguments, **fields)
    return str(raised.value.get_error_code())


def listed(cos: Any, server: TiOne, **query: Any) -> tuple[list[str], list[str]]:
    """Return keys and folders of all pages."""
    keys: list[str] = []
    folders: list[str] = []
    marker = ""
    while True:
        page = cos.list_objects(server.bucket, Marker=marker, **query)
        keys += [row["Key"] for row in page.get("Contents", [])]
        folders += [row["Prefix"] for row in page.get("CommonPrefixes", [])]
        if page["IsTruncated"] == "false":
            return keys, folders
        marker = page["NextMarker"]


@pytest.mark.parametrize(
    "config",
    [{}, {"SignHost": False, "SignParams": False}, {"EnableOldDomain": False}, {"Endpoint": "127.0.0.1:9"}],
)
def test_objects_of_odd_names_are_put_got_listed_and_deleted(server: TiOne, config: dict[str, Any]) -> None:
    cos = client(server, **config)
    for name in ODD:
        cos.put_object(server.bucket, name.encode(), name, ContentType="text/plain", Metadata={"x-cos-meta-a": "b"})
    assert server.objects.keys() == sorted(ODD) == listed(cos, server)[0]
    for name in ODD:
        reply = cos.get_object(server.bucket, name)
        assert reply["Body"].get_raw_stream().read() == name.encode()
        head = cos.head_object(server.bucket, name)
        assert head["ETag"] == f'"{hashlib.md5(name.encode()).hexdigest()}"'
        assert (head["Content-Type"], head["x-cos-meta-a"]) == ("text/plain", "b")
        assert int(head["Content-Length"]) == len(name.encode())
    cos.delete_object(server.bucket, ODD[0])
    cos.delete_objects(server.bucket, {"Object": [{"Key": name} for name in ODD[1:4]], "Quiet": "false"})
    assert server.objects.keys() == sorted(ODD[4:])
    assert {row["status"] for row in server.requests} == {200, 204}


def test_lists_have_folders_and_pages(server: TiOne) -> None:
    for number in range(25):
        server.objects.write(f"data/{number % 5}/{number:02}", b"1")
    server.objects.write("data/file", b"1")
    server.objects.write("database", b"1")
    cos = client(server)
    assert listed(cos, server, Prefix="data/", Delimiter="/", MaxKeys=2) == (
        ["data/file"], [f"data/{number}/" for number in range(5)],
    )  # fmt: skip
    assert listed(cos, server, Prefix="data/", MaxKeys=7)[0] == server.objects.keys("data/")
    assert cos.list_objects(server.bucket, Prefix="none/")["IsTruncated"] == "false"
    assert server.count("ListObjects", "cos") == 3 + 4 + 1


def test_buckets_are_listed_made_and_refused(server: TiOne) -> None:
    cos = client(server)
    server.make_bucket("far-1250000000", "ap-beijing")
    buckets = client(server, ServiceDomain=urlsplit(server.url).netloc).list_buckets()["Buckets"]["Bucket"]
    names = {row["Name"]: row["Location"] for row in buckets}
    assert names == {server.bucket: server.region, "far-1250000000": "ap-beijing"}
    assert cos.get_bucket_location(server.bucket)["LocationConstraint"] == server.region
    assert code(cos.list_objects, "far-1250000000") == code(cos.list_objects, "none-1250000000") == "NoSuchBucket"
    assert code(client(server, Domain=urlsplit(server.url).netloc).get_object, server.bucket, "a/b") == (
        "PathStyleDomainForbidden"
    )
    cos.create_bucket("more-1250000000")
    cos.head_bucket("more-1250000000")
    cos.delete_bucket("more-1250000000")
    assert not cos.bucket_exists("more-1250000000")


def test_large_files_are_uploaded_in_parts_resumed_and_downloaded_in_ranges(server: TiOne, tmp_path: Path) -> None:
    cos, data = client(server), os.urandom(3_500_000)
    (tmp_path / "big").write_bytes(data)
    server.faults.add("refused", "cos:UploadPart", after=2, code="AccessDenied")
    with pytest.raises((CosServiceError, CosClientError)):
        cos.upload_file(server.bucket, "up/模型", str(tmp_path / "big"), MAXThread=1)
    server.faults.clear()
    assert server.objects.uploads() == ["up/模型"]
    server.forget_requests()
    cos.upload_file(server.bucket, "up/模型", str(tmp_path / "big"), MAXThread=2)
    assert server.objects.read("up/模型") == data
    assert server.objects.uploads() == []
    assert server.count("UploadPart") == 2
    assert cos.head_object(server.bucket, "up/模型")["ETag"].endswith('-4"')
    reply = cos.get_object(server.bucket, "up/模型", Range="bytes=1048570-1048580")
    assert reply["Body"].get_raw_stream().read() == data[1048570:1048581]
    assert reply["Content-Range"] == "bytes 1048570-1048580/3500000"
    assert code(cos.get_object, server.bucket, "up/模型", Range="bytes=3500000-") == "InvalidRange"


def test_small_unknown_and_wrong_parts_are_refused(server: TiOne) -> None:
    cos = client(server)
    upload = cos.create_multipart_upload(server.bucket, "k")["UploadId"]
    parts = [
        {"PartNumber": number, "ETag": cos.upload_part(server.bucket, "k", b"x", number, upload)["ETag"]}
        for number in (1, 2)
    ]
    assert [int(row["PartNumber"]) for row in cos.list_parts(server.bucket, "k", upload)["Part"]] == [1, 2]
    complete = cos.complete_multipart_upload
    assert code(complete, server.bucket, "k", upload, {"Part": parts}) == "EntityTooSmall"
    assert code(complete, server.bucket, "k", upload, {"Part": [parts[0] | {"ETag": '"0"'}]}) == "InvalidPart"
    assert code(complete, server.bucket, "k", upload, {"Part": parts[::-1]}) == "InvalidPartOrder"
    assert [row["Key"] for row in cos.list_multipart_uploads(server.bucket)["Upload"]] == ["k"]
    cos.abort_multipart_upload(server.bucket, "k", upload)
    assert code(cos.list_parts, server.bucket, "k", upload) == "NoSuchUpload"


def test_copies_in_one_request_and_in_parts(server: TiOne) -> None:
    cos, data = client(server), os.urandom(300_000)
    server.make_bucket("other-1250000000")
    server.objects.write("from/模 型", data)
    source = {"Bucket": server.bucket, "Key": "from/模 型", "Region": server.region}
    cos.copy_object("other-1250000000", "to/a", source)
    upload = cos.create_multipart_upload(server.bucket, "to/b")["UploadId"]
    rows = []
    for number, span in enumerate(("bytes=0-199999", "bytes=200000-299999"), 1):
        reply = cos.upload_part_copy(server.bucket, "to/b", number, upload, source, CopySourceRange=span)
        rows.append({"PartNumber": number, "ETag": reply["ETag"]})
    cos.complete_multipart_upload(server.bucket, "to/b", upload, {"Part": rows})
    assert server.objects.read("to/a", "other-1250000000") == server.objects.read("to/b") == data
    assert code(cos.copy_object, server.bucket, "to/c", source | {"Key": "none"}) == "NoSuchKey"


def test_wrong_ended_and_weak_keys_are_refused(server: TiOne) -> None:
    server.objects.write("a", b"1")

    def get(key: SecretKey) -> str:
        return code(client(server, key).get_object, server.bucket, "a")

    assert get(server.key._replace(secret="wrong")) == "SignatureDoesNotMatch"
    assert get(server.key._replace(id="AKIDnone")) == "InvalidAccessKeyId"
    temporary = server.sts(60)
    client(server, temporary).get_object(server.bucket, "a")
    assert get(temporary._replace(token="wrong")) == get(temporary._replace(token="")) == "InvalidSecurityToken"
    server.move_clock(61)
    assert get(temporary) == "ExpiredToken"
    server.move_clock(-61 - 3600)
    assert get(server.key) == "RequestTimeTooSkewed"
    server.move_clock(3600)
    reader = client(server, server.make_key(["cos:Put*", "cos:*:other-1250000000"]))
    reader.get_object(server.bucket, "a")
    assert code(reader.put_object, server.bucket, b"1", "b") == "AccessDenied"
    server.make_bucket("other-1250000000")
    assert code(reader.list_objects, "other-1250000000") == "AccessDenied"
    assert httpx.get(server.url, headers={"Host": server.cos_host}, trust_env=False).status_code == 403


def test_a_changed_signed_header_or_query_is_refused(server: TiOne) -> None:
    server.objects.write("a", b"1")
    server.objects.write("b", b"1")
    query, host = {"response-content-type": "text/plain"}, {"Host": server.cos_host}
    signed = client(server).get_auth("GET", server.bucket, "a", Params=query, Headers=host)

    def status(path: str, **more: str) -> int:
        headers = {"Authorization": signed} | host | more
        return httpx.get(f"{server.url}/{path}", headers=headers, trust_env=False).status_code

    assert status("a?response-content-type=text/plain") == 200
    assert status("a?response-content-type=text/html") == status("a") == 403
    assert status("b?response-content-type=text/plain") == 403
    other = server.cos_host.replace("myqcloud.com", "tencentcos.cn")
    assert status("a?response-content-type=text/plain", Host=other) == 403


def test_presigned_addresses_work_until_they_end(server: TiOne) -> None:
    server.objects.write("a b", b"1")
    address = client(server).get_presigned_url(server.bucket, "a b", "GET", Expired=100, SignHost=False)
    host = {"Host": server.cos_host}
    assert httpx.get(address, headers=host, trust_env=False).content == b"1"
    server.move_clock(120)
    assert httpx.get(address, headers=host, trust_env=False).status_code == 403


def test_faults_are_those_of_a_network_and_of_the_service(server: TiOne) -> None:
    cos = client(server)
    for kind, name in (("500", "InternalError"), ("503", "ServiceUnavailable"), ("throttled", "SlowDown")):
        server.faults.add(kind, "cos:PutObject", count=1)
        assert code(cos.put_object, server.bucket, b"1", kind) == name
    for kind in ("reset", "lost"):
        server.faults.add(kind, "cos:PutObject", count=1)
        with pytest.raises(CosClientError):
            cos.put_object(server.bucket, b"1", kind)
    assert server.objects.keys() == ["lost"]
    server.objects.write("a", b"12345678")
    server.faults.add("cut", "cos:GetObject", count=1)
    with pytest.raises(ProtocolError):
        cos.get_object(server.bucket, "a")["Body"].get_raw_stream().read()
    assert server.faults.struck == 6
    assert code(cos.put_object, server.bucket, b"1", "b", ContentMD5="AAAAAAAAAAAAAAAAAAAAAA==") == "BadDigest"
