"""The models in the registries of platforms, and a record of the versions that were registered here.

The record is a file of JSON lines in the state folder. It finds the models of platforms that do not list them, and the
versions of a job.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import NamedTuple

from ..backends.base import Backend, Capability
from ..backends.registry import Model, ModelVersion, Registration, Registry
from ..config.settings import Profile
from ..core.errors import DAMAGED, NotFound, SpecError
from ..core.i18n import _
from ..jobs.job import Job
from ..jobs.state_dir import Home
from .profiles import Profiles

_NAME = "models"
# Fields that each registration has.
_ALWAYS = {"name", "uri", "model_id", "remote_id", "metrics", "hyperparameters"}
# Versions of a job that are requested; the newest ones.
_MOST = 20


class _Record(NamedTuple):
    """A registered version. `job` is our id of the job, and `channel` its output; both may be empty."""

    profile: str
    model_id: str
    version_id: str
    job: str
    channel: str


class Models:
    """The models of all profiles."""

    def __init__(self, home: Home, profiles: Profiles) -> None:
        self._file = home.path / _NAME
        self._profiles = profiles

    def registry(self, profile: Profile) -> Registry:
        """Return the registry of a profile.

        Raises:
            Unsupported: if its platform has none.
        """
        return registry_of(self._profiles.backend(profile))

    async def all(self, profile: Profile) -> list[Model]:
        """List the models of a profile, newest first."""
        return await self.registry(profile).all(self._known(profile))

    async def find(self, profile: Profile, word: str) -> Model:
        """Return a model by its id or exact name.

        Raises:
            NotFound: if there is none.
        """
        model = await self.registry(profile).find(word, self._known(profile))
        if model is None:
            raise NotFound(
                _("Profile `{profile}` has no model `{name}`.").format(profile=profile.name, name=word),
                fix=_("List the models: %pai models list"),
            )
        return model

    async def versions(self, profile: Profile, word: str) -> tuple[Model, list[ModelVersion]]:
        """Return a model and its versions, newest first.

        Raises:
            NotFound: if there is none.
        """
        model = await self.find(profile, word)
        return model, await self.registry(profile).versions(model)

    async def version(self, profile: Profile, word: str, version: str) -> tuple[Model, ModelVersion]:
        """Return a model and one of its versions, by the id of the version or its text.

        Raises:
            NotFound: if there is none.
        """
        model, versions = await self.versions(profile, word)
        return model, one_of(model, versions, version)

    async def register(
        self, profile: Profile, word: str, registration: Registration, *, job: Job | None = None, channel: str = ""
    ) -> ModelVersion:
        """Register a version: of the model with this id or name, or the first one of a new model with this name.

        Raises:
            SpecError: if a field is invalid, required, or not supported by the platform.
            PaiError: as the platform rejects it.
        """
        registry = self.registry(profile)
        _check(registry, registration)
        model = await registry.find(word, self._known(profile))
        name, model_id = (model.name, model.id) if model else (word, "")
        version = await registry.register(replace(registration, name=name, model_id=model_id))
        self._append(_Record(profile.name, version.model_id, version.id, job.id if job else "", channel))
        return replace(version, channel=version.channel or channel)

    async def delete(self, profile: Profile, word: str, version: str = "", *, files: bool = False) -> Model:
        """Delete a model, or one version of it by its id or text. Return the model. `files`: with its files.

        Raises:
            NotFound: if there is none.
            Unsupported: if the platform cannot delete the files.
        """
        if version:
            model, found = await self.version(profile, word, version)
            await self.registry(profile).delete(model, found.id, files=files)
        else:
            model = await self.find(profile, word)
            await self.registry(profile).delete(model, files=files)
        return model

    async def of_job(self, job: Job) -> list[ModelVersion]:
        """Return the versions that were registered here from a job, newest first, and the models that the platform has
        recorded for it.

        Raises:
            Unsupported: if its platform has no registry.
        """
        registry = registry_of(self._profiles.backend_of(job))
        records = [record for record in self._records() if (record.profile, record.job) == (job.profile, job.id)]
        found = await asyncio.gather(*(_version(registry, record) for record in records[: -_MOST - 1 : -1]))
        recorded = await registry.of_job(job.remote_id)
        versions = [version for version in found if version]
        uris = {version.uri for version in versions}
        return [*versions, *(model for model in recorded if model.uri not in uris)]

    def _known(self, profile: Profile) -> list[str]:
        """Return the ids of the models that were registered here with a profile, newest first."""
        ids = (record.model_id for record in reversed(self._records()) if record.profile == profile.name)
        return list(dict.fromkeys(ids))

    def _records(self) -> list[_Record]:
        records: list[_Record] = []
        with suppress(OSError):
            for line in self._file.read_text("utf-8", "replace").splitlines():
                with suppress(*DAMAGED):  # A line that was cut off by a full disk.
                    records.append(_Record(**json.loads(line)))
        return records

    def _append(self, record: _Record) -> None:
        with suppress(OSError), open(self._file, "a", encoding="utf-8") as file:  # A full disk loses the record only.
            file.write(f"{json.dumps(record._asdict())}\n")


def registry_of(backend: Backend) -> Registry:
    """Return the registry of a backend.

    Raises:
        Unsupported: if its platform has none.
    """
    if backend.registry is None:
        raise Capability.REGISTRY.missing_in(backend.name, _("Choose a profile of another backend: --profile."))
    return backend.registry


def metrics_of(registry: Registry, own: Mapping[str, float], more: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return metrics for a version: those of the user, and as many further ones as there is room for."""
    chosen = dict(own)
    for name, value in more:
        if name not in chosen and registry.has_room({**chosen, name: value}):
            chosen[name] = value
    return chosen


