"""AIWorkSpace's registry of models: names that are used once in a workspace, and versions from 0.1.0."""

from __future__ import annotations

import json
import re
import secrets
from typing import Any

from .clock import Clock, iso
from .service_errors import Refusal
from .services import Handler, Operation, Reply, Request

__all__ = ["Models"]

_LARGEST_METRICS = 8192
_VERSION = re.compile(r"\d+\.\d+\.\d+(_\w+)?", re.ASCII)
_OF_SERVICES = re.compile(r"region=[\w-]+,workspaceId=\d+,kind=(PipelineRun|ServiceJob),id=\w+")
_APPROVALS = ("Pending", "Approved", "Rejected")
# Fields by which models, and versions, are listed.
_OF_MODELS = ("WorkspaceId", "Domain", "Task", "Origin", "ModelType", "Provider")
_OF_VERSIONS = ("VersionName", "ApprovalStatus", "FormatType", "FrameworkType", "SourceType", "SourceId")
_Row = dict[str, Any]


class Models:
    """The models of one workspace."""

    def __init__(self, workspace_id: str, clock: Clock) -> None:
        self._workspace, self._clock = workspace_id, clock
        self._models: dict[str, dict[str, Any]] = {}
        # The versions of each model by name, the oldest first.
        self._versions: dict[str, dict[str, dict[str, Any]]] = {}

    def operations(self) -> list[Operation]:
        """The operations of this service."""
        one, versions = "/models/{ModelId}", "/models/{ModelId}/versions"
        version = f"{versions}/{{VersionName}}"
        table: list[tuple[str, str, str, Handler]] = [
            ("CreateModel", "POST", "/models", self._create),
            ("ListModels", "GET", "/models", self._list),
            ("GetModel", "GET", one, self._get),
            ("UpdateModel", "PUT", one, self._update),
            ("CreateModelLabels", "POST", f"{one}/labels", lambda request: _label(self._find(request), request)),
            ("DeleteModelLabels", "DELETE", f"{one}/labels", lambda request: _unlabel(self._find(request), request)),
            ("DeleteModel", "DELETE", one, self._delete),
            ("CreateModelVersion", "POST", versions, self._add),
            ("ListModelVersions", "GET", versions, self._list_versions),
            ("GetModelVersion", "GET", version, self._version),
            ("UpdateModelVersion", "PUT", version, self._update_version),
            ("DeleteModelVersion", "DELETE", version, self._delete_version),
            ("CreateModelVersionLabels", "POST", f"{version}/labels", lambda r: _label(self._version(r), r)),
            ("DeleteModelVersionLabels", "DELETE", f"{version}/labels", lambda r: _unlabel(self._version(r), r)),
        ]
        return [Operation("aiworkspace", name, method, path, handler) for name, method, path, handler in table]

    def clear(self) -> None:
        """Delete all models."""
        self._models.clear()
        self._versions.clear()

    def _create(self, request: Request) -> Reply:
        body = request.body
        self._check_name(str(body.get("ModelName") or ""))
        if body.get("WorkspaceId") != self._workspace:
            raise Refusal(404, "100600008", f"Workspace {body.get('WorkspaceId')} does not exist.")
        made = f"model-{secrets.token_hex(9)}"
        fields = {field: value for field, value in body.items() if field not in ("Tag", "Labels")}
        shown = {"ModelId": made, "Labels": [*(body.get("Labels") or []), *(body.get("Tag") or [])]}
        self._models[made] = shown | fields | self._times() | {"UserId": request.key.user_id}
        self._versions[made] = {}
        return {"ModelId": made}

    def _check_name(self, name: str) -> None:
        if not 1 <= len(name) <= 127:
            raise Refusal(400, "100400001", "ModelName must have 1 to 127 characters.")
        if any(model["ModelName"] == name for model in self._models.values()):
            raise Refusal(409, "100400010", f"The model name {name} already exists.")

    def _times(self) -> _Row:
        now = iso(self._clock.now(), millis=True)
        return {"GmtCreateTime": now, "GmtModifiedTime": now}

    def _update(self, request: Request) -> Reply:
        model = self._find(request)
        if request.body.get("ModelName") not in (None, model["ModelName"]):
            self._check_name(request.body["ModelName"])
        model |= request.body | {"GmtModifiedTime": iso(self._clock.now(), millis=True)}
        return {}

    def _list(self, request: Request) -> Reply:
        tags = json.loads(request.query.get("Tag") or "[]")
        found = [
            model | self._latest(model["ModelId"])
            for model in self._models.values()
            if _named(model["ModelName"], request.query.get("ModelName", ""))
            and _matches(model, request, _OF_MODELS)
            and all({"Key": tag["Key"], "Value": tag.get("Value", "")} in model["Labels"] for tag in tags)
        ]
        return {"Models": request.page(_ordered(found, request)), "TotalCount": len(found)}

    def _get(self, request: Request) -> Reply:
        model = self._find(request)
        return model | self._latest(model["ModelId"])

    def _latest(self, model_id: str) -> Reply:
        versions = [*self._versions[model_id].values()]
        return {"LatestVersion": versions[-1]} if versions else {}

    def _find(self, request: Request) -> dict[str, Any]:
        model = self._models.get(request.path["ModelId"])
        if model is None:
            raise Refusal(404, "100600011", f"Model {request.path['ModelId']} does not exist.")
        return model

    def _delete(self, request: Request) -> Reply:
        model_id = self._find(request)["ModelId"]
        if self._versions[model_id]:
            raise Refusal(400, "100400011", "The model has versions.")
        del self._models[model_id], self._versions[model_id]
        return {}

    def _add(self, request: Request) -> Reply:
        body, versions = request.body, self._versions[self._find(request)["ModelId"]]
        # The documents want an endpoint behind the bucket, and the official SDK sends none.
        if not re.match(r"oss://[a-z0-9-]+(\.[^/]+)?/|https?://", body.get("Uri") or ""):
            raise Refusal(400, "100400001", "Uri must be a URL, or oss://<bucket>.<endpoint>/object.")
        _check_version(body)
        name = body.get("VersionName") or _next(versions)
        if not _VERSION.fullmatch(name):
            raise Refusal(400, "100400001", f"VersionName is not valid: {name}")
        if name in versions:
            raise Refusal(409, "100400010", f"The version {name} already exists.")
        shown = {"ApprovalStatus": "Pending", "SourceType": "Custom", "Labels": []}
        versions[name] = shown | body | self._times() | {"UserId": request.key.user_id, "VersionName": name}
        return {"VersionName": name}

    def _update_version(self, request: Request) -> Reply:
        version = self._version(request)
        _check_version(version | request.body)
        version |= request.body | {"GmtModifiedTime": iso(self._clock.now(), millis=True)}
        return {}

    def _list_versions(self, request: Request) -> Reply:
        versions = self._versions[self._find(request)["ModelId"]].values()
        found = [version for version in versions if _matches(version, request, _OF_VERSIONS)]
        return {"Versions": request.page(_ordered(found, request)), "TotalCount": len(found)}

    def _version(self, request: Request) -> Reply:
        version = self._versions[self._find(request)["ModelId"]].get(request.path["VersionName"])
        if version is None:
            raise Refusal(404, "100600012", f"Version {request.path['VersionName']} does not exist.")
        return version

    def _delete_version(self, request: Request) -> Reply:
        version = self._version(request)
        del self._versions[request.path["ModelId"]][version["VersionName"]]
        return {}


