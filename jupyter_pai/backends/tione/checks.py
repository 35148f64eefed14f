"""Checks of `doctor` for TI-ONE, without side effects on the platform, and manual ones (`TRIALS`)."""

from __future__ import annotations

import asyncio

from ...cloud import http as transport
from ...cloud.tencent.account import TencentAccount
from ...cloud.tencent.api import BILLING, TIONE
from ...cloud.tencent.reading import number_of, rows_of, text_of
from ...core.errors import ClockError, CredentialsError, PaiError, RegionError, Unreachable
from ...core.i18n import N_, _, ngettext
from ...core.price import Price
from ..base import Finding, Trial
from ..findings import checked, examined, key_finding
from ..resources import InstanceType
from .api import DEFAULT_WORKSPACE, TioneApi
from .catalog import Catalog
from .choices import free
from .options import TioneSettings

__all__ = ["TRIALS", "examine"]


def examine(account: TencentAccount, settings: TioneSettings) -> list[Finding]:
    """Check the requirements of jobs. Blocks: call it in a thread without an event loop."""
    return examined(_examine(account, settings))


async def _examine(account: TencentAccount, settings: TioneSettings) -> list[Finding]:
    findings = [await checked(_("credentials"), _credentials(account))]
    if findings[-1].state != "bad":
        findings += await _connection(account)
    if any(finding.state == "bad" for finding in findings):
        return findings  # All other checks would fail.
    findings.append(await checked(_("workspace"), _workspace(account, settings)))
    if findings[-1].state == "bad":
        return findings
    api = TioneApi(account, settings)
    catalog = Catalog(api)
    findings += await asyncio.gather(
        checked(_("training tasks"), _tasks(api)),
        checked(_("instance types"), _instance_types(catalog, settings), "warn"),
        checked(_("resource groups"), _resource_groups(catalog, settings), "warn"),
        checked(_("images"), _images(catalog, settings), "warn"),
        _balance(account, settings),
    )
    return findings


async def _credentials(account: TencentAccount) -> Finding:
    return key_finding(await account.keys.current())


async def _connection(account: TencentAccount) -> list[Finding]:
    """Check region, clock and key with the first request."""
    host = account.settings.endpoint or f"https://{TIONE.host(account.region, await account.network())}"
    region = Finding("ok", _("region"), f"{account.region}, {host}")
    try:
        await account.api.call(TIONE, "DescribeWorkspaces", {"Limit": 1}, retries=transport.Retries(attempts=2))
    except (ClockError, CredentialsError) as error:
        what = _("clock") if isinstance(error, ClockError) else _("credentials")
        return [region, Finding("bad", what, error.message, error.fix)]
    except (RegionError, Unreachable) as error:
        return [Finding("bad", _("region"), error.message, error.fix)]
    except PaiError:
        pass  # The request was accepted; permissions are checked separately.
    return [region, Finding("ok", _("clock"), _("the platform accepts this machine's time"))]


async def _workspace(account: TencentAccount, settings: TioneSettings) -> Finding:
    what, wanted = _("workspace"), settings.project_id or DEFAULT_WORKSPACE
    try:
        rows = await TioneApi(account, settings).items("DescribeWorkspaces", "Workspaces", {"TiProjectId": None})
    except PaiError as error:  # The check of tasks decides.
        return Finding("warn", what, _("unknown: {why}").format(why=error.message), error.fix)
    names = {text_of(row.get("TiProjectId")): text_of(row.get("Name")) for row in rows}
    if wanted not in names and wanted != DEFAULT_WORKSPACE:
        text = _("You may not use the workspace `{name}`, or there is none in {region}.")
        known = ", ".join(f"{key} ({name})" if name else key for key, name in names.items())
        fix = _("Set `project_id` of the profile to one of: {names}").format(names=known)
        return Finding("bad", what, text.format(name=wanted, region=settings.region), fix)
    name = names.get(wanted) or _("default")
    return Finding("ok", what, f"{name} ({wanted})")


async def _tasks(api: TioneApi) -> Finding:
    """Check whether tasks can be listed. The permission to create one can only be tested by a job."""
    reply = await api.call("DescribeTrainingTasks", {"Limit": 1})
    n = int(number_of(reply.get("TotalCount")) or len(rows_of(reply, "TrainingTaskSet")))
    return Finding("ok", _("training tasks"), ngettext("{n} task", "{n} tasks", n).format(n=n))


async def _instance_types(catalog: Catalog, settings: TioneSettings) -> Finding:
    what, kinds = _("instance types"), {kind.name: kind for kind in await catalog.instance_types()}
    fix = _("List instance types: `%pai instances`")
    wanted = settings.default_instance_type
    if wanted and not settings.resource_group and wanted not in kinds:
        text = _("{region} has no instance type `{name}`, which is the profile's default_instance_type.")
        return Finding("bad", what, text.format(region=settings.region, name=wanted), fix)
    if wanted in kinds and kinds[wanted].available is False:
        text = _("`{name}`, the profile's default_instance_type, is sold out in {region}.")
        return Finding("warn", what, text.format(region=settings.region, name=wanted), fix)
    if kinds and not any(kind.price for kind in kinds.values()):
        text = _("The platform returns no prices. Jobs with a price limit must be confirmed.")
        grant = _("Ask an administrator of the account for the CAM action `tione:DescribeBillingSpecsPrice`.")
        return Finding("warn", what, text, grant)
    return Finding("ok", what, _counts([*kinds.values()]))


def _counts(kinds: list[InstanceType]) -> str:
    gone = sum(kind.available is False for kind in kinds)
    return _("{n} available, {gone} sold out").format(n=len(kinds) - gone, gone=gone)


