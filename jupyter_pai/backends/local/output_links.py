"""Links in the outputs of an ended job that point to paths of the job, as ``LATEST → /ml/output/checkpoints/step_2``.

Those paths exist only in the job. A link into its own output channel is made relative, so that it is valid after a
download and in a resumed job. Only texts of links are read and replaced, in open folders of the channels.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
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
    roots = _roots(spec, folder)
    lost = []
    for channel, path in output_folders(spec, folder).items():
        # The job may have removed the folder, or replaced it by a link.
        with contextlib.suppress(OSError), open_folder(str(folder.channel(channel, path))) as place:
            for name, text in _links(place):
                target = _target(text, roots)
                if target is None:
                    continue
                try:
                    if target.channel == channel:
                        _replace(place, name, _relative(name, target.names))
                        continue
                except OSError as error:
                    _log.warning("Cannot make a link in an output of job %s relative: %s", folder.id, error)
                lost.append(f"{channel}/{name} → {text}")
    return lost


def _roots(spec: JobSpec, folder: JobFolder) -> dict[str, str]:
    """Return the folders of a job that are known by several paths, with the path of each below ``/ml``. The inner ones
    are first."""
    opt = {f"/opt/ml/{name}": path.removeprefix("/ml/") for name, path in namespaces.opt_ml_links(spec.layout).items()}
    job = os.path.realpath(folder.path)
    return opt | {"/ml": "", f"{job}/ml": "", f"{folder.path}/ml": "", f"{job}/output": "output"}


def _target(text: str, roots: dict[str, str]) -> _Target | None:
    """Return the target of a link; None if it is not a path of the job."""
    for root, path in roots.items():
        if text == root or text.startswith(f"{root}/"):
            names = [name for name in f"{path}{text[len(root) :]}".split("/") if name not in ("", ".")]
            if names[:1] == ["output"] and len(names) > 1 and ".." not in names[1:3]:
                return _Target(contract.ALIASES.get(names[1], names[1]), tuple(names[2:]))
            return _Target()
    return None


def _relative(path: str, target: Sequence[str]) -> str:
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
