"""Checks of `doctor` for OpenPAI, without side effects on the cluster, and manual ones (`TRIALS`)."""

from __future__ import annotations

import asyncio
import secrets
from datetime import datetime
from pathlib import Path
from typing import Any

from ...core.errors import PaiError
from ...core.filesystem import network_kind
from ...core.i18n import N_, _
from ..base import Finding, Trial
from ..findings import checked, examined
from . import machines
from .client import OpenPaiClient, check_encryption
from .options import OpenPaiSettings
from .site import Site, clock_skew, find_site

__all__ = ["TRIALS", "examine"]

# Seconds between the clocks of this machine and of the cluster from which on times of jobs are confusing.
_SKEW = 10.0
_DEFAULT = "default"


def examine(settings: OpenPaiSettings) -> list[Finding]:
    """Check the requirements of jobs. Blocks: call it in a thread without an event loop."""
    return examined(_examine(settings))


async def _examine(settings: OpenPaiSettings) -> list[Finding]:
    try:
        site = await find_site(settings)
    except PaiError as error:
        return [Finding("bad", _("address"), error.message, error.fix)]
    client = OpenPaiClient(settings, site=site)
    findings = [_address(site), _encryption(settings, site), await _clock(settings, site)]
    if findings[1].state != "bad":
        findings.append(await checked(_("login"), _login(client)))
    if any(finding.state == "bad" for finding in findings):
        return findings  # All other checks would fail.
    try:
        granted = await machines.granted(client)
    except PaiError as error:
        return [*findings, Finding("bad", _("user"), error.message, error.fix)]
    findings.append(await checked(_("virtual cluster"), _virtual_cluster(settings, client, granted)))
    findings += await _skus(settings, client)
    return findings + await asyncio.to_thread(_storages, settings, granted)


def _address(site: Site) -> Finding:
    version = site.version or _("of an unknown version")
    text = _("{url}, OpenPAI {version}").format(url=site.address, version=version)
    if site.origin:
        return Finding("ok", _("address"), text)
    text += " " + _("It is the REST server. Logs are fetched from each node directly.")
    return Finding("warn", _("address"), text, _("If you can, set `endpoint` to the address of the portal."))


def _encryption(settings: OpenPaiSettings, site: Site) -> Finding:
    what = _("encryption")
    try:
        check_encryption(settings, site)
    except PaiError as error:
        return Finding("bad", what, error.message, error.fix)
    if site.is_encrypted:
        return Finding("ok", what, _("HTTPS, with a certificate that is trusted"))
    text = _("Tokens are sent over http://, as you agreed. Others on the network can read them.")
    return Finding("warn", what, text, _("Ask the administrators of the cluster for HTTPS."))


async def _clock(settings: OpenPaiSettings, site: Site) -> Finding:
    what = _("clock")
    try:
        skew = await clock_skew(settings, site)
    except PaiError as error:
        return Finding("warn", what, error.message, error.fix)
    if skew is not None and abs(skew) > _SKEW:
        text = _("The clock of the cluster differs by {n:.0f} seconds from that of this machine.").format(n=skew)
        return Finding("warn", what, text, _("Synchronize both with the same time server."))
    return Finding("ok", what, _("the cluster and this machine agree"))


async def _login(client: OpenPaiClient) -> Finding:
    what = _("login")
    claims = await client.get("/tokens/check")
    fields: dict[str, Any] = claims if isinstance(claims, dict) else {}
    user = str(fields.get("username") or (await client.credentials()).username)
    end = fields.get("exp")
    if not isinstance(end, int | float):
        return Finding("ok", what, _("{user}, with a token that does not expire").format(user=user))
    day = datetime.fromtimestamp(end).astimezone().strftime("%Y-%m-%d %H:%M")
    text = _("{user}, with a token that expires at {time}").format(user=user, time=day)
    return Finding("warn", what, text, _("Log in again before: jupyter pai profile login NAME. Jobs continue."))


async def _virtual_cluster(settings: OpenPaiSettings, client: OpenPaiClient, granted: machines.Granted) -> Finding:
    what = _("virtual cluster")
    name = settings.virtual_cluster or _DEFAULT
    mine = ", ".join(granted.virtual_clusters)
    if name not in granted.virtual_clusters:
        text = _("You may not use the virtual cluster `{name}`, or there is none.").format(name=name)
        fix = _("Set `virtual_cluster` of the profile to one of: {names}").format(names=mine)
        return Finding("bad", what, text, fix if mine else _("Ask the administrators of the cluster."))
    quota = next((quota for quota in await machines.quotas(client) if quota.id == name), None)
    if quota is None:
        text = _("The cluster has no virtual cluster `{name}`.").format(name=name)
        return Finding("bad", what, text, _("Ask the administrators of the cluster."))
    return Finding("ok", what, _("{name}: {what}").format(name=name, what=machines.free(quota)))