def one_of(model: Model, versions: Sequence[ModelVersion], word: str = "") -> ModelVersion:
    """Return the version of a model with this id or text; by default, the newest one that is ready.

    Raises:
        NotFound: if there is none.
    """
    for one in versions:
        if word in (one.id, one.version) if word else one.status == "ready":
            return one
    if not word:
        raise NotFound(
            _("Model `{name}` has no version that is ready.").format(name=model.name),
            fix=_("List its versions: %pai models versions {name}").format(name=model.name),
        )
    raise NotFound(
        _("Model `{name}` has no version `{version}`.").format(name=model.name, version=word),
        fix=_("Known are: {names}.").format(names=", ".join(one.version for one in versions) or "-"),
    )


async def _version(registry: Registry, record: _Record) -> ModelVersion | None:
    with suppress(NotFound):  # Deleted, also in the console.
        version = await registry.get(record.model_id, record.version_id)
        return replace(version, channel=version.channel or record.channel)
    return None


def _check(registry: Registry, registration: Registration) -> None:
    """Check the optional fields of a registration.

    Raises:
        SpecError: naming the field.
    """
    choices: dict[str, Sequence[str]] = {"format": registry.formats, "approval": registry.approvals}
    for name in (field.name for field in fields(Registration) if field.name not in _ALWAYS):
        value = getattr(registration, name)
        if value and name not in registry.fields:
            raise SpecError(_("{field}: the platform does not support it for models.").format(field=name)).at(name)
        known = choices.get(name, ())
        if not value and registry.fields.get(name):
            fix = _fix(known) if known else _("List the images: %pai images --scope inference")
            raise SpecError(_("{field}: required by the platform.").format(field=name), fix=fix).at(name)
        if value and known and value not in known:
            raise SpecError(_("{field}: unknown value `{value}`.").format(field=name, value=value), fix=_fix(known)).at(
                name
            )
    if not registry.has_room(registration.metrics):
        raise SpecError(
            _("metrics: more than the platform stores for a model."), fix=_("Pass fewer metrics: --metric")
        ).at("metrics")


def _fix(known: Sequence[str]) -> str:
    return _("Known are: {names}.").format(names=", ".join(known))
