"""Bodies and replies by the official SDK's models: names and types at every depth."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from ..alibaba.service_errors import Refusal

__all__ = ["check_body", "check_reply"]

_TYPE = re.compile(r":type (\w+): (.+)")
_SIMPLE: dict[str, type | tuple[type, ...]] = {"str": str, "int": int, "float": (int, float), "bool": bool}
# What the models do not say.
_REQUIRED = {
    "CreateTrainingTask": ("Name", "ChargeType", "ResourceConfigInfos"),
    "DescribeTrainingTask": ("Id",), "DescribeTrainingTaskPods": ("Id",), "DescribeTrainingTaskPodUrl": ("PodName",),
    "StartTrainingTask": ("Id",), "StopTrainingTask": ("Id",), "DeleteTrainingTask": ("Id",),
    "DescribeLogs": ("Service",), "DescribeEvents": ("Service",),
    "DescribeBillingSpecs": ("ChargeType",), "DescribeBillingSpecsPrice": ("SpecsParam",),
    "DescribeBillingResourceGroup": ("ResourceGroupId",),
    "CreateTrainingModel": ("ImportMethod", "ReasoningEnvironmentSource"),
    "DescribeTrainingModelVersions": ("TrainingModelId",),
    "DescribeTrainingModelVersion": ("TrainingModelVersionId",), "DeleteTrainingModel": ("TrainingModelId",),
    "DeleteTrainingModelVersion": ("TrainingModelVersionId",),
    "ResourceConfigInfo": ("Role",), "SpecUnit": ("SpecName", "SpecCount"),
    "CosPathInfo": ("Bucket", "Region", "Paths"),
    "CFSConfig": ("Id", "Path"), "HDFSConfig": ("Id", "Path"), "DataSetConfig": ("Id",), "Tag": ("TagKey", "TagValue"),
    "LogConfig": ("LogsetId", "TopicId"), "CodeRepoConfig": ("Id", "TargetPath"), "DataPoint": ("Name", "Value"),
    "MetricData": ("TaskId",),
}  # fmt: skip


def check_body(action: str, body: dict[str, Any]) -> None:
    """Raises Refusal where the official SDK could not have sent this body, or where a required field lacks."""
    model = f"{action}Request"
    if not _fields(model):
        return
    _require(action, "", body)
    _check(model, body, "", None)


def check_reply(action: str, reply: dict[str, Any]) -> None:
    """Raises AssertionError where the official SDK would not understand a reply: that is our own mistake."""
    model = f"{action}Response"
    if not _fields(model):
        return
    try:
        _check(model, reply, "", 2)
    except Refusal as refusal:
        raise AssertionError(f"reply of {action}: {refusal}") from refusal


@cache
def _fields(name: str) -> dict[str, str]:
    """Return the types of a model's fields by name; nothing for an unknown model."""
    # It takes a second: not at the start of each test.
    from tencentcloud.tione.v20211111 import models

    model = getattr(models, name, None)
    found = _TYPE.findall(model.__init__.__doc__ or "") if model else []
    return {field: kind.rpartition("models.")[2].rstrip("`") if ":class:" in kind else kind for field, kind in found}


def _require(model: str, place: str, value: dict[str, Any]) -> None:
    for name in _REQUIRED.get(model, ()):
        if value.get(name) is None:
            message = f"The request is missing a required parameter `{place}{name}`."
            raise Refusal(200, "MissingParameter", message)


def _check(model: str, value: dict[str, Any], place: str, few: int | None) -> None:
    """Check an object; `few` is how many members of each list are looked at, and no field is required of a reply."""
    fields = _fields(model)
    if few is None and place:
        _require(model, place, value)
    for name, item in value.items():
        if name not in fields:
            raise Refusal(200, "UnknownParameter", f"The parameter `{place}{name}` is not recognized.")
        _check_value(fields[name], item, f"{place}{name}", few)


def _check_value(kind: str, value: Any, place: str, few: int | None) -> None:
    if value is None:
        return
    if kind.startswith("list of "):
        _demand(isinstance(value, list), place, "list")
        for number, item in enumerate(value[:few]):
            _check_value(kind.removeprefix("list of "), item, f"{place}.{number}", few)
    elif kind in _SIMPLE:
        is_right = isinstance(value, _SIMPLE[kind]) and (kind == "bool" or not isinstance(value, bool))
        _demand(is_right, place, kind)
    elif _fields(kind):
        _demand(isinstance(value, dict), place, "object")
        _check(kind, value, f"{place}.", few)


def _demand(is_right: bool, place: str, kind: str) -> None:
    if not is_right:
        raise Refusal(200, "InvalidParameter", f"The value type of parameter `{place}` is not {kind}.")
