"""The output parameters of a job: small text files in a folder of its outputs, stored as JSON when the job has ended.

The supervisor reads them, because only it has the values of the secrets to mask. The job is not trusted: links and
special files are not opened, and count and sizes are bounded.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat

from jupyter_pai.backends.local.supervisor import output
from jupyter_pai.backends.local.supervisor.arguments import Arguments
from jupyter_pai.core import beneath

TYPE_CHECKING = False  # Importing `typing` would delay each job.
if TYPE_CHECKING:
    from jupyter_pai.core.secret_filter import SecretFilter

# Bounds: the number of parameters, and the bytes of each and of all, with their names.
MOST, LARGEST, LARGEST_TOGETHER = 100, 64_000, 128_000
# The stored parameters, and the times of the files that existed before the job, in the job's folder.
STORED, EARLIER = "output_parameters.json", "parameters.json"


def store(arguments: Arguments) -> None:
    """Write the parameters of a job that has ended; on a full disk, wait for space."""
    secret_filter = output.filter_of(arguments.secrets)
    values: dict[str, str] = {}
    left, omitted = LARGEST_TOGETHER, 0
    # The job may have replaced the folder by a link.
    with contextlib.suppress(OSError), beneath.open_folder(arguments.parameters) as folder:
        for name in _new_files(arguments, folder):
            data = _read(folder, name) if len(values) < MOST else None
            size = len(os.fsencode(name)) + len(data or b"")
            if data is None or size > left:
                omitted += 1
                continue
            left -= size
            values[_text(os.fsencode(name), secret_filter)] = _text(data, secret_filter)
    if values or omitted:
        output.patiently(_write, arguments.path(STORED), json.dumps({"values": values, "omitted": omitted}))


def _new_files(arguments: Arguments, folder: int) -> list[str]:
    """Return the names of the files that the job wrote, sorted."""
    earlier: dict[str, int] = {}
    with contextlib.suppress(OSError, ValueError), open(arguments.path(EARLIER), encoding="utf-8") as file:
        earlier = json.load(file)
    names = []
    for name in sorted(os.listdir(folder)):
        with contextlib.suppress(OSError):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            # Times alone are unreliable: clocks may be set back.
            if earlier.get(name) != status.st_mtime_ns and not stat.S_ISDIR(status.st_mode):
                names.append(name)
    return names


def _read(folder: int, name: str) -> bytes | None:
    """Return the bytes of a small regular file; None for any other."""
    try:
        file = beneath.open_file(name, below=folder)
    except OSError:
        return None
    try:
        data = os.read(file, LARGEST + 1)
        return data if len(data) <= LARGEST else None
    except OSError:
        return None
    finally:
        os.close(file)


def _text(data: bytes, secret_filter: SecretFilter | None) -> str:
    text = data.decode("utf-8", "replace")
    return secret_filter.mask(text) if secret_filter else text


def _write(path: str, text: str) -> None:
    file = os.open(path + ".new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    try:
        output.write_all(file, text.encode())
        os.fsync(file)
    finally:
        os.close(file)
    os.rename(path + ".new", path)
