"""The engine's verbs about the page itself: its texts, the tutorials that it opens, the settings that it shows."""

from __future__ import annotations

import asyncio
from typing import Any

from ..config import engine_settings as settings_tables
from ..config.engine_settings import EngineTables
from ..core import i18n
from ..core.errors import Unsupported
from ..core.i18n import _
from ..engine import tutorials
from ..engine.requests import TutorialPlace, parse
from .outputs import OutputVerbs

__all__ = ["PageVerbs"]

_FOLDER = "pai-tutorials"


class PageVerbs(OutputVerbs):
    """A part of `api.Api`."""

    async def catalogue(self, language: str = "") -> dict[str, Any]:
        tag = language or i18n.language()
        return {"language": tag, "texts": await asyncio.to_thread(i18n.catalogue, tag)}

    async def engine_settings(self) -> dict[str, Any]:
        return await asyncio.to_thread(settings_tables.describe_tables)

    async def set_engine_settings(self, body: object) -> dict[str, Any]:
        tables = parse(EngineTables, body)
        await asyncio.to_thread(settings_tables.write_tables, tables, self.service.profiles.settings)
        return await self.engine_settings()

    async def give_tutorials(self, body: object) -> dict[str, Any]:
        asked = parse(TutorialPlace, body)
        if self.root is None:
            raise Unsupported(
                _("The files that JupyterLab shows are not on the server's machine."),
                fix=_("Run %pai tutorial in a notebook."),
            )
        folder = self.root.within(f"{asked.folder}/{_FOLDER}")
        language = i18n.language()
        given = await asyncio.to_thread(tutorials.give, folder, language)
        first = tutorials.FIRST[language]
        return {"folder": str(folder), "place": self._place(folder), "first": first, "given": given}
