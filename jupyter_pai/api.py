"""The engine's verbs with JSON in and JSON out: what the server serves, and what a kernel without a server calls."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from . import __version__
from .backends import load_backends
from .errors import SpecError, UsageError
from .event import LogChunk, json_number
from .i18n import _
from .job import JobSpec, JobStatus, parse_spec
from .request import SubmitRequest
from .service import JobService
from .store import JobFilter

__all__ = ["Api", "Download", "ProfileChange", "Rerun"]

_LARGEST_PAGE = 500
_PIECE = 1 << 18
M = TypeVar("M", bound=BaseModel)


class Rerun(BaseModel):
    """`key`: a rerun that is repeated with the same key makes no second job."""

    model_config = ConfigDict(extra="forbid")
    key: str = Field("", max_length=200)


class Download(BaseModel):
    """`folder` is an absolute path on the machine of the engine."""

    model_config = ConfigDict(extra="forbid")
    channel: str = "model"
    folder: str
    overwrite: bool = False


class ProfileChange(BaseModel):
    """`values` are keys to set (null removes one); `default` makes the profile the default one."""

    model_config = ConfigDict(extra="forbid")
    values: dict[str, Any] | None = None
    default: bool = False


class Api:
    """One method for each verb of `routes.ROUTES`, with the names of its parameters."""

    def __init__(self, service: JobService) -> None:
        self.service = service

    async def about(self) -> dict[str, Any]:
        return {"version": __version__, "backends": sorted(load_backends()), "home": str(self.service.home.path)}

    async def schema(self) -> dict[str, Any]:
        return JobSpec.model_json_schema()

    async def submit(self, body: object) -> dict[str, Any]:
        submitted = await self.service.submitter.submit(_request(body))
        return submitted.model_dump(mode="json") | {"job": self.service.describe(submitted.job)}

    async def preview(self, body: object) -> dict[str, Any]:
        return (await self.service.submitter.preview(_request(body))).model_dump(mode="json")

    async def rerun(self, job: str, body: object = None) -> dict[str, Any]:
        submitted = await self.service.submitter.rerun(job, _parse(Rerun, body or {}).key)
        return submitted.model_dump(mode="json") | {"job": self.service.describe(submitted.job)}

    async def list_jobs(
        self,
        status: Sequence[str] = (),
        name: str = "",
        label: Sequence[str] = (),
        limit: int = 50,
        offset: int = 0,
    ) -> dict[str, Any]:
        try:
            statuses = [JobStatus(word) for word in status]
        except ValueError as error:
            raise UsageError(str(error), fix=_("Statuses are: {names}.").format(names=", ".join(JobStatus))) from None
        pairs = [text.partition("=") for text in label]
        if wrong := [text for text, pair in zip(label, pairs, strict=False) if not pair[1]]:
            raise UsageError(_("`{text}` is no label.").format(text=wrong[0]), fix=_("Write it KEY=VALUE."))
        if not 0 < limit <= _LARGEST_PAGE or not 0 <= offset < 1 << 62:
            raise UsageError(_("limit is 1 to {n}, offset 0 or more.").format(n=_LARGEST_PAGE))
        labels = {key: value for key, _equals, value in pairs}
        jobs, total = self.service.jobs(JobFilter(statuses, name, labels, limit, offset))
        return {"jobs": [self.service.describe(job) for job in jobs], "total": total}

    async def show(self, job: str) -> dict[str, Any]:
        found = self.service.find(job)
        return self.service.describe(found) | {"instances": self.service.log_instances(found)}

    async def stop(self, job: str) -> dict[str, Any]:
        return self.service.describe(await self.service.stop(job))

    async def delete(self, job: str) -> dict[str, Any]:
        return self.service.describe(await self.service.delete(job))

    async def log(
        self, job: str, instance: str = "", offset: int = 0, limit: int = 0, tail: int = 0, follow: bool = False
    ) -> AsyncIterator[LogChunk]:
        """The pieces of a log. Everything that can be wrong is found before the first of them."""
        if min(offset, limit, tail) < 0 or max(offset, limit, tail) >= 1 << 62:
            raise UsageError(_("offset, limit and tail are 0 or more."))
        found = self.service.find(job)
        log = self.service.log(found, instance)
        start = log.last_lines(tail) if tail else offset
        return self._pieces(found.id, instance, start, limit, follow)

    async def _pieces(
        self, job_id: str, instance: str, start: int, limit: int, follow: bool
    ) -> AsyncIterator[LogChunk]:
        job = self.service.find(job_id)
        if follow:
            async for chunk in self.service.follow_log(job, instance, start):
                yield chunk
            return
        log = self.service.log(job, instance)
        end = start + limit if limit else log.size
        yield LogChunk(log.path.name, start, log.read(start, min(_PIECE, max(end - start, 0))))
        place = start + _PIECE
        while place < end and (data := log.read(place, min(_PIECE, end - place))):
            yield LogChunk(log.path.name, place, data)
            place += len(data)

    async def metrics(self, job: str, name: Sequence[str] = (), start: int = 0) -> dict[str, Any]:
        if not 0 <= start < 1 << 62:
            raise UsageError(_("start is 0 or more."))
        series = self.service.metrics(self.service.find(job))
        found = {}
        for metric in series.cursor().counts:
            if not name or metric in name:
                points = series.read(metric, start)
                found[metric] = {
                    "start": start,
                    "step": [point.step for point in points],
                    "value": [json_number(point.value) for point in points],
                    "time": [point.time for point in points],
                }
        return {"metrics": found}

    async def events(self, after: int = 0, job: str = "") -> dict[str, Any]:
        if abs(after) >= 1 << 62:
            raise UsageError(_("after is the number of an event."))
        found = self.service.events(after, self.service.find(job).id if job else "")
        return {"events": [dataclasses.asdict(event) | {"time": event.time.timestamp()} for event in found]}

    async def download(self, job: str, body: object) -> dict[str, Any]:
        asked = _parse(Download, body)
        folder = Path(asked.folder)
        if not folder.is_absolute() or "\0" in asked.folder:
            raise UsageError(_("`{folder}` is not an absolute path.").format(folder=asked.folder))
        files = await self.service.download(job, asked.channel, folder, overwrite=asked.overwrite)
        return {"folder": str(folder), "files": files}

    async def profiles(self) -> dict[str, Any]:
        settings = self.service.profiles.settings()
        return {
            "default": settings.default,
            "profiles": [
                {
                    "name": profile.name,
                    "file": str(profile.file or ""),
                    "settings": profile.settings.model_dump(mode="json", exclude_defaults=True),
                }
                for profile in settings.profiles.values()
            ],
        }

    async def set_profile(self, profile: str, body: object) -> dict[str, Any]:
        change = _parse(ProfileChange, body)
        if change.values is None and not change.default:
            raise UsageError(_("Nothing to change: give values, or make the profile the default one."))
        self.service.profiles.edit(profile, change.values, default=change.default)
        return await self.profiles()

    async def remove_profile(self, profile: str) -> dict[str, Any]:
        self.service.profiles.edit(profile)
        return await self.profiles()

    async def doctor(self) -> dict[str, Any]:
        return {"findings": [dataclasses.asdict(finding) for finding in await self.service.doctor()]}


def _request(body: object) -> SubmitRequest:
    if isinstance(body, dict) and "spec" in body:
        body = body | {"spec": parse_spec(body["spec"])}
    return _parse(SubmitRequest, body)


def _parse(model: type[M], body: object) -> M:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        raise SpecError("\n".join(faults)) from None
