"""The engine's verbs with JSON in and JSON out: what the server serves, and what a kernel without a server calls."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from .. import __version__
from ..backends import load_backends
from ..config.contents_root import ServerRoot
from ..config.engine_settings import EngineTables
from ..core.errors import UsageError
from ..core.i18n import _
from ..core.secret import Secret
from ..engine.requests import Labels, Prune, Rerun, SubmitRequest, submit_request
from ..engine.requests import parse as _parse
from ..engine.retention import Criteria
from ..engine.service import JobService
from ..engine.tensorboard import TensorBoards
from ..jobs.events import LogChunk
from ..jobs.job import Job, JobStatus
from ..jobs.logs.file import LogFile
from ..jobs.logs.search import ERRORS
from ..jobs.logs.view import parse_time
from ..jobs.metrics.query import read_columns
from ..jobs.spec import JobSpec
from ..jobs.store.query import SORTS, JobFilter
from .data import DataVerbs
from .forms import FormVerbs
from .page import PageVerbs
from .platforms import CredentialsValue, PlatformVerbs, ProfileChange
from .remote import RemoteVerbs
from .tensorboards import BoardVerbs

__all__ = ["Api", "CredentialsValue", "EngineTables", "ProfileChange", "SecretValue"]

_LARGEST_PAGE = 500
_MOST_LINES, _MOST_HITS = 5_000, 1_000
_PIECE = 1 << 18


class SecretValue(BaseModel):
    """What goes in here comes out for jobs only."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    value: str = Field(json_schema_extra={"format": "password", "writeOnly": True})


