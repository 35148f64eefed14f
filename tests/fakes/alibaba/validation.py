"""Bodies and queries held against the official clients' own models: names and types, at every depth."""

from __future__ import annotations

import importlib
import inspect
import typing
from functools import cache
from types import NoneType
from typing import Any

from .service_errors import Refusal

__all__ = ["check_body", "check_query", "check_reply"]

_MODULES = {
    "paistudio": "alibabacloud_paistudio20220112.models",
    "dlc": "alibabacloud_pai_dlc20201203.models",
    "aiworkspace": "alibabacloud_aiworkspace20210204.models",
}
# Of clients older than those models: the SDK has its own, which still sends these.
_OLDER = {
    "CreateTrainingJobRequest": {"ResourceType"},
    "JobSettings": {"Priority"},
    "GetTrainingJobRequest": {"Token"},
    "ListImagesRequest": {"ParentUserId", "UserId"},
    "GetWorkspaceRequest": set(),
}
_REPLIES = {"GetTensorboard": "Tensorboard", "GetQuota": "GetQuotaResponseBody"}


def check_body(service: str, action: str, body: Any) -> None:
    """Raises Refusal where the official client could not have sent this body."""
    model = _model(service, f"{action}Request")
    if not isinstance(body, dict):
        raise Refusal(400, "InvalidParameter", "The request body must be a JSON object.")
    if model is None and body:
        raise Refusal(400, "InvalidParameter", f"{action} takes no body.")
    if model is not None and (wrong := _wrong(model, body, "", 0)):
        raise Refusal(400, "InvalidParameter", wrong)


def check_query(service: str, action: str, query: dict[str, str], in_path: set[str]) -> None:
    """Raises Refusal for a parameter that there is not, or whose text is none of its type."""
    model = _model(service, f"{action}ShrinkRequest") or _model(service, f"{action}Request")
    known = _fields(model) if model else {}
    older = _OLDER.get(f"{action}Request", set())
    for name, text in query.items():
        if name not in known and name not in older and name not in in_path:
            raise Refusal(400, "InvalidParameter", f"{action} has no query parameter {name}.")
        hint = known.get(name, ("", str))[1]
        if hint is int and not text.isdigit():
            raise Refusal(400, f"Invalid{name}", f"{name} must be a number, not {text!r}.")
        if hint is bool and text.lower() not in ("true", "false"):
            raise Refusal(400, f"Invalid{name}", f"{name} must be true or false, not {text!r}.")


def check_reply(service: str, action: str, reply: dict[str, Any]) -> None:
    """Raises AssertionError where the official client would not understand us: that is our own mistake."""
    model = _model(service, _REPLIES.get(action, f"{action}ResponseBody"))
    if model is not None:
        wrong = _wrong(model, {name: value for name, value in reply.items() if name != "RequestId"}, "", 2)
        assert not wrong, f"reply of {action}: {wrong}"


def _model(service: str, name: str) -> Any:
    return getattr(importlib.import_module(_MODULES[service]), name, None)


@cache
def _fields(model: Any) -> dict[str, tuple[str, Any]]:
    """Names on the wire, to the attribute and its type."""
    hints = typing.get_type_hints(model.__init__)
    bare = model().to_map()
    result = {}
    for attribute in inspect.signature(model).parameters:
        filled = model()
        setattr(filled, attribute, _example(hints[attribute]))
        name = next(name for name, value in filled.to_map().items() if name not in bare or value != bare[name])
        result[name] = (attribute, hints[attribute])
    return result


def _example(hint: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is list:
        return [_example(arguments[0])]
    if origin is dict or hint in (str, int, float, bool, Any):
        return {"example": 1}
    return hint()


def _wrong(hint: Any, value: Any, place: str, few: int) -> str:
    """Return a description of the first mismatch, or nothing. Of lists, `few` members are checked; all of them if it is
    0."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if value is None or hint is Any or hint is NoneType:
        return ""
    if origin is list:
        if not isinstance(value, list):
            return f"{place} must be a list, not {value!r}."
        return _first(_wrong(arguments[0], item, f"{place}[{i}]", few) for i, item in enumerate(value[: few or None]))
    if origin is dict:
        if not isinstance(value, dict):
            return f"{place} must be a map, not {value!r}."
        return _first(_wrong(arguments[1], item, f"{place}.{name}", few) for name, item in value.items())
    if hint in (str, int, float, bool):
        return "" if _fits(hint, value) else f"{place} must be of type {hint.__name__}, not {value!r}."
    if not isinstance(value, dict):
        return f"{place} must be an object, not {value!r}."
    return _wrong_object(hint, value, place, few)


def _wrong_object(model: Any, value: dict[str, Any], place: str, few: int) -> str:
    fields = _fields(model)
    for name, item in value.items():
        inside = f"{place}.{name}" if place else name
        if name not in fields:
            if name in _OLDER.get(model.__name__, set()):
                continue
            return f"{inside} is no field of {model.__name__}."
        if wrong := _wrong(fields[name][1], item, inside, few):
            return wrong
    return ""


def _fits(hint: type, value: Any) -> bool:
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))


def _first(texts: typing.Iterable[str]) -> str:
    return next((text for text in texts if text), "")
