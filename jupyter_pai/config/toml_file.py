"""A settings file, `jupyter_pai.toml`: errors with line numbers, and edits that keep comments."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.cleanup import on_failure
from ..core.errors import SettingsError
from ..core.filesystem import replace_file
from ..core.i18n import _
from ..core.text import closest, show_size

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

T = TypeVar("T")

# Names and values of one change, and their characters: the time of an edit grows with the square of their number.
_MOST_VALUES, _LARGEST = 500, 100_000

NAME = "jupyter_pai.toml"
SYSTEM_FILE = Path("/etc/jupyter") / NAME

# The last ones are tables other than profiles; `settings` and `policy` define their keys.
_TOP = ("default", "profiles", "disk", "tensorboard", "policy")


def suggestion(name: str, names: Any) -> str:
    """Return a suggestion for an unknown name."""
    if near := closest(name, names):
        return _("Did you mean `{name}`?").format(name=near)
    return _("Known: {names}.").format(names=", ".join(f"`{known}`" for known in names))


def user_file() -> Path:
    """Return the path of the user's settings file, which may not exist."""
    if named := os.environ.get("JUPYTER_PAI_CONFIG"):
        return Path(named).expanduser()
    from jupyter_core.paths import jupyter_config_dir

    return Path(jupyter_config_dir()) / NAME


class SettingsFile:
    """One settings file. Edits keep the user's comments and order.

    Raises:
        SettingsError: if it is not TOML, naming the line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text("utf-8")
        except FileNotFoundError:
            self.text = ""
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(_("Cannot read {file}: {error}.").format(file=path, error=error)) from None
        try:
            self.values = tomllib.loads(self.text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            # Only newer versions of Python have the line as an attribute.
            position = re.search(r"\(at line (\d+)", str(error))
            line = int(position[1]) if position else len(self.text.splitlines())
            raise SettingsError(
                _("{file}, line {line}: invalid TOML: {error}.").format(file=path, line=line, error=error),
                fix=_("Correct the line, or move the file away."),
                file=str(path),
                line=line,
            ) from None

    @cached_property
    def document(self) -> TOMLDocument:
        """The document to edit, with its comments."""
        # Only edits need the import.
        import tomlkit

        return tomlkit.parse(self.text)

    def default(self) -> str:
        """Return the name of the default profile, or an empty string."""
        for key in self.values:
            if key not in _TOP:
                raise self.error(_("Unknown setting `{key}`.").format(key=key), key, fix=suggestion(key, _TOP))
        return str(self.values.get("default", ""))

    def profiles(self) -> dict[str, dict[str, Any]]:
        """Return the keys of each profile, as written."""
        profiles = self.values.get("profiles", {})
        if not isinstance(profiles, dict) or not all(isinstance(keys, dict) for keys in profiles.values()):
            raise self.error(_("Profiles must be tables: [profiles.NAME]."), "profiles")
        return profiles

    def table(self, name: str) -> dict[str, Any]:
        """Return the keys of a table other than a profile, as written."""
        table = self.values.get(name, {})
        if not isinstance(table, dict):
            raise self.error(_("`{name}` must be a table: [{name}].").format(name=name), name)
        return table

    def set(self, profile: str, values: Mapping[str, Any]) -> None:
        """Set keys of a profile, creating it if necessary. None removes a key. `mounts.data` is the key `data` of the
        table `mounts`, which is removed with its last key.

        Raises:
            SettingsError: if a value cannot be represented in TOML, or the values are too many or too large.
        """
        _check_size(values)
        try:
            profiles = self.document.setdefault("profiles", {})
            table = profiles.setdefault(profile, {})
            for key, value in values.items():
                _set(table, key, value)
            # Encoded as in the file: lone surrogates are an error.
            tomllib.loads(self.document.as_string().encode().decode())
        except (ValueError, TypeError, RecursionError) as error:
            raise SettingsError(
                _("Cannot write this to a settings file: {error}.").format(error=error),
                fix=_("Names and texts must be Unicode. Values must be text, numbers, booleans or lists of these."),
            ) from None

    def set_table(self, name: str, values: Mapping[str, Any]) -> None:
        """Replace the keys of a table other than a profile. An empty table is removed."""
        if not values:
            self.document.pop(name, None)
            return
        table = self.document.setdefault(name, {})
        for key in [key for key in table if key not in values]:
            del table[key]
        table.update(values)

    def remove(self, profile: str) -> None:
        """Remove a profile. If it is the default, remove that setting too."""
        del self.document["profiles"][profile]
        if self.document.get("default") == profile:
            del self.document["default"]

    def save(self) -> None:
        """Replace the file atomically with mode 0600.

        Raises:
            SettingsError: if it cannot be written. It is unchanged then.
        """
        path = self.path.resolve()  # Keep a symbolic link and replace its target.
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(path) as file:
                file.write(self.document.as_string())
        except OSError as error:
            raise SettingsError(
                _("Cannot write {file}: {error}.").format(file=path, error=error.strerror or error),
                fix=_("Free disk space, or set JUPYTER_PAI_CONFIG to another file."),
            ) from error

    def save_checked(self, check: Callable[[], T]) -> T:
        """Save the file and return the result of `check`, which loads it. If that fails, the old text is restored.

        Raises:
            SettingsError: if the file cannot be written.
        """
        before = self.text
        self.save()
        with on_failure(lambda: self.path.resolve().write_text(before, "utf-8")):
            return check()

    def error(self, message: str, key: str = "", profile: str = "", fix: str = "") -> SettingsError:
        """Return an error with the file and the line of the key."""
        line = self._line(key, profile)
        return SettingsError(
            _("{file}, line {line}: {message}").format(file=self.path, line=line, message=message),
            fix=fix,
            file=str(self.path),
            line=line,
        )

    def _line(self, key: str, profile: str) -> int:
        """Return the line of a key in a profile, of a profile, or of a top-level key."""
        here = ""
        header = 1
        for number, line in enumerate(self.text.splitlines(), 1):
            if table := re.match(r"\s*\[\s*(profiles\s*\.\s*)?[\"']?(.+?)[\"']?\s*\]", line):
                here = table[2] if table[1] else f"[{table[2]}]"
                header = number if here == profile else header
            elif here == profile and key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[.=]", line):
                return number
        return header


def _check_size(values: Mapping[str, Any]) -> None:
    waiting: list[Any] = [values]
    size = 0
    for value in waiting:  # The list grows while it is read.
        if isinstance(value, Mapping):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value
        else:
            size += len(str(value))
        if len(waiting) > _MOST_VALUES or size > _LARGEST:
            text = _("The settings are too large: one change may have {values} names and values, of {size} together.")
            raise SettingsError(text.format(values=_MOST_VALUES, size=show_size(_LARGEST)))


def _set(table: Any, key: str, value: Any) -> None:
    """Set or remove a key of a TOML table, or of a table in it."""
    name, dot, inner = key.partition(".")
    if not dot or not isinstance(table.get(name, {}), Mapping):
        _set_plain(table, key, value)
        return
    if name not in table:
        import tomlkit

        table[name] = tomlkit.inline_table()
    _set_plain(table[name], inner, value)
    if not table[name]:
        table.pop(name)


def _set_plain(table: Any, key: str, value: Any) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value
