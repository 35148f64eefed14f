"""Calls about the site: its version, users, tokens, virtual clusters, SKUs and storages."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from ..alibaba.service_errors import Refusal
from .accounts import Accounts
from .calls import Call, Reply, json_reply, object_of
from .jobs import Job
from .settings import Settings

__all__ = ["Cluster"]

_CPUS, _MEMORY = 4, 16384


class Cluster:
    """The calls that are about no job."""

    def __init__(self, accounts: Accounts, settings: Settings, jobs: dict[str, Job]) -> None:
        self._accounts, self._settings, self._jobs = accounts, settings, jobs

    def info(self, _call: Call) -> Reply:
        """The version and the kind of login."""
        body = {"name": "PAI RESTful API", "version": self._settings.version, "launcherType": "k8s"}
        return json_reply(body | {"authnMethod": self._settings.authn})

    def authn_info(self, _call: Call) -> Reply:
        """The address of the login."""
        kind, basic = self._settings.authn, self._settings.authn == "basic"
        address = "/api/v1/authn/basic/login" if basic else "/api/v1/authn/oidc/login"
        return json_reply({"authn_type": kind, "loginURI": address, "loginURIMethod": "post" if basic else "get"})

    def login(self, call: Call) -> Reply:
        """User and password for a token."""
        if self._settings.authn != "basic":
            raise Refusal(404, "NoApiError", f"API {call.path} is not found.")
        form = "json" not in call.headers.get("Content-Type", "")
        fields = dict(parse_qsl(call.body.decode())) if form else object_of(call)
        name, password = str(fields.get("username", "")), str(fields.get("password", ""))
        token = self._accounts.login(name, password)
        return json_reply({"user": name, "token": token, "admin": self._accounts.users[name].admin})

    def logout(self, call: Call) -> Reply:
        """Revoke the presented token."""
        self._accounts.revoke(call.token)
        return json_reply({"message": "Logout successfully"})

    def tokens(self, call: Call) -> Reply:
        """All tokens of the user."""
        _refuse_application(call)
        return json_reply({"tokens": [*call.account.tokens]})

    def check_token(self, call: Call) -> Reply:
        """The claims of the presented token."""
        return json_reply(call.claims | {"admin": call.account.admin})

    def make_token(self, call: Call) -> Reply:
        """A token of an application."""
        _refuse_application(call)
        return json_reply({"token": self._accounts.issue(call.account, application=True), "application": True})

    def revoke_token(self, call: Call) -> Reply:
        """Revoke a token of the user, or of any as administrator."""
        token = call.words["token"]
        if token not in call.account.tokens and not call.account.admin:
            raise Refusal(403, "ForbiddenUserError", "The token belongs to another user.")
        self._accounts.revoke(token)
        return json_reply({"message": "revoke successfully"})

    def user(self, call: Call) -> Reply:
        """A user, with the private key of the jobs, which the server shows to all."""
        account = self._accounts.find(call.words["user"])
        groups = [*account.virtual_clusters, *(["adminGroup"] if account.admin else [])]
        body = {"username": account.name, "grouplist": groups, "email": "", "admin": account.admin}
        body |= {"extension": {"jobSSH": {"key": account.ssh_key}}}
        return json_reply(body | {"virtualCluster": account.virtual_clusters, "storageConfig": account.storages})

    def virtual_clusters(self, call: Call) -> Reply:
        """All virtual clusters, also those of other users."""
        return json_reply({name: self._virtual_cluster(name, call) for name in self._settings.virtual_clusters})

    def one_virtual_cluster(self, call: Call) -> Reply:
        """One virtual cluster."""
        name = call.words["vc"]
        if name not in self._settings.virtual_clusters:
            raise Refusal(404, "NoVirtualClusterError", f"Vc {name} not found")
        return json_reply(self._virtual_cluster(name, call))

    def _virtual_cluster(self, name: str, call: Call) -> dict[str, Any]:
        gpus = self._settings.virtual_clusters[name]
        total = _resources(_CPUS * gpus, _MEMORY * gpus, gpus)
        used = _resources(*self._settings.used.get(name, (0, 0, 0)))
        for job in self._jobs.values():
            if job.virtual_cluster == name and job.state in ("RUNNING", "STOPPING"):
                for role in job.document["taskRoles"].values():
                    wanted, count = role["resourcePerInstance"], role.get("instances", 1)
                    more = _resources(wanted["cpu"] * count, wanted["memoryMB"] * count, wanted["gpu"] * count)
                    used = {key: used[key] + more[key] for key in used}
        part = 100 * used["cpu"] / max(1, total["cpu"])
        reply: dict[str, Any] = {
            "capacity": 100,
            "usedCapacity": part if part else 0,
            "dedicated": False,
            "resourcesUsed": used,
        }
        reply |= {"resourcesGuaranteed": total, "resourcesTotal": total, "maxCapacity": 100}
        if "nodes" in call.query:
            node = {"gpuUsed": used["gpu"], "gpuAvailable": gpus - used["gpu"], "gpuTotal": gpus}
            reply["nodeList"] = {"node1": node}
        return reply

    def sku_types(self, call: Call) -> Reply:
        """The units of HiveD; none without it."""
        if "vc" in call.query and not self._settings.skus:
            raise Refusal(404, "NoVirtualClusterError", f"Vc {call.query['vc']} not found")
        return json_reply(self._settings.skus)

    def storages(self, call: Call) -> Reply:
        """The names of the user's storages."""
        names = call.account.storages
        if call.query.get("default") == "true":
            names = names[:1]
        rows = [{"name": name, "share": True, "volumeName": f"{name}-pv"} for name in names]
        return json_reply({"storages": [row | {"default": number == 0} for number, row in enumerate(rows)]})

    def storage(self, call: Call) -> Reply:
        """A storage with its address, which may hold credentials."""
        name = call.words["name"]
        if name not in self._settings.storages:
            raise Refusal(404, "NoStorageError", f"Storage {name} is not found.")
        if name not in call.account.storages:
            raise Refusal(403, "ForbiddenUserError", f"User {call.account.name} is not allowed to use {name}.")
        reply: dict[str, Any] = {"name": name, "share": True, "volumeName": f"{name}-pv", "readOnly": False}
        if name.startswith("smb"):
            data = {"address": "//10.0.0.9/data", "username": "share", "password": "storage-secret"}
            return json_reply(reply | {"type": "samba", "data": data, "secretName": f"{name}-secret"})
        return json_reply(reply | {"type": "nfs", "data": {"server": "10.0.0.9", "path": "/data"}})


def _resources(cpu: int, memory: int, gpu: int) -> dict[str, int]:
    return {"cpu": cpu, "memory": memory, "gpu": gpu, "vCores": cpu, "GPUs": gpu}


def _refuse_application(call: Call) -> None:
    if call.claims.get("application"):
        raise Refusal(403, "ForbiddenUserError", "Applications are not allowed to do this operation.")
