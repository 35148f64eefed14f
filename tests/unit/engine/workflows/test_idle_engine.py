"""An engine without an active run imports nothing for workflows."""

from __future__ import annotations

import subprocess
import sys

from jupyter_pai.jobs.state_dir import Home

from ....support.waiting import PATIENCE

CODE = """
import asyncio, os, sys
from jupyter_pai.engine.service import JobService
from jupyter_pai.engine.watcher.timings import Timings

async def main():
    service = JobService(timings=Timings(runs=0.01))
    await service.start()
    searches = 0
    while searches < 20 or os.path.exists(service.home.active_runs / "gone"):
        searches += 1
        await asyncio.sleep(0.01)
    await service.close()

asyncio.run(main())
print(*sorted(name for name in sys.modules if "workflow" in name or name == "graphlib"), sep="\\n")
"""


def modules(home: Home) -> list[str]:
    done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True, timeout=PATIENCE)
    return done.stdout.split()


def test_idle_engine_imports_nothing_for_workflows(home: Home) -> None:
    light = ["jupyter_pai.engine.workflows", "jupyter_pai.engine.workflows.active_runs"]
    assert modules(home) == light
    # The mark of a run whose folder was removed is removed too.
    home.create()
    home.active_runs.mkdir()
    (home.active_runs / "gone").touch()
    assert "jupyter_pai.engine.workflows.workflows" in modules(home)
    assert list(home.active_runs.iterdir()) == []
