"""Signatures equal those of Alibaba Cloud's library, and keys are masked."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from alibabacloud_openapi_util.client import Client as Official
from hypothesis import given, strategies as some

from jupyter_pai.cloud.alibaba.openapi import authorization, query_string, sign
from jupyter_pai.cloud.keys import AccessKey
from jupyter_pai.core.secret import Secret

KEY = AccessKey("testAK", Secret("testSK"))
EMPTY = hashlib.sha256(b"").hexdigest()
MOMENT = {"x-acs-date": "2024-01-02T03:04:05Z", "x-acs-signature-nonce": "0123456789abcdef0123456789abcdef"}
TRAINING = {
    "host": "pai.cn-shanghai.aliyuncs.com",
    "accept": "application/json",
    "x-acs-version": "2022-01-12",
} | MOMENT


def signature(header: str) -> str:
    return header.rpartition("Signature=")[2]


def test_documented_example_is_signed() -> None:
    headers = {
        "host": "ecs.cn-shanghai.aliyuncs.com",
        "x-acs-action": "RunInstances",
        "x-acs-content-sha256": EMPTY,
        "x-acs-date": "2023-10-26T10:22:32Z",
        "x-acs-signature-nonce": "3156853299f313e23d1673dc12e1703d",
        "x-acs-version": "2014-05-26",
    }
    key = AccessKey("YourAccessKeyId", Secret("YourAccessKeySecret"))
    query = query_string({"RegionId": "cn-shanghai", "ImageId": "win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd"})
    assert authorization(key, "POST", "/", query, headers) == (
        "ACS3-HMAC-SHA256 Credential=YourAccessKeyId,"
        "SignedHeaders=host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version,"
        "Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0"
    )


def test_body_is_signed_by_its_digest() -> None:
    body = b'{"TrainingJobName":"t","WorkspaceId":"123"}'
    headers = TRAINING | {
        "content-type": "application/json; charset=utf-8",
        "x-acs-action": "CreateTrainingJob",
        "x-acs-content-sha256": hashlib.sha256(body).hexdigest(),
    }
    result = signature(authorization(KEY, "POST", "/api/v1/trainingjobs", "", headers))
    assert result == "b7975bb6244a8f4e0c9be87ce5499af21740576b6fdf67ceafc5e69cb8cae3c9"


def test_query_and_temporary_key_are_signed() -> None:
    query = query_string({"WorkspaceId": "123", "Labels": '{"k":"v w"}', "PageSize": "10", "Empty": ""})
    assert query == "Empty=&Labels=%7B%22k%22%3A%22v%20w%22%7D&PageSize=10&WorkspaceId=123"
    headers = TRAINING | {
        "x-acs-action": "ListTrainingJobs",
        "x-acs-accesskey-id": "testAK",
        "x-acs-security-token": "tok/en+=",
        "x-acs-content-sha256": EMPTY,
    }
    result = signature(authorization(KEY, "GET", "/api/v1/trainingjobs", query, headers))
    assert result == "e5af66868c13b95fbcf244caeb92124c8d4cce95d5fbed422f4dcc987353766c"


def official(request: httpx.Request, query: dict[str, str]) -> str:
    """Return the signature of Alibaba Cloud's library for the same request and headers."""
    names = request.headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    seen = SimpleNamespace(
        method=request.method,
        pathname=request.url.raw_path.decode().partition("?")[0],
        query=query,
        headers={name: request.headers[name] for name in names},
    )
    digest = request.headers["x-acs-content-sha256"]
    return str(Official.get_authorization(seen, "ACS3-HMAC-SHA256", digest, "testAK", "testSK"))


def signed(key: AccessKey = KEY, path: str = "/", **request: Any) -> httpx.Request:
    fresh = httpx.Request(request.pop("method", "GET"), f"https://pai.cn-hangzhou.aliyuncs.com{path}", **request)
    return sign(key, "ListTrainingJobs", "2022-01-12", fresh)


@given(
    method=some.sampled_from(["GET", "POST", "PUT", "DELETE"]),
    names=some.lists(some.from_regex(r"[A-Za-z][A-Za-z0-9._~-]*", fullmatch=True), unique=True, max_size=4),
    data=some.data(),
    body=some.binary(max_size=50),
    token=some.text(some.characters(min_codepoint=33, max_codepoint=126), max_size=30),
)
def test_signature_equals_that_of_the_official_library(
    method: str, names: list[str], data: some.DataObject, body: bytes, token: str
) -> None:
    query = {name: data.draw(some.text(some.characters(codec="utf-8"))) for name in names}
    key = AccessKey("testAK", Secret("testSK"), Secret(token) if token else None)
    path = "/api/v1/trainingjobs/train1/logs" + (f"?{query_string(query)}" if query else "")
    headers = {"content-type": "application/json; charset=utf-8"} if body else {}
    request = signed(key, path, method=method, content=body, headers=headers)
    assert request.headers["authorization"] == official(request, query)


def test_sent_query_equals_signed_query() -> None:
    query = {"Labels": '{"名": "a b+c/~*"}', "Empty": ""}
    request = signed(path=f"/api/v1/quotas/?{query_string(query)}")
    assert request.url.raw_path.decode() == f"/api/v1/quotas/?{query_string(query)}"
    assert request.headers["authorization"] == official(request, query)


def test_each_attempt_has_a_new_signature() -> None:
    first, second = signed(), signed()
    assert first.headers["x-acs-signature-nonce"] != second.headers["x-acs-signature-nonce"]
    assert first.headers["authorization"] != second.headers["authorization"]


def test_signed_headers_are_acs_headers_host_and_content_type() -> None:
    headers = {"user-agent": "x", "accept": "y", "content-type": "application/json"}
    request = signed(method="POST", content=b"{}", headers=headers)
    names = request.headers["authorization"].split("SignedHeaders=")[1].split(",")[0]
    assert names == (
        "content-type;host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version"
    )


def test_temporary_key_sends_id_and_token() -> None:
    request = signed(AccessKey("testAK", Secret("testSK"), Secret("lent")))
    assert (request.headers["x-acs-accesskey-id"], request.headers["x-acs-security-token"]) == ("testAK", "lent")
    assert "x-acs-security-token" not in signed().headers


def test_key_is_masked_and_not_picklable() -> None:
    key = AccessKey("testAK", Secret("testSK"), Secret("tok/en+="))
    assert not {"testAK", "testSK", "tok"} & set(repr(key).replace("'", " ").split())
    assert key.mask("server string to sign is x-acs-security-token:tok/en+= tok%2Fen%2B%3D testSK") == (
        "server string to sign is x-acs-security-token:*** *** ***"
    )
    with pytest.raises(TypeError):
        __import__("pickle").dumps(key)
