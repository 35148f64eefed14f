"""The engine's verbs about TensorBoards: start one on what jobs write, see which run, stop one."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..backends.tensorboards import Boards as PlatformBoards
from ..core.errors import Unsupported
from ..core.i18n import _
from ..engine.requests import PlatformBoardRequest, TensorBoardRequest, parse
from ..engine.service import JobService
from ..engine.tensorboard import TensorBoards
from ..engine.watcher.remote_event_files import mirror_of
from ..jobs.job import Job
from ..storage.local import path_of

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
        self.service.profiles.policy().check_tensorboard()
        idle_minutes = self.service.profiles.settings().tensorboard.idle_minutes
        folders = await self._mirrored(jobs)

        def on_use() -> None:
            for job_id in folders:
                self.service.feed.glance(job_id, stays=True)

        return (await self.boards.start(jobs, 60 * idle_minutes, folders, on_use)).as_json()

    async def _mirrored(self, jobs: Sequence[Job]) -> dict[str, Path]:
        """The folders of those jobs whose event files are elsewhere, with what there is of them by now."""
        home, storage_of = self.service.home, self.service.storages.of
        found: dict[str, Path] = {}
        for job in jobs:
            if mirror := mirror_of(job, home.job(job.id), storage_of):
                await asyncio.to_thread(mirror.refresh)
                found[job.id] = mirror.folder
        return found

    async def stop_tensorboard(self, tensorboard: str) -> dict[str, Any]:
        await self.boards.stop(tensorboard)
        return await self.tensorboards()

    # Those that a platform runs.

    async def platform_boards(self, profile: str = "", backend: str = "", job: str = "") -> dict[str, Any]:
        found = self.service.find(job) if job else None
        chosen, boards = self._boards_of(found.profile if found else profile, backend)
        shown = await boards.all(found.remote_id if found else "")
        return {
            "profile": chosen,
            "most": boards.most,
            "minutes": boards.minutes,
            "boards": [asdict(board) for board in shown],
        }

    async def open_platform_board(self, body: object) -> dict[str, Any]:
        asked = parse(PlatformBoardRequest, body)
        job = self.service.find(asked.job)
        self.service.profiles.policy().check_profile(job.profile, job.backend)
        boards = self.service.profiles.backend_of(job).boards
        if boards is None:
            raise _no_boards(job.backend)
        return asdict(await boards.open(job.remote_id, job.name, job.outputs.get("tensorboard", "")))

    async def stop_platform_board(
        self, board: str, profile: str = "", backend: str = "", delete: bool = False
    ) -> dict[str, Any]:
        _chosen, boards = self._boards_of(profile, backend)
        await (boards.delete(board) if delete else boards.stop(board))
        return await self.platform_boards(profile, backend)

    def _boards_of(self, profile: str, backend: str) -> tuple[str, PlatformBoards]:
        """Those of a profile; if none is named, of the default one or the first that has any."""
        profiles = self.service.profiles
        settings = profiles.settings()
        chosen = settings.pick(profile, backend)
        others = [] if profile or backend else list(settings.profiles.values())
        for candidate in (chosen, *others):
            if boards := profiles.backend(candidate).boards:
                return candidate.name, boards
        raise _no_boards(chosen.backend)


def _no_boards(backend: str) -> Unsupported:
    return Unsupported(
        _("The backend `{name}` runs no TensorBoards itself.").format(name=backend),
        fix=_("Open it here instead: %pai tensorboard ID"),
    )


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
