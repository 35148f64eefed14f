"""Data sets that a platform keeps under ids of its own, as inputs of jobs: ``dataset://ID``, or for one of its versions
``dataset://ID?version=NAME``. They have no path that could be read from here.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

from ..core.errors import SpecError
from ..core.i18n import _

__all__ = ["SCHEME", "DataSet", "is_dataset"]

SCHEME = "dataset"
_FORM = re.compile(r"dataset://([A-Za-z0-9][\w.-]*)/?(?:\?(.*))?", re.ASCII)


class DataSet(NamedTuple):
    """A data set by its id. Without a version, the platform takes the one that it calls the default."""

    id: str
    version: str = ""

    @property
    def uri(self) -> str:
        """The URI that means it."""
        return f"{SCHEME}://{self.id}" + (f"?version={quote(self.version, safe='')}" if self.version else "")

    @classmethod
    def parse(cls, uri: str) -> DataSet:
        """The data set that a URI means.

        Raises:
            SpecError: for a URI that is not as it must be.
        """
        found = _FORM.fullmatch(uri)
        query = parse_qsl(found[2] or "", keep_blank_values=True) if found else []
        versions = [value for name, value in query if name == "version" and value]
        if found is None or len(query) != len(versions) or len(versions) > 1 or bool(found[2]) != bool(query):
            raise SpecError(
                _("`{uri}` names no data set.").format(uri=uri),
                fix=_(
                    "Write dataset://ID, or dataset://ID?version=NAME, with the id that the platform's console shows."
                ),
            )
        return cls(found[1], *versions)


def is_dataset(uri: str) -> bool:
    """Whether a URI is to mean a data set of a platform."""
    return uri.startswith(f"{SCHEME}://")
