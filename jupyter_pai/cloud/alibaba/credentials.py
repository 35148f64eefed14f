"""KeyChain: keys of Alibaba Cloud, found where its own tools find them.

The search is that of the official library: variables, OIDC, the profiles of the `aliyun` command, an ini file, the role
of an ECS instance, a credentials URI (which DSW sets). It renews keys that are lent, a quarter of an hour before they
end. The library is slow to import and blocks while it asks: nothing of it runs before a key is needed, or on an event
loop.

It reads its variables once, at import; so they are read anew whenever one has changed. What it writes to the log is
switched off: it quotes answers whole, keys among them. A key in variables, which is what it looks for first, is taken
without it: its import would be half the time of a first submit. A key that was kept for a profile of ours needs no
search at all.
"""

from __future__ import annotations

import importlib
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...core.errors import CredentialsError, Unsupported
from ...core.extras import require
from ...core.i18n import _
from ...core.secret import Secret
from .access_key import AccessKey

__all__ = ["KeyChain", "use_key"]

_PREFIX = "ALIBABA_CLOUD_"
# Seconds for which a key is given again without a question. The library asks its source each time in a key's last
# quarter of an hour, which the threads of an upload would do for each part.
_HELD = 2.0
_DROPPED_EVERY = 60.0
_importing = threading.Lock()
# The key that code of this process has named.
_given: AccessKey | None = None


def use_key(key: AccessKey | None) -> None:
    """Use this key in this process, before any that is found; None for those that are found."""
    global _given
    _given = key


class KeyChain:
    """The keys of a profile of the `aliyun` command, or, without a name, those that are found first. For any thread.

    `own` gives the one key that is to be used instead; it is asked once, since that stays the same.
    """

    def __init__(self, profile: str = "", own: Callable[[], AccessKey] | None = None) -> None:
        self.profile = profile
        self._own = own
        self._kept: AccessKey | None = None
        self._lock = threading.Lock()
        self._provider: Any = None
        self._seen: object = None
        self._held: tuple[float, AccessKey] | None = None
        self._dropped = -_DROPPED_EVERY

    def held(self) -> AccessKey | None:
        """The key that was given a moment ago, if it still counts."""
        if self._own:
            return self._kept
        if _given and not self.profile:
            return _given
        held = self._held
        fresh = held and time.monotonic() - held[0] < _HELD and self._seen == _surroundings()
        return held[1] if held and fresh else None

    def now(self) -> AccessKey:
        """A key that is good now. May block: the source is asked if the last key is old.

        Raises:
            CredentialsError: if there is none, or its source does not give it.
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
            found = self._provider.get_credentials()
        except Unsupported as error:
            raise CredentialsError(error.message, fix=error.fix) from None
        except Exception as error:  # The library's own, of any kind; its text may quote keys.
            raise self._nothing(error) from None
        return _access_key(found.get_access_key_id(), found.get_access_key_secret(), found.get_security_token())

    def drop(self, key: AccessKey) -> None:
        """Ask the source anew next time: this key was refused. One that was not lent is the same again, unless its file
        has changed, which is seen anyway. Each of the library's chains keeps a thread: not many are made."""
        with self._lock:
            if self._held and self._held[1].same(key):
                self._held = None
                if key.token and time.monotonic() - self._dropped > _DROPPED_EVERY:
                    self._provider, self._dropped = None, time.monotonic()

    def _nothing(self, error: Exception) -> CredentialsError:
        if self.profile:
            return CredentialsError(
                _("The profile `{name}` of the aliyun command gives no key ({error}).").format(
                    name=self.profile, error=type(error).__name__
                ),
                fix=_("Log in: aliyun configure --profile {name}").format(name=self.profile),
            )
        sources = ", ".join(_sources())
        return CredentialsError(
            _("{sources}: no key of Alibaba Cloud is to be had from there.").format(sources=sources)
            if sources
            else _("There are no keys of Alibaba Cloud."),
            fix=_(
                "Log in with `%pai profile login NAME` or `aliyun configure`, or set ALIBABA_CLOUD_ACCESS_KEY_ID and "
                "ALIBABA_CLOUD_ACCESS_KEY_SECRET for the Jupyter server."
            ),
        )


def _provider(profile: str) -> Any:
    """The library's, with its variables as they are now."""
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
    """What decides where keys are found: if it changes, they are looked for anew."""
    variables = {name: value for name, value in os.environ.items() if name.startswith(_PREFIX)}
    return variables, [_changed(path) for path in _files()]


def _files() -> list[Path]:
    """The `aliyun` command's profiles, and the ini file."""
    home = Path(os.environ.get("HOME") or "~").expanduser()
    ini = os.environ.get("ALIBABA_CLOUD_CREDENTIALS_FILE")
    return [home / ".aliyun/config.json", Path(ini) if ini else home / ".alibabacloud/credentials.ini"]


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _sources() -> list[str]:
    """Where keys were to be expected."""
    variables = (
        "ALIBABA_CLOUD_ACCESS_KEY_ID",
        "ALIBABA_CLOUD_OIDC_TOKEN_FILE",
        "ALIBABA_CLOUD_ECS_METADATA",
        "ALIBABA_CLOUD_CREDENTIALS_URI",
    )
    named = [name for name in variables if os.environ.get(name)]
    return named + [str(path) for path in _files() if path.exists()]
