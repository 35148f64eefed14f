"""Checks everything that a job needs, by trying it, and says what to do about what is missing."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import sqlite3
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from ..backends import load_backends
from ..backends.base import Backend, Capability, Finding
from ..cloud import http as transport
from ..config.policy import Policy
from ..config.settings import Profile, user_file
from ..core import filesystem
from ..core.errors import PaiError
from ..core.i18n import _
from ..jobs.state_dir import Home
from ..storage import load_storages
from ..storage.base import Storage
from .audit_log import Audit
from .data.storages import Storages
from .profiles import Profiles

__all__ = ["audited", "examine", "examine_profile", "shared"]

_LOW_DISK = 1 << 30


def examine(home: Home, storages: Storages) -> list[Finding]:
    """What was found, good and bad. Works without any backend that can be reached. Blocks."""
    found = [_python(), _state(home), _disk(home), *shared(home), _database(home), _labextension(), *_plugins()]
    try:
        known = storages.profiles.settings().profiles
        found.append(Finding("ok", _("settings"), str(user_file()) if user_file().exists() else _("none needed")))
        found += _policy(storages.profiles.policy())
    except PaiError as error:
        return [*found, Finding("bad", _("settings"), error.message, error.fix)]
    return found + [finding for profile in known.values() for finding in examine_profile(storages, profile)]


def _plugins() -> list[Finding]:
    fix = _("Bring it up to date, or remove it: pip uninstall {package}")
    flaws = (*load_backends().flaws, *load_storages().flaws)
    return [Finding("warn", _("plug-in"), f"{name}: {what}", fix.format(package=name)) for name, what in flaws]


def examine_profile(storages: Storages, profile: Profile) -> list[Finding]:
    """What was found for the jobs of one profile. Blocks: for a thread without an event loop."""
    if why := storages.profiles.policy().why_not(profile.name, profile.backend):
        return [Finding("warn", _("profile {name}").format(name=profile.name), why)]
    try:
        backend = storages.profiles.backend(profile)
        found = backend.examine()
    except PaiError as error:
        return [Finding("bad", _("profile {name}").format(name=profile.name), error.message, error.fix)]
    if Capability.RUNS_HERE in backend.capabilities:
        return found
    if all(finding.state != "bad" for finding in found):
        found.append(_storage(backend, storages, profile))
    return [replace(finding, what=f"{profile.name}: {finding.what}") for finding in found]


def _policy(policy: Policy) -> list[Finding]:
    """What the administrator's rules say, if there are any."""
    if not (said := policy.summary()):
        return []
    fix = _("Ask {whom}.").format(whom=policy.rules.contact) if policy.rules.contact else ""
    return [Finding("ok", _("policy"), f"{policy.file}: {said}", fix)]


def audited(profiles: Profiles, audit: Audit) -> list[Finding]:
    """Whether what users do can be written down where the administrator wants it. Blocks."""
    try:
        policy, trouble = profiles.policy(), audit.trouble()
    except PaiError:
        return []  # The settings are wrong, which is said above.
    rules = policy.rules
    if not rules.audit_file:
        return []
    if not trouble:
        return [Finding("ok", _("audit log"), rules.audit_file)]
    text = _("{file} cannot be written: {error}.").format(file=rules.audit_file, error=trouble)
    fix = _("Ask {whom}.").format(whom=rules.contact) if rules.contact else ""
    return [Finding("bad" if rules.audit_required else "warn", _("audit log"), text, fix)]


def _storage(backend: Backend, storages: Storages, profile: Profile) -> Finding:
    """Whether code and inputs can be sent, and outputs be had."""
    try:
        uri = asyncio.run(_folder(backend))
        _write_and_read(storages.of(uri, profile.name), f"{uri}.doctor-{secrets.token_hex(8)}")
    except PaiError as error:
        return Finding("bad", _("storage"), error.message, error.fix)
    return Finding("ok", _("storage"), _("{uri} can be read and written").format(uri=uri))


async def _folder(backend: Backend) -> str:
    try:
        return await backend.input_uri()
    finally:
        await transport.close()


def _write_and_read(storage: Storage, uri: str) -> None:
    storage.put(b"Written by `doctor`, and removed again.\n", uri)
    try:
        folder, name = storage.split(uri)
        with storage.open(folder, name) as file:
            file.read(0, file.file.size)
    finally:
        storage.delete(uri)


def _python() -> Finding:
    return Finding("ok", "Python", f"{sys.version.split()[0]}, {sys.executable}")


def _state(home: Home) -> Finding:
    try:
        with tempfile.NamedTemporaryFile(dir=home.create().path):
            pass
        os.listdir(home.jobs)
    except (PaiError, OSError) as error:
        return Finding("bad", _("state folder"), str(error), _("JUPYTER_PAI_HOME names another one."))
    if home.path.stat().st_mode & 0o077:
        return Finding(
            "warn", _("state folder"), _("{path} is open to others.").format(path=home.path), f"chmod 700 {home.path}"
        )
    return Finding("ok", _("state folder"), str(home.path))


def _disk(home: Home) -> Finding:
    free = shutil.disk_usage(home.path).free
    text = _("{size:.1f} GB free").format(size=free / 1e9)
    if free < _LOW_DISK:
        return Finding("warn", _("disk"), text, _("Make room: jobs keep their logs and outputs here."))
    return Finding("ok", _("disk"), text)


def shared(home: Home) -> list[Finding]:
    """Whether other hosts may see the state folder, and whether its disk keeps locks."""
    kind = filesystem.network_kind(home.path)
    try:
        refused = filesystem.lock_error(home.path)
    except OSError as error:
        return [Finding("bad", _("locks"), str(error), _("JUPYTER_PAI_HOME names another folder."))]
    found = []
    if kind:
        found.append(Finding("ok", _("network disk"), _("{kind}: the database goes without WAL").format(kind=kind)))
    if refused:
        text = _("The disk has no locks ({why}): use the state folder from one host and one server only.")
        fix = _("Mount it with locks, or let JUPYTER_PAI_HOME name a folder on another disk.")
        found.append(Finding("warn", _("locks"), text.format(why=refused), fix))
    return found


def _database(home: Home) -> Finding:
    try:
        with sqlite3.connect(home.database, timeout=2) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
            mode = database.execute("PRAGMA journal_mode").fetchone()[0]
            said = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if said != "ok":
            return Finding("bad", _("database"), said, _("Move it away: it is made anew from the jobs' files."))
    except sqlite3.Error as error:
        return Finding("bad", _("database"), str(error), _("Another process is using it. Try again later."))
    return Finding("ok", _("database"), f"SQLite {sqlite3.sqlite_version}, {mode}")


def _labextension() -> Finding:
    from jupyter_core.paths import jupyter_path

    for folder in jupyter_path("labextensions"):
        if Path(folder, "jupyter-pai", "package.json").exists():
            return Finding("ok", "JupyterLab", folder)
    return Finding(
        "warn",
        "JupyterLab",
        _("The extension for JupyterLab is not installed: job views in notebooks are not live."),
        "pip install --force-reinstall --no-deps jupyter-pai",
    )
