"""The URI of an object or folder in a storage of objects."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

from ...core.errors import BadInput
from ...core.i18n import _

__all__ = ["UNUSABLE", "ObjectUri", "check_key"]

# Control characters and surrogates: UTF-8 cannot encode surrogates.
UNUSABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class ObjectUri(ABC):
    """A bucket and a key, which is empty for the bucket's root. Folders are prefixes of keys."""

    bucket: str
    key: str = ""

    @classmethod
    @abstractmethod
    def parse(cls, uri: str) -> Self:
        """Parse a URI.

        Raises:
            BadInput: if it is invalid.
        """

    @abstractmethod
    def __str__(self) -> str:
        """Return the URI as text, which `parse` reads."""

    @property
    def prefix(self) -> str:
        """The common prefix of keys below this folder."""
        return self.key + "/" * (not self.key.endswith("/")) if self.key else ""

    def at(self, key: str) -> Self:
        """Return the URI of another key of the bucket."""
        return replace(self, key=key)

    def join(self, path: str) -> Self:
        """Return the URI of a path below this folder."""
        return self.at(self.prefix + path)

    def split(self) -> tuple[Self, str]:
        """Return the parent folder and the path in it, which is empty at the bucket's root."""
        above, slash, name = self.key.rstrip("/").rpartition("/")
        return self.at(above + slash), name + "/" * (self.key.endswith("/") and bool(name))


def check_key(uri: str, key: str, storage: str, longest: int) -> None:
    """Check the key of a URI. `storage` is the name of the service, `longest` in bytes.

    Raises:
        BadInput: if the service does not allow the key.
    """
    bad = key.startswith(("/", "\\")) or UNUSABLE.search(key)
    if bad or len(key.encode()) > longest:
        raise BadInput(
            _("`{uri}` has a key that {storage} does not allow.").format(
                uri=ascii(uri) if bad else f"{uri[:100]}…", storage=storage
            ),
            fix=_(
                "Keys must not begin with / or \\, must not contain control characters, and have at most {n} bytes."
            ).format(n=longest),
        )
