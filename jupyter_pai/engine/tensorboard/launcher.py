"""Runs TensorBoard until standard input is closed, which also happens when the server is killed.

Uses only the standard library and TensorBoard, and runs in any interpreter that has it.

Reads a line of JSON, ``{runs: {name: folder}, arguments: [...]}``, and writes ``{folder}``, the folder of its runs, or
``{missing: true}`` if this interpreter has no TensorBoard. After an empty line, when that folder is complete, it starts
and writes ``{url}``. The secret in its address is neither in a command line, which all users can read, nor in a file:
TensorBoard's own `main` would write it into one.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile


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
        for name, path in request["runs"].items():
            os.symlink(path, os.path.join(folder, name))
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
