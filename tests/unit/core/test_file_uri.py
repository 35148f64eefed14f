"""File URIs and the paths that they name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.core import file_uri
from jupyter_pai.core.errors import BadInput

from ...support.fuzz import MANY


@pytest.mark.parametrize(
    ("text", "uri", "path"),
    [
        ("file:///a/b.csv", "file:///a/b.csv", "/a/b.csv"),
        ("FILE:///a", "file:///a", "/a"),
        ("file://localhost/a", "file:///a", "/a"),
        ("file://LocalHost/a/", "file:///a/", "/a/"),
        ("file:///", "file:///", "/"),
        ("file://", "file:///", "/"),
        ("file:////etc//x/./y/.", "file:///etc/x/y/", "/etc/x/y/"),
        ("file:///模型/a b", "file:///%E6%A8%A1%E5%9E%8B/a%20b", "/模型/a b"),
        ("file:///%e6%A8%a1/%61~%7e", "file:///%E6%A8%A1/a~~", "/模/a~~"),
        ("file:///a%3F%23%5C", "file:///a%3F%23%5C", "/a?#\\"),
        ("file:///a%252Fb", "file:///a%252Fb", "/a%2Fb"),
        ("file:///a%2Fb", "file:///a/b", "/a/b"),
        ("file:///100%", "file:///100%25", "/100%"),
        ("file:///a.../..b", "file:///a.../..b", "/a.../..b"),
        ("file:///a%FF", "file:///a%FF", "/a\udcff"),
        ("file:///a\tb", "file:///a%09b", "/a\tb"),
    ],
)
def test_a_uri_names_one_path(text: str, uri: str, path: str) -> None:
    assert file_uri.canonical(text) == uri
    assert file_uri.local_path(text) == file_uri.local_path(uri) == path
    assert file_uri.path_of(text) == Path(path)
    assert file_uri.uri_of(path) == uri


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("file:///ROOT?/.ssh%2Fid_rsa", "%3F"),
        ("file:///a#b", "%23"),
        ("file:///a/../b", "without `..`"),
        ("file:///a/%2e%2e/b", "without `..`"),
        ("file:///a/..%2Fb", "without `..`"),
        ("file:///a%00", "without NUL"),
        ("file:///a\0", "without NUL"),
        ("file:///a\ud800", "without NUL"),
        ("file://elsewhere/a", "local path"),
        ("file://me@localhost/a", "local path"),
        ("file://localhost:80/a", "local path"),
        ("file://?/a", "local path"),
    ],
)
def test_a_uri_that_could_be_read_in_two_ways_is_refused(text: str, fix: str) -> None:
    for read in (file_uri.path_of, file_uri.local_path, file_uri.canonical):
        with pytest.raises(BadInput) as caught:
            read(text)
        assert fix in caught.value.fix
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("path", ["", "a", "a/b", "./a", "/a\0", "/a\ud800"])
def test_only_absolute_paths_have_uris(path: str) -> None:
    with pytest.raises(BadInput):
        file_uri.uri_of(path)


@pytest.mark.parametrize("text", ["", "a/b", "/a?b#c", "/a://b", "oss://b/k?x", "file:/a", "http://[bad", "x\n://"])
def test_other_texts_are_unchanged(text: str) -> None:
    assert file_uri.canonical(text) == text
    assert file_uri.path_of(text) is None
    assert file_uri.local_path(text) == ("" if file_uri.scheme_of(text) else text)


def test_folders_end_with_a_slash() -> None:
    assert file_uri.uri_of("/a", folder=True) == file_uri.uri_of("/a/") == "file:///a/"
    assert file_uri.uri_of("/", folder=True) == file_uri.uri_of("/a/..") == "file:///"
    assert file_uri.uri_of("/a/../b") == "file:///b"


@MANY
@given(st.binary(max_size=20))
def test_a_path_of_any_bytes_is_kept(name: bytes) -> None:
    path = "/" + name.replace(b"\0", b"").decode("utf-8", "surrogateescape")
    names = [one for one in path.split("/") if one not in ("", ".", "..")]
    if ".." not in path.split("/"):
        assert file_uri.path_of(file_uri.uri_of(path)) == Path("/", *names)
