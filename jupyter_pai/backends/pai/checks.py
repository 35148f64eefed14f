"""Checks of `doctor` for PAI, made with this account and without side effects."""

from __future__ import annotations

import asyncio

from ...cloud import http as transport
from ...cloud.alibaba.account import AlibabaAccount
from ...cloud.alibaba.openapi import STS, STUDIO, WORKSPACE
from ...core.errors import ClockError, CredentialsError, PaiError, RegionError, Unreachable
from ...core.i18n import _, ngettext
from ..base import Finding
from ..resources import Quota
from . import instance_types as machines

# The roles of a workspace whose members may submit. Source: "Manage members of a workspace" of PAI's documents.
_SUBMITTERS = {"PAI.WorkspaceOwner", "PAI.WorkspaceAdmin", "PAI.AlgoDeveloper"}


def examine(account: AlibabaAccount) -> list[Finding]:
    """Check the requirements of jobs. Blocks: call it in a thread without an event loop."""
    return asyncio.run(_examine(account))


async def _examine(account: AlibabaAccount) -> list[Finding]:
    try:
        findings = [await _credentials(account)]
        if findings[-1].state != "bad":
            findings += await _connection(account)
        if any(finding.state == "bad" for finding in findings):
            return findings  # All other checks would fail.
        checks = [_workspace(account), _role(account), _jobs(account), _quotas(account)]
        return findings + list(await asyncio.gather(*checks))
    finally:
        await transport.close()


async def _credentials(account: AlibabaAccount) -> Finding:
    try:
        key = await account.key()
    except CredentialsError as error:
        return _bad(_("credentials"), error)
    kind = _("temporary") if key.token else _("permanent")
    return Finding("ok", _("credentials"), _("{kind} key: {id}").format(kind=kind, id=f"{key.id[:4]}…{key.id[-4:]}"))


async def _connection(account: AlibabaAccount) -> list[Finding]:
    """Check region, clock and key with the first request."""
    host = account.settings.endpoint or f"https://{STUDIO.host(account.region, await account.network())}"
    region = Finding("ok", _("region"), f"{account.region}, {host}")
    try:
        path, query = "/api/v1/trainingjobs", {"PageSize": 1}
        await account.api.call(STUDIO, "ListTrainingJobs", "GET", path, query, retries=transport.Retries(attempts=2))
    except ClockError as error:
        return [region, _bad(_("clock"), error)]
    except CredentialsError as error:
        return [region, _bad(_("credentials"), error)]
    except (RegionError, Unreachable) as error:
        return [_bad(_("region"), error)]
    except PaiError:
        pass  # The request was accepted; permissions are checked separately.
    return [region, Finding("ok", _("clock"), _("the platform accepts this machine's time"))]


async def _workspace(account: AlibabaAccount) -> Finding:
    try:
        workspace = await account.workspace_id()
        reply = await account.api.call(WORKSPACE, "GetWorkspace", "GET", f"/api/v1/workspaces/{workspace}")
    except PaiError as error:
        return _bad(_("workspace"), error, _("Set the profile's `workspace_id`, as shown in PAI's console."))
    name = str(reply.get("DisplayName") or reply.get("WorkspaceName") or "")
    return Finding("ok", _("workspace"), f"{name} ({workspace})" if name else workspace)


async def _role(account: AlibabaAccount) -> Finding:
    """Check the account's roles in the workspace. Without permission to read them, the check of jobs decides."""
    try:
        roles = await _roles(account)
    except PaiError as error:
        return Finding("warn", _("role"), _("unknown: {why}").format(why=error.message))
    text = ", ".join(roles) or _("none")
    if set(roles) & _SUBMITTERS:
        return Finding("ok", _("role"), text)
    fix = _("Ask an administrator of the workspace for the role of an algorithm developer (PAI.AlgoDeveloper).")
    return Finding("warn", _("role"), text, fix)


async def _roles(account: AlibabaAccount) -> list[str]:
    path = f"/api/v1/workspaces/{await account.workspace_id()}/member"
    reply = await account.api.call(WORKSPACE, "GetMember", "GET", path, {"UserId": await _user_id(account)})
    return [str(role) for role in reply.get("Roles") or []]


async def _user_id(account: AlibabaAccount) -> str | None:
    """Return the account's user id in the workspace; None without the service, as in private clouds."""
    try:
        reply = await account.api.call(STS, "GetCallerIdentity", "POST", "/")
    except PaiError:
        return None
    # The id of an assumed role includes its session.
    return str(reply.get("UserId") or "").partition(":")[0] or None


async def _jobs(account: AlibabaAccount) -> Finding:
    """Check whether jobs can be listed. The permission to create one can only be tested by a job."""
    try:
        query = {"WorkspaceId": await account.workspace_id(), "PageSize": 1}
        reply = await account.api.call(STUDIO, "ListTrainingJobs", "GET", "/api/v1/trainingjobs", query)
    except PaiError as error:
        return _bad(_("training jobs"), error)
    n = int(reply.get("TotalCount") or 0)
    text = ngettext("{n} job in the last seven days", "{n} jobs in the last seven days", n)
    return Finding("ok", _("training jobs"), text.format(n=n))


async def _quotas(account: AlibabaAccount) -> Finding:
    try:
        quotas = await machines.list_quotas(account)
    except PaiError as error:
        return Finding("warn", _("quotas"), error.message, error.fix)
    if not quotas:
        return Finding("ok", _("quotas"), _("none: jobs run in the public pools"))
    return Finding("ok", _("quotas"), "; ".join(map(_free, quotas)))


def _free(quota: Quota) -> str:
    parts = [_("{free:g} of {all:g} cores").format(free=quota.free_cpu, all=quota.cpu)]
    if quota.gpu:
        parts.append(_("{free} of {all} GPUs").format(free=quota.free_gpu, all=quota.gpu))
    return _("{name}: {what} free").format(name=quota.name or quota.id, what=", ".join(parts))


def _bad(what: str, error: PaiError, fix: str = "") -> Finding:
    return Finding("bad", what, error.message, error.fix or fix)
