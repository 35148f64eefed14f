"""SettingsFile: one `jupyter_pai.toml`, with the places of what stands in it, changed without losing a comment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from ..core.errors import SettingsError
from ..core.filesystem import replace_file
from ..core.i18n import _

__all__ = ["SettingsFile", "suggestion"]

# The last ones are tables that are no profiles; `settings` and `policy` have their keys.
_TOP = ("default", "profiles", "disk", "tensorboard", "policy")


def suggestion(name: str, names: Any) -> str:
    """What was meant by a name that is not there."""
    near = get_close_matches(name, list(names), 1)
    if near:
        return _("Did you mean `{name}`?").format(name=near[0])
    return _("Known are: {names}.").format(names=", ".join(f"`{known}`" for known in names))


class SettingsFile:
    """One settings file. What tools change in it leaves the user's comments and order alone.

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
            raise SettingsError(_("{file} cannot be read: {error}.").format(file=path, error=error)) from None
        try:
            self.document = tomlkit.parse(self.text)
        except TOMLKitError as error:
            line = int(getattr(error, "line", 0))
            raise SettingsError(
                _("{file}, line {line}: this is not TOML: {error}.").format(file=path, line=line, error=error),
                fix=_("Correct the line, or move the file away."),
                file=str(path),
                line=line,
            ) from None

    def default(self) -> str:
        """The name of the default profile, or nothing."""
        unknown = [key for key in self.document if key not in _TOP]
        if unknown:
            raise self.error(
                _("There is no setting `{key}`.").format(key=unknown[0]),
                unknown[0],
                fix=suggestion(unknown[0], _TOP),
            )
        return str(self.document.get("default", ""))

    def profiles(self) -> dict[str, dict[str, Any]]:
        """The keys of each profile, as written."""
        found = self.document.unwrap().get("profiles", {})
        if not isinstance(found, dict) or not all(isinstance(keys, dict) for keys in found.values()):
            raise self.error(_("Profiles are tables: [profiles.NAME]."), "profiles")
        return found

    def table(self, name: str) -> dict[str, Any]:
        """The keys of a table that is no profile, as written."""
        found = self.document.unwrap().get(name, {})
        if not isinstance(found, dict):
            raise self.error(_("`{name}` is a table: [{name}].").format(name=name), name)
        return found

    def set(self, profile: str, values: Mapping[str, Any]) -> None:
        """Set keys of a profile, which is made if it is new; None removes a key.

        Raises:
            SettingsError: for what TOML cannot hold.
        """
        try:
            self._set(profile, values)
            tomlkit.parse(tomlkit.dumps(self.document).encode())
        except (TOMLKitError, ValueError, TypeError, RecursionError) as error:
            raise SettingsError(
                _("This cannot be written to a settings file: {error}.").format(error=error),
                fix=_("Names and texts are Unicode; values are texts, numbers, true and false, and lists of them."),
            ) from None

    def _set(self, profile: str, values: Mapping[str, Any]) -> None:
        profiles = self.document.setdefault("profiles", tomlkit.table(is_super_table=True))
        table = profiles.setdefault(profile, tomlkit.table())
        for key, value in values.items():
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value

    def set_table(self, name: str, values: Mapping[str, Any]) -> None:
        """Have a table that is no profile say this and nothing else; an empty one goes."""
        if not values:
            self.document.pop(name, None)
            return
        table = self.document.setdefault(name, tomlkit.table())
        for key in [key for key in table if key not in values]:
            del table[key]
        for key, value in values.items():
            table[key] = value

    def remove(self, profile: str) -> None:
        """Remove a profile, and the choice of it as the default."""
        del self.document["profiles"][profile]
        if self.document.get("default") == profile:
            del self.document["default"]

    def set_default(self, profile: str) -> None:
        self.document["default"] = profile

    def save(self) -> None:
        """Replace the file as a whole; only the user may read it.

        Raises:
            SettingsError: if it cannot be written; it stays as it was.
        """
        path = self.path.resolve()  # A link to where somebody keeps their settings stays one.
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(path) as file:
                file.write(tomlkit.dumps(self.document))
        except OSError as error:
            raise SettingsError(
                _("{file} cannot be written: {error}.").format(file=path, error=error.strerror or error),
                fix=_("Make room there, or name another file by JUPYTER_PAI_CONFIG."),
            ) from error

    def error(self, message: str, key: str = "", profile: str = "", fix: str = "") -> SettingsError:
        """An error that names this file and the line of the key."""
        line = self._line(key, profile)
        return SettingsError(
            _("{file}, line {line}: {message}").format(file=self.path, line=line, message=message),
            fix=fix,
            file=str(self.path),
            line=line,
        )

    def _line(self, key: str, profile: str) -> int:
        """Where a key of a profile, or a profile, or a key of the top, is written."""
        here = ""
        header = 1
        for number, line in enumerate(self.text.splitlines(), 1):
            if table := re.match(r"\s*\[\s*(profiles\s*\.\s*)?[\"']?(.+?)[\"']?\s*\]", line):
                here = table[2] if table[1] else f"[{table[2]}]"
                header = number if here == profile else header
            elif here == profile and key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[.=]", line):
                return number
        return header
