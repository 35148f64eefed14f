"""Draft: a request that is being filled in, as a form in a notebook shows it. Knows no widgets."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from ...core.errors import PaiError
from ..base import Client

__all__ = ["Draft", "Table", "faults"]

# What is as if nobody had said it.
_NOTHING: tuple[object, ...] = ("", None, [], {})


class Draft:
    """A request for a notebook, a script or a folder: what the engine's verb `form` begins it with, and what was
    changed since. `watchers` are called after each change."""

    def __init__(self, client: Client, path: str, profile: str = "", backend: str = "") -> None:
        self.client = client
        found = client.call("form", path=path, profile=profile, backend=backend)
        self.path = path
        self.kind: str = found["kind"]
        self.entries: list[str] = found["entries"]
        self.last: dict[str, Any] | None = found["last"]
        self._request: dict[str, Any] = found["request"]
        self.watchers: list[Callable[[], None]] = []

    @property
    def request(self) -> dict[str, Any]:
        """The body of a submit: `spec`, `backend`, `notebook`."""
        return copy.deepcopy(self._request)

    @request.setter
    def request(self, value: Mapping[str, Any]) -> None:
        """All of it, but for what makes it that of this notebook."""
        self._request |= {"spec": {}, "backend": ""} | _plain(value)
        self.tell()

    @property
    def backend(self) -> str:
        """The backend whose default profile is meant, if one is."""
        return str(self._request["backend"])

    @backend.setter
    def backend(self, name: str) -> None:
        self._request["backend"] = name
        self._request["spec"].pop("profile", None)
        self.tell()

    def get(self, *path: str) -> Any:
        """The value of a field of the spec; None if it has none."""
        found: Any = self._request["spec"]
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return copy.deepcopy(found)

    def put(self, value: object, *path: str, quiet: bool = False) -> None:
        """Give a field of the spec a value. One that says nothing takes the field away. If `quiet`, nobody is told:
        its user is still typing."""
        *tables, last = path
        spec = self._request["spec"]
        for name in tables:
            spec = spec.setdefault(name, {})
        if value in _NOTHING:
            spec.pop(last, None)
        else:
            spec[last] = _plain(value)
        if path == ("profile",):
            self._request["backend"] = ""
        if not quiet:
            self.tell()

    def tell(self) -> None:
        """Tell those who watch that it has changed."""
        for watcher in self.watchers:
            watcher()

    def inspect(self) -> dict[str, Any]:
        """The hyperparameters that the code declares."""
        return dict(self.client.call("inspect", body=self._body()))

    def preview(self, *, quick: bool = False) -> dict[str, Any]:
        """What a submit would do; if `quick`, without looking for keys in files.

        Raises:
            BadInput: for what is to be mended; `faults` reads the fields of it.
        """
        return dict(self.client.call("preview", body=self._body(), quick=quick))

    def submit(self, *, confirmed: bool = False) -> dict[str, Any]:
        """Submit it: `{job, attached, changed}`.

        Raises:
            BadInput: for what is to be mended.
            Unconfirmed: saying what it costs, unless that is `confirmed`.
        """
        body = self.request
        return self.client.submit(
            body["spec"],
            backend=body["backend"],
            notebook=body["notebook"],
            confirmed=confirmed,
            script_if_needed=body.get("script_if_needed", False),
        )

    def _body(self) -> dict[str, Any]:
        return self.request | {"python": sys.executable}


class Table(MutableMapping[str, Any]):
    """A table of a draft's spec, as its hyperparameters: to be read and changed in place. Tables in it are such, too;
    lists come as tuples, so that nobody changes a copy: ``form.source["exclude"] = [*old, "*.csv"]``."""

    def __init__(self, draft: Draft, *path: str) -> None:
        self._draft = draft
        self._path = path

    def _values(self) -> dict[str, Any]:
        return dict(self._draft.get(*self._path) or {})

    def __getitem__(self, name: str) -> Any:
        found = self._values()[name]
        if isinstance(found, dict):
            return Table(self._draft, *self._path, name)
        return tuple(found) if isinstance(found, list) else found

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
    """A copy that shares nothing with what it is of, with tables of drafts as dicts."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else copy.deepcopy(value)


def faults(error: PaiError) -> dict[str, str]:
    """What is wrong with which field, by its path."""
    found = error.details.get("faults")
    return {str(field): str(said) for field, said in found.items()} if isinstance(found, dict) else {}
