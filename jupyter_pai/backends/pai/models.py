"""Models in the registry of a PAI workspace (AIWorkSpace).

Source: operations of AIWorkSpace on models, and ``pai.model`` of PAI's Python SDK. Files are used in place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_pascal

from ...cloud.alibaba.account import AlibabaAccount
from ...cloud.alibaba.openapi import WORKSPACE
from ...core.errors import NotFound, PaiError, ReplyLost, SpecError
from ...core.i18n import _
from ..base import parse_options
from ..registry import Model, ModelVersion, Registration, Registry
from .api import PaiApi, list_items

__all__ = ["PaiRegistry"]

_PATH = "/api/v1/models"
_PAGE = 100
# Bytes of the metrics of a version as JSON, and characters of a name.
_LARGEST_METRICS, _LONGEST_NAME = 8192, 127
_FIRST = "0.1.0"
_ID = re.compile(r"model-\w+", re.ASCII)
_VERSION = re.compile(r"(\d+)\.(\d+)\.\d\w*", re.ASCII)


class ModelOptions(BaseModel):
    """Further fields of a registration, by the platform's names in snake case. Those in `_OF_MODEL` apply to a new
    model only."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    accessibility: Literal["PUBLIC", "PRIVATE"] | None = None
    model_description: str | None = None
    model_doc: str | None = None
    model_labels: dict[str, str] = Field({})
    origin: str | None = None
    domain: str | None = None
    task: str | None = None
    framework_type: str | None = None
    inference_spec: dict[str, Any] | None = None
    training_spec: dict[str, Any] | None = None
    evaluation_spec: dict[str, Any] | None = None
    options: str | None = None


_OF_MODEL = ("accessibility", "model_description", "model_doc", "origin", "domain", "task")
_OF_VERSION = ("framework_type", "inference_spec", "training_spec", "evaluation_spec", "options")


class PaiRegistry(Registry):
    """The models of an account's workspace."""

    fields: ClassVar[Mapping[str, bool]] = {
        "version": False,
        "format": False,
        "approval": False,
        "description": False,
        "labels": False,
        "options": False,
    }
    formats: ClassVar[Sequence[str]] = (
        "OfflineModel", "SavedModel", "Keras H5", "Frozen Pb", "Caffe Prototxt", "TorchScript", "XGBoost", "PMML",
        "AlinkModel", "ONNX",
    )  # fmt: skip
    approvals: ClassVar[Sequence[str]] = ("Pending", "Approved", "Rejected")

    def __init__(self, account: AlibabaAccount, jobs: PaiApi | None = None) -> None:
        """`jobs`: the training jobs, if the models are those of training jobs."""
        self._account, self._jobs = account, jobs

    async def all(self, known: Collection[str] = ()) -> list[Model]:
        return [_model(item) async for item in self._items(_PATH, "ListModels", "Models", **await self._in_workspace())]

    async def find(self, model: str, known: Collection[str] = ()) -> Model | None:
        # Only a name in quotes matches exactly.
        query = {"ModelName": f'"{model}"', **await self._in_workspace()}
        async for item in self._items(_PATH, "ListModels", "Models", **query):
            if item.get("ModelName") == model:
                return _model(item)
        if _ID.fullmatch(model):
            with suppress(NotFound):
                return _model(await self._call("GetModel", "GET", _path(model)))
        return None

    async def versions(self, model: Model) -> list[ModelVersion]:
        items = self._items(f"{_path(model.id)}/versions", "ListModelVersions", "Versions")
        return [_version(item, model.id, model.name) async for item in items]

    async def get(self, model_id: str, version_id: str) -> ModelVersion:
        item = await self._call("GetModelVersion", "GET", f"{_path(model_id)}/versions/{version_id}")
        return _version(item, model_id, str((await self._call("GetModel", "GET", _path(model_id))).get("ModelName")))

    def has_room(self, metrics: Mapping[str, float]) -> bool:
        return len(json.dumps(dict(metrics)).encode()) <= _LARGEST_METRICS

    async def register(self, registration: Registration) -> ModelVersion:
        _check(registration)
        model_id, version = registration.model_id, registration.version
        if not model_id:
            model_id = await self._create(registration)
        elif not version:
            version = _next(await self.versions(Model(model_id, registration.name)))
        # Named here, so that it is found after a lost reply.
        body = await self._body(registration, version or _FIRST)
        try:
            await self._call("CreateModelVersion", "POST", f"{_path(model_id)}/versions", body, repeat=False)
        except ReplyLost:
            with suppress(NotFound):
                return await self.get(model_id, body["VersionName"])
            raise
        except PaiError:
            if not registration.model_id:
                with suppress(PaiError):
                    await self._call("DeleteModel", "DELETE", _path(model_id))
            raise
        return await self.get(model_id, body["VersionName"])

    async def _create(self, registration: Registration) -> str:
        """Create a model without versions and return its id."""
        options = parse_options(ModelOptions, registration.options)
        labels = {"Labels": _as_labels(options.model_labels)} if options.model_labels else {}
        body = {"ModelName": registration.name, **await self._in_workspace(), **_fields(options, _OF_MODEL), **labels}
        try:
            return str((await self._call("CreateModel", "POST", _PATH, body, repeat=False))["ModelId"])
        except ReplyLost:
            if model := await self.find(registration.name):
                return model.id
            raise

    async def _body(self, registration: Registration, version: str) -> dict[str, Any]:
        body: dict[str, Any] = {
            # Required here, unlike in training jobs.
            "Uri": await self._account.with_endpoint(registration.uri),
            "VersionName": version,
            "VersionDescription": registration.description or None,
            "FormatType": registration.format or None,
            "ApprovalStatus": registration.approval or None,
            "Labels": _as_labels(registration.labels) or None,
            "Metrics": dict(registration.metrics) or None,
            **_fields(parse_options(ModelOptions, registration.options), _OF_VERSION),
        }
        if registration.hyperparameters:
            body["ExtraInfo"] = {"HyperParameters": dict(registration.hyperparameters)}
        if registration.remote_id:
            place = f"region={self._account.settings.region_id},workspaceId={await self._account.workspace_id()}"
            # The platform has a word for its training jobs only.
            source, kind = ("TrainingService", "ServiceJob") if self._jobs else ("Custom", "DLCJob")
            body |= {"SourceType": source, "SourceId": f"{place},kind={kind},id={registration.remote_id}"}
        return {name: value for name, value in body.items() if value is not None}

    async def delete(self, model: Model, version_id: str = "", *, files: bool = False) -> None:
        self.check_files(files)
        with suppress(NotFound):  # Deleted already, also in the console.
            versions = [version_id] if version_id else [version.id for version in await self.versions(model)]
            for version in versions:
                with suppress(NotFound):
                    path = f"{_path(model.id)}/versions/{version}"
                    await self._call("DeleteModelVersion", "DELETE", path)
            if not version_id:
                await self._call("DeleteModel", "DELETE", _path(model.id))

    async def of_job(self, remote_id: str) -> list[ModelVersion]:
        items = await self._jobs.items(remote_id, "OutputModels") if self._jobs else []
        return [_recorded(item) for item in items]

    async def _in_workspace(self) -> dict[str, str]:
        return {"WorkspaceId": await self._account.workspace_id()}

    def _items(self, path: str, action: str, key: str, **query: object) -> Any:
        order = {"SortBy": "GmtCreateTime", "Order": "DESC"}
        return list_items(self._account.api, WORKSPACE, action, path, key, {**order, **query}, _PAGE)

    async def _call(
        self, action: str, method: str, path: str, body: Mapping[str, Any] | None = None, *, repeat: bool = True
    ) -> dict[str, Any]:
        return await self._account.api.call(WORKSPACE, action, method, path, body=body, repeat=repeat)


