"""Settings: profiles from `jupyter_pai.toml`.

    default = "work"

    [profiles.work]
    backend = "local"
    max_run_time = 3600

    [disk]
    limit = "50GB"

The file is the one that ``JUPYTER_PAI_CONFIG`` names, else the one in Jupyter's config folder; beneath it lies that of
the administrator in ``/etc/jupyter``. A profile that both have takes each key from the upper file. Without any file
there is the profile `local`.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tomlkit.exceptions import TOMLKitError

from .errors import NotFound, SettingsError
from .i18n import _

__all__ = ["DiskSettings", "Profile", "ProfileSettings", "Settings", "SettingsFile", "edit", "load", "user_file"]

NAME = "jupyter_pai.toml"
SYSTEM_FILE = Path("/etc/jupyter") / NAME
_TOP = ("default", "profiles", "disk")
# A table that is no profile.
_DISK = "[disk]"


class ProfileSettings(BaseModel):
    """The keys that a profile may have on every backend; a backend's own model adds to them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: str
    default_instance_type: str = Field("", description="Instance type of jobs that name none.")
    default_image: str = Field("", description="Image of jobs that name none.")
    default_output: str = Field("", description="Where outputs go: a URI; each job gets a folder below it.")
    source_limit: str = Field("100MB", description="How large a folder of code may be.")


class DiskSettings(BaseModel):
    """The table `[disk]`: what the state folder may take."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    limit: str = Field(
        "",
        pattern=r"(?i)^\s*(\d+(\.\d+)?\s*([KMGT]i?)?B?)?\s*$",
        description="Above this, submitting and `doctor` say how to make room; else 20GB, of small disks a tenth.",
    )
    environment_days: float = Field(30, gt=0, description="Days after which an environment that no job used goes.")


@dataclass(frozen=True)
class Profile:
    """A named set of a backend's settings. `file` is where it is written; None for one that needs no file."""

    name: str
    settings: ProfileSettings
    file: Path | None = None

    @property
    def backend(self) -> str:
        return self.settings.backend


@dataclass(frozen=True)
class Settings:
    """All profiles, the name of the default one, and what is true of all."""

    profiles: dict[str, Profile]
    default: str
    disk: DiskSettings

    def pick(self, profile: str = "", backend: str = "") -> Profile:
        """The profile of that name; that backend's default one; the default one.

        A backend's default profile is the default one if it is of that backend, else the one named like the backend,
        else its first.

        Raises:
            NotFound: naming what was meant.
        """
        if profile:
            if profile not in self.profiles:
                raise NotFound(
                    _("There is no profile `{name}`.").format(name=profile), fix=_similar(profile, self.profiles)
                )
            return self.profiles[profile]
        if not backend:
            return self.profiles[self.default]
        of_backend = [name for name, found in self.profiles.items() if found.backend == backend]
        if not of_backend:
            backends = sorted({found.backend for found in self.profiles.values()})
            raise NotFound(
                _("No profile has the backend `{name}`.").format(name=backend), fix=_similar(backend, backends)
            )
        return self.profiles[next((n for n in (self.default, backend) if n in of_backend), of_backend[0])]


def user_file() -> Path:
    """The user's own settings file; need not exist."""
    if named := os.environ.get("JUPYTER_PAI_CONFIG"):
        return Path(named).expanduser()
    from jupyter_core.paths import jupyter_config_dir

    return Path(jupyter_config_dir()) / NAME


def load(models: Mapping[str, type[ProfileSettings]]) -> Settings:
    """The settings, checked against each backend's model.

    Raises:
        SettingsError: naming the file and the line.
    """
    files = [SettingsFile(path) for path in (SYSTEM_FILE, user_file())]
    merged: dict[str, dict[str, Any]] = {"local": {"backend": "local"}}
    where: dict[str, list[SettingsFile]] = {}
    default = "local"
    for file in files:
        for name, keys in file.profiles().items():
            merged[name] = merged.get(name, {}) | keys
            where.setdefault(name, []).append(file)
        default = file.default() or default
    profiles = {name: _profile(name, keys, where.get(name, []), models) for name, keys in merged.items()}
    if default not in profiles:
        file = next(file for file in reversed(files) if file.default())
        raise file.error(
            _("The default profile `{name}` is not there.").format(name=default),
            "default",
            fix=_similar(default, profiles),
        )
    return Settings(profiles, default, _disk(files))


