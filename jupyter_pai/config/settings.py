"""Settings: profiles from `jupyter_pai.toml`.

    default = "work"

    [profiles.work]
    backend = "local"
    max_run_time = 3600

    [disk]
    limit = "50GB"

    [tensorboard]
    idle_minutes = 120

The user's file is `JUPYTER_PAI_CONFIG`, or `jupyter_pai.toml` in Jupyter's config folder. It is layered on the
administrator's file in `/etc/jupyter`, the only one with a table `[policy]` (`policy.PolicyRules`). For a profile in
both files, each key of the user's file takes precedence. Without any file, the profiles are `local` and one per backend
that finds its keys on this machine (`Backend.discover`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from ..core.errors import NotFound, SettingsError
from ..core.field_errors import PICKED, validation_errors
from ..core.i18n import N_, _
from ..core.plugins import PluginError
from ..core.text import size_or_nothing
from .policy import Policy, PolicyRules
from .toml_file import SYSTEM_FILE, SettingsFile, suggestion, user_file

# Marks a key that a profile usually needs (`Field(json_schema_extra=IMPORTANT)`). Forms show it first.
IMPORTANT: dict[str, JsonValue] = {"x-important": True}


def picked_from(name: str) -> dict[str, JsonValue]:
    """Mark a text of a backend's settings or options that is picked from a list of the platform, by
    ``Field(json_schema_extra=picked_from("queues"))``. `Backend.choices` returns the list."""
    return {PICKED: name}


M = TypeVar("M", bound=BaseModel)


class ProfileSettings(BaseModel):
    """The profile keys common to all backends. The model of a backend adds its own.

    The model of a backend is built when a profile uses it, since each one takes memory.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    backend: str = Field(title=N_("Platform"), description=N_("Platform that runs the jobs of this profile."))
    default_instance_type: str = Field(
        "",
        title=N_("Default instance type"),
        description=N_("Instance type of jobs that do not set one."),
        json_schema_extra=picked_from("instance_types"),
    )
    default_image: str = Field("", title=N_("Default image"), description=N_("Image of jobs that do not set one."))
    default_output: str = Field(
        "",
        title=N_("Default output folder"),
        description=N_("URI of the folder for outputs. Each job gets a subfolder."),
    )
    source_limit: str = Field("100MB", title=N_("Code size limit"), description=N_("Maximum size of a code folder."))
    own_credentials: str = Field(
        "",
        title=N_("Own credentials"),
        description=N_("Reference to stored credentials, set by `profile login`."),
    )


class DiskSettings(BaseModel):
    """The table `[disk]`: limits of the state folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    limit: Annotated[str, AfterValidator(size_or_nothing)] = Field(
        "",
        description=N_("Disk usage above which `submit` and `doctor` warn. Default: 20 GB, or 10 % of a smaller disk."),
    )
    environment_days: float = Field(
        30, gt=0, description=N_("Days after which unused environments and downloaded inputs are deleted.")
    )


class TensorBoardSettings(BaseModel):
    """The table `[tensorboard]`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    idle_minutes: float = Field(30, gt=0, description=N_("Minutes after which an idle TensorBoard is stopped."))


@dataclass(frozen=True)
class Profile:
    """Named settings of a backend. `file` is the file that contains them; None for a profile without a file."""

    name: str
    settings: ProfileSettings
    file: Path | None = None

    @property
    def backend(self) -> str:
        return self.settings.backend


@dataclass(frozen=True)
class Settings:
    """All profiles, the name of the default profile, the common tables, and the settings keys of each backend.

    `locked` are the profiles that the user may not change. `broken` has the plug-ins that cannot be used, by backend.
    """

    profiles: dict[str, Profile]
    default: str
    disk: DiskSettings
    tensorboard: TensorBoardSettings
    backends: Mapping[str, Sequence[str]]
    policy: Policy
    locked: Set[str]
    broken: Mapping[str, PluginError] = field(default_factory=dict)

    def pick(self, profile: str = "", backend: str = "") -> Profile:
        """Return a profile by name, the default profile of a backend, or the default profile.

        The default profile of a backend is the overall default if it has this backend, else the profile named like the
        backend, else the backend's first profile.

        Raises:
            NotFound: with a suggestion.
        """
        if profile:
            if profile not in self.profiles:
                raise NotFound(
                    _("Unknown profile `{name}`.").format(name=profile), fix=suggestion(profile, self.profiles)
                )
            return self.profiles[profile]
        if not backend:
            return self.profiles[self.default]
        if backend in self.broken:
            raise NotFound(self.broken[backend].message, fix=self.broken[backend].fix)
        if backend not in self.backends:
            raise NotFound(_("Unknown backend `{name}`.").format(name=backend), fix=suggestion(backend, self.backends))
        of_backend = [name for name, candidate in self.profiles.items() if candidate.backend == backend]
        if not of_backend:
            keys = ", ".join(self.backends[backend])
            raise NotFound(
                _("No profile uses the backend `{name}`.").format(name=backend),
                fix=_("Add a profile: %pai profile set {name} KEY=VALUE …  Keys: {keys}.").format(
                    name=backend, keys=keys
                ),
            )
        return self.profiles[next((n for n in (self.default, backend) if n in of_backend), of_backend[0])]


