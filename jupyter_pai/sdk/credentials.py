"""Access keys passed in code. Only this process uses them; they are never stored. A warning is printed once."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from ..client.printing import print_line
from ..cloud.keys import AccessKey
from ..core.errors import UsageError
from ..core.i18n import _
from ..core.secret import Secret

__all__ = ["InvalidKey", "access_key", "use_in_this_process", "warn_of_keys"]


class InvalidKey(UsageError, ValueError):
    """An access key in code that is incomplete, or given twice."""


def access_key(key_id: str | None, secret: str | None, token: str | None, config: Any = None) -> AccessKey | None:
    """Return the access key in these arguments, or in a `Config` of the official library; None if neither has one.

    Raises:
        InvalidKey: if the key is incomplete, passed twice, or missing from the configuration.
    """
    if bool(key_id) != bool(secret) or (key_id and config is not None):
        raise InvalidKey(
            _("Pass both access_key_id and access_key_secret, or credential_config."),
            fix=_("Omit them to use the credentials of the `aliyun` command."),
        )
    if config is not None:
        key_id, secret, token = (
            getattr(config, name, None) for name in ("access_key_id", "access_key_secret", "security_token")
        )
        if not key_id or not secret:
            raise InvalidKey(
                _("credential_config does not contain an access key."),
                fix=_(
                    "For roles and other sources, create a profile of the `aliyun` command and set it as `credentials`."
                ),
            )
    return AccessKey(key_id, Secret(secret), Secret(token) if token else None) if key_id and secret else None


def use_in_this_process(key: AccessKey) -> None:
    """Use a key in this process's engine, and print a warning about keys in code."""
    from ..cloud.alibaba.credentials import use_key

    use_key(key)
    warn_of_keys("aliyun configure")


@cache
def warn_of_keys(command: str) -> None:
    """Print a warning about keys in code, once. `command` stores them securely."""
    # Not `warnings.warn`, which prints the line of code with the key.
    print_line(
        _(
            "Keys in code are visible to everyone who can read the code. Only this process uses these keys, and "
            "follows jobs only while it runs. To store them securely, run: {command}"
        ).format(command=command),
        sys.stderr,
    )
