"""The settings file, from the models that validate it."""

from __future__ import annotations

from pydantic import BaseModel

from docs.site.reference.tables import fields, head, table
from docs.site.words import word
from jupyter_pai.backends import load_backends
from jupyter_pai.config.policy import PolicyRules
from jupyter_pai.config.settings import DiskSettings, ProfileSettings, TensorBoardSettings

__all__ = ["settings"]

_TITLES = ("key", "kind", "default", "means")
_TABLES: dict[str, type[BaseModel]] = {"disk": DiskSettings, "tensorboard": TensorBoardSettings, "policy": PolicyRules}


def settings(language: str) -> str:
    """Return the page of all keys: of profiles, of each backend, and of the other tables."""
    parts = [head("Settings", language)]

    def add(title: str, model: type[BaseModel] | None, name: str = "", without: type[BaseModel] | None = None) -> None:
        rows = fields(model.model_json_schema(), language) if model else []
        common = {f"`{key}`" for key in without.model_fields} if without else set()
        if rows := [row for row in rows if row[0] not in common]:
            parts.append(f"## {word(title, language).format(name=name)}\n{table(_TITLES, rows, language)}")

    default = word("Name of the default profile.", language)
    parts.append(f'## {word("The key `default`", language)}\n\n`default = "work"`\n\n{default}\n')
    add("All profiles", ProfileSettings)
    for name, kind in load_backends().items():
        add("Profiles of `{name}`", kind.settings_model, name, ProfileSettings)
        add("Credentials of `{name}`", getattr(kind, "credentials_model", None), name)
    for name, model in _TABLES.items():
        add("The table `[{name}]`", model, name)
    return "\n".join(parts)
