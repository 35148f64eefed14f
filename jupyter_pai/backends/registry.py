"""The seam to registries: models with versions, kept by a platform."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ..core.errors import Unsupported
from ..core.i18n import _


@dataclass(frozen=True)
class Model:
    """A model of a registry. `created` is an ISO 8601 time and `user` the owner, if known."""

    id: str
    name: str
    description: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    created: str = ""
    user: str = ""


@dataclass(frozen=True)
class ModelVersion:
    """A version of a model.

    `id` names it in calls, `version` for users; they may be equal. Both, and the model, are empty for a model that the
    platform has recorded for a job without registering it. `progress` of an import is 0 to 1, if known. `uri` is the
    folder of its files, and `channel` the output channel of the job that wrote them, if known. `image` is the one that
    serves it. `approval` is a word of the platform. `metrics` are plain JSON values. `created` is an ISO 8601 time.
    """

    model_id: str = ""
    model: str = ""
    id: str = ""
    version: str = ""
    status: Literal["importing", "ready", "failed"] = "ready"
    reason: str = ""
    progress: float | None = None
    uri: str = ""
    channel: str = ""
    format: str = ""
    image: str = ""
    approval: str = ""
    description: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, object] = field(default_factory=dict)
    hyperparameters: dict[str, str] = field(default_factory=dict)
    created: str = ""


@dataclass(frozen=True)
class Registration:
    """A version to register: of the model `model_id`, or the first one of a new model `name`.

    `uri` is the folder of its files. `remote_id` is the job that wrote them, if any. `target` is the folder to which
    the platform copies them; with `move`, it removes those at `uri`. Without `target`, it may use them in place. An
    empty `version` lets the registry select the next one. `options` are further fields of the platform.
    """

    name: str
    uri: str
    model_id: str = ""
    remote_id: str = ""
    version: str = ""
    format: str = ""
    image: str = ""
    approval: str = ""
    description: str = ""
    target: str = ""
    move: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    hyperparameters: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)


class Registry(ABC):
    """The models of one profile."""

    # The optional fields of a `Registration` that the platform has, each with whether it requires a value: `version`,
    # `format`, `image`, `approval`, `description`, `target`, `move`, `labels`, `options`. Others are rejected before
    # `register`.
    fields: ClassVar[Mapping[str, bool]] = {}
    # The values of `format` and `approval`; empty if they are free text.
    formats: ClassVar[Sequence[str]] = ()
    approvals: ClassVar[Sequence[str]] = ()
    # Whether `delete` can delete the files, too.
    deletes_files: ClassVar[bool] = False

    @abstractmethod
    async def all(self, known: Collection[str] = ()) -> list[Model]:
        """List the models, newest first. `known`: the ids of models that were registered here, for platforms without a
        list. Deleted ones are omitted."""

    async def find(self, model: str, known: Collection[str] = ()) -> Model | None:
        """Return a model by its id or its exact name; None if there is none. `known` as for `all`."""
        models = await self.all(known)
        return next((one for one in models if one.id == model), None) or next(
            (one for one in models if one.name == model), None
        )

    @abstractmethod
    async def versions(self, model: Model) -> list[ModelVersion]:
        """List the versions of a model, newest first.

        Raises:
            NotFound: if the model was deleted.
        """

    @abstractmethod
    async def get(self, model_id: str, version_id: str) -> ModelVersion:
        """Return a version by the `id` of both.

        Raises:
            NotFound: if it does not exist.
        """

    def has_room(self, metrics: Mapping[str, float]) -> bool:
        """Return whether a version can have all of these metrics. Sends no requests."""
        return True

    @abstractmethod
    async def register(self, registration: Registration) -> ModelVersion:
        """Register a version and return it. Does not wait for an import: poll `get`.

        Raises:
            Conflict: if the name or version exists.
            SpecError: if a field is invalid.
            PaiError: if the platform rejects it; nothing is registered then.
            ReplyLost: if it is unknown whether it was registered.
        """

    @abstractmethod
    async def delete(self, model: Model, version_id: str = "", *, files: bool = False) -> None:
        """Delete a version of a model, or all of it. `files`: with the files, for `deletes_files`. Does nothing if it
        does not exist.

        Raises:
            Unsupported: if the platform cannot delete the files.
        """

    async def of_job(self, remote_id: str) -> list[ModelVersion]:
        """List the models that the platform itself has recorded for a job. By default, it records none."""
        return []

    def check_files(self, files: bool) -> None:
        """Raises Unsupported if files are to be deleted, and the platform cannot."""
        if files and not self.deletes_files:
            raise Unsupported(
                _("The platform cannot delete the files of a model."), fix=_("Delete them yourself: %pai rm URI")
            )
