"""Doctor: checks the requirements of jobs and reports how to fix problems."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import sqlite3
import sys
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ..backends import load_backends
from ..backends.base import Backend, Capability, Finding
from ..cloud import http as transport
from ..config.policy import Policy
from ..config.settings import Profile
from ..config.toml_file import user_file
from ..core import filesystem
from ..core.errors import PaiError
from ..core.file_uri import scheme_of
from ..core.i18n import _
from ..jobs.state_dir import Home, room_fix
from ..jobs.store.store import Store
from ..storage import load_storages
from ..storage.base import Storage
from .audit_log import Audit
from .data.storages import Location, Storages
from .profiles import Profiles

_T = TypeVar("_T")

_LOW_DISK = 1 << 30
# Ids of jobs in one finding.
_MOST_IDS = 10


def examine(home: Home, storages: Storages) -> list[Finding]:
    """Return all findings. Works offline. Blocks."""
    python = Finding("ok", "Python", f"{sys.version.split()[0]}, {sys.executable}")
    findings = [python, *_state(home), _disk(home), *shared(home), _database(home), _labextension()]
    for flaw in (*load_backends().flaws, *load_storages().flaws):
        findings.append(Finding("warn", _("plug-in"), flaw.text, flaw.fix))
    try:
        profiles = storages.profiles.settings().profiles
        findings.append(Finding("ok", _("settings"), str(user_file()) if user_file().exists() else _("none needed")))
        policy = storages.profiles.policy()
    except PaiError as error:
        return [*findings, Finding("bad", _("settings"), error.message, error.fix)]
    if rules := policy.summary():
        findings.append(Finding("ok", _("policy"), f"{policy.file}: {rules}", _contact(policy)))
    return findings + [finding for profile in profiles.values() for finding in examine_profile(storages, profile)]


def _contact(policy: Policy) -> str:
    return _("Ask {whom}.").format(whom=policy.rules.contact) if policy.rules.contact else ""


def examine_profile(storages: Storages, profile: Profile) -> list[Finding]:
    """Return the findings of one profile. Blocks: call it in a thread without an event loop."""
    if why := storages.profiles.policy().why_not(profile.name, profile.backend):
        return [Finding("warn", _("profile {name}").format(name=profile.name), why)]
    try:
        backend = storages.profiles.backend(profile)
        findings = backend.examine()
    except PaiError as error:
        return [Finding("bad", _("profile {name}").format(name=profile.name), error.message, error.fix)]
    if Capability.RUNS_HERE in backend.capabilities:
        return findings
    if all(finding.state != "bad" for finding in findings):
        findings += _storages(backend, storages, profile)
    return [replace(finding, what=f"{profile.name}: {finding.what}") for finding in findings]


def audited(profiles: Profiles, audit: Audit) -> list[Finding]:
    """Return whether the audit log can be written. Blocks."""
    try:
        policy, trouble = profiles.policy(), audit.trouble()
    except PaiError:
        return []  # Invalid settings have a finding of their own.
    rules = policy.rules
    if not trouble:
        return [Finding("ok", _("audit log"), rules.audit_file)] if rules.audit_file else []
    text = _("{file} cannot be written: {error}.").format(file=rules.audit_file, error=trouble)
    return [Finding("bad" if rules.audit_required else "warn", _("audit log"), text, _contact(policy))]


def _storages(backend: Backend, storages: Storages, profile: Profile) -> list[Finding]:
    """Return whether the platform's folder in its storage can be written and read, if it has one, and whether those of
    the profile's other storages can be listed."""
    try:
        uri = asyncio.run(_closing(backend.input_uri()))
        findings = [_written(storages.at(uri, profile.name))] if uri else []
    except PaiError as error:
        return [Finding("bad", _("storage"), error.message, error.fix)]
    others = (storage for storage in storages.of_profile(profile) if storage.scheme != scheme_of(uri))
    return findings + [finding for storage in others for finding in _listed(storage)]


def _written(folder: Location) -> Finding:
    storage, name = folder.storage, f".doctor-{secrets.token_hex(8)}"
    storage.put(b"Test file of `jupyter pai doctor`.\n", folder.join(name).uri)
    try:
        with storage.open(folder.uri, name) as file:
            file.read(0, file.file.size)
    finally:
        storage.delete(folder.join(name).uri)
    return Finding("ok", _("storage"), _("{uri} can be read and written").format(uri=folder.uri))


def _listed(storage: Storage) -> list[Finding]:
    try:
        roots = asyncio.run(_closing(storage.roots()))
        for uri in roots:
            storage.entries(uri, most=1)
    except PaiError as error:
        return [Finding("warn", _("storage"), error.message, error.fix)]
    return [Finding("ok", _("storage"), _("{uri} can be listed").format(uri=uri)) for uri in roots]


