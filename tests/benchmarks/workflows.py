"""Workflows on this machine: the time between steps, and the processor time of the conductor."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..conftest import keep_below
from .measure import Row

__all__ = ["ALL"]

CHAIN, FAN, PARALLEL = 200, 1000, 8

# In a process of its own: its processor time is that of the engine. Jobs are other processes.
RUN = """
import asyncio, json, sys, time
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.engine.requests import SubmitRequest

kind, count, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
engine = EmbeddedClient()
spec = {"command": ":", "source": {"files": {"a": ""}}}

def run_workflow():
    needs = (lambda n: [f"s{n - 1}"] if n else []) if kind == "chain" else lambda n: []
    steps = [{"name": f"s{n}", "needs": needs(n), "spec": spec} for n in range(count)]
    body = {"workflow": {"name": "bench", "steps": steps, "max_parallel": most}}
    run = engine.call("run_workflow", body=body)["run"]["id"]
    begun = time.perf_counter(), time.process_time()
    while not (found := engine.call("show_workflow", run=run)["run"])["ended_at"]:
        time.sleep(2)
    assert found["status"] == "succeeded", found["reason"]
    return begun, [step["job"] for step in found["steps"]]

def run_jobs():
    '''The same jobs without a workflow, as many at a time.'''
    service = engine._context.service
    async def one(n, room):
        async with room:
            body = {"spec": spec | {"name": f"bench-s{n}"}}
            submitted = await service.submitter.submit(SubmitRequest.model_validate(body))
            with service.watcher.watch(submitted.job.id, details=False) as ended:
                while not service.watcher.has_ended(submitted.job.id):
                    await ended.wait()
    async def all_of_them():
        room = asyncio.Semaphore(most)
        await asyncio.gather(*(one(n, room) for n in range(count)))
    begun = time.perf_counter(), time.process_time()
    asyncio.run_coroutine_threadsafe(all_of_them(), engine._loop).result()
    return begun, []

(wall, cpu), ids = (run_jobs if kind == "jobs" else run_workflow)()
took = time.perf_counter() - wall, time.process_time() - cpu
jobs = [engine._context.service.store.jobs.get(job) for job in ids]
times = [(job.submitted_at.timestamp(), job.ended_at.timestamp()) for job in jobs]
engine.close()
print(json.dumps([took, times]))
"""


def run(kind: str, count: int) -> tuple[float, float, list[tuple[float, float]]]:
    """Return the seconds and the processor time of a run, and submit and end of each job."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        keep_below(Path(folder), patch)
        command = [sys.executable, "-c", RUN, kind, str(count), str(PARALLEL)]
        (wall, cpu), times = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return wall, cpu, times


def chain() -> Iterator[Row]:
    """Steps that do nothing, one after the other."""
    _wall, _cpu, times = run("chain", CHAIN)
    own = statistics.median(ended - submitted for submitted, ended in times)
    between = statistics.median(after[0] - before[1] for before, after in itertools.pairwise(times))
    title = f"chain of {CHAIN} steps that do nothing: a step's time beyond that of its job"
    shown = f"{between * 1000:.1f} ms"
    yield Row(title, shown, f"{own * 1000:.1f} ms (its job)", shown, "under 20 ms", between < 0.02)


def fan() -> Iterator[Row]:
    """Steps that do nothing, some at a time: the processor time beyond that of the same jobs without a workflow."""
    wall, cpu, _times = run("fan", FAN)
    baseline_wall, baseline_cpu, _times = run("jobs", FAN)
    share = max(cpu - baseline_cpu, 0.0) / wall
    title = f"{FAN:,} steps, {PARALLEL} at a time: processor time of the conductor, beyond that of the jobs alone"
    ours, theirs = f"{cpu:.1f} s in {wall:.0f} s", f"{baseline_cpu:.1f} s in {baseline_wall:.0f} s"
    yield Row(title, ours, theirs, f"{share:.1%} of a core", "under 10 %", share < 0.1)


ALL: list[Callable[[], Iterator[Row]]] = [chain, fan]
