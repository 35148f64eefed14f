"""Access keys of Tencent Cloud, from the same sources as its own tools.

The search order: environment variables, an ini file, the identity of a pod (TKE), the role of a machine (CVM). A key
stored for a profile needs no search.

Keys that are written in variables and in the file are read here: the official library takes half a second to import,
ignores the token of a temporary key, and knows one section of the file. It is used for the two sources that lend
temporary keys. It renews those of a machine five minutes, and those of a pod twelve minutes before they end. Its own
search would use the role of a node instead of that of a pod on it. It would also wait without a limit for the metadata
service, which exists only in Tencent Cloud. It blocks, so it never runs on an event loop. Its log has tokens at the
level of debugging, which is switched off.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from configparser import Error as InvalidFile, RawConfigParser
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from ...core.errors import CredentialsError, Unsupported
from ...core.filesystem import modified
from ...core.i18n import _
from ...core.plugins import require
from ..keys import AccessKey, KeyChain

__all__ = ["TencentKeys", "use_key"]

# Variables of a key, and of the identity of a pod. Full names, which the reference of variables finds in the code.
_KEY = ("TENCENTCLOUD_SECRET_ID", "TENCENTCLOUD_SECRET_KEY", "TENCENTCLOUD_TOKEN")
_POD = ("TKE_REGION", "TKE_PROVIDER_ID", "TKE_ROLE_ARN", "TKE_WEB_IDENTITY_TOKEN_FILE")
_METADATA = "metadata.tencentyun.com"
_ROLES = f"http://{_METADATA}/latest/meta-data/cam/security-credentials/"
# Seconds until the metadata service counts as absent.
_PROBE = 1.0
# The key set by `use_key`.
_given: AccessKey | None = None


def use_key(key: AccessKey | None) -> None:
    """Use this key in this process instead of searching for one. None restores the search."""
    global _given
    _given = key


class TencentKeys(KeyChain):
    """The keys of a section of ``~/.tencentcloud/credentials``, or, without a name, the first keys found.

    `sts` is the host that gives a pod its keys; empty for the public one.
    """

    def __init__(
        self, section: str = "", own: Callable[[], AccessKey] | None = None, *, sts: str = "", reused_for: float = 2.0
    ) -> None:
        super().__init__(own, reused_for)
        self.section = section
        self._sts = sts
        self._lender: Any = None

    def given(self) -> AccessKey | None:
        return None if self.section else _given

    def surroundings(self) -> object:
        # Asked for each request.
        return [os.environ.get(name) for name in (*_KEY, *_POD)], [modified(path) for path in _files()]

    def forget(self) -> None:
        self._lender = None

    def find(self) -> AccessKey:
        if self.section:
            return _from_file(self.section) or self._missing_section()
        return _from_variables() or _from_file("default") or self._lent()

    def _missing_section(self) -> AccessKey:
        raise CredentialsError(
            _("The file {path} has no keys in the section `{name}`.").format(path=_files()[0], name=self.section),
            fix=_("Add `secret_id` and `secret_key` to it, or change `credentials` of the profile."),
        )

    def _lent(self) -> AccessKey:
        """Return a temporary key of the library.

        Raises:
            CredentialsError: if this machine has no source of them, or the library is missing or fails.
        """
        try:
            self._lender = self._lender or self._open()
            key_id, secret, token = self._lender.get_credential_info()
        except Unsupported as error:
            raise CredentialsError(error.message, fix=error.fix) from None
        except CredentialsError:
            raise
        except Exception as error:  # The library raises arbitrary exceptions, and their text may contain keys.
            code = str(getattr(error, "code", ""))
            raise _nothing(code if re.fullmatch(r"[A-Za-z.]+", code) else type(error).__name__) from None
        if not (key_id and secret):  # The library takes an error of the metadata service for a key without values.
            raise _nothing(_METADATA)
        return AccessKey.of(key_id, secret, token)

    def _open(self) -> Any:
        """Return an object of the library that lends keys."""
        logging.getLogger("tencentcloud_sdk_common").setLevel(logging.INFO)
        if all(os.environ.get(name) for name in _POD):
            require("tione", "tencentcloud")
            from tencentcloud.common.credential import DefaultTkeOIDCRoleArnProvider

            lender = DefaultTkeOIDCRoleArnProvider().get_credential()
            if self._sts:
                lender.endpoint = self._sts
            return lender
        role = _role_of_machine()
        if not role:
            raise _nothing()
        require("tione", "tencentcloud")
        from tencentcloud.common.credential import CVMRoleCredential

        return CVMRoleCredential(role)


def _from_variables() -> AccessKey | None:
    key_id, secret, token = (os.environ.get(name, "").strip() for name in _KEY)
    return AccessKey.of(key_id, secret, token) if key_id and secret else None


def _from_file(section: str) -> AccessKey | None:
    """Return the key in a section of the ini file, None if there is none.

    Raises:
        CredentialsError: if the file cannot be read.
    """
    path = next((path for path in _files() if path.exists()), None)
    if not path:
        return None
    parser = RawConfigParser()
    try:
        parser.read_string(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, InvalidFile) as error:  # The text of the last two may contain keys.
        raise CredentialsError(
            _("Cannot read Tencent Cloud keys from {path} ({error}).").format(path=path, error=type(error).__name__),
            fix=_("Its lines are `[default]`, `secret_id = …` and `secret_key = …`."),
        ) from None
    names = ("secret_id", "secret_key", "token")
    values = (parser.get(section, name, fallback="").strip().strip("\"'") for name in names)
    key_id, secret, token = values
    return AccessKey.of(key_id, secret, token) if key_id and secret else None


def _role_of_machine() -> str:
    """Return the name of the role of this machine; empty if it has none or is outside of Tencent Cloud."""
    with suppress(OSError, HTTPException, UnicodeDecodeError):
        with urlopen(_ROLES, timeout=_PROBE) as reply:
            name = reply.read(1000).decode("utf-8").strip()
        return name if name.isprintable() and not set(name) & set("/?#<> ") else ""
    return ""


def _nothing(error: str = "") -> CredentialsError:
    fix = _(
        "Log in with `%pai profile login NAME`, or set TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY in the "
        "Jupyter server's environment, or write them to `~/.tencentcloud/credentials`."
    )
    if error:
        return CredentialsError(
            _("Cannot get temporary keys from Tencent Cloud ({error}).").format(error=error),
            fix=fix,
        )
    return CredentialsError(_("No Tencent Cloud keys found."), fix=fix)


def _files() -> list[Path]:
    """Return the paths of the official ini file. The first one that exists is used."""
    home = Path(os.environ.get("HOME") or "~").expanduser()
    return [home / ".tencentcloud/credentials", Path("/etc/tencentcloud/credentials")]
