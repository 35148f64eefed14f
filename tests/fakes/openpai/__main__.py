"""Run a stand-in by hand: `python -m tests.fakes.openpai FOLDER`; it ends with Ctrl+C."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from .handle import openpai

with openpai(Path(sys.argv[1])) as server:
    server.add_user("alice", "password")
    sys.stdout.write(f"{server.url}\nuser alice, password password\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
