"""Spellings of ``oss://`` URIs."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.core.errors import BadInput
from jupyter_pai.storage.oss.uri import OssUri

HOST = "oss-cn-hangzhou.aliyuncs.com"


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("oss://bucket/a/b.csv", OssUri("bucket", "a/b.csv")),
        ("oss://bucket", OssUri("bucket")),
        ("oss://bucket/", OssUri("bucket")),
        (f"oss://bucket.{HOST}/a/", OssUri("bucket", "a/", HOST)),
        ("oss://bucket.127.0.0.1:9000/a", OssUri("bucket", "a", "127.0.0.1:9000")),
        ("oss://bucket.storage.example.com:8080/a", OssUri("bucket", "a", "storage.example.com:8080")),
        (f"oss://bucket/a?endpoint={HOST}", OssUri("bucket", "a", HOST)),
        (f"oss://bucket/a?host=https://{HOST}/", OssUri("bucket", "a", HOST)),
        (
            f"oss://bucket/a/?endpoint={HOST}&role_arn=acs:ram::1:role/r",
            OssUri("bucket", "a/", HOST, "acs:ram::1:role/r"),
        ),
        ("oss://bucket/a?role_arn=acs%3Aram%3A%3A1%3Arole%2Fr", OssUri("bucket", "a", "", "acs:ram::1:role/r")),
        ("oss://bucket/模型/空 格#?x=1&%20.txt", OssUri("bucket", "模型/空 格#?x=1&%20.txt")),
    ],
)
def test_uri_spellings_are_parsed(text: str, uri: OssUri) -> None:
    assert OssUri.parse(text) == uri
    assert OssUri.parse(str(uri)) == uri


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("https://bucket/a", "not an OSS URI"),
        ("oss://", "bucket name"),
        ("oss:///a", "bucket name"),
        ("oss://B/a", "bucket name"),
        ("oss://my_bucket/a", "bucket name"),
        ("oss://-bucket/a", "bucket name"),
        ("oss://bucket.a@b/c", "invalid endpoint"),
        ("oss://bucket/a?endpoint=a b", "invalid endpoint"),
        ("oss://bucket//a", "does not allow"),
        ("oss://bucket/\\a", "does not allow"),
        ("oss://bucket/a\nb", "does not allow"),
        ("oss://bucket/\ud800", "does not allow"),
        ("oss://bucket/" + "模" * 342, "does not allow"),
    ],
)
def test_invalid_uris_are_rejected(text: str, reply: str) -> None:
    with pytest.raises(BadInput, match=reply) as caught:
        OssUri.parse(text)
    assert caught.value.fix


@given(st.text(min_size=1, max_size=40))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        uri = OssUri.parse(f"oss://bucket/{text}")
    except BadInput:
        return
    assert OssUri.parse(str(uri)) == uri
