"""The seam to TensorBoards that a platform runs itself, next to what jobs have written there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

__all__ = ["Board", "Boards"]


@dataclass(frozen=True)
class Board:
    """One of a platform's TensorBoards. `url` is where a browser finds it, empty until it can be opened.

    `created` is an ISO time; `user` is whose it is, as far as the platform tells.
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

    `most` of them may run at a time, and each ends by itself after so many `minutes`; 0 where nothing is said of it.
    """

    most: ClassVar[int] = 0
    minutes: ClassVar[int] = 0

    @abstractmethod
    async def all(self, remote_id: str = "") -> list[Board]:
        """Those there are, also stopped ones, the newest first.

        With the platform's name for a job only that job's, each as it stands: it runs when its page can be opened.
        """

    @abstractmethod
    async def open(self, remote_id: str, name: str, uri: str) -> Board:
        """The TensorBoard of a job: the one that there is, started if it was stopped, else a new one. Does not wait
        until it runs: `all` of the job tells how it stands. (Asked again, this would make another of one that failed.)

        Raises:
            QuotaExceeded: if no more of them may run; it names those that do, and how to stop one.
        """

    @abstractmethod
    async def stop(self, board_id: str) -> Board:
        """Stop one; it can be started again.

        Raises:
            NotFound: if there is none of this id.
        """

    @abstractmethod
    async def delete(self, board_id: str) -> None:
        """Stop one and forget it. What it shows stays.

        Raises:
            NotFound: if there is none of this id.
        """
