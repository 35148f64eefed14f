"""The engine's verbs about TensorBoards: start one on what jobs write, see which run, stop one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from .errors import Unsupported
from .i18n import _
from .job import Job
from .request import TensorBoardRequest, parse
from .service import JobService
from .storage.local import path_of
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
            raise _no_server([])
        return self._boards

    async def tensorboards(self) -> dict[str, Any]:
        return {"tensorboards": [board.as_json() for board in self.boards.all()]}

    async def start_tensorboard(self, body: object) -> dict[str, Any]:
        jobs = [self.service.find(word) for word in parse(TensorBoardRequest, body).jobs]
        if self._boards is None:
            raise _no_server(jobs)
        idle_minutes = self.service.profiles.settings().tensorboard.idle_minutes
        return (await self.boards.start(jobs, 60 * idle_minutes)).as_json()

    async def stop_tensorboard(self, tensorboard: str) -> dict[str, Any]:
        await self.boards.stop(tensorboard)
        return await self.tensorboards()


def _no_server(jobs: Sequence[Job]) -> Unsupported:
    """What is said where no server is; with the command that does without, for jobs whose files are of this machine."""
    places = [(job.id, path_of(job.outputs.get("tensorboard", ""))) for job in jobs]
    folders = [f"{name}:{path}" if len(jobs) > 1 else str(path) for name, path in places if path]
    option = "--logdir_spec" if len(folders) > 1 else "--logdir"
    return Unsupported(
        _("There is no Jupyter server here that could show a TensorBoard."),
        fix=_("Say it in a notebook or terminal of JupyterLab, or run: {command}").format(
            command=f"tensorboard {option} {shlex.quote(','.join(folders)) if folders else 'FOLDER'}"
        ),
    )
