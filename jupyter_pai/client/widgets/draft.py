"""Draft: the request that a form edits, as plain data and as attributes. Imports no widgets."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from difflib import get_close_matches
from typing import Any

from ...core.errors import SpecError
from ...core.i18n import _
from ..base import Client

# Values treated as "not set".
_EMPTY: tuple[object, ...] = ("", None, [], {})
_TABLES = ("source", "hyperparameters", "inputs", "outputs", "environment", "labels", "secrets", "options")
# Attributes that can be set beside the fields of a spec.
_SETTABLE = ("value", "backend")


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


class DraftTable(MutableMapping[str, Any]):
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
            return DraftTable(self._draft, *self._path, name)
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


class Attributes:
    """A draft as an object whose attributes are the fields of its spec. Unknown names are refused. The verb `backends`
    lists the fields and the backends."""

    draft: Draft
    _schema: dict[str, Any]
    _backends: list[str]

    def __init__(self, draft: Draft) -> None:
        reply = draft.client.call("backends")
        # Bypass `__setattr__`, which needs the schema.
        vars(self).update(
            draft=draft,
            _schema=reply["spec"]["properties"],
            _backends=[backend["name"] for backend in reply["backends"]],
        )

    @property
    def value(self) -> dict[str, Any]:
        """The request of a submit: `spec`, `backend`, `notebook`."""
        return self.draft.request

    @value.setter
    def value(self, value: Mapping[str, Any]) -> None:
        _check_table("value", value)
        _check_names(value, self.draft.request, _("The value of a form has no key `{name}`."))
        _check_table("spec", spec := value.get("spec", {}))
        _check_names(spec, self._schema, _("A form has no field `{name}`."))
        for name in spec.keys() & {*_TABLES}:
            _check_table(name, spec[name])
        self.draft.request = value

    @property
    def backend(self) -> str:
        """The backend whose default profile is used; empty if the field `profile` is set."""
        return str(self.draft.request["backend"])

    @backend.setter
    def backend(self, name: str) -> None:
        _check_names([name] if name else [], self._backends, _("Unknown backend: `{name}`."))
        spec = self.draft.request["spec"]
        spec.pop("profile", None)
        self.draft.request = {"spec": spec, "backend": name}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._schema:
            raise AttributeError(_("A form has no field `{name}`.").format(name=name), name=name, obj=self)
        if name in _TABLES:
            return DraftTable(self.draft, name)
        value = self.draft.get(name)
        return tuple(value) if isinstance(value, list) else value

    def __setattr__(self, name: str, value: object) -> None:
        if name in self._schema:
            if name in _TABLES and value is not None:
                _check_table(name, value)
            self.draft.put(value, name)
        elif name.startswith("_") or name in _SETTABLE:
            super().__setattr__(name, value)
        elif hasattr(self, name):
            raise SpecError(
                _("`{name}` of a form cannot be set.").format(name=name),
                fix=_("Set a field, `backend` or `value`."),
            )
        else:
            _check_names([name], [*self._schema, *_SETTABLE], _("A form has no field `{name}`."))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._schema]


def _check_table(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise SpecError(
            _("{name}: a table of names and values is needed.").format(name=name),
            fix=_("Write it as a dict: {example}").format(example='{"name": "value"}'),
        )


def _check_names(names: Collection[str], choices: Collection[str], message: str) -> None:
    """Check that all names are among the choices. `message` contains `{name}`.

    Raises:
        SpecError: for another name, with the closest choice.
    """
    for name in names:
        if name not in choices:
            near = get_close_matches(name, choices, 1)
            suggestion = _("Did you mean `{name}`?").format(name=near[0]) if near else ""
            listed = ", ".join(f"`{choice}`" for choice in choices)
            raise SpecError(message.format(name=name), fix=suggestion or _("Known are: {names}.").format(names=listed))


def _plain(value: Any) -> Any:
    """Return a deep copy with the tables of drafts as dicts."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else copy.deepcopy(value)
