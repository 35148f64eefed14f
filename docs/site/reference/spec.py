"""The spec of a job, from its model, and the options of each backend."""

from __future__ import annotations

from docs.site.reference.tables import head, of
from docs.site.words import word
from jupyter_pai.backends import load_backends
from jupyter_pai.jobs.spec import JobSpec

__all__ = ["spec"]

_TITLES = ("field", "kind", "default", "means")


def spec(language: str) -> str:
    """Return the page of the fields of a spec file, of `jupyter_pai.submit` and of a submit request."""
    parts = [head("Job spec", language)]
    parts.append(f"## {word('Spec', language)}\n{of(JobSpec.model_json_schema(), _TITLES, language)}")
    for name, kind in load_backends().items():
        model = getattr(kind, "options_model", None)
        if told := of(model.model_json_schema() if model else {}, _TITLES, language):
            parts.append(f"## {word('Options of `{name}`', language).format(name=name)}\n{told}")
    return "\n".join(parts)
