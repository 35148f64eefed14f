"""What the verbs answer that are about the page itself."""

from __future__ import annotations

from typing import Any

from .base import Reply

__all__ = ["Catalogue", "EngineSettings", "Tutorials"]


class Catalogue(Reply):
    """The page's texts in a language, in JupyterLab's form; empty for English."""

    language: str
    texts: dict[str, Any]


class EngineSettings(Reply):
    """The user's settings file; what its tables that are no profile say; what counts where they say nothing."""

    file: str
    values: dict[str, dict[str, Any]]
    defaults: dict[str, dict[str, Any]]


class Tutorials(Reply):
    """The folder that the notebooks are in, as an absolute path, and its place below the folder that JupyterLab shows
    (null if that does not show it); the one to begin with; those that were not there before."""

    folder: str
    place: str | None
    first: str
    given: list[str]