def edit(
    models: Mapping[str, type[ProfileSettings]], profile: str, values: Mapping[str, Any] | None, default: bool
) -> Settings:
    """Change a profile in the user's file: set keys (None removes one), make it the default; without either, remove it.

    Raises:
        SettingsError: if the settings would be wrong then; the file stays as it was.
        NotFound: if a profile is to be removed that the file does not have.
    """
    path = user_file()
    file = SettingsFile(path)
    if values is not None:
        file.set(profile, values)
    elif not default:
        if profile not in file.profiles():
            raise NotFound(
                _("There is no profile `{name}` in {file}.").format(name=profile, file=path),
                fix=_similar(profile, file.profiles()) if file.profiles() else "",
            )
        file.remove(profile)
    if default:
        file.set_default(profile)
    before = file.text
    file.save()
    try:
        return load(models)
    except Exception:  # Whatever is wrong with it: what cannot be loaded must not stay.
        path.resolve().write_text(before, "utf-8")
        raise


def _profile(
    name: str, keys: dict[str, Any], files: list[SettingsFile], models: Mapping[str, type[ProfileSettings]]
) -> Profile:
    if not files:
        return Profile(name, models[keys["backend"]].model_validate(keys))

    def saying(key: str) -> SettingsFile:
        return next((file for file in reversed(files) if key in file.profiles()[name]), files[-1])

    backend = keys.get("backend")
    if not isinstance(backend, str) or backend not in models:
        raise saying("backend").error(
            _("The profile `{profile}` has the unknown backend `{backend}`.").format(profile=name, backend=backend)
            if backend
            else _("The profile `{profile}` names no backend.").format(profile=name),
            "backend" if backend else "",
            name,
            fix=_similar(str(backend or ""), models),
        )
    try:
        return Profile(name, models[backend].model_validate(keys), files[-1].path)
    except ValidationError as error:
        fault = error.errors()[0]
        key = str(fault["loc"][0])
        if fault["type"] == "extra_forbidden":
            raise saying(key).error(
                _("The backend `{backend}` has no key `{key}`.").format(backend=backend, key=key),
                key,
                name,
                fix=_similar(key, models[backend].model_fields),
            ) from None
        raise saying(key).error(f"{key}: {fault['msg']}.", key, name) from None


def _disk(files: list[SettingsFile]) -> DiskSettings:
    tables = [file.disk() for file in files]
    try:
        return DiskSettings.model_validate({key: value for table in tables for key, value in table.items()})
    except ValidationError as error:
        fault = error.errors()[0]
        key = str(fault["loc"][0])
        file = next(file for file, table in zip(reversed(files), reversed(tables), strict=True) if key in table)
        known = fault["type"] != "extra_forbidden"
        raise file.error(
            f"{key}: {fault['msg']}." if known else _("There is no setting `{key}`.").format(key=f"disk.{key}"),
            key,
            _DISK,
            fix="" if known else _similar(key, DiskSettings.model_fields),
        ) from None


def _similar(name: str, names: Any) -> str:
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
                fix=_similar(unknown[0], _TOP),
            )
        return str(self.document.get("default", ""))

    def profiles(self) -> dict[str, dict[str, Any]]:
        """The keys of each profile, as written."""
        found = self.document.unwrap().get("profiles", {})
        if not isinstance(found, dict) or not all(isinstance(keys, dict) for keys in found.values()):
            raise self.error(_("Profiles are tables: [profiles.NAME]."), "profiles")
        return found

    def disk(self) -> dict[str, Any]:
        """The keys of `[disk]`, as written."""
        found = self.document.unwrap().get("disk", {})
        if not isinstance(found, dict):
            raise self.error(_("`disk` is a table: [disk]."), "disk")
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
        temporary = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file, temporary = tempfile.mkstemp(dir=path.parent, suffix=".new")
            with os.fdopen(file, "w", encoding="utf-8") as target:
                target.write(tomlkit.dumps(self.document))
            os.replace(temporary, path)
        except OSError as error:
            if temporary:
                Path(temporary).unlink(missing_ok=True)
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