def policy(system: Path = SYSTEM_FILE) -> Policy:
    """Return the policy of the administrator's file `system`, which allows everything by default.

    Raises:
        SettingsError: naming the file and the line.
    """
    return Policy(_table([SettingsFile(system)], "policy", PolicyRules), system)


def load(
    models: Mapping[str, type[ProfileSettings]],
    discovered: Mapping[str, Mapping[str, Any]] | None = None,
    system: Path = SYSTEM_FILE,
    broken: Mapping[str, PluginError] | None = None,
) -> Settings:
    """Load the settings and validate them with each backend's model.

    `discovered` has the keys of profiles that need no file, by backend. A profile named like a backend may omit
    `backend`. `system` is the administrator's file. `broken` has the plug-ins that cannot be used, by backend.

    Raises:
        SettingsError: naming the file and the line.
    """
    flaws = {name: flaw for name, flaw in (broken or {}).items() if name not in models}
    files = [SettingsFile(path) for path in (system, user_file())]
    rules = Policy(_table(files[:1], "policy", PolicyRules), system)
    locked = _locked(files[0], rules)
    _check_own(files[1], files[0], rules, locked)
    merged: dict[str, dict[str, Any]] = {"local": {"backend": "local"}} | _ready(models, discovered or {}, files)
    where: dict[str, list[SettingsFile]] = {}
    default = "local"
    for file in files:
        for name, keys in file.profiles().items():
            own = {"backend": name} if name in models else {}
            merged[name] = own | merged.get(name, {}) | keys
            where.setdefault(name, []).append(file)
        default = file.default() or default
    written = {name: _profile(name, keys, where.get(name, []), models, flaws) for name, keys in merged.items()}
    profiles = {name: replace(profile, settings=rules.capped(profile.settings)) for name, profile in written.items()}
    if default not in profiles:
        file = next(file for file in reversed(files) if file.default())
        raise file.error(
            _("The default profile `{name}` does not exist.").format(name=default),
            "default",
            fix=suggestion(default, profiles),
        )
    disk, tensorboard = _table(files, "disk", DiskSettings), _table(files, "tensorboard", TensorBoardSettings)
    backends = {name: [key for key in model.model_fields if key != "backend"] for name, model in models.items()}
    return Settings(profiles, default, disk, tensorboard, backends, rules, locked, flaws)


def edit(
    models: Mapping[str, type[ProfileSettings]],
    profile: str,
    values: Mapping[str, Any] | None,
    default: bool,
    discovered: Mapping[str, Mapping[str, Any]] | None = None,
    system: Path = SYSTEM_FILE,
    broken: Mapping[str, PluginError] | None = None,
) -> Settings:
    """Change a profile in the user's file: set keys (None removes one), make it the default, or remove it if neither is
    given.

    Raises:
        SettingsError: if the new settings are invalid. The file is unchanged then.
        NotFound: if the profile to remove is not in the file.
        NotAllowed: if the administrator has locked it.
    """
    path = user_file()
    file = SettingsFile(path)
    if values is not None or not default:
        policy(system).check_change(profile, SettingsFile(system).profiles())
    if values is not None:
        file.set(profile, values)
    elif not default:
        if profile not in file.profiles():
            raise NotFound(
                _("Unknown profile `{name}` in {file}.").format(name=profile, file=path),
                fix=suggestion(profile, file.profiles()) if file.profiles() else "",
            )
        file.remove(profile)
    if default:
        file.document["default"] = profile
    return file.save_checked(lambda: load(models, discovered, system, broken))


def _locked(system: SettingsFile, rules: Policy) -> set[str]:
    """Return the locked profiles.

    Raises:
        SettingsError: if a locked profile does not exist, which is a mistake of the administrator.
    """
    names = system.profiles()
    for name in rules.rules.locked:
        if not set("*?[") & set(name) and name not in names:
            text = _("Cannot lock the profile `{name}`, which does not exist in this file.").format(name=name)
            raise system.error(text, "locked", "[policy]")
    return rules.locked(names)


def _check_own(own: SettingsFile, system: SettingsFile, rules: Policy, locked: Set[str]) -> None:
    """Reject keys that a user's file may not contain.

    Raises:
        SettingsError: naming the line.
    """
    if own.path.resolve() == system.path.resolve():
        return
    take_out = _("Remove it.")
    if "policy" in own.values:
        header = "[policy]" if re.search(r"^\s*\[\s*policy\s*\]", own.text, re.MULTILINE) else ""
        text = _("A [policy] is only allowed in the administrator's file {file}.").format(file=system.path)
        raise own.error(text, "" if header else "policy", header, fix=take_out)
    if mine := next((name for name in own.profiles() if name in locked), ""):
        refused = rules.locked_refusal(mine)
        raise own.error(refused.message, "", mine, fix=f"{take_out} {refused.fix}")


