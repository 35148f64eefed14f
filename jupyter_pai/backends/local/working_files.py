"""The files that a job writes beside its code: in the folder of the code, and in folders beside that, such as
``../results``. At its end, they become the output channel `files`, with the links to them, and the links in all outputs
are made relative.

Neither the working folder nor the channel is reached by a link: a job in a container could replace folders by links to
files outside of the container.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
from collections.abc import Container, Iterator, Mapping

from ...core import contract
from ...core.beneath import open_file, open_folder, open_parent
from ...core.errors import DAMAGED
from ...jobs.spec import STORED, JobSpec
from ...jobs.state_dir import JobFolder, read_manifest
from ...source import archive, ignore
from . import output_links
from .job_folders import OUTPUT_PARAMETERS, output_folders

# The folder of the channel for files beside the folder of the code whose names are taken by files in it.
_PARENT = "parent"
_log = logging.getLogger(__name__)


def keep(folder: JobFolder) -> list[str]:
    """Link the files that a finished job wrote in its working folder into the channel, once. Files on another disk are
    copied. Packages that the job installed for itself are removed. Return the links in outputs that lead out of their
    channel. Never raises: a file that cannot be kept stays where it is."""
    done = folder.path / "kept"
    with contextlib.suppress(*DAMAGED):
        return [str(link) for link in json.loads(done.read_bytes() or b"[]")]
    shutil.rmtree(folder.path / "packages", ignore_errors=True)
    try:
        spec = JobSpec.model_validate_json(folder.spec.read_text("utf-8"), context=STORED)
        packed = read_manifest(folder)
        channel = output_folders(spec, folder).get(contract.FILES)
        # An earlier version did not create the channel.
        if contract.FILES in spec.channels and channel and channel.is_dir():
            target_path = str(folder.channel(contract.FILES, channel))
            with open_folder(os.path.realpath(folder.path)) as place, open_folder(target_path) as target:
                _keep_all(spec, folder, packed, place, target)
        lost = output_links.make_relative(spec, folder)
        done.write_text(json.dumps(lost), "utf-8")
    except (OSError, ValueError) as error:
        _log.warning("Cannot keep the files that job %s wrote beside its code: %s", folder.id, error)
        return []
    return lost


def _keep_all(spec: JobSpec, folder: JobFolder, packed: Mapping[str, str], place: int, target: int) -> None:
    """Link the files of a job in its open folder `place` into the open channel `target`: the ones in the folder of the
    code, and the ones in folders beside it, under the names that they have there."""
    known: set[str] = set()
    roots = output_links.roots(spec, folder)
    channels = {*spec.channels, *spec.outputs, *contract.ALIASES, OUTPUT_PARAMETERS}
    # Folder, its names below /ml, its name beside the code, packed files, and paths that are not of the job.
    folders: list[tuple[str, list[str], str, Mapping[str, str], set[str]]] = [
        (f"ml/{spec.layout}", [spec.layout], "", packed, set()),
        ("ml", [], "", {}, {spec.layout, "output", "input/config", "input/data"}),
    ]
    if not spec.output_path:
        folders.append(("output", ["output"], "output/", {}, channels))
    for name, above, prefix, own, hidden in folders:
        with contextlib.suppress(FileNotFoundError), open_folder(name, below=place) as work:
            links: list[tuple[str, str]] = []
            places: set[str] = set()
            for path in _written(work, own, hidden, links):
                new = prefix + path
                if new in known:
                    new = f"{_PARENT}/{new}"
                else:
                    places |= {path, *ignore.parents(path)}
                known.add(new)
                _link(path, work, new, target)
            for path, text in links:
                names = output_links.names_of(path, text, roots, above)
                if "/".join(names) in places and prefix + path not in known:
                    _make_link(prefix + path, output_links.relative(path, names), target)


def _written(
    work: int, packed: Mapping[str, str], hidden: Container[str], links: list[tuple[str, str]]
) -> Iterator[str]:
    """Yield the paths of new and changed files, and collect the paths and texts of links. `hidden` paths and names
    that a submit excludes by default are skipped."""
    waiting = [""]
    while waiting:
        below = waiting.pop()
        written: list[str] = []
        try:
            with open_folder(below, below=work) as folder, os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
                if below and ignore.is_environment([entry.name for entry in entries]):
                    continue
                for entry in entries:
                    path = below + entry.name
                    if path in hidden or ignore.is_excluded(entry.name):
                        continue
                    if entry.is_symlink():
                        links.append((path, os.readlink(entry.name, dir_fd=folder)))
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(f"{path}/")
                    elif entry.is_file(follow_symlinks=False) and (
                        path not in packed or entry.stat(follow_symlinks=False).st_mtime != archive.MTIME
                    ):
                        written.append(path)
        except OSError as error:
            _log.warning("Cannot read a folder of a job: %s", error)
        yield from written


def _link(path: str, work: int, new: str, channel: int) -> None:
    """Link a file of the open folder `work` into the open folder `channel` as `new`, or copy it to another disk."""
    try:
        with (
            open_parent(path, below=work) as (source, name),
            open_parent(new, below=channel, create=True) as (target, _),
        ):
            with contextlib.suppress(FileNotFoundError):  # Of an earlier job in a shared output folder.
                os.unlink(name, dir_fd=target)
            try:
                os.link(name, name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
            except OSError:
                _copy(name, source, target)
    except OSError as error:
        _log.warning("Cannot keep a file that a job wrote: %s", error)


def _make_link(path: str, text: str, channel: int) -> None:
    """Make a link with this text in an open channel."""
    try:
        with open_parent(path, below=channel, create=True) as (target, name):
            with contextlib.suppress(FileNotFoundError):  # Of an earlier job in a shared output folder.
                os.unlink(name, dir_fd=target)
            os.symlink(text, name, dir_fd=target)
    except OSError as error:
        _log.warning("Cannot keep a link that a job made: %s", error)


def _copy(name: str, source: int, target: int) -> None:
    """Copy a file between two open folders, with its mode and times."""
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with (
        open(open_file(name, below=source), "rb") as reading,
        open(os.open(name, new, 0o600, dir_fd=target), "wb") as writing,
    ):
        status = os.fstat(reading.fileno())
        shutil.copyfileobj(reading, writing)
        writing.flush()
        os.fchmod(writing.fileno(), status.st_mode & 0o777)
        os.utime(writing.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
