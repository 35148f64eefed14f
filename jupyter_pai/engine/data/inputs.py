"""Staging of inputs and code: uploads to a remote platform, and downloads to this machine, once for each content.

Uploads go below the platform's own folder, under the digest of their content. Downloads go into the state folder, under
the digest of URI and version; those not used for long are removed.

The digest of a local file is cached with its size, time of change and inode, and computed again if one of them changes.
The modification time is not used, because it can be set back.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tarfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ...backends.base import Backend, Capability
from ...core.cancellation import check, check_progress
from ...core.errors import DAMAGED, BadInput, NotFound, PaiError, SpecError, Unsupported
from ...core.file_uri import is_here, local_path, uri_of
from ...core.filesystem import replace_file
from ...core.i18n import _
from ...core.lease import Lease
from ...jobs.datasets import is_dataset
from ...jobs.spec import JobSpec
from ...jobs.state_dir import Home, state_errors
from ...storage.base import Progress
from ...storage.staging import open_source, read_errors, walk
from .storages import Location, Storages

# Characters of a digest that names data.
_LENGTH = 32
# A file changed this recently may change again with the same time stamp, so its digest is not cached yet.
_RACY_NS = 2_000_000_000
_ARCHIVE, _REQUIREMENTS = "source.tar.gz", "requirements.txt"


class StagingPlan(NamedTuple):
    """The inputs of a job, and the channels among them to copy before it starts. `profiles` has the profile whose
    account reads the files of a registered model, by channel."""

    inputs: Mapping[str, str] = {}
    channels: tuple[str, ...] = ()
    profiles: Mapping[str, str] = {}

    @property
    def resolved(self) -> Mapping[str, str]:
        """The inputs as the platform reads them, if nothing is copied; empty if the spec has the same ones."""
        return self.inputs if self.profiles else {}


def staging_plan(
    spec: JobSpec, backend: Backend, uris: Mapping[str, str] | None = None, profiles: Mapping[str, str] | None = None
) -> StagingPlan:
    """Return which inputs of a spec must be copied: to a remote platform files of this machine, to this machine
    files of a storage. Sends no request. `uris` has the files of registered models, and `profiles` the profiles of
    their registries, by channel.

    Raises:
        BadInput: if an input on this machine does not exist.
        SpecError: if the platform has no place for it.
        Unsupported: if the backend cannot read a data set.
    """
    runs_here = Capability.RUNS_HERE in backend.capabilities
    inputs, channels = spec.inputs | dict(uris or {}), []
    for channel, uri in inputs.items():
        if is_dataset(uri) and Capability.DATASETS not in backend.capabilities:
            text = _("The input `{channel}`: the backend `{name}` cannot read the data set {uri}.")
            raise Unsupported(
                text.format(channel=channel, name=backend.name, uri=uri),
                fix=_("Submit to the platform that keeps it, or give the path or URI of its data."),
            ).at(f"inputs.{channel}")
        is_local = is_here(uri)
        if is_local != runs_here and not (is_local and backend.can_read(uri)):
            channels.append(channel)
            with input_errors(channel):
                if is_local:
                    path_of(uri)
    plan = StagingPlan(inputs, tuple(channels), profiles or {})
    if not runs_here:
        check_inputs(backend, plan)
    return plan


def check_inputs(backend: Backend, plan: StagingPlan) -> None:
    """Check that a remote platform has a place for the inputs to copy. Sends no request.

    Raises:
        SpecError: naming the input, if it has none.
    """
    if plan.channels and not backend.stores_inputs:
        channel = plan.channels[0]
        raise SpecError(
            _("The input `{channel}`: the backend `{name}` has no storage for files of this machine: {uri}").format(
                channel=channel, name=backend.name, uri=plan.inputs[channel]
            ),
            fix=_("Upload it to a storage that its jobs can read (%pai put), and pass that URI."),
        ).at(f"inputs.{channel}")


def lost_outputs(backend: Backend, spec: JobSpec) -> str:
    """Return the question whether a job may lose the outputs that its platform does not keep; empty if it keeps all.
    Sends no request."""
    channels = [channel for channel in spec.channels if channel not in spec.outputs]
    if backend.stores_outputs or spec.output_path or not channels:
        return ""
    text = _("The backend `{name}` keeps no outputs: what the job writes to {channels} is lost at its end.")
    if backend.writes_to_uris:
        fix = _("To keep them, name a place: --output-path URI.")
    else:
        fix = _("To keep them, let the script send them to a storage, or choose a profile of another backend.")
    return text.format(name=backend.name, channels=", ".join(channels)) + " " + fix


def check_output_uris(backend: Backend, spec: JobSpec) -> None:
    """Check that jobs of a backend can write to the URIs that a spec names for its outputs.

    Raises:
        Unsupported: naming the field, if they cannot.
    """
    named = {"output_path": spec.output_path} | {f"outputs.{channel}": uri for channel, uri in spec.outputs.items()}
    for field, uri in named.items():
        if uri and not backend.writes_to_uris:
            text = _("{field}: jobs of the backend `{name}` cannot write to {uri}.")
            raise Unsupported(
                text.format(field=field, name=backend.name, uri=uri),
                fix=_("Remove it, or choose a profile of another backend: --profile."),
            ).at(field)


async def stage_inputs(
    storages: Storages, plan: StagingPlan, profile: str, backend: Backend
) -> Callable[[Progress | None], dict[str, str]]:
    """Return a function that copies the inputs of a plan, reports its progress, and returns the URIs of all
    channels as the platform reads them; nothing if there is nothing to copy. That function may block for long.

    Raises:
        PaiError: if a storage has no account, or none is known for a URI.
    """
    base = await backend.input_uri() if plan.channels else ""

    def stage(progress: Progress | None) -> dict[str, str]:
        parts: dict[str, tuple[int, int]] = {}

        def report(channel: str, done: int, total: int) -> None:
            check()
            parts[channel] = done, total
            if progress:
                progress(sum(part[0] for part in parts.values()), sum(part[1] for part in parts.values()))

        staged = {}
        for channel in plan.channels:
            with input_errors(channel):
                copy = _send if base else _fetch
                account = plan.profiles.get(channel, profile)
                staged[channel] = copy(storages, plan.inputs[channel], base, account, partial(report, channel))
        return {**plan.inputs, **staged} if staged else dict(plan.resolved)

    return stage


def _send(storages: Storages, uri: str, base: str, profile: str, progress: Progress) -> str:
    path = path_of(uri)
    place = storages.at(base, profile)
    digest = fingerprint(path, storages.profiles.home)
    if path.is_dir():
        return _send_folder(place, path, digest, progress)
    target = place.join(digest).join(path.name)
    if not target.storage.stat(target.uri):
        target.storage.put(path, target.uri, overwrite=True, progress=progress)
    return target.uri


def _fetch(storages: Storages, uri: str, _base: str, profile: str, progress: Progress) -> str:
    source = storages.at(uri, profile)
    storage, entry = source.storage, source.storage.stat(source.uri)
    if entry is None:
        raise NotFound(_("{uri} does not exist.").format(uri=uri), fix=_("List the files: %pai ls URI"))
    top, files = source.folder, None
    if entry.is_folder:
        content = [file for file in storage.list(top.uri) if not file.problem]
    else:
        top, name = source.split()
        content, files = [entry], [name]
    versions = [[file.path, file.size, file.version] for file in content]
    key = hashlib.sha256(json.dumps([source.uri, versions]).encode()).hexdigest()[:_LENGTH]
    folder = storages.profiles.home.inputs / key
    data, ready = folder / "data", folder / "ready"
    with state_errors(folder.parent), _locked(Lease(folder.with_name(f"{key}.lock"))):
        if not ready.exists():
            storage.get_tree(top.uri, data, files, overwrite=True, progress=progress)
            data.mkdir(exist_ok=True)
            for path, _size in walk(data):
                os.chmod(data / path, 0o400)  # A job must not change the input of the next one.
        ready.write_text(uri, "utf-8")  # Its modification time is when the input was last used.
    return uri_of(data if entry.is_folder else data / entry.path, folder=entry.is_folder)


def upload_code(place: Location, archive: Path, paths: Collection[str]) -> None:
    """Upload packed code to the folder of its digest, unless it is there.

    `paths` are the files of the archive. `requirements.txt` is uploaded also as a separate file, for platforms that do
    not unpack the archive. The archive is sent last, so its presence means that the upload is complete.
    """
    if _REQUIREMENTS in paths:
        with tarfile.open(archive) as packed:
            file = packed.extractfile(_REQUIREMENTS)
            data = file.read() if file else b""
        place.storage.put_once(data, place.join(_REQUIREMENTS).uri)
    place.storage.put_once(archive, place.join(_ARCHIVE).uri, check_progress)


def path_of(uri: str) -> Path:
    """Return the path of data on this machine.

    Raises:
        BadInput: if it does not exist.
    """
    path = Path(local_path(uri))
    if not path.exists():
        raise BadInput(
            _("{path} does not exist.").format(path=path),
            fix=_("Relative paths start at the notebook's folder, outside of notebooks at the current folder."),
        )
    return path


def _send_folder(place: Location, folder: Path, digest: str, progress: Progress) -> str:
    """Upload a folder and return its URI. A marker file beside it is written last; an interrupted upload is resumed."""
    storage, target, marker = place.storage, place.join(f"{digest}/").uri, place.join(f"{digest}.json").uri
    if storage.stat(marker):
        return target
    files = walk(folder)
    if not files:
        raise BadInput(_("{path} is empty.").format(path=folder), fix=_("Give a folder that has files, or a file."))
    uploaded = {file.path: file.size for file in storage.list(target)}
    missing = [path for path, size in files if uploaded.get(path) != size]
    storage.put_tree(folder, target, missing, overwrite=True, progress=progress)
    summary = {"files": len(files), "bytes": sum(size for _path, size in files)}
    storage.put(json.dumps(summary).encode(), marker, overwrite=True)
    return target


@contextlib.contextmanager
def input_errors(channel: str) -> Iterator[None]:
    """Name the input channel in the errors of the block."""
    try:
        yield
    except PaiError as error:
        error.message = _("The input `{channel}`: {what}").format(channel=channel, what=error.message)
        error.args = (error.message,)
        if error.status < 500:
            error.at(f"inputs.{channel}")
        raise


@contextlib.contextmanager
def _locked(lease: Lease) -> Iterator[None]:
    """Hold a lease, which one process has at a time."""
    while not lease.acquire():
        time.sleep(0.1)
    try:
        yield
    finally:
        lease.release()


def fingerprint(path: Path, home: Home) -> str:
    """Return the digest of a file's content, or of all paths and contents below a folder. Digests are cached in the
    state folder. May block for long.

    Raises:
        BadInput: if a file or folder cannot be read.
    """
    note = home.inputs / "known" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:_LENGTH]}.json"
    cached = _read(note)
    names = [name for name, _size in walk(path)] if path.is_dir() else [""]
    entries = {name: _entry(path / name, cached.get(name)) for name in names}
    if entries != cached:
        _write(note, entries)
    if not path.is_dir():
        return str(entries[""][-1])[:_LENGTH]
    lines = "".join(f"{name}\0{entry[-1]}\n" for name, entry in entries.items())
    return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()[:_LENGTH]


def _entry(path: Path, cached: list[object] | None) -> list[object]:
    """Return the size, time of change in nanoseconds, inode and SHA-256 of a file."""
    with read_errors(path):
        # Opening thousands of unchanged files takes longer than all else of a submit.
        if cached and cached[:-1] == _stamp(os.stat(path)):
            return cached
        with open_source(path) as file:
            return [*_stamp(os.fstat(file.fileno())), hashlib.file_digest(file, "sha256").hexdigest()]


def _stamp(info: os.stat_result) -> list[object]:
    return [info.st_size, info.st_ctime_ns, info.st_ino]


def _read(note: Path) -> dict[str, list[object]]:
    try:
        return {
            str(name): list(entry) for name, entry in json.loads(note.read_text("utf-8")).items() if len(entry) == 4
        }
    except DAMAGED:
        return {}


def _write(note: Path, entries: dict[str, list[object]]) -> None:
    """Cache the digests of files that cannot change unnoticed. On a full disk nothing is cached."""
    old = time.time_ns() - _RACY_NS
    settled = {name: entry for name, entry in entries.items() if int(str(entry[1])) < old}
    with contextlib.suppress(OSError):
        note.parent.mkdir(mode=0o700, exist_ok=True)
        with replace_file(note) as target:
            target.write(json.dumps(settled))
