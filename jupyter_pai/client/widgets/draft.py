"""Draft: the request that a form edits, as plain data. Imports no widgets."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from ..base import Client

# Values treated as "not set".
_EMPTY: tuple[object, ...] = ("", None, [], {})


class Draft:
    """The request of a form: the answer of the engine's verb `form` and the changes since. `changed` is called after
    each change from Python."""

    def __init__(self, client: Client, path: str, profile: str = "", backend: str = "") -> None:
        self.client = client
        self.path = path
        # `kind`, `entries` and `last` of the verb `form`.
        self.start: dict[str, Any] = client.call("form", path=path, profile=profile, backend=backend)
        self._request: dict[str, Any] = self.start.pop("request")
        self.changed: Callable[[], None] = lambda: None

    @property
    def request(self) -> dict[str, Any]:
        """The body of a submit: `spec`, `backend`, `notebook`."""
        return copy.deepcopy(self._request)

    @request.setter
    def request(self, value: Mapping[str, Any]) -> None:
        """Replace `spec` and `backend`. The notebook stays unless it is given."""
        self._request |= {"spec": {}, "backend": ""} | _plain(value)
        self.changed()

    def receive(self, request: Mapping[str, Any]) -> None:
        """Store the request of a page, without calling `changed`."""
        self._request = _plain(request)

    @property
    def backend(self) -> str:
        """The backend whose default profile is used; empty if the spec names a profile."""
        return str(self._request["backend"])

    @backend.setter
    def backend(self, name: str) -> None:
        self._request["backend"] = name
        self._request["spec"].pop("profile", None)
        self.changed()

    def get(self, *path: str) -> Any:
        """Return a copy of a field of the spec; None if it is not set."""
        value: Any = self._request["spec"]
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return copy.deepcopy(value)

    def put(self, value: object, *path: str) -> None:
        """Set a field of the spec. An empty value removes it."""
        *tables, last = path
        spec = self._request["spec"]
        for name in tables:
            spec = spec.setdefault(name, {})
        if value in _EMPTY:
            spec.pop(last, None)
        else:
            spec[last] = _plain(value)
        if path == ("profile",):
            self._request["backend"] = ""
        self.changed()

    def preview(self) -> dict[str, Any]:
        """Return the engine's preview of a submit.

        Raises:
            BadInput: for invalid fields, listed in `details["faults"]`.
        """
        return dict(self.client.call("preview", body=self.request | {"python": sys.executable}))

    def submit(self, *, confirmed: bool = False) -> dict[str, Any]:
        """Submit the request. Return `{job, attached, changed}`.

        Raises:
            BadInput: for invalid fields.
            Unconfirmed: with the cost, unless `confirmed`.
        """
        body = self.request
        return self.client.submit(
            body["spec"],
            backend=body["backend"],
            notebook=body["notebook"],
            confirmed=confirmed,
            script_if_needed=body.get("script_if_needed", False),
        )


class Table(MutableMapping[str, Any]):
    """A table of a draft's spec, such as its hyperparameters, edited in place. Inner tables are of this class, too.
    Lists are returned as tuples, since changing a copy has no effect: ``form.source["exclude"] = [*old, "*.csv"]``."""

    def __init__(self, draft: Draft, *path: str) -> None:
        self._draft = draft
        self._path = path

    def _values(self) -> dict[str, Any]:
        return dict(self._draft.get(*self._path) or {})

    def __getitem__(self, name: str) -> Any:
        value = self._values()[name]
        if isinstance(value, dict):
            return Table(self._draft, *self._path, name)
        return tuple(value) if isinstance(value, list) else value

    def __setitem__(self, name: str, value: Any) -> None:
        self._draft.put(self._values() | {name: value}, *self._path)

    def __delitem__(self, name: str) -> None:
        values = self._values()
        del values[name]
        self._draft.put(values, *self._path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values())

    def __len__(self) -> int:
        return len(self._values())

    def __repr__(self) -> str:
        return repr(self._values())


def _plain(value: Any) -> Any:
    """Return a deep copy with the tables of drafts as dicts."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else copy.deepcopy(value)
