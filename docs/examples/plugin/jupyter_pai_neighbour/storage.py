"""A storage beside the backend: files that the neighbour keeps, as ``neighbour://SHELF/path``.

Nothing of it needs the shared folder but the note in it. Names stand in URIs as they are.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Self

from jupyter_pai import File, OpenFile, ProfileSettings, Progress, Storage, errors

from .backend import NeighbourSettings
from .login import token
from .place import Place

if TYPE_CHECKING:
    import httpx

__all__ = ["NeighbourStorage"]

_PIECE = 1 << 20


class NeighbourStorage(Storage):
    """The shelves of one neighbour. Each verb is one call; it has the last word on what there is."""

    scheme: ClassVar[str] = "neighbour"
    settings_model: ClassVar[type[ProfileSettings] | None] = NeighbourSettings

    def __init__(self, place: Place, settings: NeighbourSettings | None = None) -> None:
        self.place, self.settings = place, settings

    @classmethod
    def of(cls, settings: ProfileSettings | None, state: Path) -> Self:
        assert isinstance(settings, NeighbourSettings)
        return cls(Place(settings.folder), settings)

    def ask(self, verb: str, uri: str, body: Iterator[bytes] | bytes = b"", **words: object) -> bytes:
        """One call.

        Raises:
            errors.PaiError: as the neighbour says.
            errors.Unreachable: if it does not answer.
        """
        import httpx

        note = self.place.read()
        question = {"q": json.dumps({"verb": verb, "uri": uri, **words})}
        headers = {"Authorization": f"Bearer {token(note, self.settings)}"}
        try:
            reply = _client().post(f"{note.url}/files", params=question, content=body, headers=headers)
        except httpx.TransportError as error:
            raise errors.Unreachable(
                f"The neighbour at {note.url} does not answer: {error}.",
                fix=f"Start it on the other machine: jupyter-pai-neighbour {self.place.path}",
            ) from None
        if not reply.is_success:
            raise errors.PaiError.from_json(reply.json())
        return reply.content

    def _files(self, verb: str, uri: str, **words: Any) -> list[File]:
        return [File(*one) for one in json.loads(self.ask(verb, uri, **words))]

    # Looking.

    async def roots(self) -> Sequence[str]:
        found: Sequence[str] = json.loads(await asyncio.to_thread(self.ask, "roots", "neighbour://"))
        return found

    def stat(self, uri: str) -> File | None:
        return next(iter(self._files("stat", uri)), None)

    def entries(self, uri: str, after: str = "", most: int = 1000) -> list[File]:
        return self._files("entries", uri, after=after, most=most)

    def list(self, uri: str) -> list[File]:
        return self._files("list", uri)

    def exists(self, uri: str) -> bool:
        found = self.stat(uri)
        return bool(found and found.is_folder)

    def open(self, uri: str, path: str) -> OpenFile:
        (file,) = self._files("open", uri, path=path)
        return _NeighboursFile(self, uri, file)

    def split(self, uri: str) -> tuple[str, str]:
        shelf, _slash, path = uri.removeprefix("neighbour://").partition("/")
        folder, slash, name = path.rstrip("/").rpartition("/")
        return f"neighbour://{shelf}/{folder}{slash}", name + "/" * (bool(name) and path.endswith("/"))

    # Changing.

    def put(self, source: Path | bytes, uri: str, *, overwrite: bool = False, progress: Progress | None = None) -> File:
        # Before the bytes are on their way; the neighbour looks again when it has them.
        self.ask("may_put", uri, overwrite=overwrite)
        (written,) = [
            File(*one) for one in json.loads(self.ask("put", uri, _pieces(source, progress), overwrite=overwrite))
        ]
        return written

    def delete(self, uri: str) -> int:
        if not self.split(uri)[1]:
            raise errors.Conflict(f"{uri} is a whole shelf.", fix="Name a folder in it, or delete what is in it.")
        return int(json.loads(self.ask("delete", uri)))

    def make_folder(self, uri: str) -> None:
        self.ask("make_folder", uri)


class _NeighboursFile(OpenFile):
    def __init__(self, storage: NeighbourStorage, uri: str, file: File) -> None:
        self.storage, self.uri, self.file = storage, uri, file

    def read(self, offset: int, length: int) -> bytes:
        words: dict[str, Any] = {"path": self.file.path, "version": self.file.version}
        return self.storage.ask("read", self.uri, offset=offset, length=length, **words)

    def close(self) -> None:
        """There is nothing to let go of: each piece is a call of its own."""


def _pieces(source: Path | bytes, progress: Progress | None) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    with _reading(source) as file:
        done, whole = 0, source.stat().st_size
        while piece := file.read(_PIECE):
            yield piece
            done += len(piece)
            if progress:
                progress(done, max(done, whole))


def _reading(source: Path) -> BinaryIO:
    try:
        return source.open("rb")
    except OSError as error:
        raise errors.BadInput(f"{source} cannot be read: {error.strerror}.", fix="Give a file that can be.") from None


@cache
def _client() -> httpx.Client:
    import httpx

    return httpx.Client(timeout=60, trust_env=False)
