"""Storages: the storage that a URI belongs to, with the account of a profile.

`Storages` is the only way from the text of a URI to a storage. The text is read once. Checks and storages get the
`Location` that it names.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ...backends.base import Capability
from ...config.settings import Profile
from ...core import file_uri
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


@dataclass(frozen=True)
class Location:
    """A file or folder in a storage, by its canonical URI. That of a folder ends with a slash, where it is known to be
    one."""

    storage: Storage
    uri: str

    @property
    def path(self) -> Path | None:
        """The path on this machine; None if it is elsewhere."""
        return file_uri.path_of(self.uri)

    @property
    def is_folder(self) -> bool:
        """True if the URI is that of a folder."""
        return self.uri.endswith("/")

    @property
    def folder(self) -> Location:
        """The location as a folder."""
        return self.join("")

    def join(self, path: str) -> Location:
        """Return the location of a path below this folder."""
        return Location(self.storage, self.storage.join(self.uri, path))

    def split(self) -> tuple[Location, str]:
        """Return the folder above, and the path in it, which is empty for a root."""
        above, name = self.storage.split(self.uri)
        return Location(self.storage, above), name


class Storages:
    """Reads the settings for each request, as `Profiles` does."""

    def __init__(self, profiles: Profiles) -> None:
        self.profiles = profiles
        self._storages: dict[tuple[str, str], tuple[Profile | None, Storage]] = {}

    def at(self, text: str, profile: str = "") -> Location:
        """Return the location that a URI names. If its storage needs an account, it has that of this profile, else that
        of the default profile, else that of the first profile. Accounts that do not serve the URI are left out.

        Raises:
            Unsupported: if no storage supports its scheme.
            BadInput: if the URI is invalid.
            SettingsError: if no profile has an account for it.
        """
        kinds, scheme = load_storages(), file_uri.scheme_of(text)
        if scheme not in kinds:
            raise Unsupported(
                _("No storage supports `{uri}`.").format(uri=text),
                fix=_("Known are: {names}.").format(names=", ".join(f"{name}://" for name in kinds)),
            )
        kind = kinds[scheme]
        uri = kind.canonical(text)
        account = self._account(uri, kind, profile) if kind.settings_model else None
        return Location(self._storage(kind, account), uri)

    @staticmethod
    def beside(location: Location, text: str) -> Location:
        """Return the location that a URI names in the storage of another one, with the same account.

        Raises:
            Unsupported: if it is in another storage.
            BadInput: if the URI is invalid.
        """
        if file_uri.scheme_of(text) != location.storage.scheme:
            raise Unsupported(
                _("{uri} and {target} are in different storages.").format(uri=location.uri, target=text),
                fix=_("Copy it by way of this machine: %pai get, %pai put; then remove it."),
            )
        return Location(location.storage, location.storage.canonical(text))

    def _storage(self, kind: type[Storage], account: Profile | None) -> Storage:
        key = (kind.scheme, account.name if account else "")
        if key not in self._storages or self._storages[key][0] != account:
            state = self.profiles.home.path / "transfers"
            self._storages[key] = (account, kind.of(account.settings if account else None, state))
        return self._storages[key][1]

    def of_profile(self, profile: Profile) -> list[Storage]:
        """Return the storages for which a profile has an account."""
        return [self._storage(kind, profile) for kind in load_storages().values() if _is_account(profile, kind)]

    async def roots(self, profile: str = "") -> list[Root]:
        """Return the root folders of all storages: for a storage with accounts, those of each profile. An account that
        does not respond has one root with the error.

        With a profile, only those of its account, and those without an account if its jobs run on this machine.

        Raises:
            NotFound: if the profile does not exist.
        """
        kinds, settings = load_storages().values(), self.profiles.settings()
        chosen = [settings.pick(profile)] if profile else [*settings.profiles.values()]
        runs_here = any(Capability.RUNS_HERE in self.profiles.capabilities(one.backend) for one in chosen)
        accounts: list[tuple[type[Storage], Profile | None]] = [
            (kind, None) for kind in kinds if not kind.settings_model and (runs_here or not profile)
        ]
        for one in chosen:
            accounts += [(kind, one) for kind in kinds if _is_account(one, kind)]
        roots = await asyncio.gather(*(self._roots(kind, account) for kind, account in accounts))
        return [*chain(*roots)]

    async def _roots(self, kind: type[Storage], account: Profile | None) -> list[Root]:
        profile = account.name if account else ""
        try:
            async with asyncio.timeout(_PATIENCE):
                uris = await self._storage(kind, account).roots()
        except PaiError as error:
            return [Root("", profile, kind.scheme, error)]
        except TimeoutError:
            text = _("The account of profile `{name}` does not respond.").format(name=profile)
            return [Root("", profile, kind.scheme, Unreachable(text, fix=_("Try again.")))]
        except Exception as error:  # A plug-in may raise any error.
            return [Root("", profile, kind.scheme, EngineError(f"{type(error).__name__}: {error}"))]
        return [Root(uri, profile, kind.scheme) for uri in uris]

    def _account(self, uri: str, kind: type[Storage], profile: str) -> Profile:
        settings = self.profiles.settings()
        for name in dict.fromkeys((profile, settings.default, *settings.profiles)):
            account = settings.profiles.get(name)
            # A URI without a host belongs to all.
            if account and _is_account(account, kind) and (uri.endswith("://") or kind.serves(uri, account.settings)):
                return account
        # The backend whose profiles have such an account.
        models = self.profiles.models.items()
        backend = next((name for name, model in models if issubclass(model, kind.settings_model or ())), "NAME")
        raise SettingsError(
            _("No profile has an account for {uri}.").format(uri=uri),
            fix=_("Add one: %pai profile set NAME backend={backend} {keys}").format(
                backend=backend, keys=kind.account_keys
            ),
        )


def _is_account(profile: Profile, kind: type[Storage]) -> bool:
    """Return whether a profile has an account for a kind of storage."""
    return isinstance(profile.settings, kind.settings_model or ())
