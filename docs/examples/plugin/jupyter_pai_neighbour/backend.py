"""The plug-in: jobs on a neighbour. Each verb is one call; the neighbour keeps what a job is and becomes."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import os
import shlex
import socket
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from jupyter_pai import (
    Caller,
    Candidate,
    Capability,
    Check,
    Choice,
    Document,
    EventPage,
    Home,
    Instance,
    InstanceType,
    Job,
    JobFile,
    JobFolder,
    JobSpec,
    LogPiece,
    MetricPoint,
    PlatformEvent,
    PointPage,
    ProfileSettings,
    Quota,
    RemoteJob,
    Report,
    Sample,
    Secret,
    SharedFolderBackend,
    SharedFolderSettings,
    Submission,
    TerminalCommand,
    errors,
    parse_options,
    picked_from,
    transport,
)

from . import job_files
from .login import NeighbourCredentials, NeighbourLogin, token
from .models import NeighbourRegistry
from .place import Place

if TYPE_CHECKING:
    import httpx

__all__ = ["NeighbourBackend", "NeighbourOptions", "NeighbourSettings"]

_REPORTS = TypeAdapter(dict[str, Report])
_INSTANCES = TypeAdapter(list[Instance])
_MACHINES = TypeAdapter(list[InstanceType])
_QUOTAS = TypeAdapter(list[Quota])
_EVENTS = TypeAdapter(list[PlatformEvent])


class NeighbourSettings(SharedFolderSettings):
    """The settings of a profile: the folder that both machines see."""


class NeighbourOptions(BaseModel):
    """What the `options` of a job may say to a neighbour: forms have a field for each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    nice: int = Field(
        0, ge=0, le=19, title="Niceness", description="How far the job stands back for all else that runs there."
    )
    retries: int = Field(0, ge=0, le=1, title="Retries", description="How often a job that has failed is run again.")
    publish: bool = Field(
        False, title="Publish metrics", description="Whether the neighbour keeps the metrics of the job as well."
    )
    processor: str = Field(
        "",
        pattern=r"^\d*$",
        title="Processor",
        description="The only one that the job may use.",
        json_schema_extra=picked_from("processors"),
    )


