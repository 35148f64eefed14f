"""Addresses of WebHDFS: the one that serves a URI, which is found by trying, and those to which it redirects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from ...cloud.hadoop import RPC_PORTS, HdfsSettings
from ...core.errors import BadInput, PermissionDenied
from ...core.i18n import _
from .uri import HdfsUri

__all__ = ["candidates", "data_address", "operation_address", "root", "serves"]

# HTTP ports of NameNodes: Hadoop 3, Hadoop 2, and those of some sites.
_HTTP_PORTS = (9870, 50070, 5070)
_NAME_NODE = "/webhdfs/v1"
# The path at a web server in front of the cluster, which rewrites redirects to addresses of its own.
_GATEWAY = "/webhdfs/api/v1"
_BAD_CHARACTER = re.compile(r"[\0-\x20\x7f]")


def root(settings: HdfsSettings) -> HdfsUri | None:
    """Return the folder of a profile, None if it has none."""
    parts = urlsplit(settings.hdfs)
    if not settings.hdfs:
        return None
    if parts.scheme == "hdfs":
        address = HdfsUri.parse(settings.hdfs)
        return address if address.path.endswith("/") else address.join("")
    return HdfsUri.parse(f"hdfs://{parts.netloc}/")


def serves(uri: HdfsUri, settings: HdfsSettings) -> bool:
    """Return whether the HDFS of a profile is that of a URI: the host is the same, and the port if both name one for
    HTTP."""
    own = root(settings)
    if own is None or own.host != uri.host:
        return False
    ports = {own.port, uri.port} - {0, *RPC_PORTS}
    return len(ports) < 2


def candidates(uri: HdfsUri, settings: HdfsSettings) -> list[str]:
    """Return the addresses of WebHDFS that may serve a URI, the most likely first."""
    if urlsplit(settings.hdfs).scheme in ("http", "https") and serves(uri, settings):
        address = settings.hdfs.rstrip("/")
        return [address] if urlsplit(address).path else [f"{address}{path}" for path in (_NAME_NODE, _GATEWAY)]
    own = root(settings)
    port = uri.port if uri.port not in (0, *RPC_PORTS) else 0
    port = port or (own.port if own and own.port not in RPC_PORTS else 0)
    if port:
        sites = [f"{scheme}://{uri.host}:{port}" for scheme in ("http", "https")]
        return [f"{site}{path}" for site in sites for path in (_NAME_NODE, _GATEWAY)]
    gateways = [f"{scheme}://{uri.host}{_GATEWAY}" for scheme in ("https", "http")]
    return [*gateways, *(f"http://{uri.host}:{port}{_NAME_NODE}" for port in _HTTP_PORTS)]


def operation_address(base: str, uri: HdfsUri, settings: HdfsSettings, name: str, query: Mapping[str, str]) -> str:
    """Return the address of an operation on a URI at a NameNode or gateway."""
    words = urlencode({"op": name, "user.name": settings.hdfs_login, **query}, quote_via=quote)
    return f"{base}{quote(uri.file.path)}?{words}"


def data_address(location: str, base: str, settings: HdfsSettings) -> str:
    """Check the address to which HDFS redirects for the bytes of a file, and return it. A server could name any host,
    which would get the data.

    Raises:
        PermissionDenied: if its host is neither that of HDFS nor in `hdfs_hosts`.
        BadInput: if it is invalid.
    """
    own = urlsplit(base)
    try:
        parts = urlsplit(location)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if (
        _BAD_CHARACTER.search(location)
        or parts.scheme not in ("http", "https")
        or not host
        or parts.username is not None
    ):
        raise BadInput(
            _("HDFS at {host} redirects to an invalid address.").format(host=own.netloc),
            fix=_("Check the profile's `hdfs`."),
        )
    if host != own.hostname and not any(fnmatchcase(host, pattern) for pattern in settings.hdfs_data_hosts):
        raise PermissionDenied(
            _("HDFS at {own} redirects to {host}, which the profile does not allow.").format(
                own=own.netloc, host=parts.netloc
            ),
            fix=_("If it is a DataNode of this HDFS, add {host} to the profile's `hdfs_hosts`.").format(host=host),
        )
    if own.scheme == "https" and host == own.hostname and port is None:
        parts = parts._replace(scheme="https")  # A gateway behind TLS may know itself by http only.
    return urlunsplit(parts)
