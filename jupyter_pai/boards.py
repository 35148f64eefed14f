"""What the verb `tensorboard` does: open TensorBoards of jobs, list them, stop them."""

from __future__ import annotations

import json
from typing import Any

from . import summary
from .errors import NotFound
from .grammar import Options
from .i18n import _
from .room import Room

__all__ = ["Boards"]


class Boards(Room):
    """One method for the verb."""

    def tensorboard(self, options: Options) -> None:
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


def _title(board: dict[str, Any]) -> str:
    names = ", ".join(summary.plain(job["name"]) for job in board["jobs"])
    return _("TensorBoard of {jobs}").format(jobs=names)