class NeighbourBackend(SharedFolderBackend):
    """One neighbour."""

    name: ClassVar[str] = "neighbour"
    title: ClassVar[str] = "A neighbour"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.MULTI_NODE,
            Capability.ROLES,
            Capability.SECRETS,
            Capability.TTY,
            Capability.CODE_LAYOUT,
            Capability.OUTPUT_PARAMETERS,
            Capability.USAGE_UNITS,
            Capability.TERMINAL,
            Capability.REGISTRY,
        }
    )
    settings_model: ClassVar[type[ProfileSettings]] = NeighbourSettings
    options_model: ClassVar[type[BaseModel] | None] = NeighbourOptions
    job_files: ClassVar[Sequence[str]] = (job_files.GLOB,)
    settings: NeighbourSettings

    credentials_model: ClassVar[type[BaseModel] | None] = NeighbourCredentials
    login_model: ClassVar[type[BaseModel] | None] = NeighbourLogin

    def __init__(self, settings: ProfileSettings, home: Home) -> None:
        super().__init__(settings, home)
        self.place = Place(self.settings.folder)
        self._transport = transport.Transport(self.settings.folder, _refusal, pace=50)
        self.registry = NeighbourRegistry(self._ask)

    @classmethod
    def discover(cls) -> dict[str, Any]:
        """A machine whose administrator set the variable needs no settings at all."""
        folder = os.environ.get("NEIGHBOUR_FOLDER")
        return {"folder": folder} if folder else {}

    @classmethod
    async def log_in(cls, settings: NeighbourSettings, login: NeighbourLogin) -> BaseModel:
        """A password becomes a token. The neighbour says which field is wrong."""
        data = json.dumps({"user": login.user, "password": login.password.get_secret_value()}).encode()
        call = transport.Call("POST", f"{Place(settings.folder).read().url}/login", body=data)
        answer = await transport.Transport(settings.folder, _refusal).send(call)
        return NeighbourCredentials(user=login.user, token=answer["token"])

    async def _ask(self, method: str, path: str, body: object = None, **query: object) -> dict[str, Any]:
        """One call to the neighbour. All of them may be repeated: it knows our jobs by our own ids."""
        note = self.place.read()
        headers = {"Authorization": f"Bearer {await asyncio.to_thread(token, note, self.settings)}"}
        url = f"{note.url}{path}" + (f"?{urlencode(query)}" if query else "")
        data = b"" if body is None else TypeAdapter(Any).dump_json(body)
        answer: dict[str, Any] = await self._transport.send(transport.Call(method, url, body=data, headers=headers))
        return answer

    # Job files.

    @classmethod
    def read_job_file(cls, path: Path, text: str) -> JobFile:
        return job_files.read(path, text)

    async def document(self, spec: JobSpec) -> Document | None:
        return job_files.document(spec)

    # Submitting.

    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        parse_options(NeighbourOptions, spec.options)
        for channel, uri in spec.inputs.items():
            if "://" in uri and not uri.startswith(("neighbour://", "file://")):
                raise errors.SpecError(
                    f"inputs.{channel}: a neighbour reads nothing from {uri}.",
                    fix="Put it on a shelf with %pai put, and give neighbour://SHELF/path.",
                )
        ignored = f"A neighbour runs jobs without images and ignores `{spec.image}`."
        return Check((ignored,) if spec.image else ())

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        inputs = {channel: self._there(uri) for channel, uri in job.staged_spec.inputs.items()}
        spec = job.spec.model_copy(update={"inputs": inputs, "output_path": await self.output_uri(job)})
        body = {
            "job": job.model_copy(update={"spec": spec, "inputs": {}}).model_dump(mode="json", exclude={"name"}),
            "secrets": {name: value.open() for name, value in secrets.items()},
        }
        await self._ask("PUT", f"/jobs/{job.id}", body)
        return Submission(job.id)

    def _there(self, uri: str) -> str:
        """An input as the neighbour's own jobs read it: files on its shelves are files of its disk."""
        is_shelf = uri.startswith("neighbour://")
        return self.place.shelf(uri).as_uri() + "/" * uri.endswith("/") if is_shelf else uri

    async def candidates(self, job_id: str) -> AsyncIterator[Candidate]:
        """The neighbour takes our id as that of the job."""
        try:
            job = await self.job(job_id)
        except errors.NotFound:
            return
        yield Candidate(job.remote_id, job.job_id, job.submitted_at)

    # Following.

    def poll_interval(self, jobs: int, *, watched: bool) -> float:
        return 0.5 if watched else 2.0

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        if not remote_ids:
            return {}
        return _REPORTS.validate_python(await self._ask("GET", "/reports", ids=",".join(remote_ids)))

    async def instances(self, remote_id: str) -> Sequence[Instance]:
        return _INSTANCES.validate_python((await self._ask("GET", f"/jobs/{remote_id}/instances"))["instances"])

    async def log(self, remote_id: str, instance: str, cursor: str) -> LogPiece:
        """The cursor is the attempt and a position in its log: each attempt has one of its own."""
        attempt, _colon, start = (cursor or "1:0").partition(":")
        place = f"/jobs/{remote_id}/instances/{quote(instance)}"
        piece = await self._ask("GET", place, attempt=attempt, start=start)
        times = [(int(offset), float(time)) for offset, time in piece["times"]]
        return LogPiece(
            base64.b64decode(piece["data"]),
            f"{piece['attempt']}:{piece['end']}",
            more=bool(piece["more"]),
            times=times,
            attempt=int(piece["attempt"]),
        )

    async def events(self, remote_id: str, cursor: str) -> EventPage:
        """The cursor is the number of events without a count; the one that is counted up comes each time."""
        found = _EVENTS.validate_python((await self._ask("GET", f"/jobs/{remote_id}/events"))["events"])
        single = [event for event in found if not event.key]
        counted = [event for event in found if event.key]
        return EventPage([*single[int(cursor or 0) :], *counted], str(len(single)))

    async def samples(self, remote_id: str, after: float) -> Sequence[Sample]:
        found = await self._ask("GET", f"/jobs/{remote_id}/samples", after=after)
        return [Sample(*sample) for sample in found["samples"]]

    async def _kept(self, remote_id: str) -> list[MetricPoint]:
        found = await self._ask("GET", f"/jobs/{remote_id}/points")
        return [MetricPoint(*point) for point in found["points"]]

    async def metric_names(self, remote_id: str) -> Collection[str]:
        return {point.name for point in await self._kept(remote_id)}

    async def points(self, remote_id: str, name: str, known: int) -> PointPage:
        points = [point for point in await self._kept(remote_id) if point.name == name]
        return PointPage(points[known:], have_steps=True)

    def publishes(self, spec: JobSpec) -> bool:
        return spec.options.get("publish") is True

    async def publish(self, remote_id: str, points: Sequence[MetricPoint], *, again: bool) -> None:
        """The neighbour keeps each point once, so it need not learn that some come `again`."""
        finite = [point for point in points if math.isfinite(point.value)]
        await self._ask("POST", f"/jobs/{remote_id}/points", {"points": finite})

    async def terminal(self, remote_id: str, instance: str) -> TerminalCommand:
        """A shell in the job's folder, on the machine of the neighbour."""
        place = await self._ask("GET", f"/jobs/{remote_id}/place")
        shell = ("sh", "-c", 'cd "$0" && exec "${SHELL:-sh}"', place["folder"])
        is_here = place["host"] == socket.gethostname()
        return TerminalCommand(shell if is_here else ("ssh", "-t", place["host"], shlex.join(shell)))

    # Changing.

    async def stop(self, remote_id: str) -> None:
        await self._ask("POST", f"/jobs/{remote_id}/stop")

    # Looking around.

    async def jobs(self, before: datetime | None = None, limit: int = 50) -> Sequence[RemoteJob]:
        query = {"limit": limit} | ({"before": before.isoformat()} if before else {})
        return [_remote_job(one) for one in (await self._ask("GET", "/jobs", **query))["jobs"]]

    async def job(self, remote_id: str) -> RemoteJob:
        return _remote_job(await self._ask("GET", f"/jobs/{quote(remote_id, safe='')}"))

    async def choices(self, name: str) -> Sequence[Choice]:
        if name == "processors":
            machine = await self._ask("GET", "/machine")
            return [Choice(str(number), f"of {machine['host']}") for number in machine["processors"]]
        return await super().choices(name)

    async def instance_types(self) -> list[InstanceType]:
        return _MACHINES.validate_python((await self._ask("GET", "/machine"))["instances"])

    async def quotas(self) -> list[Quota]:
        return _QUOTAS.validate_python((await self._ask("GET", "/machine"))["quotas"])


def _remote_job(found: Mapping[str, Any]) -> RemoteJob:
    job = Job.model_validate(found["job"])
    report = TypeAdapter(Report).validate_python(found["report"])
    return RemoteJob(job.id, job.spec, report, job.submitted_at, outputs=job.outputs, job_id=job.id)


def _refusal(response: httpx.Response) -> transport.Refusal | None:
    """What the neighbour answers when it refuses: an error of ours, as it crosses HTTP."""
    if response.is_success:
        return None
    try:
        return transport.Refusal(errors.PaiError.from_json(response.json()))
    except (ValueError, AttributeError):
        return transport.Refusal(
            errors.BackendError(f"The neighbour answers {response.status_code}, and nothing we know.")
        )
