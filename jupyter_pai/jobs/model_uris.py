"""Registered versions of models, as inputs of jobs: ``model://NAME``, ``model://NAME?version=VERSION``.

Without a version, it is the newest one. ``&profile=NAME`` selects the registry; by default, it is that of the job.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

from ..core.errors import SpecError
from ..core.i18n import _

SCHEME = "model"


class ModelUri(NamedTuple):
    """A version of a model, by its name or id."""

    model: str
    version: str = ""
    profile: str = ""

    @property
    def uri(self) -> str:
        """The URI of the version."""
        query = {"version": self.version, "profile": self.profile}
        fields = urlencode({name: value for name, value in query.items() if value}, safe="", quote_via=quote)
        return f"{SCHEME}://{quote(self.model, safe='')}" + (f"?{fields}" if fields else "")

    @classmethod
    def parse(cls, uri: str) -> ModelUri:
        """Parse the URI of a version.

        Raises:
            SpecError: if it is invalid.
        """
        path, mark, query = uri.removeprefix(f"{SCHEME}://").partition("?")
        fields = parse_qsl(query, keep_blank_values=True)
        values = dict(fields)
        model = unquote(path.rstrip("/"))
        is_valid = bool(model.strip()) and "/" not in path.rstrip("/") and bool(mark) == bool(fields)
        if not is_valid or len(values) != len(fields) or not all(values.values()) or values.keys() - {*cls._fields[1:]}:
            raise SpecError(
                _("Invalid URI of a model `{uri}`.").format(uri=uri),
                fix=_("Use model://NAME or model://NAME?version=VERSION. List the models: %pai models list"),
            )
        return cls(model, **values)


def is_model(uri: str) -> bool:
    """Return whether a URI has the scheme of registered models."""
    return uri.startswith(f"{SCHEME}://")
