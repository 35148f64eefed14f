"""``oss://`` URIs in all their spellings:

    oss://bucket/key                                        at the endpoint of the profile
    oss://bucket.oss-cn-hangzhou.aliyuncs.com/key           at that one, which may have a port
    oss://bucket/key?endpoint=oss-cn-hangzhou.aliyuncs.com  the same; `host` for `endpoint`; with `role_arn` for PAI

A key stands as it is, without percent-encoding, as PAI reads it. Source: PAI's documents of input channels, and
``parse_oss_url`` of its Python SDK.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlencode

from ...core.errors import BadInput
from ...core.i18n import _

__all__ = ["OssUri"]

_SCHEME = "oss://"
# What a query may have. Any other question mark belongs to the key.
_QUERY = re.compile(r"\?((?:endpoint|host|role_arn)=[^&]*(?:&(?:endpoint|host|role_arn)=[^&]*)*)$")
# Source: "Bucket naming conventions" of OSS.
_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_ENDPOINT = re.compile(r"[A-Za-z0-9.-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")
_LONGEST_KEY = 1023


@dataclass(frozen=True)
class OssUri:
    """A bucket, a key in it (empty for its top), and the endpoint if the URI names one: a host, perhaps with a port."""

    bucket: str
    key: str = ""
    endpoint: str = ""
    role_arn: str = ""

    @classmethod
    def parse(cls, uri: str) -> OssUri:
        """Raises:
        BadInput: saying what is wrong with it.
        """
        if not uri.startswith(_SCHEME):
            raise BadInput(_("`{uri}` is no URI of OSS.").format(uri=uri), fix=_example())
        rest, query = uri.removeprefix(_SCHEME), {}
        if found := _QUERY.search(rest):
            rest, query = rest[: found.start()], dict(parse_qsl(found[1]))
        host, _slash, key = rest.partition("/")
        bucket, _dot, endpoint = host.partition(".")
        endpoint = endpoint or _host(query.get("endpoint") or query.get("host", ""))
        if not _BUCKET.fullmatch(bucket):
            raise BadInput(
                _("`{uri}`: `{bucket}` cannot be the name of a bucket.").format(uri=uri, bucket=bucket), fix=_example()
            )
        if endpoint and not _ENDPOINT.fullmatch(endpoint):
            raise BadInput(
                _("`{uri}`: `{host}` is no endpoint.").format(uri=uri, host=endpoint),
                fix=_("An endpoint is a host, like oss-cn-hangzhou.aliyuncs.com, perhaps with a port."),
            )
        _check_key(uri, key)
        return cls(bucket, key, endpoint, query.get("role_arn", ""))

    def __str__(self) -> str:
        host = f"{self.bucket}.{self.endpoint}" if self.endpoint else self.bucket
        query = f"?{urlencode({'role_arn': self.role_arn}, safe=':/')}" if self.role_arn else ""
        return f"{_SCHEME}{host}/{self.key}{query}"

    @property
    def prefix(self) -> str:
        """What the keys below it begin with, if it is a folder."""
        return f"{self.key.rstrip('/')}/" if self.key else ""

    def join(self, path: str) -> OssUri:
        """A path below the folder."""
        return replace(self, key=self.prefix + path)

    def split(self) -> tuple[OssUri, str]:
        """The folder that it lies in, and its path in that; the path is empty at the bucket's top."""
        above, slash, name = self.key.rstrip("/").rpartition("/")
        return replace(self, key=above + slash), name + "/" * (self.key.endswith("/") and bool(name))


def _host(text: str) -> str:
    return re.sub(r"^https?://", "", text).rstrip("/")


def _check_key(uri: str, key: str) -> None:
    """Source: "Object naming conventions" of OSS."""
    try:
        length = len(key.encode())
    except UnicodeEncodeError:
        length = -1
    bad = length < 0 or key.startswith(("/", "\\")) or re.search(r"[\x00-\x1f\x7f]", key)
    if bad or length > _LONGEST_KEY:
        raise BadInput(
            _("`{uri}` has a key that OSS does not take.").format(uri=ascii(uri) if bad else f"{uri[:100]}…"),
            fix=_("Keys begin with neither / nor \\, have no control characters and up to {n} bytes.").format(
                n=_LONGEST_KEY
            ),
        )


def _example() -> str:
    return _("Write oss://BUCKET/KEY; a bucket's name has 3 to 63 small letters, digits and hyphens.")
