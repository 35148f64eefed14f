"""The documents of jobs as the server returns them: some fields to follow a job, and the whole for an import."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ....core.errors import NotFound
from ..client import OpenPaiClient
from ..names import our_roles
from ..replies import is_gone

__all__ = ["JobDocument", "JobDocuments", "fetch"]

_MOST_KEPT = 1000
_PLUGINS = "com.microsoft.pai.runtimeplugin"


class JobDocument(NamedTuple):
    """The fields of a document that are kept. `roles`: names of roles in the spec, by those in replies, in the order of
    the ranks. `has_ssh`: an SSH server runs in the containers."""

    roles: Mapping[str, str]
    has_ssh: bool


class JobDocuments:
    """The documents of jobs that are followed. Each is requested once: it never changes."""

    def __init__(self, client: OpenPaiClient) -> None:
        self._client = client
        self._known: dict[str, JobDocument] = {}

    async def of(self, remote_id: str) -> JobDocument:
        """Return the kept fields of a job's document; none for a job without one."""
        if remote_id not in self._known:
            try:
                document = await fetch(self._client, remote_id)
            except NotFound as error:
                if not is_gone(error):
                    raise
                document = {}
            while len(self._known) >= _MOST_KEPT:
                del self._known[next(iter(self._known))]
            self._known[remote_id] = JobDocument(our_roles(document), _has_ssh(document))
        return self._known[remote_id]


async def fetch(client: OpenPaiClient, remote_id: str) -> dict[str, Any]:
    """Return the document of a job without its secrets, whose values the server hides. Empty if it cannot be read.

    Raises:
        NotFound: if the cluster does not have the job.
    """
    text = await client.document(remote_id)
    try:
        value = json.loads(text)  # In spite of its header.
    except ValueError:
        from ..protocol.reader import parse

        value = parse(text).value
    return {key: inner for key, inner in value.items() if key != "secrets"} if isinstance(value, Mapping) else {}


def _has_ssh(document: Mapping[str, Any]) -> bool:
    for plugin in _plugins(document):
        parameters = plugin.get("parameters")
        if plugin.get("plugin") == "ssh" and isinstance(parameters, Mapping) and parameters.get("jobssh") is True:
            return True
    return False


def _plugins(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    extras = document.get("extras")
    rows = extras.get(_PLUGINS) if isinstance(extras, Mapping) else None
    yield from (row for row in (rows if isinstance(rows, list) else []) if isinstance(row, Mapping))
