"""Profiles: the settings as their files say now, and a backend for each profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..backends import load_backends
from ..backends.base import Backend, Capability
from ..config import settings as settings_files
from ..config.credentials import Credentials, StoredCredentials
from ..config.policy import Policy
from ..config.settings import Profile, Settings
from ..config.toml_file import SettingsFile
from ..core.errors import NotFound, PaiError, Unsupported
from ..core.i18n import _
from ..jobs.job import Job
from ..jobs.state_dir import Home

__all__ = ["Profiles"]


class Profiles:
    """Reads the settings at each question: a file that was edited counts at once."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.credentials = Credentials()
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
        """Set keys of a profile (None removes a key), make it the default one; without either, remove it. Credentials
        of its own that no profile names any more are forgotten. May block.

        Raises:
            SettingsError: if the settings would be wrong then; they stay as they were.
            StateError: if its credentials cannot be forgotten; then it stays as it was, too.
        """
        before = SettingsFile(settings_files.user_file())
        settings = settings_files.edit(self.models, profile, values, default, _discovered())
        named = {found.settings.own_credentials for found in settings.profiles.values()}
        reference = _reference(before, profile)
        if reference and reference not in named:
            try:
                self.credentials.forget(reference)
            except PaiError:
                before.save()
                raise
        return settings

    def log_in(self, profile: str, body: object) -> None:
        """Keep credentials of its own for a profile, in place of earlier ones. May block.

        Raises:
            NotFound: if there is no such profile.
            NotAllowed: if the administrator has locked it.
            Unsupported: if its backend wants none.
            SpecError: if they cannot be right, naming the field.
        """
        model = load_backends()[self._changeable(profile).backend].credentials_model
        if model is None:
            raise Unsupported(
                _("The backend of the profile `{name}` wants no credentials of its own.").format(name=profile)
            )
        reference = self.credentials.keep(model, body)
        try:
            self.edit(profile, {"own_credentials": reference})
        except BaseException:
            self.credentials.forget(reference)
            raise

    def log_out(self, profile: str) -> None:
        """Forget a profile's own credentials. May block.

        Raises:
            NotFound: if there is no such profile, or it has none.
            NotAllowed: if the administrator has locked it.
        """
        if not self._changeable(profile).settings.own_credentials:
            raise NotFound(_("The profile `{name}` has no credentials of its own.").format(name=profile))
        self.edit(profile, {"own_credentials": None})

    def _changeable(self, profile: str) -> Profile:
        settings = self.settings()
        found = settings.pick(profile)
        settings.policy.check_change(profile, settings.locked)
        return found

    def names_own(self, profile: str) -> bool:
        """Whether the user's file has a profile of this name that names credentials of its own."""
        return bool(_reference(SettingsFile(settings_files.user_file()), profile))

    def kept(self, profile: Profile) -> StoredCredentials:
        """Which credentials of its own a profile has; empty if none, or if they are not to be had. May block."""
        reference = profile.settings.own_credentials
        try:
            return (self.credentials.kept() if reference else {}).get(reference, StoredCredentials("", ""))
        except PaiError:
            return StoredCredentials("", "")  # Whoever logs in with them is told.

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
                _("The backend `{name}` does not support: {what}.").format(name=chosen.backend, what=capability.value),
                fix=_("Name a profile of another backend: --profile."),
            )
        return able[0]

    def backend_of(self, job: Job) -> Backend:
        """The backend that runs a job.

        Raises:
            NotFound: if its profile was removed.
        """
        return self.backend(self.settings().pick(job.profile))


def _reference(file: SettingsFile, profile: str) -> str:
    """Which credentials of its own a profile names, as it stands there: the rest of the file may be wrong."""
    return str(file.profiles().get(profile, {}).get("own_credentials", ""))


def _discovered() -> dict[str, dict[str, Any]]:
    """The profiles that need no file."""
    return {name: found for name, backend in load_backends().items() if (found := backend.discover())}
