"""`TensorBoard` of the PAI SDK: shows a job's data, on the Jupyter server or on PAI."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from ..client.base import Client
from ..client.job import JobHandle
from ..client.printing import print_line
from ..core.errors import BackendError, NotFound
from ..core.i18n import _

__all__ = ["PlatformTensorBoard", "TensorBoard", "of_job"]

_POLL_INTERVAL = 1.0
# Seconds that the platform may take to start a TensorBoard.
_START_TIMEOUT = 600.0


class TensorBoard:
    """A TensorBoard on the Jupyter server. It stops after a period without requests."""

    def __init__(self, view: dict[str, Any], client: Client) -> None:
        self._view = view
        self._client = client

    @property
    def tensorboard_id(self) -> str:
        return str(self._view["id"])

    @property
    def app_uri(self) -> str:
        """The URL for a browser."""
        return self._client.url(str(self._view["address"]))

    def stop(self) -> None:
        """Stop it. Does nothing if it has stopped already. On PAI, it can be started again."""
        self._stop(delete=False)

    def delete(self) -> None:
        """Stop it, and delete it on PAI. The job's files are kept."""
        self._stop(delete=True)

    def _stop(self, *, delete: bool) -> None:
        with suppress(NotFound):
            self._client.call("stop_tensorboard", tensorboard=self.tensorboard_id)

    def __repr__(self) -> str:
        return f"TensorBoard(tensorboard_id={self.tensorboard_id!r}, app_uri={self.app_uri!r})"


class PlatformTensorBoard(TensorBoard):
    """A TensorBoard on PAI. It counts against the account's limit of five until it is stopped."""

    def __init__(self, view: dict[str, Any], client: Client, job: JobHandle) -> None:
        super().__init__(view, client)
        self._job = job

    @property
    def app_uri(self) -> str:
        """The URL for a browser; empty until it can be opened."""
        return str(self._view["url"] or self._fetch().get("url", ""))

    @property
    def status(self) -> str:
        """The status: starting, running, stopped or failed; empty if it was deleted."""
        return str(self._fetch().get("status", ""))

    def wait(self) -> None:
        """Wait until it can be opened.

        Raises:
            BackendError: if it fails or times out.
        """
        deadline = time.monotonic() + _START_TIMEOUT
        while self._view["status"] == "starting" and time.monotonic() < deadline:
            time.sleep(_POLL_INTERVAL)
            self._view = self._fetch() or self._view | {"status": "stopped"}
        if self._view["status"] != "running":
            raise BackendError(
                _("TensorBoard {name} is {status}. {reason}").format(
                    name=self.tensorboard_id, status=self._view["status"], reason=self._view["reason"]
                ),
                fix=_("Check its status: %pai tensorboard --on-platform"),
            )

    def _stop(self, *, delete: bool) -> None:
        profile = str(self._job.info["profile"])
        with suppress(NotFound):
            self._client.call("stop_platform_board", board=self.tensorboard_id, profile=profile, delete=delete)

    def _fetch(self) -> dict[str, Any]:
        boards = self._client.call("platform_boards", job=self._job.id)["boards"]
        return next((board for board in boards if board["id"] == self._view["id"]), {})


def of_job(job: JobHandle, client: Client, *, platform: bool, wait: bool) -> TensorBoard:
    """Return the TensorBoard of a job, on its platform or on the Jupyter server. With `wait`, return once it can be
    opened; on the server, once the job has written data for it.

    Raises:
        NotFound: if the job has written nothing.
        Unsupported: without a Jupyter server.
        QuotaExceeded: if the platform's limit is reached; the message names the running TensorBoards.
    """
    if not platform:
        return _on_server(job, client, wait=wait)
    board = PlatformTensorBoard(client.call("open_platform_board", body={"job": job.id}), client, job)
    if wait:
        board.wait()
    return board


def _on_server(job: JobHandle, client: Client, *, wait: bool) -> TensorBoard:
    printed = False
    while True:
        ended = job.ended
        try:
            return TensorBoard(client.call("start_tensorboard", body={"jobs": [job.id]}), client)
        except NotFound:
            if ended or not wait:
                raise
        if not printed:
            print_line(_("Job {job} has not written any data for TensorBoard yet.").format(job=job.id))
            printed = True
        time.sleep(_POLL_INTERVAL)
