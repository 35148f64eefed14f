"""Checks of `doctor` for Slurm, and manual ones (`TRIALS`)."""

from __future__ import annotations

import asyncio
import re
import secrets
import shlex
import time
from collections.abc import Awaitable
from pathlib import Path

from ...core.errors import PaiError
from ...core.filesystem import network_kind
from ...core.i18n import N_, _, ngettext
from ..base import Finding, Trial
from ..findings import checked
from . import cluster
from .client import Client
from .job_records import status_of
from .options import SlurmSettings
from .shared_folder import SharedFolder

# Seconds between the clocks of this machine and of the shared disk from which on times of jobs are confusing.
_SKEW = 5.0
# Seconds that a job of `try_partitions` may take.
_TRY = 45.0


def examine(settings: SlurmSettings, shared: SharedFolder, client: Client) -> list[Finding]:
    """Check the requirements of jobs. Blocks: call it in a thread without an event loop."""
    return asyncio.run(_examine(settings, shared, client))


async def _examine(settings: SlurmSettings, shared: SharedFolder, client: Client) -> list[Finding]:
    findings = _folder(shared)
    findings.append(await _checked(_("commands"), _version(client)))
    if findings[-1].state != "bad":
        findings.append(await _checked(_("controller"), _controller(client)))
    if findings[-1].state == "bad":
        return findings  # All other checks would fail.
    findings.append(await _checked(_("partition"), _partition(settings, client)))
    findings.append(await _checked(_("account"), _account(settings, client)))
    return findings


async def _checked(what: str, check: Awaitable[Finding]) -> Finding:
    return await checked(what, check, fix=_("Look at it with: scontrol ping"))


def _folder(shared: SharedFolder) -> list[Finding]:
    """Check that the folder can be written, that others cannot read it, and the clock of its disk."""
    what = _("shared folder")
    try:
        path = shared.create()
        probe = path / f".doctor-{secrets.token_hex(8)}"
        begun = time.time()
        probe.write_bytes(b"")
        written = probe.stat().st_mtime
        probe.unlink()
    except PaiError as error:
        return [Finding("bad", what, error.message, error.fix)]
    except OSError as error:
        text = _("{path} cannot be written: {error}.").format(path=shared.path, error=error.strerror)
        return [Finding("bad", what, text, _("Correct its permissions, or free disk space."))]
    if path.stat().st_mode & 0o077:
        text = _("Other users can list {path}. What jupyter-pai writes in it is private nevertheless.").format(
            path=path
        )
        findings = [Finding("warn", what, text, f"chmod 700 {shlex.quote(str(path))}")]
    elif kind := network_kind(path):
        findings = [Finding("ok", what, f"{path} ({kind})")]
    else:
        text = _("{path} is on a local disk of this machine: nodes may not see it.").format(path=path)
        findings = [Finding("warn", what, text, _("Ignore this if the disk is exported to all nodes."))]
    skew = written - begun
    if abs(skew) > _SKEW:
        text = _("The clock of the shared disk differs by {n:.0f} seconds from that of this machine.").format(n=skew)
        return [*findings, Finding("warn", _("clock"), text, _("Synchronize both with the same time server."))]
    return [*findings, Finding("ok", _("clock"), _("the shared disk and this machine agree"))]


async def _version(client: Client) -> Finding:
    version = (await client.run("sbatch", "--version")).strip()
    for command in ("squeue", "scancel", "sinfo", "scontrol", "srun"):
        await client.run(command, "--version")
    place = client.host or _("this machine")
    return Finding("ok", _("commands"), _("{version} on {host}").format(version=version, host=place))


async def _controller(client: Client) -> Finding:
    output = await client.run("scontrol", "ping")
    line = next(iter(output.splitlines()), "")
    if not re.search(r"\bUP\b", output):
        fix = _("Ask the administrators of the cluster. Jobs continue without it.")
        return Finding("bad", _("controller"), line, fix)
    await client.json("squeue", "--json", "--me")
    return Finding("ok", _("controller"), line)


async def _partition(settings: SlurmSettings, client: Client) -> Finding:
    found = await cluster.partitions(client)
    names = ", ".join(one.name for one in found)
    wanted = settings.partition or next((one.name for one in found if one.is_default), "")
    one = next((one for one in found if one.name == wanted), None)
    what = _("partition")
    if one is None:
        text = (
            _("The cluster has no partition `{name}`.").format(name=settings.partition)
            if settings.partition
            else _("The cluster has no default partition.")
        )
        return Finding("bad", what, text, _("Set `partition` of the profile to one of: {names}").format(names=names))
    opened = [node for node in one.nodes if node.is_open]
    text = ngettext("{name}: {open} of {n} node takes jobs", "{name}: {open} of {n} nodes take jobs", len(one.nodes))
    text = text.format(name=one.name, open=len(opened), n=len(one.nodes))
    if not opened or not one.is_up:
        return Finding("warn", what, text, _("Set `partition` of the profile to one of: {names}").format(names=names))
    return Finding("ok", what, text)


