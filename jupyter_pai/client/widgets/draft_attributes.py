"""Attributes: a draft as an object whose attributes are the fields of its spec. Unknown names are refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from ...core.errors import SpecError
from ...core.i18n import _
from .draft import Draft, Table

_TABLES = ("source", "hyperparameters", "inputs", "outputs", "environment", "labels", "secrets", "options")
# Attributes that can be set beside the fields of a spec.
_SETTABLE = ("value", "backend")


class Attributes:
    """A draft whose attributes are the fields of its spec. The verb `backends` lists the fields and the backends."""

    draft: Draft
    _schema: dict[str, Any]
    _backends: list[str]

    def __init__(self, draft: Draft) -> None:
        reply = draft.client.call("backends")
        # Bypass `__setattr__`, which needs the schema.
        set_ = super().__setattr__
        set_("draft", draft)
        set_("_schema", reply["spec"]["properties"])
        set_("_backends", [backend["name"] for backend in reply["backends"]])

    @property
    def value(self) -> dict[str, Any]:
        """The request of a submit: `spec`, `backend`, `notebook`."""
        return dict(self.draft.request)

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
        return self.draft.backend

    @backend.setter
    def backend(self, name: str) -> None:
        _check_names([name] if name else [], self._backends, _("Unknown backend: `{name}`."))
        self.draft.backend = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._schema:
            raise AttributeError(_("A form has no field `{name}`.").format(name=name), name=name, obj=self)
        if name in _TABLES:
            return Table(self.draft, name)
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
        text = _("a table of names and values is needed")
        raise SpecError(f"{name}: {text}.", fix=_("Write it as a dict: {example}").format(example='{"name": "value"}'))


def _check_names(names: Collection[str], known: Collection[str], message: str) -> None:
    """Check that all names are known. `message` contains `{name}`.

    Raises:
        SpecError: for an unknown name, with the closest known one.
    """
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            suggestion = _("Did you mean `{name}`?").format(name=near[0]) if near else ""
            choices = _("Known are: {names}.").format(names=", ".join(f"`{choice}`" for choice in known))
            raise SpecError(message.format(name=name), fix=suggestion or choices)
