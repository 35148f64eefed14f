"""AIWorkSpace: the workspace, its members, and its storage."""

from __future__ import annotations

from typing import Any

from .clock import iso
from .keys import Key
from .service_errors import Refusal
from .services import Operation, Reply, Request

__all__ = ["Workspaces"]

_CODES = (
    "PaiDLC:CreateTensorboard PaiDLC:GetTensorboard PaiDLC:ListTensorboards PaiDLC:StopTensorboard "
    "PaiDLC:DeleteTensorboard PaiTraining:CreateTrainingJob PaiTraining:GetTrainingJob PaiTraining:ListTrainingJobs "
    "PaiTraining:StopTrainingJob PaiTraining:DeleteTrainingJob"
).split()


class Workspaces:
    """One workspace, optionally without a default bucket."""

    def __init__(self, workspace_id: str, name: str, storage: str, created: float) -> None:
        self._id, self._name, self._created = workspace_id, name, created
        self.storage = storage

    def operations(self) -> list[Operation]:
        """The operations of this service."""
        table = [
            ("ListWorkspaces", "/workspaces", self._list),
            ("GetWorkspace", "/workspaces/{WorkspaceId}", self._get),
            ("GetDefaultWorkspace", "/defaultWorkspaces", self._default),
            ("ListConfigs", "/workspaces/{WorkspaceId}/configs", self._configs),
            ("ListPermissions", "/workspaces/{WorkspaceId}/permissions", self._permissions),
            ("GetPermission", "/workspaces/{WorkspaceId}/permissions/{PermissionCode}", self._permission),
            ("ListMembers", "/workspaces/{WorkspaceId}/members", self._members),
            ("GetMember", "/workspaces/{WorkspaceId}/member", self._member),
        ]
        return [Operation("aiworkspace", name, "GET", path, handler) for name, path, handler in table]

    def _check(self, request: Request) -> None:
        if request.path["WorkspaceId"] != self._id:
            raise Refusal(404, "100600008", f"Workspace {request.path['WorkspaceId']} does not exist.")

    def _fields(self) -> Reply:
        return {
            "WorkspaceId": self._id,
            "WorkspaceName": self._name,
            "DisplayName": self._name,
            "Description": "of the stand-in",
            "Status": "ENABLED",
            "EnvTypes": ["prod"],
            "Creator": "200000000000000001",
            "GmtCreateTime": iso(self._created, millis=True),
            "GmtModifiedTime": iso(self._created, millis=True),
        }

    def _list(self, request: Request) -> Reply:
        name, ids = request.query.get("WorkspaceName", ""), request.query.get("WorkspaceIds", "")
        here = name in self._name and (not ids or self._id in ids.split(","))
        results = [self._fields() | {"IsDefault": True, "AdminNames": ["ada"]}] if here else []
        return {"Workspaces": request.page(results, 20), "TotalCount": len(results)}

    def _get(self, request: Request) -> Reply:
        self._check(request)
        owner = {
            "UserId": "200000000000000001",
            "UserName": "ada",
            "DisplayName": "ada",
            "UserKp": "200000000000000001",
        }
        return self._fields() | {"IsDefault": True, "AdminNames": ["ada"], "Owner": owner}

    def _default(self, request: Request) -> Reply:
        return self._fields()

    def _configs(self, request: Request) -> Reply:
        self._check(request)
        keys = [key for key in request.query.get("ConfigKeys", "").split(",") if key]
        known = {"modelExportPath": self.storage, "tempTableLifecycle": "28"}
        results = [
            {"ConfigKey": key, "ConfigValue": value, "Labels": []}
            for key, value in known.items()
            if value and (not keys or key in keys)
        ]
        return {"Configs": results, "TotalCount": len(results)}

    def _permissions(self, request: Request) -> Reply:
        self._check(request)
        results = [_rule(code) for code in _CODES if _may(request.key, code)]
        return {"Permissions": results, "TotalCount": len(results)}

    def _permission(self, request: Request) -> Reply:
        self._check(request)
        code = request.path["PermissionCode"]
        if not _may(request.key, code):
            raise Refusal(403, "Forbidden.NoPermission", f"You have no permission {code} in this workspace.")
        return _rule(code)

    def _members(self, request: Request) -> Reply:
        self._check(request)
        results = [_member(request.key)]
        return {"Members": request.page(results, 20), "TotalCount": len(results)}

    def _member(self, request: Request) -> Reply:
        self._check(request)
        return {name: value for name, value in _member(request.key).items() if name != "AccountName"}


def _may(key: Key, code: str) -> bool:
    product, _, action = code.partition(":")
    return key.may(f"{'dlc' if product == 'PaiDLC' else 'paistudio'}:{action}")


def _rule(code: str) -> Reply:
    rules = [{"Accessibility": access, "EntityAccessType": "ALL"} for access in ("PUBLIC", "PRIVATE")]
    return {"PermissionCode": code, "PermissionRules": rules}


def _member(key: Key) -> dict[str, Any]:
    return {
        "MemberId": f"1001-{key.user_id}",
        "MemberName": "ada",
        "AccountName": "ada",
        "DisplayName": "ada",
        "UserId": key.user_id,
        "Roles": [key.role],
        "GmtCreateTime": "2024-01-01T00:00:00.000Z",
    }