def _ready(
    models: Mapping[str, type[ProfileSettings]],
    discovered: Mapping[str, Mapping[str, Any]],
    files: list[SettingsFile],
) -> dict[str, dict[str, Any]]:
    """Return the valid discovered profiles, except names that a file uses for another backend."""
    taken = {name for file in files for name, keys in file.profiles().items() if keys.get("backend", name) != name}
    profiles = {name: {"backend": name, **keys} for name, keys in discovered.items() if name not in taken}
    return {name: keys for name, keys in profiles.items() if _fits(models[name], keys)}


def _fits(model: type[ProfileSettings], keys: Mapping[str, Any]) -> bool:
    with suppress(ValidationError):
        return bool(model.model_validate(keys))
    return False


def _profile(
    name: str,
    keys: dict[str, Any],
    files: list[SettingsFile],
    models: Mapping[str, type[ProfileSettings]],
    broken: Mapping[str, PluginError],
) -> Profile:
    if not files:
        return Profile(name, models[keys["backend"]].model_validate(keys))

    def source(key: str) -> SettingsFile:
        return next((file for file in reversed(files) if key in file.profiles()[name]), files[-1])

    backend = keys.get("backend") or (name if name in broken else None)
    if isinstance(backend, str) and backend in broken:
        key = "backend" if "backend" in keys else ""
        raise source("backend").error(broken[backend].message, key, name, fix=broken[backend].fix)
    if not isinstance(backend, str) or backend not in models:
        raise source("backend").error(
            _("Profile `{profile}` has an unknown backend `{backend}`.").format(profile=name, backend=backend)
            if backend
            else _("Profile `{profile}` has no `backend` key.").format(profile=name),
            "backend" if backend else "",
            name,
            fix=" ".join(
                (suggestion(str(backend or ""), models), _("If it belongs to a plug-in, install the plug-in."))
            ),
        )
    try:
        return Profile(name, models[backend].model_validate(keys), files[-1].path)
    except ValidationError as error:
        unknown = _("The backend `{backend}` does not have a key `{key}`.").replace("{backend}", backend)
        refused = _invalid(error, models[backend], name, unknown, source)
        faults = validation_errors(error, fields=list(models[backend].model_fields))
        refused.details |= {"profile": name, "faults": faults}
        raise refused from None


def _invalid(
    error: ValidationError, model: type[BaseModel], table: str, unknown: str, source: Callable[[str], SettingsFile]
) -> SettingsError:
    """Return the error for an invalid table: its first fault, with file and line. `source` returns the file that sets a
    key."""
    fault = error.errors()[0]
    key = str(fault["loc"][0])
    if fault["type"] == "extra_forbidden":
        return source(key).error(unknown.format(key=key), key, table, fix=suggestion(key, model.model_fields))
    return source(key).error(f"{key}: {fault['msg'].removeprefix('Value error, ')}.", key, table)


def _table(files: list[SettingsFile], name: str, model: type[M]) -> M:
    """Merge and validate a table that is not a profile."""
    try:
        return model.model_validate({key: value for file in files for key, value in file.table(name).items()})
    except ValidationError as error:
        unknown = _("Unknown setting `{key}`.").replace("{key}", f"{name}.{{key}}")
        raise _invalid(
            error, model, f"[{name}]", unknown, lambda key: [file for file in files if key in file.table(name)][-1]
        ) from None


class EngineTables(BaseModel):
    """The tables of the user's own file. Omitted keys are removed from it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    disk: DiskSettings = DiskSettings()
    tensorboard: TensorBoardSettings = TensorBoardSettings()


def describe_tables(system_file: Path = SYSTEM_FILE) -> dict[str, Any]:
    """Return the path of the user's file, its values, and the defaults for omitted keys.

    Raises:
        SettingsError: naming file and line.
    """
    own, system = SettingsFile(user_file()), SettingsFile(system_file)
    names = list(EngineTables.model_fields)
    beneath = EngineTables.model_validate({name: system.table(name) for name in names})
    return {
        "file": str(own.path),
        "values": {name: own.table(name) for name in names},
        "defaults": beneath.model_dump(mode="json"),
    }


def write_tables(tables: EngineTables, check: Callable[[], object]) -> None:
    """Write the tables into the user's file, keeping comments and other keys. `check` loads the settings.

    Raises:
        SettingsError: if the new settings are invalid or cannot be written. The file is unchanged then.
    """
    file = SettingsFile(user_file())
    for name, values in tables.model_dump(mode="json", exclude_unset=True).items():
        file.set_table(name, {key: value for key, value in values.items() if value != ""})
    for name in set(EngineTables.model_fields) - tables.model_fields_set:
        file.set_table(name, {})
    file.save_checked(check)
