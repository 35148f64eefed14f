"""What the verb `tensorboard` does: open TensorBoards of jobs, list them, stop them."""

from __future__ import annotations

import json
import time
from typing import Any

from ..core.errors import BackendError, NotFound, UsageError
from ..core.i18n import _
from ..core.text import plain
from .data import Storehouse
from .parser.parser import Options

__all__ = ["Boards"]

# Seconds: how long a platform may take to start one, and between two looks.
_PATIENCE = 300.0
_ASK_EVERY = 1.0


class Boards(Storehouse):
    """One method for the verb."""

    def tensorboard(self, options: Options) -> None:
        if options.on_platform:
            self._on_platform(options)
            return
        if options.delete:
            raise UsageError(_("A TensorBoard here ends with --stop."), fix=_("--delete goes with --on-platform."))
        if options.stop:
            found = [self._stop(board) for board in self._meant(options.jobs)]
        elif options.jobs:
            found = [self.client.call("start_tensorboard", body={"jobs": options.jobs})]
        else:
            found = self._running()
        if options.json:
            shown = [board | {"url": self.client.url(board["address"])} for board in found]
            self.screen.say(json.dumps(shown, ensure_ascii=False, indent=1))
        elif options.stop:
            for board in found:
                self.screen.say(_("Stopped: {name}").format(name=_title(board)))
        else:
            self._links(found)

    def _links(self, boards: list[dict[str, Any]]) -> None:
        for board in boards:
            self.screen.link(_title(board), board["address"], self.client.url(board["address"]))
        if not boards:
            self.screen.say(_("No TensorBoard runs."))

    def _running(self) -> list[dict[str, Any]]:
        return list(self.client.call("tensorboards")["tensorboards"])

    def _meant(self, words: list[str]) -> list[dict[str, Any]]:
        """Those that run for just these jobs; without any, all."""
        running = self._running()
        if not words:
            return running
        jobs = {self.client.call("show", job=word)["id"] for word in words}
        found = [board for board in running if {job["id"] for job in board["jobs"]} == jobs]
        if not found:
            raise NotFound(
                _("No TensorBoard runs for {jobs}.").format(jobs=", ".join(words)),
                fix=_("See those that run: %pai tensorboard"),
            )
        return found

    def _stop(self, board: dict[str, Any]) -> dict[str, Any]:
        self.client.call("stop_tensorboard", tensorboard=board["id"])
        return board

    # Those that a platform runs.

    def _on_platform(self, options: Options) -> None:
        where = {"profile": options.profile, "backend": options.backend}
        if options.stop or options.delete:
            for board_id in self._chosen(options.jobs, where):
                self.client.call("stop_platform_board", board=board_id, **where, delete=options.delete)
        elif options.jobs:
            self._show_boards([self._opened(word) for word in options.jobs], options)
            return
        self._show_boards(self.client.call("platform_boards", **where)["boards"], options)

    def _opened(self, word: str) -> dict[str, Any]:
        """The TensorBoard of a job, when it can be opened."""
        job, end = self.client.call("show", job=word)["id"], time.monotonic() + _PATIENCE
        board: dict[str, Any] = self.client.call("open_platform_board", body={"job": job})
        while board["status"] == "starting":
            if time.monotonic() > end:
                raise BackendError(
                    _("The TensorBoard {name} has not started yet.").format(name=board["id"]),
                    fix=_("See how it stands: %pai tensorboard --on-platform"),
                )
            time.sleep(_ASK_EVERY)
            known = {one["id"]: one for one in self.client.call("platform_boards", job=job)["boards"]}
            board = known.get(board["id"], board | {"status": "stopped"})
        return board

    def _chosen(self, words: list[str], where: dict[str, Any]) -> list[str]:
        """The ids of those that are meant, by their own or by their jobs; never all."""
        if not words:
            raise UsageError(_("Which one?"), fix=_("See them: %pai tensorboard --on-platform"))
        known = {board["id"] for board in self.client.call("platform_boards", **where)["boards"]}
        return [board_id for word in words for board_id in ([word] if word in known else self._of_job(word))]

    def _of_job(self, word: str) -> list[str]:
        found = [board["id"] for board in self.client.call("platform_boards", job=word)["boards"]]
        if not found:
            raise NotFound(
                _("No TensorBoard runs for {jobs}.").format(jobs=word),
                fix=_("See them: %pai tensorboard --on-platform"),
            )
        return found

    def _show_boards(self, boards: list[dict[str, Any]], options: Options) -> None:
        if options.json:
            self.screen.say(json.dumps(boards, ensure_ascii=False, indent=1))
            return
        words = {
            "starting": _("starting"),
            "running": _("running"),
            "stopped": _("stopped"),
            "failed": _("failed"),
        }
        rows = [
            (board["id"], board["name"], words[board["status"]], board["url"] or board["reason"]) for board in boards
        ]
        self.screen.table(("TensorBoard", _("name"), _("status"), _("address")), rows)


def _title(board: dict[str, Any]) -> str:
    names = ", ".join(plain(job["name"]) for job in board["jobs"])
    return _("TensorBoard of {jobs}").format(jobs=names)
