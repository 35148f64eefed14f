"""The folders of a local job: the paths of its inputs and outputs, and the links and folders in its output folder.

An earlier job may have left links in a shared output folder, so that each folder is created in the opened one.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from pathlib import Path

from ...core import beneath, contract
from ...core.errors import BadInput
from ...core.file_uri import is_here, local_path
from ...core.i18n import _
from ...jobs.spec import JobSpec
from ...jobs.state_dir import JobFolder
from . import interpreter
from .supervisor import output_parameters

OUTPUT_PARAMETERS = "output_parameters"


def lay_out_outputs(spec: JobSpec, folder: JobFolder, *, in_container: bool) -> None:
    """Create outputs as links, or as folders to mount, so that files are in their final folders while the job runs.

    Raises:
        BadInput: if a link or a folder with content is in the way.
    """
    output = output_root(spec, folder)
    with beneath.open_folder(real_path(output), create=True) as place:
        for channel, path in output_folders(spec, folder).items():
            status = beneath.status_of(place, channel)
            is_link = status is not None and stat.S_ISLNK(status.st_mode)
            if path == output / channel and is_link:
                raise BadInput(
                    _("The output {path} is a link, which is not followed.").format(path=path),
                    fix=_("Remove it, or name its target: --output {channel}=FOLDER").format(channel=channel),
                )
            with beneath.open_folder(real_path(path), create=True, listed=False):
                pass
            if path != output / channel and in_container:
                if is_link:  # Of an earlier job in this output folder.
                    os.unlink(channel, dir_fd=place)
                with beneath.open_folder(channel, below=place, create=True, listed=False):
                    pass
            elif path != output / channel:
                _link(output / channel, place, path)
        for alias, channel in contract.ALIASES.items():
            _link(output / alias, place, Path(channel))
    # Existing output parameters of a shared output folder.
    with suppress(OSError), beneath.open_folder(parameters_folder(spec, folder)) as place:
        found = ((name, beneath.status_of(place, name)) for name in os.listdir(place))
        if times := {name: status.st_mtime_ns for name, status in found if status}:
            (folder.path / output_parameters.EARLIER).write_text(json.dumps(times), "utf-8")


def written_folders(spec: JobSpec, folder: JobFolder) -> list[str]:
    """Return the folders of outputs in which a container can write, without links in their paths."""
    output = output_root(spec, folder)
    channels = output_folders(spec, folder).items()
    return [real_path(output), *(real_path(path) for name, path in channels if path != output / name)]


def parameters_folder(spec: JobSpec, folder: JobFolder) -> str:
    """Return the path of the folder of output parameters. Links of the user are resolved, later ones of the job are not
    followed."""
    own = output_folders(spec, folder).get(OUTPUT_PARAMETERS)
    return real_path(own) if own else os.path.join(real_path(output_root(spec, folder)), OUTPUT_PARAMETERS)


def output_root(spec: JobSpec, folder: JobFolder) -> Path:
    """Return the folder that becomes /ml/output."""
    return file_path(spec.output_path) if spec.output_path else folder.output


def output_folders(spec: JobSpec, folder: JobFolder) -> dict[str, Path]:
    """Return the folder of each output channel."""
    root = output_root(spec, folder)
    standard = {channel: root / channel for channel in spec.channels}
    return {**standard, **{contract.ALIASES.get(name, name): file_path(uri) for name, uri in spec.outputs.items()}}


def _link(path: Path, place: int, target: Path) -> None:
    """Link `path`, in the open folder `place`, to `target`, which may be a sibling. Folders with content are never
    changed."""
    with suppress(FileNotFoundError):
        status = os.lstat(path.name, dir_fd=place)
        if os.path.realpath(path) == os.path.realpath(path.parent / target):
            return
        if stat.S_ISLNK(status.st_mode):
            os.unlink(path.name, dir_fd=place)
        else:
            try:
                os.rmdir(path.name, dir_fd=place)
            except OSError:
                raise BadInput(
                    _("The output {path} is a folder that is not empty.").format(path=path),
                    fix=_("Move it, or choose another output folder."),
                ) from None
    os.symlink(target, path.name, dir_fd=place)


def file_path(uri: str) -> Path:
    """Return the local path of a URI or path.

    Raises:
        BadInput: for a URI that is not local or is invalid, or a relative path.
    """
    if not is_here(uri):
        raise BadInput(
            _("The local backend cannot access `{uri}`.").format(uri=uri), fix=_("Pass a local path or a file:// URI.")
        )
    path = local_path(uri)
    if not path.startswith("/") or "\0" in path:
        raise BadInput(
            _("`{uri}` is not an absolute path.").format(uri=uri), fix=_("Pass a local path or a file:// URI.")
        )
    return Path(interpreter.outside(os.path.normpath(path)))


def real_path(path: Path) -> str:
    """Return a path without links.

    Raises:
        BadInput: if a link leads out of a folder where a job can write.
    """
    try:
        return beneath.resolve(path)
    except OSError as error:
        raise BadInput(
            _("{path} cannot be accessed: {why}.").format(path=path, why=error.strerror or error),
            fix=_("Check its permissions and the links on its way, and pass the target of a link."),
        ) from None
