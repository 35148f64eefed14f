"""Jobs of a user that were submitted elsewhere, for their list and for an import with their document."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from ....core.errors import BadInput
from ....jobs.job import now
from ....jobs.spec import JobSpec, parse_spec
from ...pages import every_page
from ...remote import Candidate
from ...reports import RemoteJob, newest
from ..client import OpenPaiClient
from ..names import OWN, our_id, our_roles, remote_id, split
from ..own_document import MASK, spec_fields
from ..protocol.check import check_document
from ..protocol.problems import entry
from ..protocol.writer import write
from ..submit import locations
from .job_documents import fetch
from .pages import job_page
from .reporting import moment, report_of, status_of

__all__ = ["candidates", "job", "jobs"]

# Rows of one list, and of one that searches for older jobs.
_PAGE, _LARGE_PAGE = 500, 5000
_LONGEST, _MOST_TAGS = 128, 50
_NEWEST_FIRST = "submissionTime,DESC"
_SECRET = re.compile(r"<%\s*\$secrets\.(\w+)\s*%>")


async def jobs(client: OpenPaiClient, before: datetime | None = None, limit: int = 50) -> list[RemoteJob]:
    """Return the jobs of the user, newest first; with `before`, older ones only."""
    site = await client.site()
    size = _LARGE_PAGE if before else min(max(limit, 1), _PAGE)

    async def fetch(offset: int) -> tuple[list[dict[str, Any]], int | None]:
        return await client.job_page(limit=size, offset=offset, order=_NEWEST_FIRST)

    def listed(row: Mapping[str, Any]) -> RemoteJob:
        name = remote_id(str(row.get("username") or ""), str(row.get("name") or ""))
        return _remote(row, name, _bare(row, name), job_page(site, name))

    return await newest((listed(row) async for rows in every_page(fetch) for row in rows), before, limit)


async def candidates(client: OpenPaiClient, job_id: str) -> AsyncIterator[Candidate]:
    """Yield the jobs of the user whose names may end with our id, newest first."""
    username = await client.username()
    for row in await client.jobs(keyword=job_id, order=_NEWEST_FIRST):
        user, name = str(row.get("username") or ""), str(row.get("name") or "")
        if user == username:  # A colleague's copy has our id in its name, too.
            yield Candidate(remote_id(user, name), our_id(name), _submitted_at(row))


async def job(client: OpenPaiClient, name: str) -> RemoteJob:
    """Return a job with a spec of its document.

    Raises:
        NotFound: if the cluster does not have it.
    """
    detail = await client.job(name)
    document = await fetch(client, name)
    spec = _spec(detail, name, document)
    roles = our_roles(document)
    remote = _remote(detail, name, spec, job_page(await client.site(), name), roles)
    return RemoteJob(**{**vars(remote), "outputs": _outputs(client, remote, document)})


def _remote(
    listed: Mapping[str, Any], name: str, spec: JobSpec, page: str, roles: Mapping[str, str] | None = None
) -> RemoteJob:
    """Return a job of a row or a detail."""
    # Both may have a job's own name, which a reply for another job would not repeat.
    user, own = str(status_of(listed).get("username") or ""), str(listed.get("name") or "")
    return RemoteJob(
        remote_id(user, own),
        spec,
        report_of(listed, roles or {}, page),
        _submitted_at(listed),
        user=user,
        console_url=page,
        job_id=our_id(own),
    )


def _submitted_at(listed: Mapping[str, Any]) -> datetime:
    status = status_of(listed)
    return moment(status.get("submissionTime")) or moment(status.get("createdTime")) or now()


def _bare(listed: Mapping[str, Any], name: str) -> JobSpec:
    """Return a spec with name and tags only."""
    tags = listed.get("tags")
    labels = {str(tag)[:_LONGEST]: "" for tag in tags[:_MOST_TAGS] if tag} if isinstance(tags, list) else {}
    own = split(name)[1]
    return parse_spec({"name": own[:_LONGEST] or "job", "command": f"# {own}", "labels": labels})


def _name(name: str, document: Mapping[str, Any]) -> str:
    """Return the name of a spec: without our id, if jupyter-pai submitted the job."""
    own = split(name)[1]
    is_ours = entry(document, "extras", "submitFrom") == "jupyter-pai"
    return (own.removesuffix(f"_{our_id(own)}") if is_ours else own)[:_LONGEST] or "job"


def _spec(detail: Mapping[str, Any], name: str, document: dict[str, Any]) -> JobSpec:
    """Return the spec of a job with its document, in which the values of secrets are masked."""
    bare = _bare(detail, name)
    if not document:
        return bare
    secrets = dict.fromkeys(_SECRET.findall(str(document.get("taskRoles"))), MASK)
    text = write({**document, **({"secrets": secrets} if secrets else {})})
    fields: dict[str, Any] = {"name": _name(name, document), "labels": bare.labels, "options": {"document": text}}
    checked = check_document(text)
    try:
        own = spec_fields(checked) if checked.document and not checked.errors else {"command": bare.command}
        return parse_spec({**fields, **_renamed(own, our_roles(document))})
    except BadInput:
        return parse_spec({**fields, "command": bare.command})


def _renamed(fields: dict[str, Any], roles: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a spec with its own names of roles. A job of our own without roles has the role `worker`."""
    own = [{**role, "name": roles.get(role["name"], role["name"])} for role in fields.get("roles", ())]
    if [role["name"] for role in own] != ["worker"]:
        return {**fields, "roles": own} if own else fields
    only = {name: value for name, value in own[0].items() if name not in ("name", "count")}
    return {
        **{name: value for name, value in fields.items() if name != "roles"},
        **only,
        "instance_count": own[0]["count"],
    }


def _outputs(client: OpenPaiClient, remote: RemoteJob, document: Mapping[str, Any]) -> dict[str, str]:
    """Return where the outputs of a job of our own are, as its document says; nothing for others."""
    place = entry(document, "extras", OWN, "outputs")
    base = locations.uri_of_outputs(client.settings, place) if isinstance(place, str) else ""
    return {channel: f"{base}{channel}/" for channel in remote.spec.channels} if base else {}