class Api(FormVerbs, PlatformVerbs, DataVerbs, BoardVerbs, RemoteVerbs, PageVerbs):
    """One method for each verb of `routes.ROUTES`, with the names of its parameters."""

    def __init__(self, service: JobService, root: ServerRoot | None = None, boards: TensorBoards | None = None) -> None:
        self.service = service
        self.root = root
        self._boards = boards

    async def about(self) -> dict[str, Any]:
        return {"version": __version__, "backends": sorted(load_backends()), "home": str(self.service.home.path)}

    async def schema(self) -> dict[str, Any]:
        return JobSpec.model_json_schema()

    async def submit(self, body: object) -> dict[str, Any]:
        async with self.service.audit.entry("submit", starts=True) as entry:
            request = submit_request(body)
            entry.of_spec(request.spec, request.backend)
            submitted = await self.service.submitter.submit(self._with_notebook_path(request))
            entry.of_job(submitted.job, "attached" if submitted.attached else "ok")
        return submitted.model_dump(mode="json") | {"job": self.service.describe(submitted.job)}

    async def bring(self, body: object) -> dict[str, Any]:
        return self._described(await self.service.submitter.stage(self._with_notebook_path(submit_request(body))))

    def _with_notebook_path(self, request: SubmitRequest) -> SubmitRequest:
        """Return the request with the real path of its notebook."""
        return request.model_copy(update={"notebook": request.notebook and self._notebook(request.notebook)})

    async def rerun(self, job: str, body: object = None) -> dict[str, Any]:
        async with self.service.audit.entry("rerun", job, starts=True) as entry:
            asked = _parse(Rerun, body or {})
            entry.of_job(self.service.find(job))
            submitted = await self.service.submitter.rerun(job, asked)
            entry.of_job(submitted.job)
        return submitted.model_dump(mode="json") | {"job": self.service.describe(submitted.job)}

    async def list_jobs(
        self,
        status: Sequence[str] = (),
        name: str = "",
        label: Sequence[str] = (),
        backend: Sequence[str] = (),
        notebook: str = "",
        limit: int = 50,
        offset: int = 0,
        sort: str = "",
        order: str = "",
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
        key, descending = _sorting(sort, order)
        path = self._notebook(notebook) if notebook else ""
        wanted = JobFilter(statuses, name, labels, limit, offset, key, descending, backend, path)
        await self.service.feed.first_look()
        jobs, total = self.service.jobs(wanted)
        return {"jobs": [self.service.describe(job) for job in jobs], "total": total}

    async def show(self, job: str) -> dict[str, Any]:
        await self.service.feed.first_look()
        found = self.service.find(job)
        self.service.feed.glance(found.id)
        git = self.service.provenance(found).git
        return self.service.describe(found) | {
            "instances": self.service.log_instances(found),
            "git": git and git.model_dump(),
        }

    async def provenance(self, job: str) -> dict[str, Any]:
        return self.service.provenance(self.service.find(job)).model_dump(mode="json")

    async def diff(self, job: str, other: str) -> dict[str, Any]:
        return await asyncio.to_thread(self.service.compare, self.service.find(job), self.service.find(other))

    async def pin(self, job: str) -> dict[str, Any]:
        return self.service.describe(await self.service.pin(job, True))

    async def unpin(self, job: str) -> dict[str, Any]:
        return self.service.describe(await self.service.pin(job, False))

    async def label(self, job: str, body: object) -> dict[str, Any]:
        return self.service.describe(await self.service.label(job, _parse(Labels, body).root))

    async def code(self, job: str) -> dict[str, Any]:
        return (await asyncio.to_thread(self.service.recipe, self.service.find(job)))._asdict()

    async def disk(self) -> dict[str, Any]:
        return await asyncio.to_thread(self.service.retention.use)

    async def prune(self, body: object) -> dict[str, Any]:
        asked = _parse(Prune, body or {})
        criteria = Criteria(
            asked.older_than, asked.larger_than, asked.keep, asked.status, asked.labels, asked.environments
        )
        retention = self.service.retention

        async def delete(job: Job) -> None:
            async with self.service.audit.entry("delete") as entry:
                entry.of_job(job)
                await retention.delete(job)

        done = await retention.prune(
            criteria, asked.only_jobs, asked.only_environments, dry_run=asked.dry_run, delete=delete
        )
        return dataclasses.asdict(done)

    async def stop(self, job: str) -> dict[str, Any]:
        async with self.service.audit.entry("stop", job) as entry:
            entry.of_job(self.service.find(job))
            return self.service.describe(await self.service.stop(job))

    async def delete(self, job: str, force: bool = False) -> dict[str, Any]:
        async with self.service.audit.entry("delete", job) as entry:
            entry.of_job(self.service.find(job))
            return self.service.describe(await self.service.delete(job, force=force))

    async def log(
        self,
        job: str,
        instance: str = "",
        offset: int = 0,
        limit: int = 0,
        tail: int = 0,
        line: int = 0,
        lines: int = 0,
        follow: bool = False,
    ) -> AsyncIterator[LogChunk]:
        """The pieces of a log. Everything that can be wrong is found before the first of them."""
        numbers = (offset, limit, tail, line, lines)
        if min(numbers) < 0 or max(numbers) >= 1 << 62:
            raise UsageError(_("offset, limit, tail, line and lines are 0 or more."))
        found = self.service.find(job)
        if not follow:
            await self.service.feed.fresh(found)
        log = self.service.log(found, instance)
        if follow:
            start = log.last_lines(tail, limit) if tail else log.line_offset(line) if line else offset
            return self.service.follow_log(found, instance, start)
        if line or lines:
            # In a thread: of a log that nobody has counted yet, all lines are counted first.
            first, end = await asyncio.to_thread(_page, log, line, lines)
        else:
            first = LogChunk(log.path.name, log.last_lines(tail, limit) if tail else offset, b"")
            end = log.size
        return _pieces(first, log, min(end, first.offset + limit) if limit else end)

    async def lines(
        self,
        job: str,
        instance: str = "",
        merged: bool = False,
        line: int = 0,
        lines: int = 1000,
        before: int | None = None,
        at: str = "",
    ) -> dict[str, Any]:
        if not 0 <= lines <= _MOST_LINES or min(line, before or 0) < 0 or max(line, before or 0) >= 1 << 62:
            raise UsageError(_("lines is 0 to {n}, line and before are 0 or more.").format(n=_MOST_LINES))
        moment, found = parse_time(at), self.service.find(job)
        await self.service.feed.fresh(found)

        def read() -> dict[str, Any]:
            view = self.service.view(found, instance, merged=merged)
            return view.page(line if moment is None else view.at(moment), lines, before=before)

        return await asyncio.to_thread(read)

    async def search(
        self,
        job: str,
        text: str = "",
        regex: bool = False,
        case: bool = False,
        errors: bool = False,
        instance: str = "",
        merged: bool = False,
        line: int = 0,
        back: bool = False,
        limit: int = 1,
    ) -> dict[str, Any]:
        if not 0 <= limit <= _MOST_HITS or not 0 <= line < 1 << 62:
            raise UsageError(_("limit is 0 to {n}, line 0 or more.").format(n=_MOST_HITS))
        query = (ERRORS, True, True) if errors else (text, regex, case)
        found = self.service.find(job)

        def look() -> dict[str, Any]:
            return self.service.view(found, instance, merged=merged).search(query, line, limit, back=back)

        return await asyncio.to_thread(look)

    async def metrics(
        self,
        job: str,
        name: Sequence[str] = (),
        start: int = 0,
        points: int = 0,
        first: int | None = None,
        last: int | None = None,
        system: bool = False,
    ) -> dict[str, Any]:
        if min(start, points) < 0 or max(start, points) >= 1 << 62:
            raise UsageError(_("start and points are 0 or more."))
        if any(not -(1 << 63) <= step < 1 << 63 for step in (first, last) if step is not None):
            raise UsageError(_("first and last are numbers of steps."))
        found = self.service.find(job)
        await self.service.feed.fresh(found)
        known = self.service.metrics(found, system=system or bool(name))

        def read() -> dict[str, Any]:
            return {
                metric: read_columns(source, metric, start, n, most=points, first=first, last=last)
                for metric, (source, n) in known.items()
                if not name or metric in name
            }

        # In a thread: a million points take a moment, and others wait for this one.
        return {"metrics": await asyncio.to_thread(read)}

    async def texts(self, job: str) -> dict[str, Any]:
        return {"texts": self.service.texts(self.service.find(job))}

    async def events(self, after: int = 0, job: str = "") -> dict[str, Any]:
        if abs(after) >= 1 << 62:
            raise UsageError(_("after is the number of an event."))
        found = self.service.events(after, self.service.find(job).id if job else "")
        return {"events": [dataclasses.asdict(event) | {"time": event.time.timestamp()} for event in found]}

    async def secrets(self) -> dict[str, Any]:
        store = self.service.secrets
        places = await asyncio.to_thread(store.places)
        return {"secrets": [{"name": n, "place": place} for n, place in places.items()], "file": str(store.path)}

    async def set_secret(self, secret: str, body: object) -> dict[str, Any]:
        value = Secret(_parse(SecretValue, body).value)
        await asyncio.to_thread(self.service.secrets.keep, secret, value)
        return await self.secrets()

    async def remove_secret(self, secret: str) -> dict[str, Any]:
        await asyncio.to_thread(self.service.secrets.forget, secret)
        return await self.secrets()


def _page(log: LogFile, line: int, lines: int) -> tuple[LogChunk, int]:
    """The beginning of a page of lines, still empty, and where the page ends."""
    known = log.count_lines()
    start = log.line_offset(line)
    end = log.line_offset(line + lines) if lines else log.size
    return LogChunk(log.path.name, start, b"", min(line, known), known), end


async def _pieces(first: LogChunk, log: LogFile, end: int) -> AsyncIterator[LogChunk]:
    """The log from where `first` begins up to the byte `end`. There is a first piece also of nothing."""
    place = first.offset
    yield first._replace(data=log.read(place, min(_PIECE, max(end - place, 0))))
    place += _PIECE
    while place < end and (data := log.read(place, min(_PIECE, end - place))):
        yield LogChunk(first.instance, place, data)
        place += len(data)


def _sorting(sort: str, order: str) -> tuple[str, bool]:
    """What to sort by, and whether the largest comes first."""
    key = sort or "submitted"
    if key not in SORTS and not (key.startswith("hp:") and len(key) > 3):
        raise UsageError(
            _("Jobs cannot be sorted by `{sort}`.").format(sort=sort),
            fix=_("Known are: {names}.").format(names=", ".join((*SORTS, "hp:NAME"))),
        )
    if order not in ("", "asc", "desc"):
        raise UsageError(_("order: `{text}` is not asc or desc.").format(text=order))
    return key, order == "desc" if order else key in ("submitted", "took")