async def _closing(work: Awaitable[_T]) -> _T:
    try:
        return await work
    finally:
        await transport.close()


def _state(home: Home) -> list[Finding]:
    other = _("Choose another folder with JUPYTER_PAI_HOME.")
    try:
        os.listdir(home.create().jobs)
        warnings = home.check()
    except PaiError as error:
        return [Finding("bad", _("state folder"), error.message, error.fix or other)]
    except OSError as error:
        return [Finding("bad", _("state folder"), str(error), other)]
    if trouble := filesystem.write_error(home.path):
        text = _("{file} cannot be written: {error}.").format(file=home.path, error=trouble.strerror)
        return [Finding("bad", _("state folder"), text, room_fix(trouble))]
    findings = [Finding("warn", _("state folder"), flaw.text, flaw.fix) for flaw in warnings]
    return findings or [Finding("ok", _("state folder"), str(home.path))]


def _disk(home: Home) -> Finding:
    free = shutil.disk_usage(home.path).free
    fix = _("Free disk space: logs and outputs of jobs are stored here.") if free < _LOW_DISK else ""
    return Finding("warn" if fix else "ok", _("disk"), _("{size:.1f} GB free").format(size=free / 1e9), fix)


def shared(home: Home) -> list[Finding]:
    """Return findings about a state folder on a network disk or without locks."""
    if filesystem.write_error(home.path):
        return []  # The state folder has a finding of its own.
    try:
        lock_error = filesystem.lock_error(home.path)
    except OSError as error:
        return [Finding("bad", _("locks"), str(error), _("Choose another folder with JUPYTER_PAI_HOME."))]
    findings = []
    if kind := filesystem.network_kind(home.path):
        findings.append(Finding("ok", _("network disk"), _("{kind}: the database does not use WAL").format(kind=kind)))
    if lock_error:
        text = _("The disk does not support locks ({why}). Use the state folder from one host and one server only.")
        fix = _("Mount it with locks, or set JUPYTER_PAI_HOME to a folder on another disk.")
        findings.append(Finding("warn", _("locks"), text.format(why=lock_error), fix))
    return findings


def _database(home: Home) -> Finding:
    try:
        with contextlib.closing(sqlite3.connect(home.database, timeout=2)) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
            mode = database.execute("PRAGMA journal_mode").fetchone()[0]
            check = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if check != "ok":
            return Finding("bad", _("database"), check, _("Move it away. It is rebuilt from the files of the jobs."))
    except sqlite3.Error as error:
        trouble = filesystem.write_error(home.path)
        fix = room_fix(trouble) if trouble else _("Another process is using it. Try again later.")
        return Finding("bad", _("database"), str(error), fix)
    return Finding("ok", _("database"), f"SQLite {sqlite3.sqlite_version}, {mode}")


def records(home: Home, store: Store) -> list[Finding]:
    """Compare the rows of all jobs with their records, and replace damaged ones. Blocks."""
    try:
        before = store.jobs.differences()
        for job_id in before:
            with contextlib.suppress(PaiError, OSError):  # The disk is full or read-only.
                store.jobs.mend(job_id).result()
        after = store.jobs.differences() if before else {}
    except PaiError:
        return []  # The database has a finding of its own.
    groups = {
        _("repaired"): ([job_id for job_id in before if job_id not in after], ""),
        _("files are missing"): (
            [job_id for job_id, kind in after.items() if kind == "files"],
            _("Delete them: %pai delete ID"),
        ),
        _("damaged"): (
            [job_id for job_id, kind in after.items() if kind != "files"],
            _("Remove their folders in {path}.").format(path=home.jobs),
        ),
    }
    findings = [
        Finding("warn", _("jobs"), f"{state}: {', '.join(ids[:_MOST_IDS])}{' …' if len(ids) > _MOST_IDS else ''}", fix)
        for state, (ids, fix) in groups.items()
        if ids
    ]
    return findings or [Finding("ok", _("jobs"), _("the database agrees with the files of the jobs"))]


def _labextension() -> Finding:
    from jupyter_core.paths import jupyter_path

    for folder in jupyter_path("labextensions"):
        if Path(folder, "jupyter-pai", "package.json").exists():
            return Finding("ok", "JupyterLab", folder)
    text = _("The JupyterLab extension is not installed. Job views in notebooks are static.")
    return Finding("warn", "JupyterLab", text, "pip install --force-reinstall --no-deps jupyter-pai")
