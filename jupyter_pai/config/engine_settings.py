"""The settings tables that are not profiles, for the settings form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from . import settings
from .settings import DiskSettings, TensorBoardSettings
from .toml_file import SettingsFile


class EngineTables(BaseModel):
    """The tables of the user's own file. Omitted keys are removed from it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    disk: DiskSettings = DiskSettings()
    tensorboard: TensorBoardSettings = TensorBoardSettings()


def describe_tables(system_file: Path = settings.SYSTEM_FILE) -> dict[str, Any]:
    """Return the path of the user's file, its values, and the defaults for omitted keys.

    Raises:
        SettingsError: naming file and line.
    """
    own, system = SettingsFile(settings.user_file()), SettingsFile(system_file)
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
    file = SettingsFile(settings.user_file())
    for name, values in tables.model_dump(mode="json", exclude_unset=True).items():
        file.set_table(name, {key: value for key, value in values.items() if value != ""})
    for name in set(EngineTables.model_fields) - tables.model_fields_set:
        file.set_table(name, {})
    file.save_checked(check)
