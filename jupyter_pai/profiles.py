"""Profiles: the settings as their files say now, and a backend for each profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import settings as settings_files
from .backends import load_backends
from .backends.base import Backend
from .home import Home
from .job import Job
from .settings import Profile, Settings

__all__ = ["Profiles"]


class Profiles:
    """Reads the settings at each question: a file that was edited counts at once."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._models = {name: backend.settings_model for name, backend in load_backends().items()}
        self._backends: dict[str, tuple[Profile, Backend]] = {}

    def settings(self) -> Settings:
        """The settings as their files say now."""
        return settings_files.load(self._models)

    def edit(self, profile: str, values: Mapping[str, Any] | None = None, *, default: bool = False) -> Settings:
        """Set keys of a profile (None removes a key), make it the default one; without either, remove it.

        Raises:
            SettingsError: if the settings would be wrong then; they stay as they were.
        """
        return settings_files.edit(self._models, profile, values, default)

    def backend(self, profile: Profile) -> Backend:
        """The backend of a profile; a new one when the profile has changed."""
        known = self._backends.get(profile.name)
        if known is None or known[0] != profile:
            known = self._backends[profile.name] = (
                profile,
                load_backends()[profile.backend](profile.settings, self.home),
            )
        return known[1]

    def backend_of(self, job: Job) -> Backend:
        """The backend that runs a job.

        Raises:
            NotFound: if its profile was removed.
        """
        return self.backend(self.settings().pick(job.profile))
