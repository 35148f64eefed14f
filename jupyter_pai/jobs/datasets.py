"""Datasets registered on a platform, as inputs of jobs: ``dataset://ID`` or ``dataset://ID?version=NAME``.

They do not have a path that could be read from this machine.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

from ..core.errors import SpecError
from ..core.i18n import _

SCHEME = "dataset"
_FORM = re.compile(r"dataset://([A-Za-z0-9][\w.-]*)/?(?:\?(.*))?", re.ASCII)


class DataSet(NamedTuple):
    """A dataset by its id. Without a version, the platform uses its default version."""

    id: str
    version: str = ""

    @property
    def uri(self) -> str:
        """The URI of the dataset."""
        return f"{SCHEME}://{self.id}" + (f"?version={quote(self.version, safe='')}" if self.version else "")

    @classmethod
    def parse(cls, uri: str) -> DataSet:
        """Parse the URI of a dataset.

        Raises:
            SpecError: if it is invalid.
        """
        match = _FORM.fullmatch(uri)
        query = parse_qsl(match[2] or "", keep_blank_values=True) if match else []
        versions = [value for name, value in query if name == "version" and value]
        if match is None or len(query) != len(versions) or len(versions) > 1 or bool(match[2]) != bool(query):
            raise SpecError(
                _("Invalid dataset URI `{uri}`.").format(uri=uri),
                fix=_("Use dataset://ID or dataset://ID?version=NAME, with the id shown in the platform's console."),
            )
        return cls(match[1], *versions)


def is_dataset(uri: str) -> bool:
    """Return whether a URI has the scheme of datasets."""
    return uri.startswith(f"{SCHEME}://")