async def _resource_groups(catalog: Catalog, settings: TioneSettings) -> Finding:
    what, quotas = _("resource groups"), await catalog.quotas()
    shown = "; ".join(f"{quota.id} {free(quota)}" for quota in quotas)
    if settings.resource_group and settings.resource_group not in {quota.id for quota in quotas}:
        text = _("You may not use the resource group `{name}`, or there is none in the workspace.")
        fix = _("Set `resource_group` of the profile to one of: {names}").format(names=shown or _("none"))
        return Finding("bad", what, text.format(name=settings.resource_group), fix)
    return Finding("ok", what, shown or _("none: jobs are paid as they go"))


async def _images(catalog: Catalog, settings: TioneSettings) -> Finding:
    """Check whether the default image exists, if it is one of the platform. Those have names without a registry."""
    what, names = _("images"), [image.name for image in await catalog.images()]
    wanted = settings.default_image
    if wanted and "/" not in wanted and wanted not in names:
        text = _("The platform has no image `{name}`, which is the profile's default_image.").format(name=wanted)
        return Finding("bad", what, text, _("List images: `%pai images`"))
    return Finding("ok", what, wanted or ngettext("{n} image", "{n} images", len(names)).format(n=len(names)))


async def _balance(account: TencentAccount, settings: TioneSettings) -> Finding:
    """Check the balance, which pay-as-you-go jobs need. Most keys may not read it."""
    what = _("balance")
    try:
        reply = await account.api.call(BILLING, "DescribeAccountBalance")
    except PaiError as error:
        return Finding("warn", what, _("unknown: {why}").format(why=error.message), error.fix)
    fen = number_of(reply.get("Balance"))
    if fen is None:
        return Finding("warn", what, _("unknown: {why}").format(why=_("The platform does not return it.")))
    if fen <= 0:
        text = _("The account has no money left, so that the platform rejects pay-as-you-go jobs.")
        fix = _("Top up the account in the billing center of the console, or use a resource group.")
        return Finding("warn" if settings.resource_group else "bad", what, text, fix)
    return Finding("ok", what, str(Price(fen / 100, "CNY")))


# Manual checks with a real account. ``docs/unverified.md`` names the assumption and the source of each.
TRIALS = (
    Trial("doctor", N_("The services take our signatures; region, workspace, balance and bucket are as they say."),
          N_("`%pai doctor --backend tione`: everything is ok; compare workspace and balance with the console.")),
    Trial("keys", N_("Keys of a machine's role and of a pod's identity are found and renewed."),
          N_("On a CVM with a role, and in a TKE pod with a role, remove all other keys: "
             "`%pai doctor --backend tione`; keep a job running for three hours.")),
    Trial("machines", N_("Instance types, availability, GPUs, prices and free resources are as listed."),
          N_("Compare `%pai instances --backend tione` with the console; submit to one that is shown as sold out.")),
    Trial("price", N_("The price that a submit shows is the one that is billed, and the balance is in hundredths of a "
                      "yuan."),
          N_("Submit `sleep 1800` with two instances; an hour later compare the job's note with the bill.")),
    Trial("images", N_("A job runs with each training mode of an image that is listed."),
          N_("`%pai images --backend tione`; submit `env` with `--image NAME` and `--option training_mode=MODE`.")),
    Trial("code", N_("The job finds its code as it was packed, with links, empty folders and modes."),
          N_("Submit a folder with a script, a link and an executable, and let it print `pwd` and `ls -lR`.")),
    Trial("variables", N_("The variables of the contract are set on each node."),
          N_("Submit `env | sort` with two instances in the modes DDP and MPI, and compare with `docs/contract.md`.")),
    Trial("inputs", N_("COS, CFS, GooseFS, HDFS and dataset inputs are where the job expects them."),
          N_("Submit `ls -l /ml/input/data/train` with `--input train=URI` for each kind that the account has.")),
    Trial("outputs", N_("Outputs are in the bucket below the task's id when the job has ended."),
          N_("Submit a job that writes a file to $PAI_OUTPUT_MODEL; `%pai outputs ID` lists it.")),
    Trial("states", N_("Each status of the platform is one that we know."),
          N_("Submit one job that succeeds, one that ends with `exit 3`, one with an image that does not exist, and "
             "stop one: `%pai show` gives succeeded, failed, failed and stopped, with the platform's reason.")),
    Trial("logs", N_("Lines of a log come once and in order, from several instances too, and after the job's end."),
          N_("Submit `for i in $(seq 100000); do echo $i; done` with two instances; `%pai logs --instance NAME` "
             "counts to 100000 for each, also a day later.")),
    Trial("limit", N_("A job ends after its maximum run time."),
          N_("Submit `sleep 600` with `--max-run-time 60`: it is stopped, and the reason says why.")),
    Trial("metrics", N_("Metrics that are pushed are in the console."),
          N_("Submit a job that reports a metric, with `--option push_metrics=true`, and open the task's page.")),
    Trial("terminal", N_("The page of a pod opens, with a shell in it."),
          N_("Submit `sleep 600`, and when it runs: `jupyter pai terminal ID`.")),
    Trial("lookup", N_("A job is found by its name at once after it was made."),
          N_("`%pai submit --backend tione …`, then `%pai adopt`: the new job is listed first, with its id here.")),
    Trial("refusals", N_("Refusals have the codes that we know."),
          N_("Submit with a wrong instance type, a wrong image, a path that does not exist, and more than a resource "
             "group has: each message says what is wrong and what to do.")),
    Trial("models", N_("A model is registered from a task and from a folder, and its import is followed to its end."),
          N_("`%pai models register NAME --job ID`, with a PyTorch model; compare with the console, then delete it.")),
)  # fmt: skip
