"""Links in the outputs of an ended job that point to paths of the job, as ``LATEST → /ml/output/checkpoints/step_2``.

Those paths exist only in the job. A link into its own output channel is made relative, so that it is valid after a
download and in a resumed job. Only texts of links are read and replaced, in open folders of the channels.
"""

from __future__ import annotations

import contextlib
import logging
import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...core import contract
from ...core.beneath import open_folder
from ...jobs.spec import JobSpec
from ...jobs.state_dir import JobFolder
from .job_folders import output_folders
from .supervisor import namespaces

_log = logging.getLogger(__name__)


class _Target(NamedTuple):
    """A path of a job: the name below ``/ml/output`` and the names below that one. `channel` is empty elsewhere."""

    channel: str = ""
    names: tuple[str, ...] = ()


def make_relative(spec: JobSpec, folder: JobFolder) -> list[str]:
    """Make the links relative, and return the links out of their channel, as ``model/best → /ml/usercode/x``."""
    known = roots(spec, folder)
    lost = []
    for channel, path in output_folders(spec, folder).items():
        # The job may have removed the folder, or replaced it by a link.
        with contextlib.suppress(OSError), open_folder(str(folder.channel(channel, path))) as place:
            for name, text in _links(place):
                target = _target(text, known)
                if target is None:
                    continue
                try:
                    if target.channel == channel:
                        _replace(place, name, relative(name, target.names))
                        continue
                except OSError as error:
                    _log.warning("Cannot make a link in an output of job %s relative: %s", folder.id, error)
                lost.append(f"{channel}/{name} → {text}")
    return lost


def roots(spec: JobSpec, folder: JobFolder) -> dict[str, str]:
    """Return the folders of a job that are known by several paths, with the path of each below ``/ml``. The inner ones
    are first."""
    opt = {f"/opt/ml/{name}": path.removeprefix("/ml/") for name, path in namespaces.opt_ml_links(spec.layout).items()}
    job = os.path.realpath(folder.path)
    return opt | {"/ml": "", f"{job}/ml": "", f"{folder.path}/ml": "", f"{job}/output": "output"}


def _target(text: str, known: Mapping[str, str]) -> _Target | None:
    """Return the target of a link; None if it is not a path of the job."""
    names = _below(text, known)
    if names is None:
        return None
    if names[:1] == ["output"] and len(names) > 1 and ".." not in names[1:3]:
        return _Target(contract.ALIASES.get(names[1], names[1]), tuple(names[2:]))
    return _Target()


def _below(text: str, known: Mapping[str, str]) -> list[str] | None:
    """Return the names of a path of the job below ``/ml``; None for other paths."""
    for root, path in known.items():
        if text == root or text.startswith(f"{root}/"):
            return [name for name in f"{path}{text[len(root) :]}".split("/") if name not in ("", ".")]
    return None


def names_of(path: str, text: str, known: Mapping[str, str], above: Sequence[str]) -> list[str]:
    """Return the names of the target of a link in a folder of a job. `above`: the names of this folder below ``/ml``.
    Empty for a target outside of the folder."""
    if not text.startswith("/"):
        names = posixpath.normpath(posixpath.join(posixpath.dirname(path), text)).split("/")
    else:
        full = _below(posixpath.normpath(text), known) or []
        names = full[len(above) :] if full[: len(above)] == [*above] else []
    return [] if names[:1] in ([".."], ["."]) else names


def relative(path: str, target: Sequence[str]) -> str:
    """Return the text of a link with this path in a channel, to a target there."""
    above, names = path.split("/")[:-1], [*target]
    while above and names and above[0] == names[0]:
        del above[0], names[0]
    return "/".join([".."] * len(above) + names) or "."


def _links(place: int) -> Iterator[tuple[str, str]]:
    """Yield path and text of the links below an open folder. Links are not followed."""
    waiting = [""]
    while waiting:
        below = waiting.pop()
        found = []
        with contextlib.suppress(OSError), open_folder(below, below=place) as folder, os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    with contextlib.suppress(OSError):
                        found.append((below + entry.name, os.readlink(entry.name, dir_fd=folder)))
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{below}{entry.name}/")
        yield from sorted(found)


def _replace(place: int, path: str, text: str) -> None:
    """Replace a link below an open folder by one with another text."""
    parent, _slash, name = path.rpartition("/")
    with open_folder(parent, below=place, listed=False) as folder:
        temporary = f".jupyter-pai-link-{os.urandom(8).hex()}"
        os.symlink(text, temporary, dir_fd=folder)
        try:
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(temporary, dir_fd=folder)
            raise
