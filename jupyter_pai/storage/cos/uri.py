"""``cos://BUCKET-APPID/key`` URIs. Keys are not percent-encoded, as in Tencent Cloud's own command-line tool."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from ...core.errors import BadInput
from ...core.i18n import _
from ..objects.uri import ObjectUri, check_key

__all__ = ["CosUri"]

_SCHEME = "cos://"
# Source: "Bucket overview" of COS: the name has at most 60 characters with the APPID.
_BUCKET = re.compile(r"(?=.{1,60}\Z)[a-z0-9]([a-z0-9-]*[a-z0-9])?-[0-9]+")
# Bytes. Source: "Object overview" of COS. The official client omits a slash at the beginning.
_LONGEST_KEY = 850


@dataclass(frozen=True)
class CosUri(ObjectUri):
    """A bucket, whose name ends with the APPID, and a key."""

    @classmethod
    def parse(cls, uri: str) -> Self:
        fix = _("Use cos://BUCKET-APPID/KEY, for example cos://demo-1256580188/data/.")
        if not uri.startswith(_SCHEME):
            raise BadInput(_("`{uri}` is not a COS URI.").format(uri=uri), fix=fix)
        bucket, _slash, key = uri.removeprefix(_SCHEME).partition("/")
        if not _BUCKET.fullmatch(bucket):
            raise BadInput(_("`{uri}`: invalid bucket name `{bucket}`.").format(uri=uri, bucket=bucket), fix=fix)
        check_key(uri, key, "COS", _LONGEST_KEY)
        return cls(bucket, key)

    def __str__(self) -> str:
        return f"{_SCHEME}{self.bucket}/{self.key}"
