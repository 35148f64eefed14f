"""The tables of the settings that are no profile, as a form shows and changes them: how much is kept, and how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict

from . import settings
from .settings import DiskSettings, TensorBoardSettings
from .toml_file import SettingsFile

__all__ = ["EngineTables", "describe_tables", "write_tables"]


class EngineTables(BaseModel):
    """What the user's own file is to say; what is left out is taken out of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    disk: DiskSettings = DiskSettings()
    tensorboard: TensorBoardSettings = TensorBoardSettings()


def describe_tables() -> dict[str, Any]:
    """The user's file, what it says, and what counts where it says nothing.

    Raises:
        SettingsError: naming file and line.
    """
    own, system = SettingsFile(settings.user_file()), SettingsFile(settings.SYSTEM_FILE)
    names = list(EngineTables.model_fields)
    beneath = EngineTables.model_validate({name: system.table(name) for name in names})
    return {
        "file": str(own.path),
        "values": {name: own.table(name) for name in names},
        "defaults": beneath.model_dump(mode="json"),
    }


def write_tables(tables: EngineTables, check: Callable[[], object]) -> None:
    """Write them into the user's file, whose comments and other keys stay. `check` loads the settings.

    Raises:
        SettingsError: if they would be wrong then, or cannot be written; the file stays as it was.
    """
    file = SettingsFile(settings.user_file())
    before = file.text
    for name, values in tables.model_dump(mode="json", exclude_unset=True).items():
        file.set_table(name, {key: value for key, value in values.items() if value != ""})
    for name in set(EngineTables.model_fields) - tables.model_fields_set:
        file.set_table(name, {})
    file.save()
    try:
        check()
    except Exception:  # Whatever is wrong with it: what cannot be loaded must not stay.
        file.path.resolve().write_text(before, "utf-8")
        raise
