"""Settings of a folder for Visual Studio Code (`.vscode/settings.json`) about the upload of code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ....core.errors import BadInput, SettingsError
from ....core.i18n import _
from .jsonc import parse_jsonc

__all__ = ["WorkspaceSettings", "read_workspace"]

_FILE = Path(".vscode", "settings.json")
_PREFIX = "pai.job"
_LARGEST = 1 << 20


@dataclass(frozen=True)
class WorkspaceSettings:
    """The settings. A flag is None, and a tuple empty, if the file does not set it.

    `upload`: upload code for jobs of version 1. `include`, `exclude`: globs as `Source` has them, of files to upload;
    .gitignore does not count. `generate_name`: add random characters to the name of a job.
    """

    upload: bool | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    generate_name: bool | None = None


def read_workspace(folder: Path) -> WorkspaceSettings | None:
    """Return the settings of a folder; None if it has none.

    Raises `SettingsError` for a file that cannot be read, or with values of a wrong type.
    """
    path = folder / _FILE
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(_LARGEST)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        message = _("Cannot read `{path}`: {reason}").format(path=path, reason=error)
        raise SettingsError(message, fix=_("Repair the file, or remove it.")) from None
    try:
        values = parse_jsonc(text) if text.strip() else {}
    except BadInput as error:
        raise SettingsError(f"{path}: " + error.message, fix=error.fix) from None
    return _settings(values if isinstance(values, dict) else {}, path)


def _settings(values: dict[str, object], path: Path) -> WorkspaceSettings:
    def flag(name: str) -> bool | None:
        value = values.get(f"{_PREFIX}.{name}")
        if value is not None and not isinstance(value, bool):
            raise _wrong(path, name, _("true or false"))
        return value

    def globs(name: str) -> tuple[str, ...]:
        value = values.get(f"{_PREFIX}.{name}")
        items = [] if value is None else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise _wrong(path, name, _("a list of globs"))
        return tuple(pattern for item in items if item for pattern in _patterns(item))

    return WorkspaceSettings(
        flag("upload.enabled"), globs("upload.include"), globs("upload.exclude"), flag("generateJobName.enabled")
    )


def _wrong(path: Path, name: str, wanted: str) -> SettingsError:
    message = _("`{name}` in `{path}` must be {wanted}.").format(name=f"{_PREFIX}.{name}", path=path, wanted=wanted)
    return SettingsError(message, fix=_("Change the value, or remove it."))


def _patterns(glob: str) -> list[str]:
    """Return a glob as patterns of git: it begins at the folder, and braces are alternatives."""
    start = glob.find("{")
    end = glob.find("}", start)
    if 0 <= start < end:
        parts = glob[start + 1 : end].split(",")
        return [one for part in parts for one in _patterns(glob[:start] + part + glob[end + 1 :])]
    return ["/" + glob.removeprefix("./").lstrip("/")]
