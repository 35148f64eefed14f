"""The folder that both machines see at one path: what is where in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from jupyter_pai import errors

__all__ = ["Note", "Place"]


class Note(NamedTuple):
    """The address of the neighbour, and the token for requests; empty if it asks for a login."""

    url: str
    token: str


class Place:
    """A shared folder. Who can read its note can run commands there: its user alone."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder).absolute()
        self.note = self.path / "neighbour.json"
        self.home = self.path / "home"

    def shelf(self, uri: str) -> Path:
        """The file or folder that a ``neighbour://`` URI means: never one outside the shelves.

        Raises:
            errors.NotFound: if it means none.
        """
        shelf, *names = uri.removeprefix("neighbour://").split("/")
        if not uri.startswith("neighbour://") or not shelf or {".", ".."} & {shelf, *names}:
            raise errors.NotFound(f"There is no place {uri}.", fix="Write it so: neighbour://SHELF/path")
        return self.path.joinpath("shelves", shelf, *names)

    def shelves(self) -> list[str]:
        """The URIs of all shelves."""
        folder = self.path / "shelves"
        found = [one.name for one in folder.iterdir() if one.is_dir()] if folder.is_dir() else []
        return [f"neighbour://{name}/" for name in sorted(found)]

    def announce(self, note: Note) -> None:
        """Say where the neighbour is from now on."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self.note.with_suffix(f".{os.getpid()}")
        with open(os.open(new, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(note._asdict(), file)
        os.replace(new, self.note)

    def read(self) -> Note:
        """Where the neighbour is.

        Raises:
            errors.Unreachable: if it is not there, or never was.
        """
        try:
            return Note(**json.loads(self.note.read_text("utf-8")))
        except (OSError, ValueError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else "its note is damaged"
            raise errors.Unreachable(
                f"Nobody is working in {self.path}: {why}.",
                fix=f"Start it on the other machine: jupyter-pai-neighbour {self.path}",
                sent=False,
            ) from None