def _check_version(body: _Row) -> None:
    if len(json.dumps(body.get("Metrics") or {}).encode()) > _LARGEST_METRICS:
        raise Refusal(400, "100400001", f"Metrics must not be longer than {_LARGEST_METRICS} bytes.")
    if body.get("ApprovalStatus") not in (None, *_APPROVALS):
        raise Refusal(400, "100400001", f"ApprovalStatus must be one of {_APPROVALS}.")
    source = body.get("SourceId") or ""
    if body.get("SourceType") in ("PAIFlow", "TrainingService") and not _OF_SERVICES.fullmatch(source):
        raise Refusal(400, "100400001", f"SourceId is not valid: {source}")


def _next(versions: _Row) -> str:
    """The version after the highest: its minor number is one more."""
    numbers = [tuple(int(part) for part in name.split(".")[:2]) for name in versions]
    major, minor = max(numbers, default=(0, 0))
    return f"{major}.{minor + 1}.0"


def _named(name: str, wanted: str) -> bool:
    """A name in quotes is searched exactly, all others as a part."""
    if len(wanted) > 1 and wanted[0] == wanted[-1] == '"':
        return name == wanted[1:-1]
    return wanted.lower() in name.lower()


def _matches(row: _Row, request: Request, fields: tuple[str, ...]) -> bool:
    """Return whether the fields have the values of the query, and a label has its text."""
    labels = [text for label in row["Labels"] for text in (label["Key"], label.get("Value", ""))]
    words = [str(row.get(name) or "") for name in ("ModelName", "Domain", "Task")]
    query = request.query
    return (
        all(query.get(name) in (None, "", row.get(name)) for name in fields)
        and (not query.get("Label") or any(query["Label"] in text for text in labels))
        and (not query.get("Query") or any(query["Query"].lower() in text.lower() for text in [*words, *labels]))
    )


def _label(row: _Row, request: Request) -> Reply:
    values = {label["Key"]: label.get("Value", "") for label in [*row["Labels"], *(request.body.get("Labels") or [])]}
    row["Labels"] = [{"Key": key, "Value": value} for key, value in values.items()]
    return {}


def _unlabel(row: _Row, request: Request) -> Reply:
    keys = request.query.get("LabelKeys", "").split(",")
    row["Labels"] = [label for label in row["Labels"] if label["Key"] not in keys]
    return {}


def _ordered(items: list[_Row], request: Request) -> list[_Row]:
    return items[::-1] if request.query.get("Order", "ASC").upper() == "DESC" else items
