"""The seam to TensorBoards run by a platform."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from ..core.errors import NotFound, Unsupported
from ..core.i18n import _


@dataclass(frozen=True)
class Board:
    """A TensorBoard of a platform. `url` is empty until the page can be opened.

    `created` is an ISO 8601 time; `user` is the owner, if known.
    """

    id: str
    name: str
    status: Literal["starting", "running", "stopped", "failed"]
    url: str = ""
    reason: str = ""
    created: str = ""
    user: str = ""


class Boards(ABC):
    """The TensorBoards of one profile.

    `most` is the number that may run at a time; each stops after `minutes`. 0: unknown.
    """

    most: ClassVar[int] = 0
    minutes: ClassVar[int] = 0

    @abstractmethod
    async def all(self, remote_id: str = "") -> list[Board]:
        """List the TensorBoards, including stopped ones, newest first.

        `remote_id` selects one job. Only then is the status checked: `running` means that the page can be opened.
        """

    @abstractmethod
    async def open(self, remote_id: str, name: str, uri: str, minutes: int = 0) -> Board:
        """Return the TensorBoard of a job: the existing one, restarted if stopped, or a new one; without `remote_id`, a
        new one for the folder `uri`. A new one stops after `minutes`; 0 for the default.

        Does not wait until it runs: poll `get`. A second call replaces a failed one.

        Raises:
            QuotaExceeded: if no more may run; it names the running ones and how to stop one.
        """

    async def get(self, board_id: str) -> Board:
        """Return a TensorBoard with a checked status, as `all` does for a job.

        Raises:
            NotFound: if the id is unknown.
        """
        board = next((board for board in await self.all() if board.id == board_id), None)
        if board is None:
            raise NotFound(_("The platform has no TensorBoard {id}.").format(id=board_id))
        return board

    async def start(self, board_id: str) -> Board:
        """Start a stopped TensorBoard again.

        Raises:
            NotFound: if the id is unknown.
            QuotaExceeded: as `open`.
            Unsupported: if the platform starts none by its id.
        """
        raise Unsupported(_("The platform does not start TensorBoards by their ids."))

    @abstractmethod
    async def stop(self, board_id: str) -> Board:
        """Stop a TensorBoard; it can be started again.

        Raises:
            NotFound: if the id is unknown.
        """

    @abstractmethod
    async def delete(self, board_id: str) -> None:
        """Stop and delete a TensorBoard. Its data stays.

        Raises:
            NotFound: if the id is unknown.
        """
