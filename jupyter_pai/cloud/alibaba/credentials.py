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
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core.errors import CredentialsError, Unsupported
from ...core.filesystem import modified
from ...core.i18n import _
from ...core.plugins import require
from ...core.secret import Secret

_PREFIX = "ALIBABA_CLOUD_"
# Variables that configure a source of keys. Full names, which the reference of variables finds in the code.
_SOURCES = (
    "ALIBABA_CLOUD_ACCESS_KEY_ID",
    "ALIBABA_CLOUD_OIDC_TOKEN_FILE",
    "ALIBABA_CLOUD_ECS_METADATA",
    "ALIBABA_CLOUD_CREDENTIALS_URI",
)
# Seconds for which a key is reused. In the last quarter of an hour of a key, the library sends a request at each call,
# which upload threads would make for each part.
_REUSED_FOR = 2.0
_DROPPED_EVERY = 60.0
_importing = threading.Lock()
# The key set by `use_key`.
_given: AccessKey | None = None


@dataclass(frozen=True)
class AccessKey:
    """An access key of a cloud account. `token` is set for temporary credentials (STS)."""

    id: str = field(repr=False)
    secret: Secret
    token: Secret | None = None

    def same(self, other: AccessKey) -> bool:
        """Return whether two keys are equal, including their tokens."""
        mine, others = ((key.id, key.secret.open(), key.token and key.token.open()) for key in (self, other))
        return mine == others

    def mask(self, text: str) -> str:
        """Mask the secret parts of the key in `text`. Error responses may quote the headers of a request."""
        from urllib.parse import quote

        for secret in filter(None, (self.secret, self.token)):
            for form in (secret.open(), quote(secret.open(), safe=""), quote(secret.open(), safe="~")):
                text = text.replace(form, str(secret)) if form else text
        return text


def use_key(key: AccessKey | None) -> None:
    """Use this key in this process instead of searching for one. None restores the search."""
    global _given
    _given = key


class KeyChain:
    """The keys of a profile of the `aliyun` command, or, without a name, the first keys found. Thread-safe.

    `own` returns a fixed key to use instead. It is called once. A key is reused for `reused_for` seconds.
    """

    def __init__(
        self, profile: str = "", own: Callable[[], AccessKey] | None = None, reused_for: float = _REUSED_FOR
    ) -> None:
        self.profile = profile
        self._own = own
        self._reused_for = reused_for
        self._kept: AccessKey | None = None
        self._lock = threading.Lock()
        self._provider: Any = None
        self._seen: object = None
        self._held: tuple[float, AccessKey] | None = None
        self._dropped = -_DROPPED_EVERY

    def held(self) -> AccessKey | None:
        """Return the cached key if it is still valid."""
        if self._own:
            return self._kept
        if _given and not self.profile:
            return _given
        held = self._held
        fresh = held and time.monotonic() - held[0] < self._reused_for and self._seen == _surroundings()
        return held[1] if held and fresh else None

    def now(self) -> AccessKey:
        """Return a valid key. May block while fetching a new one.

        Raises:
            CredentialsError: if no key is available, or its source fails.
        """
        with self._lock:
            if held := self.held():
                return held
            if self._own:
                self._kept = self._own()
                return self._kept
            surroundings = _surroundings()
            if self._seen != surroundings:
                self._provider, self._held, self._seen = None, None, surroundings
            key = (None if self.profile else _from_variables()) or self._from_library()
            self._held = time.monotonic(), key
            return key

    def _from_library(self) -> AccessKey:
        try:
            self._provider = self._provider or _provider(self.profile)
            credentials = self._provider.get_credentials()
        except Unsupported as error:
            raise CredentialsError(error.message, fix=error.fix) from None
        except Exception as error:  # The library raises arbitrary exceptions, and their text may contain keys.
            raise self._nothing(error) from None
        return _access_key(
            credentials.get_access_key_id(), credentials.get_access_key_secret(), credentials.get_security_token()
        )

    def drop(self, key: AccessKey) -> None:
        """Discard a rejected key, so that the next call fetches a new one. Only temporary keys are fetched again;
        changes of files are detected anyway. Each provider of the library keeps a thread, so new ones are created
        rarely."""
        with self._lock:
            if self._held and self._held[1].same(key):
                self._held = None
                if key.token and time.monotonic() - self._dropped > _DROPPED_EVERY:
                    self._provider, self._dropped = None, time.monotonic()

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
    return _access_key(key_id, secret, token) if key_id and secret else None


def _access_key(key_id: str, secret: str, token: str | None) -> AccessKey:
    return AccessKey(key_id, Secret(secret), Secret(token) if token else None)


def _surroundings() -> object:
    """Return a snapshot of the variables and files that hold keys. A change triggers a new search."""
    variables = {name: value for name, value in os.environ.items() if name.startswith(_PREFIX)}
    return variables, [modified(path) for path in _files()]


def _files() -> list[Path]:
    """Return the paths of the `aliyun` command's profiles and of the ini file."""
    home = Path(os.environ.get("HOME") or "~").expanduser()
    ini = os.environ.get("ALIBABA_CLOUD_CREDENTIALS_FILE")
    return [home / ".aliyun/config.json", Path(ini) if ini else home / ".alibabacloud/credentials.ini"]
