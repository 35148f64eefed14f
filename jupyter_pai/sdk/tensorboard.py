"""`TensorBoard` of the PAI SDK: shows a job's data, on PAI or on the Jupyter server."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from ..client.base import Client
from ..client.job import JobHandle
from ..client.parameters import offered
from ..client.printing import print_line
from ..core.errors import NotFound, UsageError
from ..core.i18n import _
from .exception import UnexpectedStatusException
from .session import default_session, target_of
from .status import SdkStatus, status_by

if TYPE_CHECKING:
    from .session import Session

__all__ = ["NotInOss", "ServerTensorBoard", "TensorBoard", "TensorBoardStatus", "of_job"]

_POLL_INTERVAL = 1.0
# Seconds that the platform may take to start a TensorBoard.
_START_TIMEOUT = 600.0


class NotInOss(UsageError, RuntimeError):
    """The data for a TensorBoard on PAI is not in OSS."""


class TensorBoardStatus:
    """The statuses of a `TensorBoard`: PAI's words, which equal those of this product too."""

    Creating: ClassVar = SdkStatus("Creating", "starting")
    Pending: ClassVar = SdkStatus("Pending", "starting")
    Running: ClassVar = SdkStatus("Running", "running")
    Stopped: ClassVar = SdkStatus("Stopped", "stopped")
    Stopping: ClassVar = SdkStatus("Stopping", "stopped")
    Creating_Failed: ClassVar = SdkStatus("Creating_Failed", "failed")
    Deleted: ClassVar = SdkStatus("Deleted", "")
    Deleting: ClassVar = SdkStatus("Deleting", "")

    @classmethod
    def is_terminated(cls, status: str) -> bool:
        """Return whether a TensorBoard of this status has failed, or was stopped or deleted."""
        return status in (cls.Creating_Failed, cls.Stopped, cls.Deleted)

    @classmethod
    def is_running(cls, status: str) -> bool:
        """Return whether a TensorBoard of this status runs."""
        return status == cls.Running