def _fields(options: ModelOptions, names: Sequence[str]) -> dict[str, Any]:
    """Return options by the names of the platform."""
    return {to_pascal(name): value for name in names if (value := getattr(options, name)) not in (None, {})}


def _as_labels(labels: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": name, "Value": value} for name, value in labels.items()]


def _path(model_id: str) -> str:
    return f"{_PATH}/{model_id}"


def _check(registration: Registration) -> None:
    """Check what the platform would reject.

    Raises:
        SpecError: naming the field.
    """
    if len(registration.name) > _LONGEST_NAME or '"' in registration.name:
        raise SpecError(
            _("model: `{name}` is not a valid name.").format(name=registration.name),
            fix=_("Use at most {n} characters, without quotes.").format(n=_LONGEST_NAME),
        ).at("model")
    if registration.version and not _VERSION.fullmatch(registration.version):
        raise SpecError(
            _("version: `{version}` is not a version.").format(version=registration.version),
            fix=_("Use three numbers, such as 0.2.0."),
        ).at("version")
    parse_options(ModelOptions, registration.options)


def _next(versions: Sequence[ModelVersion]) -> str:
    """Return the version after the highest one: the next minor one."""
    numbers = [(int(match[1]), int(match[2])) for one in versions if (match := _VERSION.fullmatch(one.version))]
    major, minor = max(numbers, default=(0, 0))
    return f"{major}.{minor + 1}.0"


def _model(item: Mapping[str, Any]) -> Model:
    return Model(
        id=str(item.get("ModelId") or ""),
        name=str(item.get("ModelName") or ""),
        description=str(item.get("ModelDescription") or ""),
        labels=_labels(item),
        created=str(item.get("GmtCreateTime") or ""),
        user=str(item.get("UserId") or ""),
    )


def _version(item: Mapping[str, Any], model_id: str, name: str) -> ModelVersion:
    version, extra = str(item.get("VersionName") or ""), item.get("ExtraInfo")
    hyperparameters = extra.get("HyperParameters") if isinstance(extra, Mapping) else None
    return ModelVersion(
        model_id=model_id,
        model=name,
        id=version,
        version=version,
        uri=str(item.get("Uri") or ""),
        format=str(item.get("FormatType") or ""),
        approval=str(item.get("ApprovalStatus") or ""),
        description=str(item.get("VersionDescription") or ""),
        labels=_labels(item),
        metrics=dict(item.get("Metrics") or {}),
        hyperparameters={str(k): str(v) for k, v in hyperparameters.items()}
        if isinstance(hyperparameters, Mapping)
        else {},
        created=str(item.get("GmtCreateTime") or ""),
    )


def _recorded(item: Mapping[str, Any]) -> ModelVersion:
    """Return a model that the platform has recorded for a job, an item of ListTrainingJobOutputModels."""
    return ModelVersion(
        uri=str(item.get("Uri") or ""),
        channel=str(item.get("OutputChannelName") or ""),
        labels=_labels(item),
        metrics=dict(item.get("Metrics") or {}),
    )


def _labels(item: Mapping[str, Any]) -> dict[str, str]:
    return {str(one["Key"]): str(one.get("Value") or "") for one in item.get("Labels") or () if one.get("Key")}