async def _account(settings: SlurmSettings, client: Client) -> Finding:
    known = [choice.value for choice in await cluster.accounts(client, "account")]
    what = _("account")
    if not known:
        return Finding("ok", what, _("the cluster keeps no accounts"))
    if settings.account and settings.account not in known:
        text = _("You have no account `{name}`.").format(name=settings.account)
        return Finding(
            "bad", what, text, _("Set `account` of the profile to one of: {names}").format(names=", ".join(known))
        )
    return Finding("ok", what, settings.account or ", ".join(known))


async def try_partitions(shared: SharedFolder, client: Client) -> list[Finding]:
    """Run a job of one second on each partition, all at the same time."""
    folder = await asyncio.to_thread(shared.create, "tries")
    found = await cluster.partitions(client)
    return list(await asyncio.gather(*(_try(one.name, folder / secrets.token_hex(8), client) for one in found)))


async def _try(partition: str, file: Path, client: Client) -> Finding:
    """Run a job that writes its node into a file of the shared folder."""
    what = _("partition {name}").format(name=partition)
    words = ("sbatch", "--parsable", f"--partition={partition}", "--time=1", "--nodes=1", "--no-requeue", "--chdir=/")
    names = ("--job-name=jupyter-pai-doctor", "--output=/dev/null", "--error=/dev/null")
    script = file.with_suffix(".sh")
    script.write_text(f"#!/bin/sh\numask 077\nsleep 1\necho $SLURMD_NODENAME >{shlex.quote(str(file))}\n")
    try:
        slurm_id = (await client.run(*words, *names, stdin=script)).strip().split(";")[0]
        end, state, reason = time.monotonic() + _TRY, "", ""
        while time.monotonic() < end:
            await asyncio.sleep(0.5)
            output = await client.run("squeue", "--noheader", "--states=all", f"--jobs={slurm_id}", "--format=%T|%r")
            state, _bar, reason = output.strip().partition("|")
            if status_of(state).ended:
                break
        else:
            await client.run("scancel", slurm_id)
            text = _("The job did not end within {n:.0f} seconds: {state} ({reason}).")
            fix = _("Look at the partition with: sinfo --partition={name}").format(name=partition)
            return Finding("warn", what, text.format(n=_TRY, state=state, reason=reason), fix)
        return _tried(what, file, state)
    except PaiError as error:
        return Finding("bad", what, error.message, error.fix)
    finally:
        for path in (file, script):
            path.unlink(missing_ok=True)


def _tried(what: str, file: Path, state: str) -> Finding:
    if state == "COMPLETED" and file.exists():
        node = file.read_text("utf-8").strip()
        return Finding("ok", what, _("a job ran on {node} and wrote into the shared folder").format(node=node))
    text = _("The job ended as {state} and did not write into {folder}.").format(state=state, folder=file.parent)
    fix = _("Set `folder` of the profile to a folder that all nodes see at the same path.")
    return Finding("bad", what, text, fix)


# Manual checks on a real cluster. ``docs/unverified.md`` names the assumption and the source of each.
TRIALS = (
    Trial("partitions", N_("A job runs on each partition, and the partitions are listed as they are."),
          N_("`%pai doctor --profile NAME --live`; compare `%pai instances` with `sinfo`.")),
    Trial("apptainer", N_("Apptainer runs an image, with GPUs and /ml."),
          N_("Set `container=apptainer`, and submit `nvidia-smi; ls -l /ml` with --image and --gpu 1.")),
    Trial("pyxis", N_("Pyxis runs an image, with /ml."),
          N_("Set `container=pyxis`, and submit `ls -l /ml` with --image.")),
    Trial("gpus", N_("GPUs are requested and listed by their names."),
          N_("`%pai instances` shows them; submit `nvidia-smi` with --gpu 1.")),
    Trial("accounting", N_("A job that the controller has forgotten is shown with its end from the accounting."),
          N_("Stop the server, let a job run out of memory, and start the server after an hour: `%pai show ID`.")),
    Trial("versions", N_("The JSON of newer versions is read."),
          N_("On Slurm 23.11 or newer: submit jobs that succeed, fail and are stopped; `%pai show` gives these ends.")),
)  # fmt: skip