class TensorBoard:
    """A TensorBoard on PAI, by its ID. It counts against the account's limit of five until it is stopped.

    Raises:
        NotFound: if PAI does not have it.
    """

    def __init__(self, tensorboard_id: str, session: Session | None = None) -> None:
        target = target_of(session)
        self._client, self._profile = target.client, target.profile
        self._view: dict[str, Any] = {"id": tensorboard_id}
        self._view = self._get()

    @classmethod
    def _of(cls, view: dict[str, Any], client: Client, profile: str) -> TensorBoard:
        """Return the TensorBoard of a reply of the engine."""
        board = cls.__new__(cls)
        board._view, board._client, board._profile = view, client, profile
        return board

    @classmethod
    def create(
        cls,
        uri: str,
        wait: bool = True,
        display_name: str | None = None,
        max_runtime_in_minutes: int | None = None,
        source_id: str | None = None,
        source_type: str | None = None,
        session: Session | None = None,
    ) -> TensorBoard:
        """Start a TensorBoard for a folder of event files in OSS. With `wait`, return once it can be opened. It stops
        after `max_runtime_in_minutes`, by default four hours.

        With a `source_id` it is the TensorBoard of that job, an ID on PAI or of this engine, and shows the job's data.

        Raises:
            NotInOss: if `uri` is not in OSS. A `RuntimeError` too.
            QuotaExceeded: if the limit of TensorBoards is reached; the message names the running ones.
            UnexpectedStatusException: if it fails or times out.
        """
        if not uri.startswith("oss://"):
            raise NotInOss(_("A TensorBoard on PAI requires an oss:// URI, not {uri}").format(uri=uri))
        target = target_of(session)
        if source_id:
            from .job.training_job import TrainingJob

            job = TrainingJob.get(source_id, session)
            return of_job(job, target.client, platform=True, wait=wait)
        from .oss_utils import OssUriObj

        parsed = OssUriObj(uri)
        full = uri if parsed.endpoint else (session or default_session()).patch_oss_endpoint(uri)
        name = display_name or parsed.object_key.strip("/").rpartition("/")[2] or parsed.bucket_name
        body = {"uri": full, "name": name, "profile": target.profile, "minutes": max_runtime_in_minutes or 0}
        board = cls._of(target.client.call("open_platform_board", body=body), target.client, target.profile)
        if wait:
            board.wait()
        return board

    @property
    def tensorboard_id(self) -> str:
        return str(self._view["id"])

    @property
    def display_name(self) -> str:
        """The name on PAI."""
        return str(self._view["name"])

    @property
    def app_uri(self) -> str:
        """The URL for a browser; empty until it can be opened."""
        return str(self._view["url"] or self._get().get("url", ""))

    @property
    def status(self) -> SdkStatus:
        """The current status, one of `TensorBoardStatus`."""
        return status_by(TensorBoardStatus, self._get().get("status", ""))

    def wait(self) -> None:
        """Wait until it can be opened.

        Raises:
            UnexpectedStatusException: if it fails or times out.
        """
        deadline = time.monotonic() + _START_TIMEOUT
        while self._view["status"] == TensorBoardStatus.Creating and time.monotonic() < deadline:
            time.sleep(_POLL_INTERVAL)
            self._view = self._get() or self._view | {"status": TensorBoardStatus.Stopped}
        if not TensorBoardStatus.is_running(self._view["status"]):
            status = self._view["status"]
            raise UnexpectedStatusException(
                _("TensorBoard {name} is {status}. {reason}").format(
                    name=self.tensorboard_id, status=status, reason=self._view["reason"]
                ),
                status_by(TensorBoardStatus, status),
                fix=offered(_("Check its status: %pai tensorboard --on-platform")),
            )

    def start(self, wait: bool = True) -> None:
        """Start it again, if it was stopped. With `wait`, return once it can be opened.

        Raises:
            NotFound: if it was deleted.
            QuotaExceeded: if the limit of TensorBoards is reached; the message names the running ones.
            UnexpectedStatusException: if it fails or times out.
        """
        if self.status not in (TensorBoardStatus.Running, TensorBoardStatus.Creating):
            body = {"board": self.tensorboard_id, "profile": self._profile}
            self._view = self._client.call("open_platform_board", body=body)
        if wait:
            self.wait()

    def stop(self) -> None:
        """Stop it; it can be started again. Does nothing if it has stopped already."""
        self._stop(delete=False)

    def delete(self) -> None:
        """Stop and delete it. The job's files are kept."""
        self._stop(delete=True)

    def _stop(self, *, delete: bool) -> None:
        with suppress(NotFound):
            self._client.call("stop_platform_board", board=self.tensorboard_id, profile=self._profile, delete=delete)
        self._view = self._view | {"url": "", "status": TensorBoardStatus.Stopped}

    def _get(self) -> dict[str, Any]:
        """Return its current state; empty if it was deleted."""
        try:
            boards = self._client.call("platform_boards", board=self.tensorboard_id, profile=self._profile)["boards"]
        except NotFound:
            if "status" in self._view:
                return {}
            raise
        return dict(boards[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(tensorboard_id={self.tensorboard_id!r}, app_uri={self.app_uri!r})"


class ServerTensorBoard(TensorBoard):
    """A TensorBoard on the Jupyter server. It stops after a period without requests."""

    @property
    def display_name(self) -> str:
        """The names of its jobs."""
        return ", ".join(str(job["name"]) for job in self._view["jobs"])

    @property
    def app_uri(self) -> str:
        """The URL for a browser."""
        return self._client.url(str(self._view["address"]))

    def wait(self) -> None:
        """Return at once: it was started before."""

    def start(self, wait: bool = True) -> None:
        """Start it again for the same jobs, if it has stopped."""
        body = {"jobs": [job["id"] for job in self._view["jobs"]]}
        self._view = self._client.call("start_tensorboard", body=body)

    def _stop(self, *, delete: bool) -> None:
        with suppress(NotFound):
            self._client.call("stop_tensorboard", tensorboard=self.tensorboard_id)

    def _get(self) -> dict[str, Any]:
        boards = self._client.call("tensorboards")["tensorboards"]
        running = {board["id"]: {**board, "status": TensorBoardStatus.Running} for board in boards}
        return running.get(self._view["id"], {})


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
    view = client.call("open_platform_board", body={"job": job.id})
    board = TensorBoard._of(view, client, str(job.info["profile"]))
    if wait:
        board.wait()
    return board


def _on_server(job: JobHandle, client: Client, *, wait: bool) -> TensorBoard:
    printed = False
    while True:
        ended = job.ended
        try:
            return ServerTensorBoard._of(client.call("start_tensorboard", body={"jobs": [job.id]}), client, "")
        except NotFound:
            if ended or not wait:
                raise
        if not printed:
            print_line(_("Job {job} has not written any data for TensorBoard yet.").format(job=job.id))
            printed = True
        time.sleep(_POLL_INTERVAL)
