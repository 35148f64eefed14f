"""Lists of values that platforms have returned for fields: one file per profile in the state folder.

Light: completion in a shell reads them.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from ..core.errors import DAMAGED
from ..core.filesystem import replace_file


class StoredChoices(NamedTuple):
    """A list: the Unix time at which the platform returned it, the descriptions by value, the number of values that the
    policy excluded, and the dotted paths of the list's fields in a spec's options and in the settings of a profile."""

    time: float
    choices: dict[str, str]
    left_out: int
    options: list[str]
    settings: list[str]


def stored_choices(folder: Path, profile: str, account: str = "") -> dict[str, StoredChoices]:
    """Return the lists of a profile by name; none if there are none, or if they are those of another `account`."""
    with suppress(*DAMAGED):
        values = json.loads(_file(folder, profile).read_text("utf-8"))
        if account in ("", values["account"]):
            return {name: StoredChoices(**fields) for name, fields in values["lists"].items()}
    return {}


def profiles_with_choices(folder: Path) -> list[str]:
    """Return the profiles that have lists."""
    return sorted(unquote(path.stem) for path in folder.glob("*.json"))


def store_choices(folder: Path, profile: str, account: str, name: str, choices: StoredChoices) -> None:
    """Store a list of a profile. `account` identifies its settings: lists of earlier ones are removed.

    Raises:
        OSError: if it cannot be written.
    """
    lists = stored_choices(folder, profile, account) | {name: choices}
    folder.mkdir(mode=0o700, exist_ok=True)
    with replace_file(_file(folder, profile)) as file:
        json.dump({"account": account, "lists": {name: one._asdict() for name, one in lists.items()}}, file)


def _file(folder: Path, profile: str) -> Path:
    return folder / f"{quote(profile, safe='')}.json"
