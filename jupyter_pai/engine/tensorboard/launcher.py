"""Runs TensorBoard until standard input is closed, which also happens when the server is killed.

Uses only the standard library and TensorBoard, and runs in any interpreter that has it.

Reads a line of JSON, ``{runs: {name: folder}, arguments: [...]}``, and writes ``{folder}``, the folder of its runs, or
``{missing: true}`` if this interpreter has no TensorBoard. After an empty line, when that folder is complete, it starts
and writes ``{url}``. The secret in its address is neither in a command line, which all users can read, nor in a file:
TensorBoard's own `main` would write it into one.

TensorBoard follows links, which a job could have left to other files of the machine. It reads links to files that were
opened below the folder of a run without following any.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import runpy
import sys
import tempfile
import threading

# This package may be missing in the interpreter.
_beneath = runpy.run_path(os.path.join(os.path.dirname(__file__), "../../core/beneath.py"))
_open_folder, _open_file = _beneath["open_folder"], _beneath["open_file"]
# Seconds between two searches for files, the most files, and the descriptors that TensorBoard gets besides.
_EVERY = 2.0
_MOST_FILES = 2_000
_OTHERS = 200


class _Runs:
    """The runs in the folder of a TensorBoard. Each file there is a link to an open file of the folder of a run."""

    def __init__(self, folder: str, paths: dict[str, str]) -> None:
        self.folder = folder
        self.paths = paths
        self.files: dict[str, int] = {}
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= soft < _MOST_FILES + _OTHERS:
            soft = _MOST_FILES + _OTHERS if hard < 0 else min(_MOST_FILES + _OTHERS, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.most = soft - _OTHERS if 0 <= soft < _MOST_FILES + _OTHERS else _MOST_FILES

    def follow(self) -> None:
        """Update the links until the process ends."""
        pause = threading.Event()
        while not pause.wait(_EVERY):
            with contextlib.suppress(OSError):  # As on a full disk.
                self.update()

    def update(self) -> None:
        """Link new and replaced files, event files first. Remove the links to files that are gone."""
        found: set[str] = set()
        for name, path in self.paths.items():
            with contextlib.suppress(OSError, RecursionError), _open_folder(path) as place:
                for below, _folders, files, folder in os.fwalk(".", dir_fd=place):
                    for file in sorted(files, key=lambda file: "tfevents" not in file)[: _MOST_FILES - len(found)]:
                        link = os.path.normpath(os.path.join(self.folder, name, below, file))
                        found.add(link)
                        self.link(link, folder, file)
        for link in {*self.files} - found:
            os.unlink(link)
            os.close(self.files.pop(link))

    def link(self, link: str, folder: int, name: str) -> None:
        """Link a file of an open folder, if it is a regular one."""
        known = self.files.get(link)
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if known is not None and os.path.samestat(status, os.fstat(known)):
                return
            if known is None and len(self.files) >= self.most:
                return
            file = _open_file(name, below=folder)
        except OSError:
            return  # Removed, or not a regular file.
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(f"/proc/self/fd/{file}", link + ".new")
        os.replace(link + ".new", link)
        self.files[link] = file
        if known is not None:
            os.close(known)


def main() -> None:
    """Serve until standard input ends."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Output of libraries must not mix with the reply.
    request = json.loads(sys.stdin.readline())
    try:
        from tensorboard import program
    except ModuleNotFoundError as error:
        if error.name != "tensorboard":
            raise
        answer.write(json.dumps({"missing": True}))
        return
    with tempfile.TemporaryDirectory(prefix="jupyter-pai-tensorboard-") as folder:
        runs = _Runs(folder, request["runs"])
        runs.update()
        threading.Thread(target=runs.follow, daemon=True).start()
        answer.write(json.dumps({"folder": folder}) + "\n")
        answer.flush()
        sys.stdin.readline()
        board = program.TensorBoard()
        board.configure(["tensorboard", "--logdir", folder, *request["arguments"]])
        answer.write(json.dumps({"url": board.launch()}) + "\n")
        answer.flush()
        sys.stdin.read()
    os._exit(0)  # Its threads would be waited for.


if __name__ == "__main__":
    main()
