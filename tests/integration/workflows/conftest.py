"""Runs of workflows by an engine of this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.base import Client
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.state_dir import Home

from ...conftest import until

Run = dict[str, Any]

# Intervals of the conductor that a test need not wait for.
QUICK = Timings(runs=0.1, run_stops=0.1, resubmit=0.1, resubmit_longest=0.1)


@pytest.fixture
def engine(home: Home, system_path: Path) -> Iterator[EmbeddedClient]:
    """An engine that runs in this process."""
    client = EmbeddedClient(QUICK, system_path)
    yield client
    client.close()


def step(name: str, command: str, /, *needs: str, spec: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A step that runs a command, without a folder of code."""
    return {
        "name": name,
        "needs": needs,
        "spec": {"command": command, "source": {"files": {"a": ""}}} | (spec or {}),
        **fields,
    }


def start(engine: Client, *steps: dict[str, Any], name: str = "flow", **options: Any) -> Run:
    """Start a run of these steps. Options that are no fields of a workflow are those of the request."""
    workflow = {"name": name, "steps": steps} | {key: options.pop(key) for key in ("max_parallel",) if key in options}
    run: Run = engine.call("run_workflow", body={"workflow": workflow} | options)["run"]
    return run


def shown(engine: Client, run: Run | str) -> Run:
    """The current state of a run."""
    found: Run = engine.call("show_workflow", run=run if isinstance(run, str) else run["id"])["run"]
    return found


def ended(engine: Client, run: Run) -> Run:
    """The run after its end."""
    return until(lambda: (now := shown(engine, run))["ended_at"] and now)


def steps_of(run: Run) -> dict[str, Any]:
    return {one["name"]: one for one in run["steps"]}


def statuses(run: Run) -> dict[str, str]:
    return {one["name"]: one["status"] for one in run["steps"]}


def result(name: str, value: object) -> str:
    """The command that writes an output parameter."""
    return f"mkdir -p /ml/output/output_parameters && echo {value} > /ml/output/output_parameters/{name}"
