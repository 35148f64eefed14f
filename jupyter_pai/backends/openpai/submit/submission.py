"""The submit of a job: its document is kept in its folder before it is stored, and sent after that, at most once."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....core.errors import (
    Conflict,
    NotFound,
    PaiError,
    PermissionDenied,
    Refused,
    ReplyLost,
    SpecError,
    Throttled,
)
from ....core.i18n import _
from ....core.secret import Secret
from ....core.text import show_size
from ....jobs.job import Job
from ....jobs.state_dir import JobFolder
from ...base import Prepared, Submission, parse_options
from ...job_files import refusal
from ...private_folder import path_of
from ...remote import channel_uris
from .. import own_document
from ..follow.pages import job_page
from ..names import remote_id
from ..options import OpenPaiOptions, OpenPaiSettings
from ..protocol.check import LIMIT, check_document
from ..protocol.references import Cluster
from . import locations
from .cluster import cluster_of
from .job_document import document_of, is_generated, secret_key, virtual_cluster
from .own_submit import document_of_own, has_code

if TYPE_CHECKING:
    from ..client import OpenPaiClient

__all__ = ["code_place", "prepare", "submit"]

# Characters of all entry points together: the controller does not start larger jobs (pai issue 5093).
_LARGEST_ENTRY_POINTS = 1_000_000
# Bytes that the value of a secret may take, before it is known.
_SECRET = 1024
# Attempts of a submit, and seconds before the second one. A repeated one finds the name taken.
_ATTEMPTS, _PAUSE = 5, 0.3


async def code_place(job: Job, folder: JobFolder, settings: OpenPaiSettings, client: OpenPaiClient) -> str:
    """Return the URI of the folder for the code of a job; empty if it goes in the document, or if there is none.

    Raises:
        SpecError: if it fits neither into the document nor anywhere else.
    """
    code, _text = await asyncio.to_thread(_document, job, folder, settings, await _cluster_of(job, settings, client))
    return code.removeprefix("-")


async def prepare(job: Job, folder: JobFolder, settings: OpenPaiSettings, client: OpenPaiClient) -> Prepared:
    """Write the document of a job into its folder, and create the folders for its outputs.

    Raises:
        SpecError: if the document is too large.
        BackendError: if the storage cannot be written.
    """
    code, text = await asyncio.to_thread(_document, job, folder, settings, await _cluster_of(job, settings, client))
    folder.document.write_text(text, "utf-8", "surrogateescape")
    if not is_generated(parse_options(OpenPaiOptions, job.spec.options)):
        return Prepared({}, _notes(job, folder, code, text))
    await asyncio.to_thread(_create_folders, job, settings)
    return Prepared(channel_uris(job, locations.output_uri(settings, job)), _notes(job, folder, code, text))


async def _cluster_of(job: Job, settings: OpenPaiSettings, client: OpenPaiClient) -> Cluster:
    options = parse_options(OpenPaiOptions, job.spec.options)
    return await cluster_of(client, virtual_cluster(settings, options))


def _document(job: Job, folder: JobFolder, settings: OpenPaiSettings, cluster: Cluster) -> tuple[str, str]:
    """Return the URI of the folder for the code (`-` for the document itself, empty without code), and the document."""
    make = document_of_own if parse_options(OpenPaiOptions, job.spec.options).document else document_of
    is_packed = has_code(job)
    text = make(job, folder, settings, cluster, "-" if is_packed else "")
    if not (excess := _excess(job, text)):
        return "-" if is_packed else "", text
    if not is_packed:
        raise _too_large(excess)
    place = locations.code_uri(settings, job.source_digest)
    if not place:
        raise _no_place(excess, folder.source.stat().st_size)
    text = make(job, folder, settings, cluster, place)
    if excess := _excess(job, text):
        raise _too_large(excess)
    return place, text


def _excess(job: Job, text: str) -> str:
    """Return the size of a document that is too large, and the limit; empty if it is small enough."""
    size = len(text.encode("utf-8", "surrogateescape")) + _SECRET * len(job.spec.secrets)
    if size > LIMIT:
        return _("it would have {size} bytes, and the server takes {limit}").format(
            size=f"{size:,}", limit=f"{LIMIT:,}"
        )
    total = sum(len(point) for point in check_document(text).entry_points.values()) if job.spec.roles else 0
    if total > _LARGEST_ENTRY_POINTS:
        return _("the commands of all roles would have {size} bytes, and the cluster runs {limit}").format(
            size=f"{total:,}", limit=f"{_LARGEST_ENTRY_POINTS:,}"
        )
    return ""


def _too_large(excess: str) -> SpecError:
    return SpecError(
        _("The job document is too large: {why}.").format(why=excess),
        fix=_("Shorten command, hyperparameters and environment: write them into a file of the code."),
    ).at("command")


def _no_place(excess: str, size: int) -> SpecError:
    return SpecError(
        _("The code has {size}, packed, and does not fit into the job document: {why}.").format(
            size=show_size(size), why=excess
        ),
        fix=_(
            "Set `mounts.NAME` of the profile to a storage of the cluster that is mounted here, or `hdfs` to an "
            "address of WebHDFS. Or send less: --exclude, --include."
        ),
    ).at("source")


def _notes(job: Job, folder: JobFolder, code: str, text: str) -> tuple[str, ...]:
    if not code:
        return ()
    size = show_size(folder.source.stat().st_size)
    if code == "-":
        note = _("The code ({size}, packed) is in the job document, which has {bytes} of {limit} bytes.")
        return (note.format(size=size, bytes=f"{len(text.encode()):,}", limit=f"{LIMIT:,}"),)
    return (_("The code ({size}, packed) is at {uri}.").format(size=size, uri=code),)


def _create_folders(job: Job, settings: OpenPaiSettings) -> None:
    if not (share := locations.share(settings)):
        return
    if not job.spec.output_path:
        share.folder.create("outputs", job.id)
    # Those that are read in place are files of the user.
    copied = [path_of(uri) for channel, uri in job.inputs.items() if uri != job.spec.inputs.get(channel)]
    share.folder.make_private(copied)


async def submit(
    job: Job, folder: JobFolder, secrets: Mapping[str, Secret], settings: OpenPaiSettings, client: OpenPaiClient
) -> Submission:
    """Send the document of a job, with its secrets.

    Raises:
        SpecError: if the server would refuse the document.
        ReplyLost: if it is unknown whether the server has it.
        PaiError: as the server refuses it.
    """
    cluster = await _cluster_of(job, settings, client)
    text = await asyncio.to_thread(_filled, job, folder, secrets)
    checked = await asyncio.to_thread(check_document, text, cluster)
    if checked.errors:
        raise refusal(own_document.as_problems(checked.errors))
    assert checked.document is not None
    name = str(checked.document["name"])
    key = remote_id((await client.credentials()).username, name)
    await _send(client, text, key, cluster)
    return Submission(key, job_page(await client.site(), key))


def _filled(job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> str:
    """Return the kept document with the values of its secrets."""
    options = parse_options(OpenPaiOptions, job.spec.options)
    values: dict[str, str] = {}
    for name, value in secrets.items():
        values[name] = value.open()
        values[secret_key(name)] = base64.b64encode(value.open().encode("utf-8", "surrogateescape")).decode()
    file = Path(options.document_file) if options.document_file else None
    return own_document.filled(folder.document.read_text("utf-8", "surrogateescape"), file, values)


async def _send(client: OpenPaiClient, text: str, key: str, cluster: Cluster) -> None:
    """Send a document. A name can be used once, so that a request without a reply is simply repeated."""
    lost: ReplyLost | None = None
    for attempt in range(_ATTEMPTS):
        if attempt:
            await asyncio.sleep(_PAUSE * 3 ** (attempt - 1))
        try:
            return await client.submit(text)
        except Conflict:
            return None  # The name has our id: the job is there.
        except ReplyLost as error:
            lost = error
        except PaiError as error:
            raise _explained(error, cluster) from None
    assert lost is not None
    if lost.details.get("status") and not await _exists(client, key):
        raise Refused(lost.message, fix=_("Check the document, or ask the administrators."), **lost.details) from None
    raise lost


async def _exists(client: OpenPaiClient, key: str) -> bool:
    try:
        await client.job(key)
    except NotFound:
        return False
    except PaiError:
        return True  # Unknown.
    return True


def _explained(error: PaiError, cluster: Cluster) -> PaiError:
    """Return a refusal with what to do."""
    granted: dict[type[PaiError], tuple[str, Any]] = {
        PermissionDenied: ("options.virtual_cluster", cluster.virtual_clusters),
        NotFound: ("options.storages", cluster.storages),
    }
    for kind, (field, names) in granted.items():
        if isinstance(error, kind):
            error.fix = _("You may use: {names}.").format(names=", ".join(sorted(names or ())) or "-")
            return error.at(field)
    wait = error.details.get("wait")
    if isinstance(error, Throttled) and isinstance(wait, int | float) and wait > 60:
        error.fix = _(
            "The cluster limits the submits of an hour. Try again in {n} minutes: %pai rerun ID. Several runs in one "
            "job, such as roles, count once."
        ).format(n=-(-int(wait) // 60))
    return error