async def _skus(settings: OpenPaiSettings, client: OpenPaiClient) -> list[Finding]:
    """Check the SKU of the profile; nothing without HiveD."""
    what = _("SKU")
    try:
        known = [kind.name for kind in await machines.skus(client)]
    except PaiError as error:
        return [Finding("warn", what, error.message, error.fix)]
    wanted = settings.sku or settings.default_instance_type
    if wanted and wanted not in known:
        text = _("The cluster has no SKU `{name}`.").format(name=wanted)
        fix = _("Set `sku` of the profile to one of: {names}").format(names=", ".join(known))
        return [Finding("bad", what, text, fix if known else _("Remove `sku` from the profile."))]
    return [Finding("ok", what, wanted or ", ".join(known))] if known else []


def _storages(settings: OpenPaiSettings, granted: machines.Granted) -> list[Finding]:
    """Check the storage of the profile and the folders where storages are mounted here. Blocks."""
    findings = [_mount(name, folder, name == settings.storage) for name, folder in settings.mounts.items()]
    names = dict.fromkeys(filter(None, (settings.storage, *settings.mounts)))
    for name in names:
        if name not in granted.storages:
            text = _("You may not use the storage `{name}`, or there is none.").format(name=name)
            fix = _("Set `storage` of the profile to one of: {names}").format(names=", ".join(granted.storages))
            fix = fix if granted.storages else _("Ask the administrators of the cluster.")
            findings.append(Finding("bad" if name == settings.storage else "warn", _storage(name), text, fix))
    if settings.storage and settings.storage not in settings.mounts:
        text = _("It is not mounted on this machine, so that it takes neither code nor outputs.")
        fix = _("Mount it, and set `mounts.{name}` of the profile to its folder.").format(name=settings.storage)
        findings.append(Finding("bad", _storage(settings.storage), text, fix))
    return findings


def _storage(name: str) -> str:
    return _("storage {name}").format(name=name)


def _mount(name: str, folder: str, is_needed: bool) -> Finding:
    """Check that a folder exists and can be written."""
    probe = Path(folder, f".doctor-{secrets.token_hex(8)}")
    try:
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        text = _("{path} cannot be written: {error}.").format(path=folder, error=error.strerror)
        fix = _("Mount the storage there, or correct `mounts.{name}` of the profile.").format(name=name)
        return Finding("bad" if is_needed else "warn", _storage(name), text, fix)
    if kind := network_kind(Path(folder)):
        return Finding("ok", _storage(name), f"{folder} ({kind})")
    text = _("{path} is on a local disk of this machine: nodes may not see it.").format(path=folder)
    return Finding("warn", _storage(name), text, _("Ignore this if the disk is exported to all nodes."))


# Manual checks on a real cluster. ``docs/unverified.md`` names the assumption and the source of each.
TRIALS = (
    Trial("address", N_("The gateway and the version are found, by HTTPS and by HTTP."),
          N_("`%pai profile set NAME backend=openpai endpoint=HOST`, with and without `http://`; compare the notes "
             "with the portal.")),
    Trial("login", N_("A password is exchanged for a token of an application, which a revocation ends."),
          N_("`%pai profile login NAME`; the portal's profile page lists one more token of an application and no more "
             "sessions. Revoke it: `%pai doctor --profile NAME` says how to log in again.")),
    Trial("company", N_("A token that is copied from the portal of a cluster with a company login is accepted."),
          N_("`%pai profile login NAME` with the token, then `%pai doctor --profile NAME`.")),
    Trial("clusters", N_("A job runs on each virtual cluster; free resources and SKUs are as listed."),
          N_("`%pai doctor --profile NAME --live`; compare `%pai instances` with the portal.")),
    Trial("jobs", N_("Each state of the platform is one that we know."),
          N_("Submit a job that succeeds, one that ends with `exit 3`, one with an image that does not exist, and stop "
             "one: `%pai show ID` gives succeeded, failed, failed and stopped, with the platform's reason.")),
    Trial("logs", N_("A log is read once and in order, also after 256 MB, and of several roles."),
          N_("Submit `for i in $(seq 30000000); do echo $i; done`: the log in `%pai logs ID` has each line once.")),
    Trial("storage", N_("Code and outputs go by a storage that is mounted here."),
          N_("Set `storage` and `mounts.NAME`, and submit a folder of more than 100 KB that writes to "
             "$PAI_OUTPUT_MODEL.")),
    Trial("roles", N_("Roles start together, and each finds the address of the first."),
          N_("Submit a job file with two roles that prints the variables of the contract.")),
    Trial("hived", N_("A job with a SKU and a priority runs on a cluster with HiveD."),
          N_("Submit with `--instance-type SKU --option priority=oppo`.")),
)  # fmt: skip
