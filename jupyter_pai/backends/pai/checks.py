"""Checks of `doctor` for PAI, made with this account and without side effects, and manual ones (`TRIALS`)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ...cloud import http as transport
from ...cloud.alibaba.account import AlibabaAccount
from ...cloud.alibaba.openapi import STS, STUDIO, WORKSPACE, Service
from ...core.errors import ClockError, CredentialsError, PaiError, RegionError, Unreachable
from ...core.i18n import N_, _, ngettext
from ..base import Finding, Trial
from ..findings import checked, examined, key_finding
from ..resources import Quota
from . import catalog

# The roles of a workspace whose members may submit. Source: "Manage members of a workspace" of PAI's documents.
_SUBMITTERS = {"PAI.WorkspaceOwner", "PAI.WorkspaceAdmin", "PAI.AlgoDeveloper"}


@dataclass(frozen=True)
class JobList:
    """The operation that lists the jobs of a service: its name, path, and what it lists."""

    service: Service
    action: str
    path: str
    title: str


TRAINING_JOBS = JobList(STUDIO, "ListTrainingJobs", "/api/v1/trainingjobs", N_("training jobs"))


def examine(account: AlibabaAccount, jobs: JobList) -> list[Finding]:
    """Check the requirements of jobs. Blocks: call it in a thread without an event loop."""
    return examined(_examine(account, jobs))


async def _examine(account: AlibabaAccount, jobs: JobList) -> list[Finding]:
    findings = [await checked(_("credentials"), _credentials(account))]
    if findings[-1].state != "bad":
        findings += await _connection(account, jobs)
    if any(finding.state == "bad" for finding in findings):
        return findings  # All other checks would fail.
    findings += await asyncio.gather(
        checked(
            _("workspace"),
            _workspace(account),
            fix=_("Set the profile's `workspace_id`, as shown in PAI's console."),
        ),
        _role(account),
        checked(_(jobs.title), _jobs(account, jobs)),
        checked(_("quotas"), _quotas(account), "warn"),
    )
    return findings


async def _credentials(account: AlibabaAccount) -> Finding:
    return key_finding(await account.keys.current())


async def _connection(account: AlibabaAccount, jobs: JobList) -> list[Finding]:
    """Check region, clock and key with the first request."""
    host = account.settings.endpoint or f"https://{jobs.service.host(account.region, await account.network())}"
    region = Finding("ok", _("region"), f"{account.region}, {host}")
    try:
        query, retries = {"PageSize": 1}, transport.Retries(attempts=2)
        await account.api.call(jobs.service, jobs.action, "GET", jobs.path, query, retries=retries)
    except (ClockError, CredentialsError) as error:
        what = _("clock") if isinstance(error, ClockError) else _("credentials")
        return [region, Finding("bad", what, error.message, error.fix)]
    except (RegionError, Unreachable) as error:
        return [Finding("bad", _("region"), error.message, error.fix)]
    except PaiError:
        pass  # The request was accepted; permissions are checked separately.
    return [region, Finding("ok", _("clock"), _("the platform accepts this machine's time"))]


async def _workspace(account: AlibabaAccount) -> Finding:
    workspace = await account.workspace_id()
    reply = await account.api.call(WORKSPACE, "GetWorkspace", "GET", f"/api/v1/workspaces/{workspace}")
    name = str(reply.get("DisplayName") or reply.get("WorkspaceName") or "")
    return Finding("ok", _("workspace"), f"{name} ({workspace})" if name else workspace)


async def _role(account: AlibabaAccount) -> Finding:
    """Check the account's roles in the workspace. Without permission to read them, the check of jobs decides."""
    path = f"/api/v1/workspaces/{await account.workspace_id()}/member"
    try:
        reply = await account.api.call(WORKSPACE, "GetMember", "GET", path, {"UserId": await _user_id(account)})
    except PaiError as error:
        return Finding("warn", _("role"), _("unknown: {why}").format(why=error.message))
    roles = [str(role) for role in reply.get("Roles") or []]
    text = ", ".join(roles) or _("none")
    if set(roles) & _SUBMITTERS:
        return Finding("ok", _("role"), text)
    fix = _("Ask an administrator of the workspace for the role of an algorithm developer (PAI.AlgoDeveloper).")
    return Finding("warn", _("role"), text, fix)


async def _user_id(account: AlibabaAccount) -> str | None:
    """Return the account's user id in the workspace; None without the service, as in private clouds."""
    try:
        reply = await account.api.call(STS, "GetCallerIdentity", "POST", "/")
    except PaiError:
        return None
    # The id of an assumed role includes its session.
    return str(reply.get("UserId") or "").partition(":")[0] or None


async def _jobs(account: AlibabaAccount, jobs: JobList) -> Finding:
    """Check whether jobs can be listed. The permission to create one can only be tested by a job."""
    query = {"WorkspaceId": await account.workspace_id(), "PageSize": 1}
    reply = await account.api.call(jobs.service, jobs.action, "GET", jobs.path, query)
    n = int(reply.get("TotalCount") or 0)
    text = ngettext("{n} job in the last seven days", "{n} jobs in the last seven days", n)
    return Finding("ok", _(jobs.title), text.format(n=n))


