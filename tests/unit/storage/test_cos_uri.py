"""Spellings of ``cos://`` URIs."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.core.errors import BadInput
from jupyter_pai.storage.cos.uri import CosUri


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("cos://demo-1250000000/a/b.csv", CosUri("demo-1250000000", "a/b.csv")),
        ("cos://demo-1250000000", CosUri("demo-1250000000")),
        ("cos://a-b-1-125/", CosUri("a-b-1-125")),
        ("cos://demo-125/模型/空 格#?x=1&%20.txt", CosUri("demo-125", "模型/空 格#?x=1&%20.txt")),
    ],
)
def test_uri_spellings_are_parsed(text: str, uri: CosUri) -> None:
    assert CosUri.parse(text) == uri
    assert CosUri.parse(str(uri)) == uri


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("https://demo-125/a", "not a COS URI"),
        ("cos://", "bucket name"),
        ("cos://demo/a", "bucket name"),
        ("cos://Demo-125/a", "bucket name"),
        ("cos://demo_1-125/a", "bucket name"),
        ("cos://-demo-125/a", "bucket name"),
        ("cos://demo-125.cos.ap-guangzhou.myqcloud.com/a", "bucket name"),
        ("cos://" + "d" * 60 + "-125/a", "bucket name"),
        ("cos://demo-125//a", "does not allow"),
        ("cos://demo-125/\\a", "does not allow"),
        ("cos://demo-125/a\nb", "does not allow"),
        ("cos://demo-125/\ud800", "does not allow"),
        ("cos://demo-125/" + "模" * 284, "does not allow"),
    ],
)
def test_invalid_uris_are_rejected(text: str, reply: str) -> None:
    with pytest.raises(BadInput, match=reply) as caught:
        CosUri.parse(text)
    assert caught.value.fix


@given(st.text(min_size=1, max_size=40))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        uri = CosUri.parse(f"cos://demo-125/{text}")
    except BadInput:
        return
    assert CosUri.parse(str(uri)) == uri
