"""Keys that code names: used by this process, told to nobody, kept nowhere, and spoken of once."""

from __future__ import annotations

import sys
from typing import Any

from ..cloud.alibaba.access_key import AccessKey
from ..core.errors import UsageError
from ..core.i18n import _
from ..core.secret import Secret

__all__ = ["key_of", "use_here"]

_warned = False


def key_of(key_id: str | None, secret: str | None, token: str | None, config: Any = None) -> AccessKey | None:
    """The key in these words, or in a `Config` of the official library; None if there is none in either.

    Raises:
        UsageError: if half a key is given, two of them, or a configuration without one.
    """
    if bool(key_id) != bool(secret) or (key_id and config is not None):
        raise UsageError(
            _("A key is access_key_id and access_key_secret together, or credential_config."),
            fix=_("Leave all of them out: keys are found where the `aliyun` command keeps them."),
        )
    if config is not None:
        key_id, secret, token = (
            getattr(config, name, None) for name in ("access_key_id", "access_key_secret", "security_token")
        )
        if not key_id or not secret:
            raise UsageError(
                _("credential_config holds no access key."),
                fix=_("Roles and other sources: make a profile of the `aliyun` command, and name it as `credentials`."),
            )
    return AccessKey(key_id, Secret(secret), Secret(token) if token else None) if key_id and secret else None


def use_here(key: AccessKey) -> None:
    """Let the engine of this process ask with a key, and say what that means."""
    global _warned
    from ..cloud.alibaba.credentials import use_key

    use_key(key)
    if not _warned:
        _warned = True
        # No warning of Python's: that quotes the line of code, and the key in it.
        print(
            _(
                "Keys in code are seen by all who see the code. They are used by this process alone and kept nowhere: "
                "jobs are followed while it runs. Move them to where they are found by themselves: aliyun configure"
            ),
            file=sys.stderr,
        )
