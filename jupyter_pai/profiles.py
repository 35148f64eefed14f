"""Profiles: the settings as their files say now, and a backend for each profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import settings as settings_files
from .backends import load_backends
from .backends.base import Backend, Capability
from .errors import Unsupported
from .home import Home
from .i18n import _
from .job import Job
from .policy import Policy
from .settings import Profile, Settings

__all__ = ["Profiles"]


class Profiles:
    """Reads the settings at each question: a file that was edited counts at once."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.models = {name: backend.settings_model for name, backend in load_backends().items()}
        self._backends: dict[str, tuple[Profile, Backend]] = {}

    def settings(self) -> Settings:
        """The settings as their files say now."""
        return settings_files.load(self.models, _discovered())

    def policy(self) -> Policy:
        """What the administrator's file allows now."""
        return settings_files.policy()

    def chosen(self, profile: str = "", backend: str = "") -> Profile:
        """The profile that is meant, for jobs to go with.

        Raises:
            NotFound: naming what was meant.
            NotAllowed: if the administrator does not allow it.
        """
        settings = self.settings()
        chosen = settings.pick(profile, backend)
        settings.policy.check_profile(chosen.name, chosen.backend)
        return chosen

    def edit(self, profile: str, values: Mapping[str, Any] | None = None, *, default: bool = False) -> Settings:
        """Set keys of a profile (None removes a key), make it the default one; without either, remove it.

        Raises:
            SettingsError: if the settings would be wrong then; they stay as they were.
        """
        return settings_files.edit(self.models, profile, values, default, _discovered())

    def backend(self, profile: Profile) -> Backend:
        """The backend of a profile; a new one when the profile has changed."""
        known = self._backends.get(profile.name)
        if known is None or known[0] != profile:
            backend = load_backends()[profile.backend](profile.settings, self.home)
            backend.allows = lambda instance_type: self.policy().allows("instance_types", instance_type)
            known = self._backends[profile.name] = (profile, backend)
        return known[1]

    def capabilities(self, backend: str) -> frozenset[Capability]:
        """What a backend can do: nothing, if it is not installed any more."""
        known = load_backends().get(backend)
        return known.capabilities if known else frozenset()

    def with_capability(self, capability: Capability, profile: str = "", backend: str = "") -> Profile:
        """The profile that is meant; if none is named and the default one cannot do this, the first that can.

        Raises:
            NotFound: naming what was meant.
            NotAllowed: if the administrator does not allow it.
            Unsupported: if the profile that is meant cannot do this.
        """
        settings = self.settings()
        chosen = self.chosen(profile, backend) if profile or backend else settings.pick()
        able = [
            p
            for p in settings.profiles.values()
            if capability in load_backends()[p.backend].capabilities and not settings.policy.why_not(p.name, p.backend)
        ]
        if chosen in able:
            return chosen
        if profile or backend or not able:
            raise Unsupported(
                _("The backend `{name}` cannot do this: {what}.").format(name=chosen.backend, what=capability.value),
                fix=_("Name a profile of another backend: --profile."),
            )
        return able[0]

    def backend_of(self, job: Job) -> Backend:
        """The backend that runs a job.

        Raises:
            NotFound: if its profile was removed.
        """
        return self.backend(self.settings().pick(job.profile))


def _discovered() -> dict[str, dict[str, Any]]:
    """The profiles that need no file."""
    return {name: found for name, backend in load_backends().items() if (found := backend.discover())}
