"""Registered versions of models as inputs: each ``model://`` URI is replaced by the URI of the version's files.

The spec of the job has the version itself, so that a rerun reads the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...backends.base import Capability
from ...backends.registry import Model, ModelVersion
from ...config.settings import Profile
from ...core.errors import Conflict, NotFound, PaiError, Unsupported
from ...core.file_uri import scheme_of
from ...core.i18n import _
from ...jobs.model_uris import SCHEME, ModelUri, is_model
from ...jobs.spec import JobSpec
from ..models import Models, one_of
from ..profiles import Profiles
from .inputs import input_errors


class ModelInputs(NamedTuple):
    """The inputs of a job that are models: the URI of the files of each channel, the profile whose account reads it,
    and notes for the user."""

    uris: Mapping[str, str] = {}
    profiles: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()


class _Found(NamedTuple):
    """A version in the registry of a profile."""

    profile: str
    model: Model
    version: ModelVersion


async def model_inputs(spec: JobSpec, profile: Profile, profiles: Profiles) -> tuple[JobSpec, ModelInputs]:
    """Return a spec whose ``model://`` inputs name their version, and the locations of these versions. Sends requests
    to the registry, if there are such inputs.

    Raises:
        SpecError: for an invalid URI.
        NotFound: if a model or version does not exist.
        Conflict: if a version has no files that a job can read.
        Unsupported: if the backend has no registry.
    """
    uris: dict[str, str] = {}
    named, accounts, notes = dict(spec.inputs), {}, []
    for channel, uri in spec.inputs.items():
        if not is_model(uri):
            continue
        with input_errors(channel):
            wanted = ModelUri.parse(uri)
            found = await _find(wanted, profile, profiles)
            uris[channel] = location_of(found.model, found.version)
        version = found.version.version or found.version.id
        other = found.profile if found.profile != profile.name else ""
        named[channel] = ModelUri(wanted.model, version, wanted.profile or other).uri
        accounts[channel] = found.profile
        text = _("The input `{channel}` is version {version} of the model {name}: {uri}")
        notes.append(text.format(channel=channel, version=version, name=found.model.name, uri=uris[channel]))
    if not uris:
        return spec, ModelInputs()
    return spec.model_copy(update={"inputs": named}), ModelInputs(uris, accounts, tuple(notes))


async def _find(wanted: ModelUri, profile: Profile, profiles: Profiles) -> _Found:
    """Return a version from the first registry that has its model."""
    models, candidates = Models(profiles.home, profiles), _registries(wanted, profile, profiles)
    for one in candidates:
        try:
            model = await models.find(one, wanted.model)
        except NotFound:
            if len(candidates) == 1:
                raise
            continue
        except PaiError as error:
            if len(candidates) > 1:  # Another registry may have a different model of this name.
                other = wanted._replace(profile="PROFILE").uri
                error.fix = " ".join(filter(None, [error.fix, _("To select a registry: {uri}").format(uri=other)]))
            raise
        return _Found(one.name, model, one_of(model, await models.registry(one).versions(model), wanted.version))
    if not candidates:
        raise Unsupported(
            _("No profile has a registry of models."), fix=_("Give the path or the URI of the model's files.")
        )
    raise NotFound(
        _("No profile has a model `{name}`.").format(name=wanted.model), fix=_("List the models: %pai models list")
    )


def _registries(wanted: ModelUri, profile: Profile, profiles: Profiles) -> list[Profile]:
    """Return the profiles whose registries may have a model: the named one, else that of the job. A job on this machine
    reads from each registry: that of the default profile first.

    Raises:
        NotFound: if the named profile does not exist.
        Unsupported: if the backend has no registry.
    """
    capabilities = profiles.capabilities(profile.backend)
    if not capabilities & {Capability.REGISTRY, Capability.RUNS_HERE}:
        fix = _("Give the URI of the files: %pai models versions {name}").format(name=wanted.model)
        raise Capability.REGISTRY.missing_in(profile.backend, fix)
    if wanted.profile:
        return [profiles.with_capability(Capability.REGISTRY, wanted.profile)]
    if Capability.REGISTRY in capabilities:
        return [profile]
    settings = profiles.settings()
    names = dict.fromkeys((settings.default, *settings.profiles))
    able = (settings.profiles[name] for name in names if name in settings.profiles)
    return [
        one
        for one in able
        if Capability.REGISTRY in profiles.capabilities(one.backend)
        and not settings.policy.why_not(one.name, one.backend)
    ]


def location_of(model: Model, version: ModelVersion) -> str:
    """Return the URI of the files of a version.

    Raises:
        Conflict: if it has none, or one on this machine: a registry must not select files of its users.
    """
    uri, name = version.uri, version.version or version.id
    if version.status != "ready":
        raise Conflict(
            _("Version {version} of the model {name} is not ready: {status}").format(
                version=name, name=model.name, status=version.reason or version.status
            ),
            fix=_("List its versions: %pai models versions {name}").format(name=model.name),
        )
    if scheme_of(uri) in ("", "file", SCHEME):
        raise Conflict(
            _("Version {version} of the model {name} has no files in a storage: {uri}").format(
                version=name, name=model.name, uri=uri or "-"
            ),
            fix=_("Register a version with the URI of its files: %pai models register {name} --uri URI").format(
                name=model.name
            ),
        )
    return uri
