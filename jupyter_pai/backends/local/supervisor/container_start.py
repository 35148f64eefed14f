"""Starts a container of a job with the folders that were noted at the submit.

An engine takes paths, not descriptors, so that a job could replace a folder by a link between a check and the mount.
With podman, a folder below one in which a job can write is therefore compared after it was mounted, before the command
runs. Docker cannot stop there: hard links to the files of the folder are mounted in its place.

Its arguments are the engine, the name of the container without the rank, the folder of the job, the mounts as JSON and
the options of the engine. It becomes the client of the engine.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys

from jupyter_pai.core import beneath

# Exit code of both clients if a container cannot be started.
NOT_STARTED = 125


class _Refused(Exception):
    """A folder is not mounted."""


class _Mount:
    """A folder of this machine, open, and its path in the container."""

    def __init__(self, path: str, place: str, writable: bool, folder: int) -> None:
        self.path = path
        self.place = place
        self.writable = writable
        self.folder = folder

    @property
    def words(self) -> list[str]:
        fields = ["type=bind", f"source={self.path}", f"target={self.place}", *([] if self.writable else ["readonly"])]
        return ["--mount", ",".join(map(_field, fields))]


def _field(text: str) -> str:
    """Return a field of the line of CSV that engines take. (In `--volume`, a path cannot have a colon.)"""
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if {",", '"', "\n"} & {*text} else text


def main() -> None:
    """Start the container of the command line."""
    engine, name, folder, mounts, *options = sys.argv[1:]
    try:
        with contextlib.ExitStack() as stack:
            opened = [_opened(stack, *mount) for mount in json.loads(mounts)]
            _start(engine, f"{name}-{os.environ['RANK']}", folder, opened, [*_gpus(engine), *options])
    except (_Refused, OSError) as error:
        os.write(2, f"jupyter-pai: {error}\n".encode(errors="replace"))
    os._exit(NOT_STARTED)


def _opened(stack: contextlib.ExitStack, path: str, place: str, writable: bool) -> _Mount:
    try:
        folder = stack.enter_context(beneath.open_folder(path, listed=False))
    except OSError as error:
        why = "replaced by a link" if os.path.islink(path) or os.path.realpath(path) != path else error.strerror
        raise _Refused(f"not mounted: {why}: {path}") from None
    return _Mount(path, place, writable, folder)


def _gpus(engine: str) -> list[str]:
    """Return the options for the GPUs of the job, which are known at its start only."""
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    if os.path.basename(engine) == "docker":
        return ["--gpus", f'"device={gpus}"'] if gpus else []
    return [word for gpu in gpus.split(",") if gpu for word in ("--device", f"nvidia.com/gpu={gpu}")]


def _start(engine: str, name: str, folder: str, mounts: list[_Mount], options: list[str]) -> None:
    jobs = os.path.dirname(folder)
    written = beneath.WrittenFolders(os.path.join(os.path.dirname(jobs), "written"), jobs)
    doubtful = [mount for mount in mounts if written.root_of(os.path.dirname(mount.path))]
    if doubtful and os.path.basename(engine) == "docker":
        for number, mount in enumerate(doubtful):
            _link(mount, f"{folder}/linked/{name}-{number}")
        doubtful = []
    words = [word for mount in mounts for word in mount.words]
    if not doubtful:
        os.execv(engine, [engine, "run", "--name", name, *words, *options])
    _run(engine, "create", "--name", name, *words, *options)
    _run(engine, "init", name)
    root = os.open(f"/proc/{int(_run(engine, 'inspect', '--format', '{{.State.Pid}}', name))}/root", os.O_RDONLY)
    for mount in mounts:
        if not _is_same(root, mount):
            raise _Refused(f"not started: replaced by a link while it was mounted: {mount.path}")
    os.close(root)
    os.execv(engine, [engine, "start", "--attach", name])


def _run(engine: str, *words: str) -> bytes:
    """Run a command of the engine, which ends with this process. Return its output."""
    import ctypes
    import signal
    import subprocess

    prctl = ctypes.CDLL(None).prctl  # 1 is PR_SET_PDEATHSIG.
    done = subprocess.run(
        [engine, *words],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: prctl(1, signal.SIGKILL),  # This process has one thread.
    )
    if done.returncode:
        os._exit(NOT_STARTED)  # The engine has written the reason.
    return done.stdout


def _is_same(root: int, mount: _Mount) -> bool:
    """Return whether a folder is mounted in the container whose root is open."""
    try:
        with beneath.open_folder(mount.place, below=root, listed=False) as place:
            there, here = os.fstat(place), os.fstat(mount.folder)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def _link(mount: _Mount, target: str) -> None:
    """Mount hard links to the files of a folder in its place."""
    if mount.writable:
        raise _Refused(
            f"not mounted, since an earlier job can write beside it and docker follows links: {mount.path}. "
            "Choose another output folder, or use podman."
        )
    with beneath.open_folder("", below=mount.folder) as source, beneath.open_folder(target, create=True) as place:
        try:
            _link_tree(source, place)
        except OSError as error:
            raise _Refused(
                f"not mounted, since an earlier job can write beside it and docker follows links: {mount.path}. Its "
                f"files cannot be linked into the folder of the job ({error.strerror}). Copy it, or use podman."
            ) from None
    mount.path = target


def _link_tree(source: int, target: int) -> None:
    """Create the folders, files and links below an open folder in another one."""
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                with (
                    beneath.open_folder(entry.name, below=source) as inner,
                    beneath.open_folder(entry.name, below=target, create=True) as place,
                ):
                    _link_tree(inner, place)
            else:
                os.link(entry.name, entry.name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
