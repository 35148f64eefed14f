"""The registry of models: imports, versions, deletion."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

from .cos import Cos
from .keys import SUB_USER
from .requests import Action, Request, beijing, refuse
from .settings import Settings
from .tasks import Task

__all__ = ["Registry"]

_FORMATS = (
    "PYTORCH", "TORCH_SCRIPT", "DETECTRON2", "SAVED_MODEL", "FROZEN_GRAPH", "PMML", "MMDETECTION", "ONNX",
    "HUGGING_FACE", "HUGGING_FACE_BERT", "HUGGING_FACE_STABLE_DIFFUSION", "HUGGING_FACE_STABLE_DIFFUSION_LORA",
    "WEB_UI_STABLE_DIFFUSION",
)  # fmt: skip


@dataclass
class Version:
    """A version of a model. `ready` is when its import ends, in seconds since 1970."""

    id: str
    name: str
    request: dict[str, Any]
    source: dict[str, Any]
    target: dict[str, Any]
    created: float
    ready: float
    status: str = "STATUS_RUNNING"
    error: str = ""


@dataclass
class Model:
    """A model and its versions."""

    id: str
    name: str
    project: str
    created: float
    versions: list[Version] = field(default_factory=list)


class Registry:
    """All models by id."""

    def __init__(self, cos: Cos, tasks: dict[str, Task], settings: Settings) -> None:
        self._cos, self._tasks, self._settings = cos, tasks, settings
        self.models: dict[str, Model] = {}
        self._numbers = itertools.count(544_168_070_598_700_544)

    def actions(self) -> dict[str, Action]:
        """The public actions."""
        return {
            "CreateTrainingModel": self._create,
            "DescribeTrainingModelVersions": self._versions,
            "DescribeTrainingModelVersion": self._version,
            "DeleteTrainingModel": self._delete,
            "DeleteTrainingModelVersion": self._delete_version,
        }

    def extras(self) -> dict[str, Action]:
        """The actions that were cut."""
        return {"DescribeTrainingModels": self._list}

    def _create(self, request: Request) -> dict[str, Any]:
        body, method = request.body, request.body["ImportMethod"]
        if body.get("ModelFormat") not in (None, "", *_FORMATS):
            refuse("InvalidParameterValue", f"The model format {body['ModelFormat']} is unknown.")
        if len(body.get("TrainingModelIndex") or "") > 1000:
            refuse("InvalidParameterValue.ParamLengthExceedLimit", "TrainingModelIndex is longer than 1000 characters.")
        source, target = self._source(request), body.get("ModelOutputPath") or {}
        if target and target["Bucket"] not in self._cos.buckets:
            refuse("InvalidParameterValue.CosPathNotExist", f"The bucket {target['Bucket']} does not exist.")
        model = self._new(request) if method == "MODEL" else self._find(request)
        name = body.get("TrainingModelVersion") or f"v{len(model.versions) + 1}"
        if method == "EXIST":
            found = next((one for one in model.versions if one.name == name), None)
            if found is None:
                refuse("FailedOperation.RecordNotFound", f"The version {name} does not exist.")
        elif any(one.name == name for one in model.versions):
            refuse("FailedOperation.DuplicateName", f"The version {name} exists already.")
        key = f"mv-{name}-{next(self._numbers)}"
        ready = request.now + self._settings.import_seconds
        model.versions.append(Version(key, name, body, source, target, request.now, ready))
        return {"Id": model.id, "TrainingModelVersionId": key}

    def _source(self, request: Request) -> dict[str, Any]:
        """Return the folder of the model's files: the one of the request, or that of the task's output."""
        body = request.body
        if path := body.get("TrainingModelCosPath"):
            return dict(path)
        task = self._tasks.get(body.get("TrainingJobId") or "")
        if task is None or not task.request.get("Output"):
            refuse("FailedOperation.RecordNotFound", f"The task {body.get('TrainingJobId')} has no output.")
        output = task.request["Output"]
        return {**output, "Paths": [f"{output['Paths'][0]}{task.id}/model/"]}

    def _new(self, request: Request) -> Model:
        name = request.body.get("TrainingModelName") or ""
        if not name:
            refuse("MissingParameter", "The request is missing a required parameter `TrainingModelName`.")
        if any((model.name, model.project) == (name, request.project) for model in self.models.values()):
            refuse("FailedOperation.DuplicateName", f"The model {name} exists already.")
        model = Model(f"m-{next(self._numbers)}", name, request.project, request.now)
        self.models[model.id] = model
        return model

    def _find(self, request: Request) -> Model:
        model = self.models.get(request.body.get("TrainingModelId") or "")
        if model is None or model.project != request.project:
            refuse("FailedOperation.RecordNotFound", f"The model {request.body.get('TrainingModelId')} does not exist.")
        return model

    def _find_version(self, request: Request) -> tuple[Model, Version]:
        key = request.body["TrainingModelVersionId"]
        for model in self.models.values():
            for version in model.versions:
                if version.id == key and model.project == request.project:
                    return model, version
        return refuse("FailedOperation.RecordNotFound", f"The version {key} does not exist.")

    def _import(self, version: Version, now: float) -> None:
        """Copy the files of a version when its time has come."""
        if version.status != "STATUS_RUNNING" or now < version.ready:
            return
        bucket, path = self._cos.buckets.get(version.source["Bucket"]), version.source["Paths"][0].lstrip("/")
        prefix = path if path.endswith("/") else f"{path}/"
        files = [stored for stored in bucket.below(prefix) if not stored.key.endswith("/")] if bucket else []
        if bucket is None or not files:
            version.status, version.error = "STATUS_FAILED", f"no files in {version.source['Bucket']}/{prefix}"
            return
        for stored in files:
            if version.target:
                place = version.target["Paths"][0].lstrip("/").rstrip("/") + "/" + stored.key.removeprefix(prefix)
                self._cos.buckets[version.target["Bucket"]].put(replace(stored, key=place))
            if version.request.get("ModelMoveMode") == "CUT":
                bucket.delete(stored.key)
        version.status = "STATUS_SUCCESS"

    def _versions(self, request: Request) -> dict[str, Any]:
        model = self._find(request)
        return {"TrainingModelVersions": [self._row(model, version, request.now) for version in model.versions]}

    def _version(self, request: Request) -> dict[str, Any]:
        return {"TrainingModelVersion": self._row(*self._find_version(request), request.now)}

    def _row(self, model: Model, version: Version, now: float) -> dict[str, Any]:
        self._import(version, now)
        body = version.request
        names = ("AlgorithmFramework", "ReasoningEnvironment", "ReasoningEnvironmentSource", "ReasoningEnvironmentId")
        row = {name: body.get(name) for name in (*names, "TrainingModelSource", "TrainingModelIndex", "TrainingJobId")}
        row |= {name: body.get(name) for name in ("TrainingJobName", "TrainingJobVersion", "ReasoningImageInfo")}
        row |= {"TrainingModelId": model.id, "TrainingModelVersionId": version.id, "TrainingModelName": model.name}
        row |= {"TrainingModelVersion": version.name, "TrainingModelCosPath": version.target or version.source}
        row |= {"TrainingModelCreateTime": beijing(model.created), "CreateTime": beijing(version.created)}
        row |= {"TrainingModelCreator": SUB_USER, "TrainingModelFormat": body.get("ModelFormat")}
        row |= {"TrainingModelStatus": version.status, "TrainingModelErrorMsg": version.error}
        row["TrainingModelProgress"] = 100 if version.status == "STATUS_SUCCESS" else 0
        return row | {"VersionType": body.get("ModelVersionType") or "NORMAL"}

    def _delete(self, request: Request) -> dict[str, Any]:
        model = self._find(request)
        for version in model.versions:
            self._forget_files(version, request)
        del self.models[model.id]
        return {}

    def _delete_version(self, request: Request) -> dict[str, Any]:
        model, version = self._find_version(request)
        self._forget_files(version, request)
        model.versions.remove(version)
        if not model.versions:
            del self.models[model.id]
        return {}

    def _forget_files(self, version: Version, request: Request) -> None:
        place = version.target or version.source
        # Without a word about it the files are deleted, too.
        if request.body.get("EnableDeleteCos") is not False and place["Bucket"] in self._cos.buckets:
            bucket = self._cos.buckets[place["Bucket"]]
            for stored in bucket.below(place["Paths"][0].lstrip("/").rstrip("/") + "/"):
                bucket.delete(stored.key)

    def _list(self, request: Request) -> dict[str, Any]:
        rows = [
            {"Id": model.id, "TrainingModelName": model.name, "CreateTime": beijing(model.created)}
            for model in self.models.values()
            if model.project == request.project
        ]
        return {"TrainingModels": request.page(rows, 10, 100), "TotalCount": len(rows)}
