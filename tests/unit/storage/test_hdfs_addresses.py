"""URIs of HDFS, the addresses of WebHDFS that may serve them, and the addresses that redirects may name."""

from __future__ import annotations

import getpass

import pytest
from pydantic import ValidationError

from jupyter_pai.cloud.hadoop import HdfsSettings
from jupyter_pai.core.errors import BadInput, PermissionDenied
from jupyter_pai.storage.hdfs.address import candidates, data_address, root, serves
from jupyter_pai.storage.hdfs.uri import HdfsUri


def settings(hdfs: str = "hdfs://node", **keys: str) -> HdfsSettings:
    return HdfsSettings(backend="local", hdfs=hdfs, **keys)


@pytest.mark.parametrize("uri", ["hdfs://h", "hdfs://h/", "hdfs://h:9870/a b/c%20#?d/", "HDFS://H.example.com/a"])
def test_uris_keep_their_path(uri: str) -> None:
    scheme, _slashes, rest = uri.partition("://")
    host, _slash, path = rest.partition("/")
    assert str(HdfsUri.parse(uri)) == f"{scheme.lower()}://{host.lower()}/{path}"


@pytest.mark.parametrize(
    "uri", ["hdfs:///a", "hdfs://h:99999/", "hdfs://me@h/", "hdfs://h/a/../b", "hdfs://h/a//b", "hdfs://h/\0", "x://h/"]
)
def test_invalid_uris_are_rejected_with_an_example(uri: str) -> None:
    with pytest.raises(BadInput, match="hdfs://HOST/PATH"):
        HdfsUri.parse(uri)


@pytest.mark.parametrize(
    ("hdfs", "uri", "expected"),
    [
        (
            "hdfs://node",
            "hdfs://node/a",
            [
                "https://node/webhdfs/api/v1",
                "http://node/webhdfs/api/v1",
                "http://node:9870/webhdfs/v1",
                "http://node:50070/webhdfs/v1",
                "http://node:5070/webhdfs/v1",
            ],
        ),
        ("hdfs://node:8020", "hdfs://node/a", None),
        ("hdfs://node", "hdfs://node:9000/a", None),
        (
            "hdfs://node:5000",
            "hdfs://node/a",
            [
                "http://node:5000/webhdfs/v1",
                "http://node:5000/webhdfs/api/v1",
                "https://node:5000/webhdfs/v1",
                "https://node:5000/webhdfs/api/v1",
            ],
        ),
        ("https://node/webhdfs/api/v1/", "hdfs://node:8020/a", ["https://node/webhdfs/api/v1"]),
        ("http://node:50070", "hdfs://node/", ["http://node:50070/webhdfs/v1", "http://node:50070/webhdfs/api/v1"]),
    ],
)
def test_addresses_that_are_tried(hdfs: str, uri: str, expected: list[str] | None) -> None:
    known = candidates(HdfsUri.parse("hdfs://node/"), settings())
    assert candidates(HdfsUri.parse(uri), settings(hdfs)) == (expected or known)


@pytest.mark.parametrize(
    ("hdfs", "uri", "expected"),
    [
        ("hdfs://node/user/me", "hdfs://NODE/a", True),
        ("node", "hdfs://node:8020/a", True),
        ("hdfs://node:9870", "hdfs://node/a", True),
        ("hdfs://node:9870", "hdfs://node:50070/a", False),
        ("http://node:9870/webhdfs/v1", "hdfs://node:9870/", True),
        ("hdfs://node", "hdfs://other/", False),
        ("", "hdfs://node/", False),
    ],
)
def test_profile_serves_the_uris_of_its_host(hdfs: str, uri: str, expected: bool) -> None:
    assert serves(HdfsUri.parse(uri), settings(hdfs)) == expected


def test_root_is_the_folder_of_the_profile() -> None:
    assert str(root(settings("hdfs://node/user/me"))) == "hdfs://node/user/me/"
    assert str(root(settings("http://node:9870/webhdfs/v1"))) == "hdfs://node:9870/"
    assert str(root(settings("node"))) == "hdfs://node/"
    assert root(settings("")) is None


BASE = "http://node:9870/webhdfs/v1"


@pytest.mark.parametrize(
    ("location", "hosts"),
    [
        ("http://node:9864/webhdfs/v1/a?op=CREATE", ""),
        ("http://NODE:9864/a", ""),
        ("http://10.0.3.7:9864/a", "10.0.3.*"),
        ("https://d1.example.com:9865/a", "other, *.example.com"),
    ],
)
def test_redirects_to_allowed_hosts_are_followed(location: str, hosts: str) -> None:
    assert data_address(location, BASE, settings(hdfs_hosts=hosts)) == location


def test_gateway_behind_tls_keeps_the_scheme() -> None:
    base = "https://node/webhdfs/api/v1"
    assert data_address("http://node/a/10.0.0.1:50075/webhdfs/v1/x", base, settings()).startswith("https://node/a/")


@pytest.mark.parametrize("location", ["http://evil:9864/a", "http://node.evil/a", "http://169.254.169.254/latest"])
def test_redirects_to_other_hosts_are_refused(location: str) -> None:
    with pytest.raises(PermissionDenied, match="hdfs_hosts") as caught:
        data_address(location, BASE, settings(hdfs_hosts="10.0.*"))
    assert location.split("/")[2] in caught.value.message


@pytest.mark.parametrize(
    "location",
    [
        "",
        "/a",
        "ftp://node/a",
        "http://me@node/a",
        "http://node:x/a",
        "file:///etc",
        "http://node/a b",
        "http://node/\n",
    ],
)
def test_invalid_redirects_are_refused(location: str) -> None:
    with pytest.raises(BadInput, match="invalid address"):
        data_address(location, BASE, settings())


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"hdfs": "ftp://node"}, "Invalid address"),
        ({"hdfs": "hdfs://node:99999"}, "Invalid address"),
        ({"hdfs": "hdfs://"}, "Invalid address"),
        ({"hdfs": "http://me:secret@node/webhdfs/v1"}, "Invalid address"),
        ({"hdfs": "hdfs://node/a/../b"}, "Invalid address"),
        ({"hdfs": "http://node:9870/webhdfs/v1?op=x"}, "Invalid address"),
        ({"hdfs_user": "a b"}, "pattern"),
        ({"hdfs_hosts": "node:9864"}, "without a port"),
    ],
)
def test_invalid_settings_are_rejected(keys: dict[str, str], text: str) -> None:
    with pytest.raises(ValidationError, match=text) as caught:
        HdfsSettings.model_validate({"backend": "local", **keys})
    assert "secret" not in caught.value.errors()[0]["msg"]


def test_user_is_that_of_the_profile_or_of_this_machine() -> None:
    class WithLogin(HdfsSettings):
        username: str = ""

    assert settings(hdfs_user="me").hdfs_login == "me"
    assert settings().hdfs_login == getpass.getuser()
    assert WithLogin(backend="x", username="you").hdfs_login == "you"
    assert WithLogin(backend="x", username="you", hdfs_user="me").hdfs_login == "me"
