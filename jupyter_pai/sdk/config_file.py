"""The SDK's own file with the settings of a session, without keys."""

from __future__ import annotations

import os

from ..core.errors import SettingsError
from ..core.i18n import _

__all__ = ["load_default_config_file"]


def load_default_config_file(config_path: str | os.PathLike[str] | None = None) -> dict[str, str] | None:
    """Return region, workspace, bucket and OSS endpoint from the SDK's own file, as `Session.save_config` writes it;
    None without a file.

    Raises:
        SettingsError: if the file cannot be read.
    """
    from ..cloud.alibaba.account import read_sdk_file, sdk_file

    path = sdk_file(config_path)
    try:
        return read_sdk_file(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SettingsError(
            _("Cannot read {path}: {error}.").format(path=path, error=error), fix=_("Correct the file, or remove it.")
        ) from None
