"""A container engine for tests: podman with its own storage, and an image made of this machine's Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["IMAGE", "empty_storage", "image_archive", "import_image", "names", "program_archive", "settings", "storage"]

IMAGE = "localhost/jupyter-pai-test:1"
# Debian's own interpreter: its files lie where the image will have them.
_PYTHON = "/usr/bin/python3"
_PROGRAMS = ["/bin/sh", "/bin/bash", "/bin/sleep", "/bin/cat", "/bin/mkdir", "/bin/ln", "/bin/env"]
_PROGRAMS += ["/usr/bin/touch", "/usr/bin/id", "/usr/bin/setsid"]
_LEFT_OUT = shutil.ignore_patterns("test", "__pycache__", "idlelib", "tkinter", "lib2to3", "config-*", "dist-packages")


def settings(folder: Path) -> dict[str, str]:
    """Return the environment variables of podman, as users set them."""
    containers, storage = folder / "containers.conf", folder / "storage.conf"
    # Options for machines without control groups and container networks.
    limits = 'default_ulimits=["nofile=1024:1024", "nproc=1000:1000"]'
    containers.write_text(f'[containers]\n{limits}\nnetns="host"\n[engine]\nruntime="runc"\n')
    storage.write_text(f'[storage]\ndriver="vfs"\ngraphroot="{folder}/graph"\nrunroot="{folder}/run"\n')
    return {"CONTAINERS_CONF": str(containers), "CONTAINERS_STORAGE_CONF": str(storage)}


def import_image(folder: Path) -> None:
    """Create the image in the storage of `settings`."""
    archive = image_archive(folder)
    subprocess.run(["podman", "import", "-q", str(archive), IMAGE], check=True, capture_output=True)


@contextmanager
def storage() -> Iterator[dict[str, str]]:
    """Set the environment variables of podman for a storage that has the image, and yield them."""
    with empty_storage() as variables, tempfile.TemporaryDirectory() as name:
        import_image(Path(name))
        yield variables


@contextmanager
def empty_storage() -> Iterator[dict[str, str]]:
    """Set the environment variables of podman for an empty storage, and yield them."""
    with tempfile.TemporaryDirectory(prefix="jupyter-pai-containers-") as name:
        variables = settings(Path(name))
        before = {key: os.environ.get(key) for key in variables}
        os.environ.update(variables)
        yield variables
        subprocess.run(["podman", "rm", "--all", "--force", "--time", "0"], check=True, capture_output=True)
        subprocess.run(["podman", "rmi", "--all", "--force"], check=True, capture_output=True)
        for key, value in before.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})


def names() -> list[str]:
    """Return the names of the containers in the storage."""
    reply = subprocess.run(["podman", "ps", "-a", "--format", "{{.Names}}"], check=True, capture_output=True, text=True)
    return reply.stdout.split()


def image_archive(folder: Path) -> Path:
    """Write the files of the image into an archive in a folder."""
    root = folder / "root"
    python = os.path.realpath(_PYTHON)
    for program in [*_PROGRAMS, python]:
        _bring(root, program)
    (root / "usr/bin/python3").symlink_to(os.path.basename(python))
    reply = subprocess.run(
        [_PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    library = reply.stdout.strip()
    shutil.copytree(library, root / library[1:], ignore=_LEFT_OUT, ignore_dangling_symlinks=True)
    for module in (root / library[1:]).rglob("*.so"):
        _bring_libraries(root, str(module))
    return _archive(root)


def program_archive(folder: Path, programs: Sequence[str]) -> Path:
    """Write programs of this machine, with their libraries, into an archive in a folder."""
    root = folder / "root"
    for program in programs:
        _bring(root, program)
    return _archive(root)


def _archive(root: Path) -> Path:
    for name in ("tmp", "proc", "sys", "dev", "etc"):
        (root / name).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    archive = root.with_name("image.tar")
    subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True)
    shutil.rmtree(root)
    return archive


def _bring(root: Path, program: str) -> None:
    target = root / program[1:]
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(os.path.realpath(program), target)
    _bring_libraries(root, os.path.realpath(program))


def _bring_libraries(root: Path, binary: str) -> None:
    reply = subprocess.run(["ldd", binary], check=False, capture_output=True, text=True).stdout
    for library in re.findall(r"(/\S+) \(0x", reply):
        target = root / library[1:]
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(library), target)
