"""``hdfs://HOST[:PORT]/path`` URIs. Paths are not percent-encoded, as in the commands of Hadoop."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ...core.errors import BadInput
from ...core.i18n import _

_SCHEME = "hdfs://"
_HOST = re.compile(r"(?P<host>\w[\w.-]*|\[[0-9A-Fa-f:.]+\])(:(?P<port>\d{1,5}))?", re.ASCII)


@dataclass(frozen=True)
class HdfsUri:
    """A host, its port (0 for none), and an absolute path. The path of a folder ends with ``/``, if it is known to be
    one."""

    host: str
    port: int = 0
    path: str = "/"

    @classmethod
    def parse(cls, uri: str) -> HdfsUri:
        """Parse a URI.

        Raises:
            BadInput: if it is invalid.
        """
        head, rest = uri[: len(_SCHEME)], uri[len(_SCHEME) :]
        authority, _slash, path = rest.partition("/")
        match = _HOST.fullmatch(authority)
        if head.lower() != _SCHEME or not match or int(match["port"] or 0) > 65535:
            raise BadInput(
                _("`{uri}` is not an HDFS URI.").format(uri=ascii(uri)[1:-1]),
                fix=_("Use hdfs://HOST/PATH or hdfs://HOST:PORT/PATH."),
            )
        if problem := problem_of(path.strip("/")) if path.strip("/") else "":
            raise BadInput(
                _("`{path}` cannot be read: {why}.").format(path=ascii(uri), why=problem),
                fix=_("Use hdfs://HOST/PATH or hdfs://HOST:PORT/PATH."),
            )
        folder = "/" * (path.endswith("/") and path.strip("/") != "")
        return cls(match["host"].lower(), int(match["port"] or 0), f"/{path.strip('/')}{folder}")

    def __str__(self) -> str:
        return f"{self.site}{self.path}"

    @property
    def site(self) -> str:
        """The URI without its path."""
        return f"{_SCHEME}{self.host}:{self.port}" if self.port else f"{_SCHEME}{self.host}"

    @property
    def name(self) -> str:
        """The last name of the path, empty for the root."""
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def file(self) -> HdfsUri:
        """The URI without a slash at its end, as HDFS takes paths."""
        return replace(self, path=self.path.rstrip("/") or "/")

    @property
    def parent(self) -> HdfsUri:
        """The URI of the folder above."""
        return replace(self, path=self.path.rstrip("/").rpartition("/")[0] + "/")

    def join(self, path: str) -> HdfsUri:
        """Return the URI of a path below this folder."""
        return replace(self, path=f"{self.path.rstrip('/')}/{path}")


def problem_of(path: str) -> str:
    """Return the reason that a path below a folder is invalid, or an empty string."""
    bad = re.search(r"[\0-\x1f\x7f\ud800-\udfff]", path) or {"", ".", ".."} & {*path.split("/")}
    return _("not a valid path inside this folder") if bad else ""
