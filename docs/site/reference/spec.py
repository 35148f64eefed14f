"""What a job is asked for with, of its model; and the options of each backend."""

from __future__ import annotations

from jupyter_pai.form_schema import form_schema

from jupyter_pai.backends import load_backends
from jupyter_pai.job import JobSpec

from ..words import word
from .tables import head, of

__all__ = ["spec"]

_TITLES = ("field", "kind", "default", "means")


def spec(language: str) -> str:
    """Fields of a spec file, of `jupyter_pai.submit` and of the body of a submit."""
    parts = [
        head("A job's spec", language),
        f"## {word('The spec', language)}\n{of(form_schema(JobSpec), _TITLES, language)}",
    ]
    for name, kind in load_backends().items():
        if told := of(form_schema(kind.options_model), _TITLES, language):
            parts.append(f"## {word('Options of `{name}`', language).format(name=name)}\n{told}")
    return "\n".join(parts)
