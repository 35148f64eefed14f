"""Models in the registry of TI-ONE: imports from tasks and folders of COS.

Source: actions of the API 2021-11-11 on training models, and Tikit's use of them. The public API has no list of models,
so DescribeTrainingModels is asked only where it helps.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ...cloud.tencent.reading import number_of, rows_of, text_of, time_of
from ...core.errors import Conflict, NotFound, ReplyLost, SpecError
from ...core.i18n import _
from ..registry import Model, ModelVersion, Registration, Registry
from .api import TioneApi
from .reasoning_images import reasoning_image
from .submit.locations import CosPath

if TYPE_CHECKING:
    from .catalog import Catalog

__all__ = ["TioneRegistry"]

# Characters of the metrics of a version, and of a name.
_LONGEST_INDEX, _LONGEST_NAME = 1000, 60
# Models of a page, and known models that are requested without a list.
_PAGE, _MOST = 100, 100
_ID = re.compile(r"m-\d+", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9\u4e00-\u9fff][A-Za-z0-9_\u4e00-\u9fff-]*")
_VERSION = re.compile(r"v(\d+)", re.ASCII)
_STATUSES: dict[str, Literal["importing", "ready", "failed"]] = {
    "STATUS_RUNNING": "importing",
    "STATUS_SUCCESS": "ready",
    "STATUS_FAILED": "failed",
}


class TioneRegistry(Registry):
    """The models of one workspace."""

    fields: ClassVar[Mapping[str, bool]] = {
        "format": True,
        "image": True,
        "version": False,
        "labels": False,
        "target": False,
        "move": False,
    }
    # Those of the reference, and one more of Tikit.
    formats: ClassVar[Sequence[str]] = (
        "PYTORCH", "TORCH_SCRIPT", "DETECTRON2", "SAVED_MODEL", "FROZEN_GRAPH", "PMML", "MMDETECTION", "ONNX",
        "HUGGING_FACE", "HUGGING_FACE_BERT", "HUGGING_FACE_STABLE_DIFFUSION", "HUGGING_FACE_STABLE_DIFFUSION_LORA",
        "WEB_UI_STABLE_DIFFUSION",
    )  # fmt: skip
    deletes_files: ClassVar[bool] = True

    def __init__(self, api: TioneApi, catalog: Catalog) -> None:
        self._api, self._catalog = api, catalog

    async def all(self, known: Collection[str] = ()) -> list[Model]:
        listed = await self._listed()
        if listed is not None:
            return listed
        models = await asyncio.gather(*(self._described(model_id) for model_id in [*known][:_MOST]))
        return sorted(filter(None, models), key=lambda model: model.created, reverse=True)

    async def _listed(self) -> list[Model] | None:
        """Return all models; None if the platform has no list of them."""
        models: list[Model] = []
        while True:
            body = {"Offset": len(models), "Limit": _PAGE}
            reply = await self._api.extra("DescribeTrainingModels", body)  # noqa: S610  # not Django's
            if reply is None:
                return None
            rows = rows_of(reply, "TrainingModels")
            models += [
                Model(
                    text_of(row.get("Id")), text_of(row.get("TrainingModelName")), created=_iso(row.get("CreateTime"))
                )
                for row in rows
            ]
            if not rows or len(models) >= (number_of(reply.get("TotalCount")) or 0):
                return sorted(models, key=lambda model: model.created, reverse=True)

    async def find(self, model: str, known: Collection[str] = ()) -> Model | None:
        if _ID.fullmatch(model) and (found := await self._described(model)):
            return found
        return await super().find(model, known)

    async def _described(self, model_id: str) -> Model | None:
        """Return a model by its id; None if it does not exist, or has no versions."""
        with suppress(NotFound):
            for row in await self._rows(model_id):
                created = _iso(row.get("TrainingModelCreateTime"))
                user = text_of(row.get("TrainingModelCreator"))
                return Model(model_id, text_of(row.get("TrainingModelName")), created=created, user=user)
        return None

    async def _rows(self, model_id: str) -> list[dict[str, Any]]:
        reply = await self._api.call("DescribeTrainingModelVersions", {"TrainingModelId": model_id})
        return rows_of(reply, "TrainingModelVersions")

    async def versions(self, model: Model) -> list[ModelVersion]:
        versions = [_version(row) for row in await self._rows(model.id)]
        return sorted(versions, key=lambda version: (version.created, _number(version.version)), reverse=True)

    async def get(self, model_id: str, version_id: str) -> ModelVersion:
        reply = await self._api.call("DescribeTrainingModelVersion", {"TrainingModelVersionId": version_id})
        row = reply.get("TrainingModelVersion")
        return _version(row if isinstance(row, Mapping) else {})

    def has_room(self, metrics: Mapping[str, float]) -> bool:
        return len(_index(metrics)) <= _LONGEST_INDEX

    async def register(self, registration: Registration) -> ModelVersion:
        _check(registration)
        body = await self._body(registration)
        try:
            reply = await self._api.call("CreateTrainingModel", body, repeat=False)
        except ReplyLost:
            if version := await self._find(registration, body):
                return version
            raise
        except Conflict as error:
            if not registration.model_id and "DuplicateName" in str(error.details.get("code")):
                error.fix = _(
                    "To register a new version, pass the id of the model from the console. Or use another name."
                )
            raise
        return await self.get(text_of(reply.get("Id")), text_of(reply.get("TrainingModelVersionId")))

    async def _body(self, registration: Registration) -> dict[str, Any]:
        image = await reasoning_image(registration.image, self._api, self._catalog)
        region = self._api.settings.region
        source = _path(registration.uri, "uri").as_field(region)
        task = await self._task(registration.remote_id)
        target = _path(registration.target, "target").as_field(region) if registration.target else None
        return {
            "ImportMethod": "VERSION" if registration.model_id else "MODEL",
            "TrainingModelName": None if registration.model_id else registration.name,
            "TrainingModelId": registration.model_id or None,
            "TrainingModelVersion": await self._next(registration),
            "TrainingModelSource": "JOB" if task else "COS",
            **task,
            "TrainingModelCosPath": source,
            # Of a task's model, the platform asks for a place. It stays where it is.
            "ModelOutputPath": target or (source if task else None),
            "ModelMoveMode": "CUT" if registration.move else "COPY",
            "ModelFormat": registration.format,
            "AlgorithmFramework": task.get("AlgorithmFramework") or image.framework or None,
            "TrainingModelIndex": _index(registration.metrics) or None,
            "Tags": [{"TagKey": name, "TagValue": value} for name, value in registration.labels.items()] or None,
            **image.fields,
        }

    async def _task(self, remote_id: str) -> dict[str, Any]:
        """Return the fields that name a task; none if it was deleted, whose files are a folder like any other."""
        if not remote_id:
            return {}
        with suppress(NotFound):
            detail = (await self._api.call("DescribeTrainingTask", {"Id": remote_id})).get("TrainingTaskDetail")
            row = detail if isinstance(detail, Mapping) else {}
            name, framework = text_of(row.get("Name")), text_of(row.get("FrameworkName"))
            return {"TrainingJobId": remote_id, "TrainingJobName": name, "AlgorithmFramework": framework}
        return {}

    async def _next(self, registration: Registration) -> str | None:
        """Return the version to register, which is named here so that it is found after a lost reply."""
        if registration.version or not registration.model_id:
            return registration.version or None
        rows = await self._rows(registration.model_id)
        return f"v{max((_number(text_of(row.get('TrainingModelVersion'))) for row in rows), default=0) + 1}"

    async def _find(self, registration: Registration, body: Mapping[str, Any]) -> ModelVersion | None:
        """Return the version of a request without a reply, if the platform has it, as far as it lists models."""
        model = Model(registration.model_id, registration.name)
        if not registration.model_id:
            named = [one for one in await self._listed() or () if one.name == registration.name]
            if not named:
                return None
            model = named[0]
        versions = await self.versions(model)
        wanted = body["TrainingModelVersion"]
        return next((one for one in versions if wanted in (None, one.version)), None)

    async def delete(self, model: Model, version_id: str = "", *, files: bool = False) -> None:
        # Without the field, the platform deletes the files, too.
        action, key = ("DeleteTrainingModelVersion", version_id) if version_id else ("DeleteTrainingModel", model.id)
        name = "TrainingModelVersionId" if version_id else "TrainingModelId"
        with suppress(NotFound):  # Deleted already, also in the console.
            await self._api.call(action, {name: key, "EnableDeleteCos": files})


def _check(registration: Registration) -> None:
    """Check what the platform would reject.

    Raises:
        SpecError: naming the field.
    """
    if not registration.model_id and not (
        len(registration.name) <= _LONGEST_NAME and _NAME.fullmatch(registration.name)
    ):
        raise SpecError(
            _("model: `{name}` is not a valid name.").format(name=registration.name),
            fix=_("Use at most {n} letters, digits, `_` and `-`, with a letter or digit first.").format(
                n=_LONGEST_NAME
            ),
        ).at("model")
    if registration.version and not _VERSION.fullmatch(registration.version):
        raise SpecError(
            _("version: `{version}` is not a version.").format(version=registration.version),
            fix=_("Use `v` and a number, such as v2."),
        ).at("version")
    if registration.move and not registration.target:
        raise SpecError(_("move: requires `target`, the folder to which the files are moved.")).at("move")


def _path(uri: str, field: str) -> CosPath:
    """Return a folder in COS. Raises SpecError, naming the field."""
    try:
        return CosPath.parse(f"{uri.rstrip('/')}/")
    except SpecError as error:
        raise error.at(field) from None


def _index(metrics: Mapping[str, float]) -> str:
    return ",".join(f"{name}={value:.10g}" for name, value in metrics.items())


def _metrics(index: str) -> dict[str, object]:
    pairs = (part.rpartition("=") for part in index.split(","))
    return {name.strip(): _value(value) for name, _equals, value in pairs if name.strip()}


def _value(text: str) -> object:
    number = number_of(text)
    return text.strip() if number is None else number


def _number(version: str) -> int:
    match = _VERSION.fullmatch(version)
    return int(match[1]) if match else 0


def _iso(value: object) -> str:
    time = time_of(value)
    return time.isoformat() if time else ""


def _version(row: Mapping[str, Any]) -> ModelVersion:
    word, progress = text_of(row.get("TrainingModelStatus")), number_of(row.get("TrainingModelProgress"))
    status = _STATUSES.get(word, "ready")
    message = text_of(row.get("TrainingModelErrorMsg")) if status != "ready" or word not in _STATUSES else ""
    return ModelVersion(
        model_id=text_of(row.get("TrainingModelId")),
        model=text_of(row.get("TrainingModelName")),
        id=text_of(row.get("TrainingModelVersionId")),
        version=text_of(row.get("TrainingModelVersion")),
        status=status,
        # An unknown word is shown as it is.
        reason=message or (word if word not in _STATUSES else ""),
        progress=min(max(progress / 100, 0.0), 1.0) if progress is not None and status == "importing" else None,
        uri=_uri(row.get("TrainingModelCosPath")),
        format=text_of(row.get("TrainingModelFormat")),
        image=_first(row, ("ReasoningEnvironmentId", "ReasoningEnvironment")),
        metrics=_metrics(text_of(row.get("TrainingModelIndex"))),
        created=_iso(row.get("CreateTime")),
    )


def _first(row: Mapping[str, Any], names: Iterable[str]) -> str:
    own = row.get("ReasoningImageInfo")
    texts = [
        *(text_of(row.get(name)) for name in names),
        text_of(own.get("ImageUrl")) if isinstance(own, Mapping) else "",
    ]
    return next(filter(None, texts), "")


def _uri(value: object) -> str:
    """Return the URI of a path in a reply; empty for an empty one."""
    place = value if isinstance(value, Mapping) else {}
    paths = place.get("Paths")
    if not place.get("Bucket") or not isinstance(paths, list) or not paths:
        return ""
    return f"cos://{text_of(place['Bucket'])}/{text_of(paths[0]).lstrip('/')}"
