"""Signatures equal those of the official client."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import httpx
import pytest
from hypothesis import given, strategies as some
from tencentcloud.common.common_client import CommonClient
from tencentcloud.common.credential import Credential
from tencentcloud.common.profile.client_profile import ClientProfile
from tencentcloud.common.profile.http_profile import HttpProfile
from tencentcloud.common.sign import Sign

from jupyter_pai.cloud.keys import AccessKey
from jupyter_pai.cloud.tencent.signature import authorization, sign
from jupyter_pai.core.secret import Secret

from ....fakes.scripted_server import Answers, answering, reply

KEY = AccessKey("AKIDtest", Secret("SKtest"))
HOST = "tione.tencentcloudapi.com"


@pytest.fixture
def server() -> Iterator[Answers]:
    with answering() as answers:
        yield answers


def test_known_request_is_signed() -> None:
    assert authorization(KEY, "tione", 1_700_000_000, HOST, "application/json", b"{}") == (
        "TC3-HMAC-SHA256 Credential=AKIDtest/2023-11-14/tione/tc3_request, SignedHeaders=content-type;host, "
        "Signature=8911db75bc6fac190a0379fc9fb23733afed49dfd5aab6128cd9486c5c102726"
    )


@pytest.mark.parametrize("token", ["", "lent/token+="])
@pytest.mark.parametrize("body", [{}, {"Name": "训练 1", "Tags": [{"TagKey": "ключ", "TagValue": "\n\"'"}]}])
def test_request_of_the_official_client_has_our_signature(server: Answers, token: str, body: dict[str, Any]) -> None:
    server.say(reply(200, {"Response": {"RequestId": "r"}}, content_type="application/json"))
    host = server.url.removeprefix("http://")
    profile = ClientProfile(httpProfile=HttpProfile(protocol="http", endpoint=host))
    keys = Credential("AKIDtest", "SKtest", token or None)
    CommonClient("tione", "2021-11-11", keys, "ap-guangzhou", profile=profile).call_json("CreateTrainingTask", body)
    seen = server.seen[0]
    theirs = seen.headers
    ours = authorization(KEY, "tione", int(theirs["x-tc-timestamp"]), theirs["host"], theirs["content-type"], seen.body)
    assert theirs["authorization"] == ours
    request = httpx.Request("POST", server.url, content=seen.body, headers={"content-type": "application/json"})
    signed = sign(AccessKey("AKIDtest", Secret("SKtest"), Secret(token) if token else None), "tione", request)
    assert signed.headers["host"] == theirs["host"]
    assert signed.headers.get("x-tc-token") == theirs.get("x-tc-token")


@given(
    secret=some.text(some.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=50),
    service=some.sampled_from(["tione", "sts", "billing"]),
    timestamp=some.integers(0, 4_000_000_000),
    body=some.binary(max_size=100),
)
def test_signature_is_that_of_the_official_function(secret: str, service: str, timestamp: int, body: bytes) -> None:
    key = AccessKey("AKIDtest", Secret(secret))
    header = authorization(key, service, timestamp, HOST, "application/json", body)
    date = header.split("/")[1]
    to_sign = f"TC3-HMAC-SHA256\n{timestamp}\n{date}/{service}/tc3_request\n{canonical_digest(body)}"
    assert header.rpartition("Signature=")[2] == Sign.sign_tc3(secret, date, service, to_sign)


def canonical_digest(body: bytes) -> str:
    lines = f"POST\n/\n\ncontent-type:application/json\nhost:{HOST}\n\ncontent-type;host\n{sha256(body).hexdigest()}"
    return sha256(lines.encode()).hexdigest()


def test_time_and_token_are_sent() -> None:
    def request() -> httpx.Request:
        return httpx.Request("POST", f"https://{HOST}/", content=b"{}", headers={"content-type": "application/json"})

    permanent = sign(KEY, "tione", request()).headers
    lent = sign(AccessKey("AKIDtest", Secret("SKtest"), Secret("lent")), "tione", request()).headers
    assert "x-tc-token" not in permanent
    assert lent["x-tc-token"] == "lent"
    assert permanent["authorization"] == authorization(
        KEY, "tione", int(permanent["x-tc-timestamp"]), HOST, "application/json", b"{}"
    )
