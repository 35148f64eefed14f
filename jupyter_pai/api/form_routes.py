"""The verbs of the engine that a form asks, before anything is submitted; a part of `routes.ROUTES`."""

from __future__ import annotations

from .route import Parameter, Route

__all__ = ["FORM_ROUTES"]

_TO = (
    Parameter("profile", str, "The profile that is chosen; if empty, that of the newest job, or the default one."),
    Parameter("backend", str, "Or this backend's default profile."),
)

FORM_ROUTES: dict[str, Route] = {
    "preview": Route(
        "POST",
        "/preview",
        "What would be submitted. An error's `details.faults` says what is wrong with which field of the spec.",
        (Parameter("quick", bool, "Without looking for keys in files, which takes longest: `leaks` is null then."),),
        body="SubmitRequest",
        reply="Preview",
    ),
    "inspect": Route(
        "POST", "/inspect", "The hyperparameters that the code declares.", body="SubmitRequest", reply="Inspection"
    ),
    "form": Route(
        "GET",
        "/form",
        "What a form begins with that is to submit a notebook, a script or a folder: the settings of its newest job.",
        (
            Parameter("path", str, "A .ipynb, .py or .sh, or a folder: absolute, or below what JupyterLab shows."),
            *_TO,
        ),
        reply="Form",
    ),
    "backends": Route(
        "GET", "/backends", "What a form asks for: JSON Schemas of specs, and of each backend's own.", reply="Backends"
    ),
    "recipe": Route(
        "POST",
        "/recipe",
        "A spec that was not submitted, as cell, command line, Python and JSON.",
        body="SubmitRequest",
        reply="Code",
    ),
}
