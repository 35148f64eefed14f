"""A network disk as the system sees it: a FUSE file system called sshfs, in which every name is an empty folder.

Started in a mount namespace of its own: ``python fuse.py FOLDER`` mounts it there and prints what we take it for.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
from pathlib import Path

LOOKUP, GETATTR, INIT = 1, 3, 26
# mode, and what comes before it in the attributes of a file: number, size, blocks, three times and their nanoseconds.
_ATTRIBUTES = struct.pack("<6Q3I", 1, 0, 0, 0, 0, 0, 0, 0, 0) + struct.pack("<7I", 0o40755, 2, 0, 0, 0, 4096, 0)


def serve(device: int) -> None:
    """Serve requests about folders."""
    while True:
        request = os.read(device, 1 << 20)
        _length, kind, unique = struct.unpack_from("<IIQ", request)
        answers = {
            LOOKUP: struct.pack("<4Q2I", 2, 0, 0, 0, 0, 0) + _ATTRIBUTES,
            INIT: struct.pack("<4I2H2I", 7, 19, 0, 0, 0, 0, 4096, 0)[:24],
            GETATTR: struct.pack("<QII", 0, 0, 0) + _ATTRIBUTES,
        }
        body = answers.get(kind, b"")
        error = 0 if kind in answers else -2
        os.write(device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


def main() -> None:
    from jupyter_pai.core import filesystem

    folder = sys.argv[1]
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if ctypes.CDLL(None, use_errno=True).mount(b"ada@elsewhere:", folder.encode(), b"fuse.sshfs", 0, options):
        raise OSError(ctypes.get_errno(), "mount")
    threading.Thread(target=serve, args=(device,), daemon=True).start()
    print(
        filesystem.network_kind(Path(folder)),
        filesystem.network_kind(Path(folder, "state")),
        filesystem.network_kind(Path(folder).parent),
        flush=True,
    )
    os._exit(0)


if __name__ == "__main__":
    main()