async def _quotas(account: AlibabaAccount) -> Finding:
    free = "; ".join(map(_free, await catalog.list_quotas(account)))
    return Finding("ok", _("quotas"), free or _("none: jobs run in the public pools"))


def _free(quota: Quota) -> str:
    cores = _("{free:g} of {all:g} cores").format(free=quota.free_cpu, all=quota.cpu)
    gpus = _("{free} of {all} GPUs").format(free=quota.free_gpu, all=quota.gpu)
    what = f"{cores}, {gpus}" if quota.gpu else cores
    return _("{name}: {what} free").format(name=quota.name or quota.id, what=what)


# Manual checks with a real account, for behaviour that no stand-in can verify. `%pai doctor --live` lists them.
# ``docs/unverified.md`` names the assumption and the source of each.
TRIALS = (
    Trial("doctor", N_("The services take our signatures; region, role and bucket are as they say."),
          N_("`%pai doctor --backend pai`: everything is ok, and the role is the one in PAI's console.")),
    Trial("code", N_("The job finds its code as it was packed, with links, empty folders and modes."),
          N_("Submit a folder with a script, a link and an executable, and let it print `ls -lR`.")),
    Trial("variables", N_("The variables of the contract are set on each node."),
          N_("Submit `env | sort` with three instances, and compare with `docs/contract.md`: each address in NODE_LIST "
             "is that of a node.")),
    Trial("requirements", N_("The service installs requirements.txt before the command runs."),
          N_("Submit with a requirements.txt that names a small package, and import it.")),
    Trial("lookup", N_("A job is found by its label at once after it was made."),
          N_("`%pai submit --backend pai …`, then `%pai adopt`: the new job is listed first, with its id here.")),
    Trial("states", N_("Each status of the platform is one that we know."),
          N_("Submit one job that succeeds, one that ends with `exit 3`, one with an image that does not exist, and "
             "stop one: `%pai show` gives succeeded, failed, failed and stopped, with the platform's reason.")),
    Trial("logs", N_("Lines of a log come once and in order, from several instances too."),
          N_("Submit `for i in $(seq 100000); do echo $i; done` with two instances; `%pai logs --instance NAME` "
             "counts to 100000 for each.")),
    Trial("metrics", N_("The platform reads metrics by our patterns; the units of CPU and memory are as shown."),
          N_("Submit a job that prints `loss=0.5` and keeps one core and 1 GB busy for five minutes; compare the "
             "charts with PAI's console.")),
    Trial("outputs", N_("Outputs and TensorBoard's events are in the bucket while the job runs."),
          N_("Submit a job that writes a file to $PAI_OUTPUT_MODEL and waits; `%pai outputs` lists it meanwhile.")),
    Trial("models", N_("The model of a job is registered in the workspace in two versions, and deleted."),
          N_("Run `%pai models register NAME --job ID` twice; compare both versions with the console; delete them.")),
    Trial("algorithms", N_("An algorithm of PAI runs by its name."),
          N_("In Python: `AlgorithmEstimator(algorithm_name=…, algorithm_provider='pai').fit(…)`, with an algorithm "
             "that the console lists.")),
    Trial("quotas", N_("The users whose jobs are in a quota are those of the console."),
          N_("Submit a job with `--option resource_id=…`, and open the profile in the side panel *Platforms*.")),
    Trial("tables", N_("A local job gets the rows of a table of MaxCompute."),
          N_("With the extra `odps`: `%pai submit --backend local --input t=odps://PROJECT/tables/TABLE …`")),
    Trial("limit", N_("The platform ends a job after its maximum running time."),
          N_("Submit `sleep 600` with `--max-run-time 60`: it is stopped, and the reason says why.")),
    Trial("machines", N_("Availability, spot discounts and what is free in quotas are as listed."),
          N_("Compare `%pai instances --backend pai` with PAI's console; submit to one that is shown as in use.")),
    Trial("spot", N_("Spot prices match those shown before the submit, and a job with a lower limit waits."),
          N_("Submit `true` with `--option spot.strategy=SpotWithPriceLimit --option spot.discount_limit=0.05`; "
             "compare the note with PAI's console, and stop the job.")),
    Trial("images", N_("Images that are listed can be pulled, also from newer registries."),
          N_("`%pai images PyTorch --version latest --gpu`, and submit with it.")),
    Trial("refusals", N_("Refusals have the codes that we know."),
          N_("Submit with a wrong instance type, a wrong image, more than the quota has, and a name of 300 characters: "
             "each message says what is wrong and what to do.")),
    Trial("tensorboard", N_("A TensorBoard starts, opens and stops; the sixth is refused with the list of the others."),
          N_("Start six on six jobs with event files, and stop them.")),
    Trial("datasets", N_("A job reads a data set of the workspace, and a version of it."),
          N_("Submit `ls /ml/input/data/train` with `--input train=dataset://ID`, then with `?version=NAME` added.")),
    Trial("terminal", N_("A terminal opens in a running instance."),
          N_("Submit `sleep 600`, and when it runs: `jupyter pai terminal ID`.")),
    Trial("dsw", N_("In a DSW instance nothing needs to be set."),
          N_("In a new DSW instance, install, and `%pai doctor`: keys, workspace and bucket are found; then submit.")),
)  # fmt: skip
