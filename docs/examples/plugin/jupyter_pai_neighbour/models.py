"""The registry of models: each method is a request to the neighbour, which keeps no copies of their files."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Protocol
from urllib.parse import quote

from pydantic import TypeAdapter

from jupyter_pai import Model, ModelVersion, Registration, Registry, errors

__all__ = ["NeighbourRegistry"]

_VERSION = TypeAdapter(ModelVersion)


class _Ask(Protocol):
    async def __call__(self, method: str, path: str, body: object = None, **query: object) -> dict[str, Any]: ...


class NeighbourRegistry(Registry):
    """The models of one neighbour."""

    fields: ClassVar[Mapping[str, bool]] = {"description": False, "labels": False}

    def __init__(self, ask: _Ask) -> None:
        self._ask = ask

    async def all(self, known: Collection[str] = ()) -> list[Model]:
        """It lists all models, so that those `known` here say nothing new."""
        found = (await self._ask("GET", "/models"))["models"]
        return [Model(one["id"], one["name"], created=one["created"]) for one in reversed(found.values())]

    async def versions(self, model: Model) -> list[ModelVersion]:
        found = (await self._ask("GET", "/models"))["models"].get(model.id)
        if found is None:
            raise errors.NotFound(f"The neighbour has no model {model.id}.")
        return [_VERSION.validate_python(one) for one in reversed(found["versions"])]

    async def get(self, model_id: str, version_id: str) -> ModelVersion:
        for version in await self.versions(Model(model_id, "")):
            if version.id == version_id:
                return version
        raise errors.NotFound(f"The neighbour has no version {version_id} of {model_id}.")

    async def register(self, registration: Registration) -> ModelVersion:
        body = {"key": uuid.uuid4().hex, **asdict(registration)}
        return _VERSION.validate_python(await self._ask("POST", "/models", body))

    async def delete(self, model: Model, version_id: str = "", *, files: bool = False) -> None:
        self.check_files(files)
        await self._ask("DELETE", f"/models/{quote(model.id, safe='')}", version=version_id)
