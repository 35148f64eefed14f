"""Jobs without a private process tree that kill their supervisor and guard."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from jupyter_pai.backends.local.liveness import Liveness, liveness_of
from jupyter_pai.jobs.state_dir import Home

from ...conftest import processes_of, until
from ...support.confinement import no_namespaces

# It waits, leaves a process in a session of its own and one without environment, and stops both before it kills them.
COMMAND = """
while [ ! -e {gate} ]; do sleep 0.02; done
(setsid sh -c "trap '' TERM; env -i sleep {seconds} & sleep {seconds}" &)
read a b c supervisor d < /proc/$PPID/stat
kill -STOP $supervisor $PPID; kill -KILL $supervisor $PPID
sleep {seconds}
"""


def test_next_engine_ends_the_processes_of_a_job_that_killed_its_supervisor(
    cli: Callable[..., subprocess.CompletedProcess[str]], home: Home, folder: Path, tmp_path: Path
) -> None:
    (folder / "a").touch()
    seconds = f"600.{os.getpid()}"  # Of no other test.
    command = COMMAND.format(gate=tmp_path / "gate", seconds=seconds)
    done = cli("submit", "--command", command, "--json", preexec_fn=no_namespaces)
    job = json.loads(done.stdout)["id"]
    until(lambda: processes_of(job))
    (tmp_path / "gate").touch()
    until(lambda: liveness_of(home.job(job)) is Liveness.DEAD)
    until(lambda: len(processes_of(job)) >= 3)
    (result,) = json.loads(cli("list", "--json").stdout)
    assert result["status"] == "failed"
    assert result["reason"].startswith("The job ended early: its supervisor was killed. ")
    assert "remaining processes were killed." in result["reason"]
    assert processes_of(job) == []
    assert f"sleep\0{seconds}".encode() not in _command_lines()


def _command_lines() -> bytes:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue
    return b"\n".join(lines)
