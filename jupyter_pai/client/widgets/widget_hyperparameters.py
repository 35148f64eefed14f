"""The hyperparameters of a form in a notebook: those that the code declares, each as what it is; rows for others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import ipywidgets

from ...core.i18n import _
from .. import summary
from .widget_fields import Field, Pairs, below, label

__all__ = ["Hyperparameters"]

_GIVEN = ("option", "flag")
_STYLE = {"description_width": "11em"}
_TRUE = ("true", "1", "yes", "on")


class Hyperparameters:
    """`tell` is told of the whole table whenever its user changes it. What has its default is not given."""

    def __init__(self, tell: Callable[[object], None]) -> None:
        self._tell = tell
        self._values: dict[str, Any] = {}
        self._found: list[dict[str, Any]] = []
        self.fields: dict[str, Field] = {}
        self._list = ipywidgets.VBox()
        self._rest = Pairs(_("Others"), self._changed_rest, lambda name: name in self.fields)
        self.box = ipywidgets.VBox([label(_("Hyperparameters")), self._list, self._rest.box])

    def declare(self, found: list[dict[str, Any]]) -> None:
        """Show those that the code declares, as the verb `inspect` tells them."""
        wanted = [one for one in found if one["form"] in _GIVEN]
        if wanted == self._found:
            return
        self._found = wanted
        self.fields = {one["name"]: _typed(one, self._teller(one["name"])) for one in wanted}
        rows = [_with_help(self.fields[one["name"]], one) for one in wanted]
        nothing = ipywidgets.HTML(escape(_("The code declares none that could be found.")))
        self._list.children = tuple(rows or [nothing])
        self.show(self._values)

    def _teller(self, name: str) -> Callable[[object], None]:
        def tell(value: object) -> None:
            rest = {key: known for key, known in self._values.items() if key != name}
            self._values = rest if value in ("", None) else rest | {name: value}
            self._tell(dict(self._values))

        return tell

    def _changed_rest(self, values: object) -> None:
        declared = {name: value for name, value in self._values.items() if name in self.fields}
        self._values = declared | (values if isinstance(values, dict) else {})
        self._tell(dict(self._values))

    def show(self, values: object) -> None:
        """Show the values of a spec."""
        self._values = dict(values) if isinstance(values, dict) else {}
        for name, field in self.fields.items():
            field.show(self._values.get(name))
        self._rest.show(self._values)

    def complain(self, faults: Mapping[str, str]) -> None:
        """Show what is wrong with which of them."""
        for name, field in self.fields.items():
            field.complain(below(faults, name))
        self._rest.complain({name: text for name, text in faults.items() if name not in self.fields})


def _with_help(field: Field, one: Mapping[str, Any]) -> Any:
    """A field, with what the code says of it beside it; its tooltip says where it was found."""
    field.widget.tooltip = f"{one['help']} ({one['file']}:{one['line']})".strip()
    words = " ".join(filter(None, (one["help"], summary.number_range(one["minimum"], one["maximum"]))))
    said = ipywidgets.HTML(f"<small>{escape(words)}</small>", layout={"max_width": "20em"})
    return ipywidgets.HBox([field.box, said]) if words else field.box


def _typed(one: Mapping[str, Any], tell: Callable[[object], None]) -> Field:
    """The field of a hyperparameter, by its type, with its default in it."""
    common: dict[str, Any] = {"description": one["name"], "style": _STYLE, "layout": {"width": "30em"}}
    default = one["default"]
    if one["choices"]:
        options = [*([] if default in one["choices"] else [("", "")]), *((text, text) for text in one["choices"])]
        widget = ipywidgets.Dropdown(
            options=options, value=options[0][1] if default is None else _in(default, one), **common
        )
        return Field(
            widget, tell, lambda value: value, lambda value: _in(default if value is None else str(value), one)
        )
    if one["type"] == "bool":
        begin = str(default).lower() in _TRUE
        widget = ipywidgets.Checkbox(value=begin, indent=True, **common)
        return Field(
            widget, tell, lambda value: value, lambda value: begin if value is None else str(value).lower() in _TRUE
        )
    kinds = {"int": (int, ipywidgets.IntText), "float": (float, ipywidgets.FloatText)}
    if one["type"] in kinds and (number := _as(kinds[one["type"]][0], default)) is not None:
        kind, made = kinds[one["type"]]
        widget = made(value=number, continuous_update=False, **common)
        return Field(widget, tell, lambda value: value, lambda value: _or(_as(kind, value), number))
    hint = _("required") if one["required"] else default or one["help"]
    widget = ipywidgets.Text(placeholder=hint, continuous_update=False, **common)
    return Field(widget, tell, lambda text: text, lambda value: "" if value is None else str(value))


def _in(value: str, one: Mapping[str, Any]) -> str:
    """One of the choices; if it is none, the first thing that a field shows."""
    return value if value in one["choices"] else "" if one["default"] not in one["choices"] else str(one["default"])


def _as(kind: Callable[[Any], Any], value: object) -> Any:
    try:
        return kind(str(value))
    except ValueError:
        return None


def _or(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value
