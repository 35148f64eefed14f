"""Endpoints of disk usage and pruning."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..engine.requests import parse
from ..engine.retention import Criteria, Pruned
from ..jobs.job import Job, JobStatus
from .endpoint import Context, Json, Schema, TypedDict, endpoint


class DiskPart(TypedDict):
    what: Literal["jobs", "running", "environments", "inputs", "sources", "database"]
    count: int
    bytes: int


class LargeJob(TypedDict):
    id: str
    name: str
    status: str
    bytes: int
    pinned: bool


class DiskUseReply(TypedDict):
    """Disk usage of the state folder, in allocated bytes. Above `limit`, warnings appear."""

    path: str
    bytes: int
    limit: int
    free: int
    parts: list[DiskPart]
    largest: list[LargeJob]


class Prune(BaseModel):
    """Criteria of the jobs to delete. Only jobs that have ended, meet all criteria, and are neither pinned nor in use
    are deleted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    older_than: float | None = Field(None, ge=0, description="Minimum time since the job's end, in seconds.")
    larger_than: int | None = Field(None, ge=0, description="Size in bytes that the job exceeds.")
    keep: int | None = Field(None, ge=0, description="Number of the newest matching jobs to keep.")
    status: tuple[JobStatus, ...] = Field((), description="Allowed statuses.")
    labels: dict[str, str] = Field({}, description="Required labels.")
    environments: bool = Field(False, description="Also delete environments that are not in use.")
    dry_run: bool = Field(False, description="Only report candidates; delete nothing.")
    only_jobs: tuple[str, ...] | None = Field(None, description="Restrict the jobs to these.")
    only_environments: tuple[str, ...] | None = Field(None, description="Restrict the environments to these.")


@endpoint("GET", "/disk")
async def disk(context: Context) -> Annotated[Json, Schema(DiskUseReply)]:
    """Get the disk usage."""
    return await asyncio.to_thread(context.service.retention.use)


@endpoint("POST", "/prune")
async def prune(context: Context, body: Annotated[object, Schema(Prune)]) -> Pruned:
    """Delete jobs that have ended, and environments."""
    request = parse(Prune, body or {})
    criteria = Criteria(
        request.older_than, request.larger_than, request.keep, request.status, request.labels, request.environments
    )
    retention = context.service.retention

    async def delete(job: Job) -> None:
        async with context.service.audit.entry("delete") as entry:
            entry.of_job(job)
            await retention.delete(job)

    return await retention.prune(
        criteria, request.only_jobs, request.only_environments, dry_run=request.dry_run, delete=delete
    )
