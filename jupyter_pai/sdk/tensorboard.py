"""`TensorBoard`, by the PAI SDK's own name: one that runs on what a job writes, here or on PAI."""

from __future__ import annotations

import time
from typing import Any

from ..client.base import Client
from ..client.job import JobHandle
from ..core.errors import BackendError, NotFound
from ..core.i18n import _

__all__ = ["PlatformTensorBoard", "TensorBoard", "of_job"]

_ASK_EVERY = 1.0
# Seconds that one of the platform's may take to start.
_PATIENCE = 600.0


class TensorBoard:
    """A TensorBoard that was started by our server. It ends by itself when nobody looks at it for long."""

    def __init__(self, view: dict[str, Any], client: Client) -> None:
        self._view = view
        self._client = client

    @property
    def tensorboard_id(self) -> str:
        return str(self._view["id"])

    @property
    def app_uri(self) -> str:
        """Where a browser finds it."""
        return self._client.url(str(self._view["address"]))

    def stop(self) -> None:
        """End it. Does nothing if it has ended."""
        try:
            self._client.call("stop_tensorboard", tensorboard=self.tensorboard_id)
        except NotFound:
            return

    def delete(self) -> None:
        """End it, and forget it."""
        self.stop()

    def __repr__(self) -> str:
        return f"TensorBoard(tensorboard_id={self.tensorboard_id!r}, app_uri={self.app_uri!r})"


class PlatformTensorBoard(TensorBoard):
    """A TensorBoard that PAI runs. It counts against the account's five until it is stopped."""

    def __init__(self, view: dict[str, Any], client: Client, job: JobHandle) -> None:
        super().__init__(view, client)
        self._job = job

    @property
    def app_uri(self) -> str:
        """Where a browser finds it; empty until it can be opened."""
        return str(self._view["url"] or self._now().get("url", ""))

    @property
    def status(self) -> str:
        """One of starting, running, stopped, failed; empty when it is gone."""
        return str(self._now().get("status", ""))

    def wait(self) -> None:
        """Wait until it can be opened.

        Raises:
            BackendError: if it fails, or takes too long.
        """
        end = time.monotonic() + _PATIENCE
        while self._view["status"] == "starting" and time.monotonic() < end:
            time.sleep(_ASK_EVERY)
            self._view = self._now() or self._view | {"status": "stopped"}
        if self._view["status"] != "running":
            raise BackendError(
                _("The TensorBoard {name} is {status}. {reason}").format(
                    name=self.tensorboard_id, status=self._view["status"], reason=self._view["reason"]
                ),
                fix=_("See how it stands: %pai tensorboard --on-platform"),
            )

    def stop(self) -> None:
        """Stop it; it can be started again. Does nothing if it is gone."""
        self._end(delete=False)

    def delete(self) -> None:
        """Stop it and forget it. What the job wrote stays."""
        self._end(delete=True)

    def _end(self, *, delete: bool) -> None:
        profile = str(self._job.info["profile"])
        try:
            self._client.call("stop_platform_board", board=self.tensorboard_id, profile=profile, delete=delete)
        except NotFound:
            return

    def _now(self) -> dict[str, Any]:
        found = self._client.call("platform_boards", job=self._job.id)["boards"]
        return next((board for board in found if board["id"] == self._view["id"]), {})


def of_job(job: JobHandle, client: Client, *, platform: bool, wait: bool) -> TensorBoard:
    """The TensorBoard of a job: the one of its platform, or one of ours. With `wait` it can be opened; one of ours is
    started when the job has written something for it.

    Raises:
        NotFound: if the job has written nothing.
        Unsupported: where there is no Jupyter server that could show it.
        QuotaExceeded: if no more of them may run on the platform; it names those that do.
    """
    if not platform:
        return _ours(job, client, wait=wait)
    board = PlatformTensorBoard(client.call("open_platform_board", body={"job": job.id}), client, job)
    if wait:
        board.wait()
    return board


def _ours(job: JobHandle, client: Client, *, wait: bool) -> TensorBoard:
    said = False
    while True:
        ended = job.ended
        try:
            return TensorBoard(client.call("start_tensorboard", body={"jobs": [job.id]}), client)
        except NotFound:
            if ended or not wait:
                raise
        if not said:
            print(_("The job {job} has not written anything for TensorBoard yet.").format(job=job.id))
            said = True
        time.sleep(_ASK_EVERY)
