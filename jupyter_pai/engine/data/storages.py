"""Storages: the storage that a URI belongs to, with the account of a profile."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from ...config.settings import Profile
from ...core.errors import EngineError, PaiError, SettingsError, Unreachable, Unsupported
from ...core.i18n import _
from ...storage import load_storages
from ...storage.base import Storage
from ..profiles import Profiles

# Seconds to wait for an account's list of folders.
_PATIENCE = 5.0


class Root(NamedTuple):
    """A root folder: its URI, and the profile with its account. Without a URI, `trouble` is the error."""

    uri: str
    profile: str
    scheme: str
    trouble: PaiError | None = None


class Storages:
    """Reads the settings for each request, as `Profiles` does."""

    def __init__(self, profiles: Profiles) -> None:
        self.profiles = profiles
        self._storages: dict[tuple[str, str], tuple[Profile | None, Storage]] = {}

    def of(self, uri: str, profile: str = "") -> Storage:
        """The storage of a URI. If it needs an account, that of this profile if it has one of that kind, else of the
        first profile that has: the default one before the others.

        Raises:
            Unsupported: if no storage supports its scheme.
            SettingsError: if no profile has an account for it.
        """
        kind = _kind(uri)
        found = self._account(uri, kind, profile) if kind.settings_model else None
        key = (kind.scheme, found.name if found else "")
        known = self._storages.get(key)
        if known is None or known[0] != found:
            state = self.profiles.home.path / "transfers"
            known = self._storages[key] = (found, kind.of(found.settings if found else None, state))
        return known[1]

    async def roots(self) -> list[Root]:
        """The folders to begin with, of all storages: of one that needs an account, those of each profile. Where one
        does not answer, it says so in its place, and the others are there."""
        profiles = self.profiles.settings().profiles.values()
        asked = [(kind, "") for kind in load_storages().values() if not kind.settings_model]
        for profile in profiles:
            for kind in load_storages().values():
                if kind.settings_model and isinstance(profile.settings, kind.settings_model):
                    asked.append((kind, profile.name))
        found = await asyncio.gather(*(self._roots(kind, name) for kind, name in asked))
        return [root for some in found for root in some]

    async def _roots(self, kind: type[Storage], profile: str) -> list[Root]:
        try:
            async with asyncio.timeout(_PATIENCE):
                uris = await self.of(f"{kind.scheme}://", profile).roots()
        except PaiError as error:
            return [Root("", profile, kind.scheme, error)]
        except TimeoutError:
            late = Unreachable(
                _("The account of profile `{name}` does not respond.").format(name=profile), fix=_("Try again.")
            )
            return [Root("", profile, kind.scheme, late)]
        except Exception as error:  # A plug-in may raise any error.
            return [Root("", profile, kind.scheme, EngineError(f"{type(error).__name__}: {error}"))]
        return [Root(uri, profile, kind.scheme) for uri in uris]

    def _account(self, uri: str, kind: type[Storage], profile: str) -> Profile:
        settings = self.profiles.settings()
        for name in dict.fromkeys((profile, settings.default, *settings.profiles)):
            found = settings.profiles.get(name)
            if found and kind.settings_model and isinstance(found.settings, kind.settings_model):
                return found
        raise SettingsError(
            _("No profile has an account for {uri}.").format(uri=uri),
            fix=_("Add one: %pai profile set NAME backend={backend} …").format(backend=self._backend(kind)),
        )

    def _backend(self, kind: type[Storage]) -> str:
        """Return the backend whose profiles have an account for a storage."""
        model = kind.settings_model
        return next((name for name, its in self.profiles.models.items() if model and issubclass(its, model)), "NAME")


def _kind(uri: str) -> type[Storage]:
    storages = load_storages()
    scheme = uri.partition("://")[0].lower() if "://" in uri else ""
    if scheme not in storages:
        raise Unsupported(
            _("No storage supports `{uri}`.").format(uri=uri),
            fix=_("Known are: {names}.").format(names=", ".join(f"{name}://" for name in storages)),
        )
    return storages[scheme]
