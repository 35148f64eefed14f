"""``oss://`` URIs in all notations:

    oss://bucket/key                                        at the profile's endpoint
    oss://bucket.oss-cn-hangzhou.aliyuncs.com/key           at that endpoint, which may include a port
    oss://bucket/key?endpoint=oss-cn-hangzhou.aliyuncs.com  the same; `host` is equivalent; with `role_arn` for PAI

Keys are not percent-encoded, as in PAI. Source: PAI's documents of input channels, and ``parse_oss_url`` of its Python
SDK.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, urlencode

from ...core.errors import BadInput
from ...core.i18n import _
from ..objects.uri import UNUSABLE, ObjectUri, check_key

_SCHEME = "oss://"
# Supported query parameters. Any other question mark belongs to the key.
_QUERY = re.compile(r"\?((?:endpoint|host|role_arn)=[^&?]*(?:&(?:endpoint|host|role_arn)=[^&?]*)*)\Z")
# Source: "Bucket naming conventions" of OSS.
_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_ENDPOINT = re.compile(r"[A-Za-z0-9.-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")
# Bytes. Source: "Object naming conventions" of OSS.
_LONGEST_KEY = 1023


@dataclass(frozen=True)
class OssUri(ObjectUri):
    """Also has the endpoint given in the URI: a host, optionally with a port."""

    endpoint: str = ""
    role_arn: str = ""

    @classmethod
    def parse(cls, uri: str) -> Self:
        if not uri.startswith(_SCHEME):
            raise BadInput(_("`{uri}` is not an OSS URI.").format(uri=uri), fix=_example())
        rest, query = uri.removeprefix(_SCHEME), {}
        if match := _QUERY.search(rest):
            rest, query = rest[: match.start()], dict(parse_qsl(match[1]))
        host, _slash, key = rest.partition("/")
        bucket, _dot, endpoint = host.partition(".")
        endpoint = endpoint or re.sub(r"^https?://", "", query.get("endpoint") or query.get("host", "")).rstrip("/")
        if not _BUCKET.fullmatch(bucket):
            raise BadInput(_("`{uri}`: invalid bucket name `{bucket}`.").format(uri=uri, bucket=bucket), fix=_example())
        if endpoint and not _ENDPOINT.fullmatch(endpoint):
            raise BadInput(
                _("`{uri}`: invalid endpoint `{host}`.").format(uri=uri, host=endpoint),
                fix=_("An endpoint is a host such as oss-cn-hangzhou.aliyuncs.com, optionally with a port."),
            )
        check_key(uri, key, "OSS", _LONGEST_KEY)
        role = query.get("role_arn", "")
        if UNUSABLE.search(role):
            raise BadInput(
                _("`{uri}`: invalid role `{role}`.").format(uri=ascii(uri), role=ascii(role)),
                fix=_("A role is written as role_arn=acs:ram::ACCOUNT:role/NAME."),
            )
        return cls(bucket, key, endpoint, role)

    def __str__(self) -> str:
        host = f"{self.bucket}.{self.endpoint}" if self.endpoint else self.bucket
        # An empty query follows a key that ends like one.
        is_needed = self.role_arn or _QUERY.search(self.key)
        query = f"?{urlencode({'role_arn': self.role_arn}, safe=':/')}" if is_needed else ""
        return f"{_SCHEME}{host}/{self.key}{query}"


def _example() -> str:
    return _("Use oss://BUCKET/KEY. A bucket name has 3 to 63 lower-case letters, digits and hyphens.")
