"""Attributes: a draft as an object whose attributes are the fields of its spec. What would do nothing is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from ...core.errors import SpecError
from ...core.i18n import _
from .draft import Draft, Table

__all__ = ["Attributes"]

_TABLES = ("source", "hyperparameters", "inputs", "outputs", "environment", "labels", "secrets", "options")
# What can be set, beside the fields of a spec.
_GIVEN = ("value", "backend")


class Attributes:
    """A draft from Python. `_schema` are the fields of a spec, `_kinds` the backends: the verb `backends` tells."""

    draft: Draft
    _schema: dict[str, Any]
    _kinds: dict[str, Any]

    def __init__(self, draft: Draft) -> None:
        known = draft.client.call("backends")
        # By another way: `__setattr__` knows fields.
        set_ = super().__setattr__
        set_("draft", draft)
        set_("_schema", known["spec"]["properties"])
        set_("_kinds", {one["name"]: one for one in known["backends"]})

    @property
    def value(self) -> dict[str, Any]:
        """What would be submitted: `spec`, `backend`, `notebook`."""
        return dict(self.draft.request)

    @value.setter
    def value(self, given: Mapping[str, Any]) -> None:
        _check_table("value", given)
        _check_names(given, self.draft.request, _("The value of a form has no `{name}`."))
        _check_table("spec", spec := given.get("spec", {}))
        _check_names(spec, self._schema, _("A form has no field `{name}`."))
        for name in spec.keys() & {*_TABLES}:
            _check_table(name, spec[name])
        self.draft.request = given

    @property
    def backend(self) -> str:
        """The backend that it goes to with its default profile; empty if the field `profile` says it."""
        return self.draft.backend

    @backend.setter
    def backend(self, name: str) -> None:
        _check_names([name] if name else [], self._kinds, _("There is no backend `{name}`."))
        self.draft.backend = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._schema:
            raise AttributeError(_("A form has no field `{name}`.").format(name=name), name=name, obj=self)
        if name in _TABLES:
            return Table(self.draft, name)
        found = self.draft.get(name)
        return tuple(found) if isinstance(found, list) else found

    def __setattr__(self, name: str, value: object) -> None:
        if name in self._schema:
            if name in _TABLES and value is not None:
                _check_table(name, value)
            self.draft.put(value, name)
        elif name.startswith("_") or name in _GIVEN:
            super().__setattr__(name, value)
        elif hasattr(self, name):
            raise SpecError(
                _("`{name}` of a form cannot be set.").format(name=name),
                fix=_("Set its fields, its `backend`, or all of its `value`."),
            )
        else:
            _check_names([name], [*self._schema, *_GIVEN], _("A form has no field `{name}`."))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._schema]


def _check_table(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        text = _("a table of names and values is needed")
        raise SpecError(f"{name}: {text}.", fix=_("Write it as a dict: {example}").format(example='{"name": "value"}'))


def _check_names(given: Collection[str], known: Collection[str], what: str) -> None:
    """
    Raises:
        SpecError: for a name that is not known, with the one that may be meant. `what` says it: "… `{name}`."
    """
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1)
            meant = _("Did you mean `{name}`?").format(name=near[0]) if near else ""
            listed = _("Known are: {names}.").format(names=", ".join(f"`{one}`" for one in known))
            raise SpecError(what.format(name=name), fix=meant or listed)
