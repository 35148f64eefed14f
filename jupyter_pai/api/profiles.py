"""Endpoints of profiles, their credentials, and secrets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, RootModel

from ..backends.resources import Link
from ..config.settings import Profile
from ..core.errors import PaiError, UsageError
from ..core.i18n import _
from ..core.secret import Secret, is_secret_name
from ..engine.profiles import Profiles
from .endpoint import Context, Json, RequestBody, Schema, TypedDict, endpoint

# Maximum length of a profile's name in the audit log.
_LONGEST = 200


class ProfileChange(RequestBody):
    """`values` are the keys to set; null removes a key. `default` selects the profile as the default one."""

    values: dict[str, Any] | None = None
    default: bool = False


class CredentialsValue(RootModel[dict[str, Any]]):
    """The login of a profile: the fields in the `credentials` schema of its backend.

    Only describes the request. The backend's own model validates the fields, and keeps their values out of errors.
    """

    model_config = ConfigDict(json_schema_extra={"format": "password", "writeOnly": True})


class CredentialsView(TypedDict):
    """The storage location of a profile's own credentials, and a hint that identifies them. Both are empty without
    credentials."""

    place: Literal["", "keyring", "file"]
    hint: str


class ProfileView(TypedDict):
    """`file` is empty for the built-in profile. `locked`: users cannot change it. `refused` is the reason why the
    policy rejects its jobs; else empty. `links` are pages of its platform."""

    name: str
    file: str
    locked: bool
    refused: str
    settings: dict[str, Any]
    credentials: CredentialsView
    links: list[Link]


class ProfilesReply(TypedDict):
    """`credentials_file` is the file of credentials without a keyring. Only its user can read it."""

    default: str
    profiles: list[ProfileView]
    credentials_file: str


class ChangedProfileReply(ProfilesReply):
    """`notes`: what the platform of the changed profile says, such as its version and how to log in."""

    notes: list[str]


@endpoint("GET", "/profiles")
async def profiles(context: Context) -> ProfilesReply:
    """List the profiles."""
    repository = context.service.profiles
    settings = repository.settings()
    views: list[Any] = [
        {
            "name": profile.name,
            "file": str(profile.file or ""),
            "locked": profile.name in settings.locked,
            "refused": settings.policy.why_not(profile.name, profile.backend),
            "settings": profile.settings.model_dump(mode="json", exclude_defaults=True),
            "credentials": repository.kept(profile)._asdict(),
            "links": _links(repository, profile),
        }
        for profile in settings.profiles.values()
    ]
    return {"default": settings.default, "profiles": views, "credentials_file": repository.credentials.file}


def _links(repository: Profiles, profile: Profile) -> Sequence[Link]:
    try:
        return list(repository.backend(profile).links())
    except Exception:  # Of a plug-in, any error; of incomplete settings, one that `doctor` reports.
        return ()


@endpoint("PUT", "/profiles/{profile}")
async def set_profile(context: Context, profile: str, body: ProfileChange) -> ChangedProfileReply:
    """Create or change a profile. If its platform does not respond, the profile is stored, and a note says so."""
    if body.values is None and not body.default:
        raise UsageError(_("Nothing to change: set `values`, or set `default` to true."))
    notes = await context.service.profiles.change(profile, body.values, default=body.default)
    return {**await profiles(context), "notes": [*notes]}


@endpoint("DELETE", "/profiles/{profile}")
async def remove_profile(context: Context, profile: str) -> ProfilesReply:
    """Delete a profile."""
    repository = context.service.profiles
    async with _audit(context, "remove_credentials", profile) if repository.names_own(profile) else nullcontext():
        await asyncio.to_thread(repository.edit, profile)
    return await profiles(context)


@endpoint("PUT", "/profiles/{profile}/credentials")
async def set_credentials(
    context: Context, profile: str, body: Annotated[object, Schema(CredentialsValue)]
) -> ProfilesReply:
    """Log in to a profile's platform, by the `credentials` schema of its backend, and store the profile's own
    credentials. They cannot be read back."""
    async with _audit(context, "set_credentials", profile):
        await context.service.profiles.log_in(profile, body)
    return await profiles(context)


@endpoint("DELETE", "/profiles/{profile}/credentials")
async def remove_credentials(context: Context, profile: str) -> ProfilesReply:
    """Delete a profile's own credentials."""
    async with _audit(context, "remove_credentials", profile):
        await asyncio.to_thread(context.service.profiles.log_out, profile)
    return await profiles(context)


@asynccontextmanager
async def _audit(context: Context, verb: str, profile: str) -> AsyncIterator[None]:
    """Record a change of credentials in the audit log."""
    async with context.service.audit.entry(verb) as entry:
        entry.fields["profile"] = profile[:_LONGEST]
        with suppress(PaiError):  # The block raises it again.
            entry.fields["backend"] = context.service.profiles.settings().pick(profile).backend
        yield


class SecretValue(RequestBody):
    """The value of a secret. Only jobs receive it."""

    model_config = ConfigDict(hide_input_in_errors=True)
    value: str = Field(json_schema_extra={"format": "password", "writeOnly": True})


class SecretView(TypedDict):
    name: str
    place: Literal["keyring", "file"]


class SecretsReply(TypedDict):
    """`file` is the file of secrets without a keyring. Only its user can read it; it is not encrypted."""

    secrets: list[SecretView]
    file: str


SecretNames = Annotated[Json, Schema(SecretsReply)]


@endpoint("GET", "/secrets")
async def secrets(context: Context) -> SecretNames:
    """List the names of the secrets, never their values."""
    store = context.service.secrets
    places = await asyncio.to_thread(store.places)
    return {"secrets": [{"name": name, "place": place} for name, place in places.items()], "file": str(store.path)}


@endpoint("PUT", "/secrets/{secret}")
async def set_secret(context: Context, secret: str, body: SecretValue) -> SecretNames:
    """Store a secret."""
    async with _audit_secret(context, "set_secret", secret):
        await asyncio.to_thread(context.service.secrets.keep, secret, Secret(body.value))
    return await secrets(context)


@endpoint("DELETE", "/secrets/{secret}")
async def remove_secret(context: Context, secret: str) -> SecretNames:
    """Delete a secret."""
    async with _audit_secret(context, "remove_secret", secret):
        await asyncio.to_thread(context.service.secrets.forget, secret)
    return await secrets(context)


@asynccontextmanager
async def _audit_secret(context: Context, verb: str, name: str) -> AsyncIterator[None]:
    """Record a change of a secret in the audit log. An invalid name, which may be a value, is left out."""
    async with context.service.audit.entry(verb) as entry:
        entry.fields["name"] = name if is_secret_name(name) else ""
        yield
