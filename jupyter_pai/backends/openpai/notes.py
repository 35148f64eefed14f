"""Notes for users on the cluster of a profile that they have changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from ...core.errors import SettingsError
from ...core.i18n import _
from .client import check_encryption
from .options import OpenPaiSettings
from .site import find_site

__all__ = ["profile_notes"]

_KEYS = frozenset(("backend", "endpoint", "allow_http", "ca_file"))
_HDFS_KEYS = frozenset(("backend", "endpoint", "hdfs"))


async def profile_notes(settings: OpenPaiSettings, changed: Collection[str]) -> Sequence[str]:
    """Return version and address of the cluster, whether it encrypts, how to log in, and a warning about its HDFS; an
    empty list if other keys have changed. Sends no credentials.

    Raises:
        Unreachable: if the cluster does not respond.
        Unsupported: if it is too old.
    """
    notes = await _site_notes(settings) if _KEYS & set(changed) else []
    if _HDFS_KEYS & set(changed) and _is_of_cluster(settings):
        # Source: `docs/user/storage.md` of the OpenPAI that ran on YARN, section "HDFS in OpenPAI".
        notes.append(
            _(
                "This HDFS is a service of the cluster, made for its logs. It does not guarantee to keep files: "
                "machines join and leave, and disks may be full. Download results soon."
            )
        )
    return notes


def _is_of_cluster(settings: OpenPaiSettings) -> bool:
    """Return whether HDFS is at the host of the cluster: at its gateway, or at a NameNode beside it."""
    host = urlsplit(settings.hdfs).hostname
    return bool(host) and host == urlsplit(f"//{settings.host}").hostname


async def _site_notes(settings: OpenPaiSettings) -> list[str]:
    site = await find_site(settings)
    version = site.version or _("of an unknown version")
    notes = [_("OpenPAI {version} responds at {url}.").format(version=version, url=site.address)]
    if not site.origin:
        notes.append(_("It is the REST server, without the gateway of the portal: logs come from each node directly."))
    try:
        check_encryption(settings, site)
    except SettingsError as error:
        return [*notes, error.message + " " + error.fix]
    if not site.is_encrypted:
        notes.append(_("Tokens are sent over http://, as you agreed. Others on the network can read them."))
    if not settings.own_credentials:
        if site.takes_passwords:
            notes.append(_("Log in with user and password: jupyter pai profile login NAME"))
        else:
            notes.append(_("It has a company login.") + " " + site.token_help)
    return notes
