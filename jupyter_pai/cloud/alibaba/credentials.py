"""Access keys of Alibaba Cloud, from the same sources as its own tools.

The search order is that of the official library: environment variables, OIDC, profiles of the `aliyun` command, an ini
file, the role of an ECS instance, a credentials URI (set by DSW). The library renews temporary keys a quarter of an
hour before they expire. It is slow to import and blocks, so it runs only when a key is needed, and never on an event
loop.

It reads environment variables once, at import, so its modules are reloaded when a variable changes. Its log is
disabled, because it contains whole responses with keys. A key in environment variables, the first source, is read
without the library, whose import takes half the time of a first submit. A key stored for a profile needs no search.
"""

from __future__ import annotations

import importlib
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...core.errors import CredentialsError, Unsupported
from ...core.filesystem import modified
from ...core.i18n import _
from ...core.plugins import require
from .. import keys
from ..keys import AccessKey

__all__ = ["KeyChain", "use_key"]

_PREFIX = "ALIBABA_CLOUD_"
# Variables that configure a source of keys. Full names, which the reference of variables finds in the code.
_SOURCES = (
    "ALIBABA_CLOUD_ACCESS_KEY_ID",
    "ALIBABA_CLOUD_OIDC_TOKEN_FILE",
    "ALIBABA_CLOUD_ECS_METADATA",
    "ALIBABA_CLOUD_CREDENTIALS_URI",
)
_importing = threading.Lock()
# The key set by `use_key`.
_given: AccessKey | None = None


def use_key(key: AccessKey | None) -> None:
    """Use this key in this process instead of searching for one. None restores the search."""
    global _given
    _given = key


class KeyChain(keys.KeyChain):
    """The keys of a profile of the `aliyun` command, or, without a name, the first keys found.

    Each provider of the library keeps a thread, so new ones are created rarely.
    """

    def __init__(
        self, profile: str = "", own: Callable[[], AccessKey] | None = None, reused_for: float = keys.REUSED_FOR
    ) -> None:
        super().__init__(own, reused_for)
        self.profile = profile
        self._provider: Any = None

    def given(self) -> AccessKey | None:
        return None if self.profile else _given

    def surroundings(self) -> object:
        variables = {name: value for name, value in os.environ.items() if name.startswith(_PREFIX)}
        return variables, [modified(path) for path in _files()]

    def find(self) -> AccessKey:
        return (None if self.profile else _from_variables()) or self._from_library()

    def forget(self) -> None:
        self._provider = None

    def _from_library(self) -> AccessKey:
        try:
            self._provider = self._provider or _provider(self.profile)
            credentials = self._provider.get_credentials()
        except Unsupported as error:
            raise CredentialsError(error.message, fix=error.fix) from None
        except Exception as error:  # The library raises arbitrary exceptions, and their text may contain keys.
            raise self._nothing(error) from None
        return AccessKey.of(
            credentials.get_access_key_id(), credentials.get_access_key_secret(), credentials.get_security_token()
        )

    def _nothing(self, error: Exception) -> CredentialsError:
        if self.profile:
            return CredentialsError(
                _("Cannot get a key from the profile `{name}` of the aliyun command ({error}).").format(
                    name=self.profile, error=type(error).__name__
                ),
                fix=_("Log in: `aliyun configure --profile {name}`").format(name=self.profile),
            )
        files = [str(path) for path in _files() if path.exists()]
        sources = ", ".join([*filter(os.environ.get, _SOURCES), *files])
        return CredentialsError(
            _("No Alibaba Cloud key available from: {sources}.").format(sources=sources)
            if sources
            else _("No Alibaba Cloud keys found."),
            fix=_(
                "Log in with `%pai profile login NAME` or `aliyun configure`, or set "
                "ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET in the Jupyter server's "
                "environment."
            ),
        )


def _provider(profile: str) -> Any:
    """Return a provider of the library, with the current environment variables."""
    require("pai", "alibabacloud_credentials")
    with _importing:
        from alibabacloud_credentials import provider as library
        from alibabacloud_credentials.utils import auth_constant, auth_util

        for variables in (auth_util, auth_constant):
            importlib.reload(variables)
        logging.getLogger("credentials").disabled = True
        if profile:
            return library.CLIProfileCredentialsProvider(profile_name=profile)
        return library.DefaultCredentialsProvider()


def _from_variables() -> AccessKey | None:
    names = ("ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", "ALIBABA_CLOUD_SECURITY_TOKEN")
    key_id, secret, token = (os.environ.get(name, "") for name in names)
    return AccessKey.of(key_id, secret, token) if key_id and secret else None


def _files() -> list[Path]:
    """Return the paths of the `aliyun` command's profiles and of the ini file."""
    home = Path(os.environ.get("HOME") or "~").expanduser()
    ini = os.environ.get("ALIBABA_CLOUD_CREDENTIALS_FILE")
    return [home / ".aliyun/config.json", Path(ini) if ini else home / ".alibabacloud/credentials.ini"]
