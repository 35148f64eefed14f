"""The current settings, and the backend of each profile."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ..backends import load_backends
from ..backends.base import Backend, Capability
from ..config import settings as settings_files
from ..config.credentials import Credentials, StoredCredentials, login_errors, parse_login
from ..config.policy import Policy
from ..config.settings import Profile, ProfileSettings, Settings
from ..config.toml_file import SYSTEM_FILE, SettingsFile, user_file
from ..core.errors import NotFound, PaiError, Unreachable, Unsupported
from ..core.i18n import _
from ..core.plugins import PluginError
from ..jobs.job import Job
from ..jobs.state_dir import Home


class Profiles:
    """Reads the settings for each request, so that edits take effect at once.

    `system_file` is the administrator's file. A login may take `login_timeout` seconds, and the notes on a changed
    profile `notes_timeout` seconds.
    """

    def __init__(
        self, home: Home, system_file: Path | None = None, login_timeout: float = 30.0, notes_timeout: float = 20.0
    ) -> None:
        self.home = home
        self.login_timeout, self.notes_timeout = login_timeout, notes_timeout
        self.system_file = system_file or SYSTEM_FILE
        self.credentials = Credentials()
        self._backends: dict[str, tuple[Profile, Backend]] = {}

    @cached_property
    def models(self) -> dict[str, type[ProfileSettings]]:
        """The settings models by backend."""
        return {name: backend.settings_model for name, backend in load_backends().items()}

    def settings(self) -> Settings:
        """Return the current settings."""
        return settings_files.load(self.models, _discovered(), self.system_file, _broken())

    def policy(self) -> Policy:
        """Return the administrator's current policy."""
        return settings_files.policy(self.system_file)

    def chosen(self, profile: str = "", backend: str = "") -> Profile:
        """Return a profile for jobs.

        Raises:
            NotFound: if the profile does not exist.
            NotAllowed: if the policy forbids it.
        """
        settings = self.settings()
        chosen = settings.pick(profile, backend)
        settings.policy.check_profile(chosen.name, chosen.backend)
        return chosen

    def edit(self, profile: str, values: Mapping[str, Any] | None = None, *, default: bool = False) -> Settings:
        """Set keys of a profile (None removes a key), or make it the default one; without either, remove it. Delete
        credentials that no profile names any more. May block.

        Raises:
            SettingsError: if the settings would be invalid; they are not changed.
            StateError: if the credentials cannot be deleted; the settings are not changed.
        """
        before = SettingsFile(user_file())
        settings = settings_files.edit(
            self.models, profile, values, default, _discovered(), self.system_file, _broken()
        )
        named = {one.settings.own_credentials for one in settings.profiles.values()}
        reference = _reference(before, profile)
        if reference and reference not in named:
            try:
                self.credentials.forget(reference)
            except PaiError:
                before.save()
                raise
        return settings

    async def change(
        self, profile: str, values: Mapping[str, Any] | None = None, *, default: bool = False
    ) -> Sequence[str]:
        """Set keys of a profile, or make it the default one, as `edit` does. Return the notes of its platform on the
        changed keys. If it does not respond, a note says so.

        Raises:
            SettingsError: if the settings would be invalid; they are not changed.
        """
        before = _keys(SettingsFile(user_file()), profile)
        # In a thread, since a keyring may block.
        settings = await asyncio.to_thread(self.edit, profile, values, default=default)
        after = _keys(SettingsFile(user_file()), profile)
        changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        chosen = settings.profiles[profile]
        if not changed or settings.policy.why_not(chosen.name, chosen.backend):
            return ()
        return await self._notes(chosen, changed)

    async def _notes(self, profile: Profile, changed: Collection[str]) -> Sequence[str]:
        try:
            async with asyncio.timeout(self.notes_timeout):
                return list(await load_backends()[profile.backend].profile_notes(profile.settings, changed))
        except TimeoutError:
            text = _("The platform of profile `{name}` did not respond. The profile is stored.")
            return [text.format(name=profile.name)]
        except PaiError as error:
            return [error.message + " " + error.fix if error.fix else error.message]
        except Exception as error:  # A plug-in may raise any error.
            return [f"{type(error).__name__}: {error}"]

    async def log_in(self, profile: str, body: object) -> None:
        """Store the credentials that a login yields for a profile, in place of earlier ones. If it fails, nothing is
        stored.

        Raises:
            NotFound: if the profile does not exist.
            NotAllowed: if the administrator has locked it.
            Unsupported: if its backend uses none.
            SpecError: if the login is invalid, naming the field.
            Unreachable: if the platform does not respond in time.
            PaiError: as the platform rejects it.
        """
        chosen = self._changeable(profile)
        backend = load_backends()[chosen.backend]
        if not (model := backend.login_model or backend.credentials_model):
            raise Unsupported(_("The backend of profile `{name}` does not use credentials.").format(name=profile))
        login = parse_login(model, body)
        try:
            async with asyncio.timeout(self.login_timeout):
                with login_errors(login):
                    kept = await backend.log_in(chosen.settings, login)
        except TimeoutError:
            text = _("The platform of profile `{name}` did not respond to the login. Nothing was stored.")
            raise Unreachable(text.format(name=profile), fix=_("Try again.")) from None
        await asyncio.to_thread(self._store, profile, kept)

    def _store(self, profile: str, credentials: BaseModel) -> None:
        reference = self.credentials.keep(credentials)
        with ExitStack() as stack:
            stack.callback(self.credentials.forget, reference)
            self.edit(profile, {"own_credentials": reference})
            stack.pop_all()

    def log_out(self, profile: str) -> None:
        """Delete a profile's own credentials. May block.

        Raises:
            NotFound: if the profile does not exist or has no credentials.
            NotAllowed: if the administrator has locked it.
        """
        if not self._changeable(profile).settings.own_credentials:
            raise NotFound(_("Profile `{name}` has no credentials of its own.").format(name=profile))
        self.edit(profile, {"own_credentials": None})

    def _changeable(self, profile: str) -> Profile:
        settings = self.settings()
        chosen = settings.pick(profile)
        settings.policy.check_change(profile, settings.locked)
        return chosen

    def names_own(self, profile: str) -> bool:
        """Return whether the profile has its own credentials in the user's file."""
        return bool(_reference(SettingsFile(user_file()), profile))

    def kept(self, profile: Profile) -> StoredCredentials:
        """Return a profile's own credentials, masked; empty if there are none or they cannot be read. May block."""
        with suppress(PaiError):  # A request with them raises the error.
            if reference := profile.settings.own_credentials:
                return self.credentials.kept().get(reference, StoredCredentials("", ""))
        return StoredCredentials("", "")

    def backend(self, profile: Profile) -> Backend:
        """Return the backend of a profile; a new one if the profile has changed."""
        if profile.name not in self._backends or self._backends[profile.name][0] != profile:
            backend = load_backends()[profile.backend](profile.settings, self.home)
            backend.allows = lambda instance_type: self.policy().allows("instance_types", instance_type)
            self._backends[profile.name] = (profile, backend)
        return self._backends[profile.name][1]

    @staticmethod
    def capabilities(backend: str) -> frozenset[Capability]:
        """Return the capabilities of a backend; none if it is not installed."""
        kind = load_backends().get(backend)
        return kind.capabilities if kind else frozenset()

    def with_capability(self, capability: Capability, profile: str = "", backend: str = "") -> Profile:
        """Return a profile with a capability: the named one, else the default one, else the first.

        Raises:
            NotFound: if the profile does not exist.
            NotAllowed: if the policy forbids it.
            Unsupported: if the named profile does not have it.
        """
        settings = self.settings()
        chosen = self.chosen(profile, backend) if profile or backend else settings.pick()
        able = [
            one
            for one in settings.profiles.values()
            if capability in self.capabilities(one.backend) and not settings.policy.why_not(one.name, one.backend)
        ]
        if chosen in able:
            return chosen
        if profile or backend or not able:
            raise capability.missing_in(chosen.backend, _("Choose a profile of another backend: --profile."))
        return able[0]

    def backend_of(self, job: Job) -> Backend:
        """Return the backend of a job.

        Raises:
            NotFound: if its profile was removed.
        """
        return self.backend(self.settings().pick(job.profile))


def _reference(file: SettingsFile, profile: str) -> str:
    """Return the reference to a profile's own credentials, also from an invalid file."""
    return str(_keys(file, profile).get("own_credentials", ""))


def _keys(file: SettingsFile, profile: str) -> dict[str, Any]:
    """Return the keys of a profile, as written; none if it is not in the file."""
    return file.profiles().get(profile, {})


def _discovered() -> dict[str, dict[str, Any]]:
    """Return the profiles that backends find on this machine."""
    return {name: values for name, backend in load_backends().items() if (values := backend.discover())}


def _broken() -> dict[str, PluginError]:
    """Return the plug-ins that cannot be used, by backend."""
    return {flaw.name: flaw for flaw in load_backends().flaws}
