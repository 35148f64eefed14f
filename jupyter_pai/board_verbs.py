"""The engine's verbs about TensorBoards: start one on what jobs write, see which run, stop one."""

from __future__ import annotations

from typing import Any

from .errors import Unsupported
from .i18n import _
from .request import TensorBoardRequest, parse
from .service import JobService
from .tensorboard import TensorBoards

__all__ = ["BoardVerbs"]


class BoardVerbs:
    """A part of `api.Api`. Only a Jupyter server has TensorBoards."""

    service: JobService
    _boards: TensorBoards | None = None

    @property
    def boards(self) -> TensorBoards:
        """The TensorBoards, which a Jupyter server shows.

        Raises:
            Unsupported: where there is no server.
        """
        if self._boards is None:
            raise Unsupported(
                _("There is no Jupyter server here that could show a TensorBoard."),
                fix=_("Say it in a notebook or terminal of JupyterLab, or run: tensorboard --logdir FOLDER"),
            )
        return self._boards

    async def tensorboards(self) -> dict[str, Any]:
        return {"tensorboards": [board.as_json() for board in self.boards.all()]}

    async def start_tensorboard(self, body: object) -> dict[str, Any]:
        jobs = [self.service.find(word) for word in parse(TensorBoardRequest, body).jobs]
        idle_minutes = self.service.profiles.settings().tensorboard.idle_minutes
        return (await self.boards.start(jobs, 60 * idle_minutes)).as_json()

    async def stop_tensorboard(self, tensorboard: str) -> dict[str, Any]:
        await self.boards.stop(tensorboard)
        return await self.tensorboards()
