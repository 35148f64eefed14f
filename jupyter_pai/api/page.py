"""Endpoints of the engine and its page: version, texts, settings, disk usage and tutorials."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from pydantic import Field

from .. import __version__
from ..backends import load_backends
from ..config.settings import EngineTables, describe_tables, write_tables
from ..core import i18n
from ..core.errors import Unsupported
from ..core.i18n import _
from ..engine import tutorials
from ..engine.requests import Prune, parse
from ..engine.retention import Pruned
from ..jobs.job import Job
from ..jobs.spec import JobSpec
from .endpoint import Context, Json, RequestBody, Schema, TypedDict, endpoint

_FOLDER = "pai-tutorials"


class AboutReply(TypedDict):
    """`job_files`: globs of the job files that backends read."""

    version: str
    backends: list[str]
    job_files: list[str]
    home: str


class KernelNotebookReply(TypedDict):
    """`notebook`: the absolute path; empty if the kernel has no notebook that is a local file."""

    notebook: str


class CatalogueReply(TypedDict):
    """The page's texts in a language, in JupyterLab's format; empty for English."""

    language: str
    texts: dict[str, Any]


class EngineSettingsReply(TypedDict):
    """The user's settings file, the values of its tables that are not profiles, and the defaults of unset values."""

    file: str
    values: dict[str, dict[str, Any]]
    defaults: dict[str, dict[str, Any]]


class TutorialsReply(TypedDict):
    """`folder` is the absolute path of the notebooks, `place` their path below the folder that JupyterLab shows (null
    outside of it). `first` is the first notebook; `given` are the new ones."""

    folder: str
    place: str | None
    first: str
    given: list[str]


class TutorialPlace(RequestBody):
    """The parent of the folder of tutorial notebooks."""

    folder: str = Field("", max_length=4096, description="Path below the folder that JupyterLab shows.")


@endpoint("GET", "")
async def about(context: Context) -> AboutReply:
    """Get the version and the installed backends."""
    # Pages and kernels call it first.
    asyncio.get_running_loop().run_in_executor(None, context.service.preload)
    return {
        "version": __version__,
        "backends": sorted(load_backends()),
        "job_files": [glob for kind in load_backends().values() for glob in kind.job_files],
        "home": str(context.service.home.path),
    }


@endpoint("GET", "/kernels/{kernel}/notebook")
async def kernel_notebook(context: Context, kernel: str) -> KernelNotebookReply:
    """Get the current path of a kernel's notebook, which may have been renamed."""
    return {"notebook": str(await context.notebook_of(kernel) or "")}


@endpoint("GET", "/schema")
async def schema(context: Context) -> Json:
    """Get the JSON Schema of a job's spec."""
    return JobSpec.model_json_schema()


@endpoint("GET", "/catalogue")
async def catalogue(
    context: Context,
    language: Annotated[str, "A tag like zh-CN. Default: the language of the request."] = "",
) -> CatalogueReply:
    """Get the page's texts in a language that JupyterLab has no language pack for."""
    tag = language or i18n.language()
    return {"language": tag, "texts": await asyncio.to_thread(i18n.catalogue, tag)}


@endpoint("GET", "/settings")
async def engine_settings(context: Context) -> Annotated[Json, Schema(EngineSettingsReply)]:
    """Get the engine settings: limits of disk usage and retention times."""
    return await asyncio.to_thread(describe_tables, context.service.profiles.system_file)


@endpoint("PUT", "/settings")
async def set_engine_settings(context: Context, body: EngineTables) -> Annotated[Json, Schema(EngineSettingsReply)]:
    """Write the engine settings to the user's settings file."""
    await asyncio.to_thread(write_tables, body, context.service.profiles.settings)
    return await engine_settings(context)


@endpoint("POST", "/tutorials")
async def give_tutorials(context: Context, body: TutorialPlace) -> TutorialsReply:
    """Copy the tutorial notebooks, in the language of the request, to a new folder. Existing files are kept."""
    if context.root is None:
        raise Unsupported(
            _("The files that JupyterLab shows are not on the server's machine."),
            fix=_("Run %pai tutorial in a notebook."),
        )
    folder = context.root.within(f"{body.folder}/{_FOLDER}")
    language = i18n.language()
    return {
        "folder": str(folder),
        "place": context.relative(folder),
        "first": tutorials.FIRST[language],
        "given": await asyncio.to_thread(tutorials.give, folder, language),
    }


class DiskPart(TypedDict):
    what: Literal["jobs", "running", "environments", "inputs", "sources", "workflows", "database"]
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


@endpoint("GET", "/disk")
async def disk(context: Context) -> Annotated[Json, Schema(DiskUseReply)]:
    """Get the disk usage."""
    return await asyncio.to_thread(context.service.retention.use)


@endpoint("POST", "/prune")
async def prune(context: Context, body: Annotated[object, Schema(Prune)]) -> Pruned:
    """Delete jobs that have ended, and environments."""
    retention = context.service.retention

    async def delete(job: Job) -> None:
        async with context.service.audit.entry("delete") as entry:
            entry.of_job(job)
            await retention.delete(job)

    return await retention.prune(await context.read(parse, Prune, body or {}), delete)
