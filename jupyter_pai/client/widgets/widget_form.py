"""Form: what submits a job, in a cell's output, wherever widgets are shown; and the same from Python.

    form = jupyter_pai.form("train.py")
    form.hyperparameters["lr"] = 0.1
    form.submit()

Its fields are drawn from the schemas of the engine's verb `backends`, as those of the Train panel. What stands in them
is a `Draft`; whoever changes it, the widgets show it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from pathlib import PurePath
from typing import Any

import ipywidgets

from ...backends import pricing as cost
from ...core.errors import PaiError, Unconfirmed
from ...core.i18n import _, ngettext
from ...core.sizes import show_size
from ...core.text import plain
from ..base import Client
from ..job import JobHandle
from ..uri_completion import continuations
from .draft import Draft, faults
from .draft_attributes import Attributes
from .widget_data import Channels
from .widget_fields import Field, below, field_of
from .widget_hyperparameters import Hyperparameters
from .widget_offers import OFFERED, PlatformOffers, named

__all__ = ["Form"]

# What is always in view, and what is folded up, by the fields of a spec.
_OPEN = ("name", "command")
_MACHINE = ("instance_type", "instance_count", "cpu", "gpu", "memory", "image", "python")
_FOLDED = {
    "data": ("inputs", "outputs", "output_path"),
    "limits": ("max_run_time", "labels", "environment", "secrets", "requirements", "metric_definitions", "tty"),
}
_CHANNELS = ("inputs", "outputs")
_CODE = ("folder", "include", "exclude", "gitignore", "allow_secret")
_WIDGET_TYPE = "application/vnd.jupyter.widget-view+json"
_BIGGEST = 5
_WIDE = {"width": "100%", "max_width": "46em"}
_STYLE = {"description_width": "11em"}


class Form(Attributes):
    """A form for a notebook, a script or a folder. The fields of a spec are attributes: ``form.command = "…"``,
    ``form.inputs["train"] = "data/"``; `backend` is one in place of `profile`; `value` is all of it."""

    def __init__(self, client: Client, path: str, profile: str = "", backend: str = "") -> None:
        super().__init__(Draft(client, path, profile, backend))
        self._profiles = client.call("profiles")
        self._fields: dict[str, Any] = {}
        self._job: JobHandle | None = None
        self._build()
        self.draft.watchers.append(self._changed)
        self._refresh()

    @property
    def job(self) -> JobHandle | None:
        """What was submitted last."""
        return self._job

    def preview(self) -> dict[str, Any]:
        """What a submit would do, without doing it; it is shown, too.

        Raises:
            BadInput: for what is to be mended, which is shown beside its field.
        """
        found = self._asking(self.draft.preview)
        self._say(_told(found))
        return dict(found)

    def submit(self, *, confirmed: bool = False) -> JobHandle:
        """Submit it: the job, which is shown beneath, too. `confirmed` agrees to what it costs.

        Raises:
            BadInput: for what is to be mended, which is shown beside its field.
            Unconfirmed: saying what it costs, where that is to be agreed to.
        """
        reply = self._asking(lambda: self.draft.submit(confirmed=confirmed))
        handle = JobHandle(reply["job"], self.draft.client)
        self._job = handle
        self._say(escape(_("Submitted: {job}").format(job=repr(handle))))
        self._view.outputs = ()
        if "IPython" in sys.modules:
            self._view.append_display_data(handle)
        return handle

    # What is shown.

    def _build(self) -> None:
        fields, schema = self._fields, self._schema
        for name in (*_OPEN, *_MACHINE, *(one for names in _FOLDED.values() for one in names)):
            if name in OFFERED:
                fields[name] = _combobox(schema[name], [], self._teller(name), named)
                continue
            if name in _CHANNELS:
                keep: Callable[[object], None] = partial(self._keep, name)
                fields[name] = Channels(schema[name]["title"], self._teller(name), keep, self._complete)
                continue
            fields[name] = field_of(name, schema[name], self._teller(name))
        source = schema["source"]["properties"]
        self._source = {name: field_of(name, source[name], self._teller("source", name)) for name in _CODE}
        fields["hyperparameters"] = Hyperparameters(self._teller("hyperparameters"))
        fields["entry_point"] = _combobox(schema["entry_point"], self.draft.entries, self._teller("entry_point"))
        self._refused = {one["name"]: one["refused"] for one in self._profiles["profiles"]}
        usual = (_("the default one ({name})").format(name=self._profiles["default"]), "")
        words = {name: _("{name} (not allowed)") if why else "{name}" for name, why in self._refused.items()}
        profile = ipywidgets.Dropdown(
            options=[usual, *((text.format(name=name), name) for name, text in words.items())],
            description=schema["profile"]["title"],
            style=_STYLE,
            layout=_WIDE,
        )
        write: Callable[[object], object] = lambda value: value if value in words else ""  # noqa: E731
        fields["profile"] = Field(profile, self._teller("profile"), lambda value: value, write)
        self._options = ipywidgets.VBox()
        self._offers = PlatformOffers(self.draft.client, fields)
        self._kind = ""
        self._message = ipywidgets.HTML()
        self._cost = ipywidgets.HTML()
        self._view = ipywidgets.Output()
        self._submit = _button(_("Submit"), self.submit, style="primary")
        self._dry = _button(_("Dry run"), self.preview)
        self._agree = _button(_("Submit it all the same"), lambda: self.submit(confirmed=True), style="warning")
        self._agree.layout.display = "none"
        self._all = self._arranged()

    def _arranged(self) -> Any:
        boxes = {name: field.box for name, field in self._fields.items()}
        folded = [
            *([boxes[name] for name in names] for names in _FOLDED.values()),
            [field.box for field in self._source.values()],
            [self._options],
        ]
        titles = (_("Inputs and outputs"), _("Limits, labels, variables"), _("Code"), _("Options of the platform"))
        more = ipywidgets.Accordion(children=[ipywidgets.VBox(inside) for inside in folded], selected_index=None)
        for number, title in enumerate(titles):
            more.set_title(number, title)
        buttons = ipywidgets.HBox([self._submit, self._dry, self._agree])
        main = ("entry_point", *_OPEN, "hyperparameters", "profile", *_MACHINE)
        path = PurePath(self.draft.path)
        title, folder = escape(_("Train {path}").format(path=path.name)), escape(str(path.parent))
        head = ipywidgets.HTML(f"<h3>{title}</h3><small>{folder}</small><br>{self._last()}")
        foot = (more, self._cost, buttons, self._message, self._view)
        return ipywidgets.VBox([head, *(boxes[name] for name in main), *foot])

    def _last(self) -> str:
        last = self.draft.last
        return escape(_("With the settings of its last job, {name}.").format(name=last["name"])) if last else ""

    def _teller(self, *path: str) -> Callable[[object], None]:
        return lambda value: self.draft.put(value, *path)

    def _keep(self, name: str, value: object) -> None:
        self.draft.put(value, name, quiet=True)

    def _complete(self, text: str) -> list[str]:
        home, profile = self.draft.get("source", "folder") or "", self.draft.get("profile") or ""
        return continuations(self.draft.client, text, home=home, profile=profile)

    def _changed(self) -> None:
        """The draft has changed, whoever did it."""
        self._refresh()
        # A platform that is far is asked when its user asks.
        if "runs_here" in self._capabilities():
            try:
                self._complain({})
                self.draft.preview(quick=True)
                self._say("")
            except PaiError as error:
                self._show_error(error)

    def _refresh(self) -> None:
        """Show what is in the draft."""
        for name, field in self._fields.items():
            field.show(self.draft.get(name))
        for name, field in self._source.items():
            field.show(self.draft.get("source", name))
        self._draw_platform()
        self._judge_profile({})
        try:
            self._fields["hyperparameters"].declare(self.draft.inspect()["hyperparameters"])
        except PaiError:
            pass  # Of a draft that cannot be read yet nothing is known; what is wrong is said beside its field.

    def _platform(self) -> str:
        """The backend that the draft goes to."""
        profiles = {one["name"]: one["settings"]["backend"] for one in self._profiles["profiles"]}
        return str(self.draft.backend or profiles.get(self._wanted(), ""))

    def _wanted(self) -> str:
        """The profile that it goes with; empty if a backend says that."""
        return str(self.draft.get("profile") or ("" if self.draft.backend else self._profiles["default"]))

    def _capabilities(self) -> list[str]:
        return list(self._kinds.get(self._platform(), {}).get("capabilities", ()))

    def _draw_platform(self) -> None:
        """The options of the platform that is chosen, and what there is on it."""
        kind = self._platform()
        if kind != self._kind:
            self._kind = kind
            # Which machines, the dry run tells: for that the platform may have to be asked.
            self._cost.value = escape(cost.lasting()) if "paid" in self._capabilities() else ""
            schema = (self._kinds.get(kind) or {}).get("options") or self._schema["options"]
            made = field_of(
                "options", {**schema, "title": ""} if "properties" in schema else schema, self._teller("options")
            )
            self._fields["options"] = made
            made.show(self.draft.get("options"))
            self._options.children = (made.box,)
        self._offers.show(self.draft.get("profile") or "", self.draft.backend, self._capabilities())

    def _asking(self, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Ask the engine; what it refuses is shown, and raised."""
        self._complain({})
        self._agree.layout.display = "none"
        try:
            return ask()
        except PaiError as error:
            self._show_error(error)
            raise

    def _show_error(self, error: PaiError) -> None:
        found = faults(error)
        self._complain(found)
        if isinstance(error, Unconfirmed):
            self._agree.layout.display = ""
        self._say(f'<span role="alert">{escape(error.message)}<br>{escape(error.fix)}</span>')

    def _complain(self, found: Mapping[str, str]) -> None:
        for name, field in self._fields.items():
            field.complain(below(found, name))
        for name, field in self._source.items():
            field.complain(below(found, f"source.{name}"))
        self._judge_profile(found)

    def _judge_profile(self, found: Mapping[str, str]) -> None:
        """Say at once that no job may go with the profile that is chosen, and where it goes that names a backend."""
        field, why = self._fields["profile"], self._refused.get(self._wanted(), "")
        field.complain(below(found, "profile") or ({"": why} if why else {}))
        field.note(_("The default one of `{backend}`.").format(backend=self.backend) if self.backend else "")

    def _say(self, html: str) -> None:
        self._message.value = f'<div role="status">{html}</div>' if html else ""

    def __repr__(self) -> str:
        return _words(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        view = {"version_major": 2, "version_minor": 0, "model_id": self._all.model_id}
        return {"text/plain": _words(self), _WIDGET_TYPE: view}


def _words(form: Form) -> str:
    """The form for who sees no widgets: what it has, and how it is used."""
    spec = form.draft.request["spec"]
    lines = [_("Form for {path}").format(path=form.draft.path)]
    lines += [f"  {name}: {value}" for name, value in spec.items()]
    lines.append(_('Without widgets: form.hyperparameters["lr"] = 0.1, form.preview(), form.submit()'))
    return "\n".join(lines)


def _combobox(
    schema: Mapping[str, Any],
    options: list[str],
    tell: Callable[[object], None],
    read: Callable[[str], str] = str,
) -> Field:
    """A text with suggestions; `read` gives what one of them stands for."""
    widget = ipywidgets.Combobox(
        options=options,
        ensure_option=False,
        continuous_update=False,
        description=schema["title"],
        placeholder=schema.get("description", ""),
        style=_STYLE,
        layout=_WIDE,
    )
    return Field(widget, tell, read, lambda value: "" if value is None else str(value))


def _button(text: str, do: Callable[[], object], *, style: str = "") -> Any:
    """A button. What goes wrong was shown already."""
    made = ipywidgets.Button(description=text, button_style=style, layout={"width": "auto"})

    def press(_button: object) -> None:
        made.disabled = True
        try:
            do()
        except PaiError:
            pass
        finally:
            made.disabled = False

    made.on_click(press)
    return made


def _told(found: Mapping[str, Any]) -> str:
    """A preview in HTML."""
    files = ngettext("{n} file, {size}", "{n} files, {size}", found["files"])
    lines = [
        _("command: {command}").format(command=found["command"]),
        _("packed: {what}").format(what=files.format(n=found["files"], size=show_size(found["bytes"]))),
        *(f"{show_size(one['bytes'])} {one['path']}" for one in found["biggest"][:_BIGGEST]),
        *(_("note: {note}").format(note=note) for note in found["notes"]),
        *([_("cost: {cost}").format(**found)] * bool(found["cost"] and found["cost"] not in found["questions"])),
        *(_("to be confirmed: {question}").format(question=question) for question in found["questions"]),
        _("Nothing was submitted."),
    ]
    if found["left_out"]:
        out = ngettext("{n} left out", "{n} left out", len(found["left_out"])).format(n=len(found["left_out"]))
        lines.insert(2, out + ": " + ", ".join(one["path"] for one in found["left_out"][:_BIGGEST]))
    return "<br>".join(escape(plain(line)) for line in lines)
