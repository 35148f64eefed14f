"""Fields of a form in a notebook, each drawn from a JSON Schema: what is typed becomes a value, what is wrong is said
beneath. Plain ipywidgets, which every front end with widgets shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import ipywidgets

from ...core.i18n import _

__all__ = ["Field", "Group", "Pairs", "below", "field_of", "label"]

Tell = Callable[[object], None]
_STYLE = {"description_width": "11em"}
_WIDE = {"width": "100%", "max_width": "46em"}
# Texts that want several lines.
_LONG = ("command",)


class Field:
    """One field: `box` is what is shown of it. `tell` is told of each value that its user gives it."""

    box: Any

    def __init__(self, widget: Any, tell: Tell, read: Callable[[Any], object], write: Callable[[Any], Any]) -> None:
        self.widget = widget
        self._tell, self._read, self._write = tell, read, write
        self._fault = ipywidgets.HTML()
        self._note: Any = None
        self._showing = False
        self.box = ipywidgets.VBox([widget, self._fault])
        self._fault.layout.display = "none"
        widget.observe(self._changed, "value")

    def _changed(self, change: Mapping[str, Any]) -> None:
        if not self._showing:
            self._tell(self._read(change["new"]))

    def show(self, value: object) -> None:
        """Show a value; None for none."""
        self._showing = True
        try:
            self.widget.value = self._write(value)
        finally:
            self._showing = False

    def complain(self, faults: Mapping[str, str]) -> None:
        """Show what is wrong; `faults` are those of this field and of what is in it, by their paths from here on."""
        said = "; ".join(f"{place}: {text}" if place else text for place, text in faults.items())
        self._fault.value = f'<span role="alert" style="color:var(--jp-error-color1,#b3261e)">{escape(said)}</span>'
        self._fault.layout.display = "" if said else "none"

    def note(self, text: str) -> None:
        """Say something about it that is no mistake."""
        if self._note is None:
            if not text:
                return
            self._note = ipywidgets.HTML()
            self.box.children = (*self.box.children, self._note)
        self._note.value = f'<small role="status">{escape(text)}</small>' if text else ""

    def offer(self, options: Sequence[str], note: str = "") -> None:
        """What a combobox suggests; `note` says why it does not."""
        self.widget.options = tuple(options)
        self.note(note)


class Pairs:
    """A table of names and texts: rows that can be added and taken away."""

    box: Any

    def __init__(self, title: str, tell: Tell, hidden: Callable[[str], bool] = lambda name: False) -> None:
        self._title, self._tell, self._hidden = title, tell, hidden
        self._rows: list[tuple[Any, Any]] = []
        self._fault = ipywidgets.HTML()
        self._list = ipywidgets.VBox()
        add = ipywidgets.Button(description=_("Add"), tooltip=_("Add to: {what}").format(what=title))
        add.on_click(lambda _button: self._add("", ""))
        self.box = ipywidgets.VBox([label(title), self._list, self._fault, add])
        self._values: dict[str, str] = {}

    def show(self, value: object) -> None:
        """Show a table, but for the names that are shown elsewhere."""
        values = {k: _text(v) for k, v in value.items() if not self._hidden(k)} if isinstance(value, dict) else {}
        if values == self._values and self._rows:
            return
        self._values, self._rows = values, []
        self._list.children = ()
        for name, text in values.items():
            self._add(name, text)

    def _add(self, name: str, text: str) -> None:
        key = ipywidgets.Text(value=name, placeholder=_("name"), continuous_update=False, layout={"width": "13em"})
        value = self._value_field(text)
        away = ipywidgets.Button(description=_("Take away"), layout={"width": "auto"})
        row = (key, value)
        self._rows.append(row)
        shown = ipywidgets.HBox([key, value, away])
        self._list.children = (*self._list.children, shown)
        key.observe(lambda _change: self._changed(), "value")

        def remove(_button: object) -> None:
            self._rows.remove(row)
            self._list.children = tuple(one for one in self._list.children if one is not shown)
            self._changed()

        away.on_click(remove)

    def _value_field(self, text: str) -> Any:
        made = ipywidgets.Text(value=text, placeholder=_("value"), continuous_update=False, layout={"width": "28em"})
        made.observe(lambda _change: self._changed(), "value")
        return made

    def _read(self) -> dict[str, str]:
        """What is typed by now."""
        self._values = {key.value.strip(): value.value for key, value in self._rows if key.value.strip()}
        return dict(self._values)

    def _changed(self) -> None:
        self._tell(self._read())

    def complain(self, faults: Mapping[str, str]) -> None:
        """Show what is wrong, by names."""
        said = "; ".join(f"{place}: {text}" if place else text for place, text in faults.items())
        self._fault.value = f'<span role="alert" style="color:var(--jp-error-color1,#b3261e)">{escape(said)}</span>'


class Group:
    """A table whose fields a schema names."""

    box: Any

    def __init__(self, title: str, schema: Mapping[str, Any], tell: Tell) -> None:
        self._value: dict[str, Any] = {}
        self._tell = tell
        self.fields = {
            name: field_of(name, inner, lambda value, name=name: self._changed(name, value))  # type: ignore[misc]  # a default
            for name, inner in schema.get("properties", {}).items()
        }
        inside = [field.box for field in self.fields.values()]
        self.box = ipywidgets.VBox([label(title), *inside] if title else inside)

    def _changed(self, name: str, value: object) -> None:
        rest = {key: known for key, known in self._value.items() if key != name}
        self._value = rest if value in ("", None, [], {}) else rest | {name: value}
        self._tell(dict(self._value))

    def show(self, value: object) -> None:
        """Show a table."""
        self._value = dict(value) if isinstance(value, dict) else {}
        for name, field in self.fields.items():
            field.show(self._value.get(name))

    def complain(self, faults: Mapping[str, str]) -> None:
        """Show what is wrong with which field."""
        for name, field in self.fields.items():
            field.complain(below(faults, name))


def below(faults: Mapping[str, str], name: str) -> dict[str, str]:
    """The faults of a field and of what is in it, by their paths from there on."""
    found = {place[len(name) + 1 :]: text for place, text in faults.items() if place.startswith(f"{name}.")}
    return ({"": faults[name]} if name in faults else {}) | found


def label(text: str) -> Any:
    """A heading of a part of a form."""
    return ipywidgets.HTML(f"<b>{escape(text)}</b>")


def field_of(name: str, schema: Mapping[str, Any], tell: Tell) -> Field | Pairs | Group:
    """The field that a schema describes."""
    title, help_ = str(schema.get("title", name)), str(schema.get("description", ""))
    inner = next((one for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)
    kind, common = inner.get("type"), {"description": title, "style": _STYLE, "layout": _WIDE, "tooltip": help_}
    if "enum" in inner:
        return _choice(inner["enum"], common, tell, inner.get("default", schema.get("default")))
    if kind == "boolean":
        default = bool(schema.get("default"))
        widget = ipywidgets.Checkbox(indent=True, **common)
        return Field(
            widget, tell, lambda value: None if value == default else value, lambda v: default if v is None else bool(v)
        )
    if kind == "object" and "properties" in inner:
        return Group(title, inner, tell)
    if kind == "object" and inner.get("additionalProperties", {}) and _is_text(inner["additionalProperties"]):
        return Pairs(title, tell)
    if kind == "array" and _is_text(inner.get("items")):
        widget = ipywidgets.Textarea(continuous_update=False, placeholder=_("one a line"), rows=2, **common)
        return Field(widget, tell, lambda text: [line for line in text.split("\n") if line.strip()], _lines)
    if kind in ("object", "array", None):
        widget = ipywidgets.Textarea(continuous_update=False, placeholder="JSON", rows=2, **common)
        return Field(
            widget, tell, _parsed, lambda value: "" if value is None else json.dumps(value, ensure_ascii=False)
        )
    shown = "" if schema.get("default") in (None, "") else str(schema.get("default"))
    made = ipywidgets.Textarea if name in _LONG else ipywidgets.Text
    widget = made(continuous_update=False, placeholder=shown or help_, **common)
    return Field(widget, tell, _number if kind in ("integer", "number") else lambda text: text, _text)


def _choice(values: list[Any], common: dict[str, Any], tell: Tell, default: object) -> Field:
    """One of several values; none of them is the default."""
    options = [(_("as usual") if value in ("", None) else str(value), value) for value in values]
    if default is None and None not in values:
        options.insert(0, (_("as usual"), None))
    widget = ipywidgets.Dropdown(options=options, **common)
    return Field(
        widget,
        tell,
        lambda value: None if value == default else value,
        lambda value: value if value in values else default,
    )


def _is_text(schema: object) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "string"


def _text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _lines(value: object) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list | tuple) else _text(value)


def _number(text: str) -> object:
    """What is typed, as the number that it is; else as it is, for the engine to say what is wrong with it."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip()


def _parsed(text: str) -> object:
    try:
        return json.loads(text) if text.strip() else None
    except ValueError:
        return text
