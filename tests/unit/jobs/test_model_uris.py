"""URIs of registered models."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.core.errors import SpecError
from jupyter_pai.jobs.model_uris import ModelUri, is_model

WORDS = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: text.strip() == text)


@given(WORDS, st.just("") | WORDS, st.just("") | WORDS)
def test_each_name_survives_its_uri(model: str, version: str, profile: str) -> None:
    one = ModelUri(model, version, profile)
    assert is_model(one.uri)
    assert ModelUri.parse(one.uri) == one


def test_name_may_be_written_without_escapes() -> None:
    assert ModelUri.parse("model://net 1") == ModelUri.parse("model://net%201/") == ModelUri("net 1")


@pytest.mark.parametrize(
    "uri",
    ["model://", "model://?version=1", "model://a/b", "model://a?", "model://a?version=", "model://a?version=1&version=2",
     "model://a?tag=1", "model:///"],
)  # fmt: skip
def test_invalid_uri_is_explained(uri: str) -> None:
    with pytest.raises(SpecError, match="Invalid URI of a model") as caught:
        ModelUri.parse(uri)
    assert "model://NAME?version=VERSION" in caught.value.fix
