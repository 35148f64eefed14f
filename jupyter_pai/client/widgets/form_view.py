"""`Form`: submit a job from a cell's output or from Python.

    form = jupyter_pai.form("train.py")
    form.hyperparameters["lr"] = 0.1
    form.submit()

The page shows the form of the Train panel (`labextension/src/anywidget/form.tsx`). Python and the page edit the same
request, a synchronized trait of the widget.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from html import escape
from typing import Any

import ipywidgets
import traitlets

from ...api.routes import ROUTES
from ...core.i18n import _
from ..base import Client
from ..context import current_notebook, current_shell, front_end_of
from ..job import JobHandle
from .draft import Attributes, Draft
from .job_view import PageWidget

_WIDGET_TYPE = "application/vnd.jupyter.widget-view+json"
# The verbs that the page of a form calls.
_VERBS = frozenset(
    (
        "backends bring cancel_copy choices copy images inspect instances list_data preview profiles recipe secrets "
        "storages submit"
    ).split()
)


class FormWidget(PageWidget):
    """The widget of a form. `form` holds the path and the reply of the verb `form`, without its request."""

    form = traitlets.Dict().tag(sync=True)
    request = traitlets.Dict().tag(sync=True)


class Form(Attributes):
    """A form for a notebook, a script or a folder. The fields of a spec are attributes: ``form.command = "…"``,
    ``form.inputs["train"] = "data/"``. Set `backend` in place of `profile`, or the whole request as `value`."""

    def __init__(self, client: Client, path: str, profile: str = "", backend: str = "") -> None:
        draft = Draft(client, path, profile, backend)
        super().__init__(draft)
        self._job: JobHandle | None = None
        self._widget = FormWidget(
            "form",
            client,
            _VERBS.__contains__,
            self._call,
            form=draft.start | {"path": path},
            request=draft.request,
        )
        self._output = ipywidgets.Output()
        self._box = ipywidgets.VBox([self._widget, self._output])
        self._widget.observe(lambda change: draft.receive(change["new"]), "request")
        draft.changed = lambda: self._widget.set_trait("request", draft.request)

    @property
    def job(self) -> JobHandle | None:
        """The job submitted last."""
        return self._job

    def preview(self) -> dict[str, Any]:
        """Return a preview of the submit: command, files, questions, cost.

        Raises:
            BadInput: for invalid fields, listed in `details["faults"]`.
        """
        return dict(self.draft.client.call("preview", body=self.draft.request | {"python": sys.executable}))

    def submit(self, *, confirmed: bool = False, anyway: bool = False) -> JobHandle:
        """Submit the job and show it below the form. `confirmed` accepts its cost; `anyway` submits although the script
        will reject its hyperparameters or arguments.

        Raises:
            BadInput: for invalid fields, listed in `details["faults"]`.
            Unconfirmed: with the cost, unless `confirmed`.
        """
        body = self.draft.request
        reply = self.draft.client.submit(
            body["spec"],
            backend=body["backend"],
            notebook=body["notebook"],
            confirmed=confirmed,
            anyway=anyway,
            script_if_needed=body.get("script_if_needed", False),
        )
        self._job = JobHandle(reply["job"], self.draft.client)
        self._show_job()
        return self._job

    def _call(self, client: Client, verb: str, body: Any, arguments: Mapping[str, Any]) -> Any:
        """Call a verb for the page, with the interpreter and the notebook of the kernel."""
        if ROUTES[verb].body == "SubmitRequest":
            body = {**body, "python": sys.executable}
        if verb in ("bring", "submit"):
            body["notebook"] = body.get("notebook") or current_notebook()
        answer = client.call(verb, body=body, **arguments)
        if verb == "submit":
            self._job = JobHandle(answer["job"], client)
            self._widget.run_in_kernel(self._show_job)
        return answer

    def _show_job(self) -> None:
        self._output.outputs = ()
        if current_shell():
            self._output.append_display_data(self._job)

    def __repr__(self) -> str:
        lines = [_("Form for {path}").format(path=self.draft.path)]
        lines += [f"  {name}: {value}" for name, value in self.draft.request["spec"].items()]
        lines.append(_('From Python: form.hyperparameters["lr"] = 0.1, form.preview(), form.submit()'))
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        text = repr(self)
        bundle: dict[str, Any] = {"text/plain": text, "text/html": f"<pre>{escape(text)}</pre>"}
        if front_end_of(current_shell()):
            self._widget.snapshot = text
            bundle[_WIDGET_TYPE] = {"version_major": 2, "version_minor": 1, "model_id": self._box.model_id}
        return bundle
