"""Requests for a job of 20 seconds, against those of the official SDK on the same stand-in."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.state_dir import Home

from ...conftest import submit, until
from ...fakes.alibaba import StandIn
from ...fakes.alipai import run_alipai
from .conftest import IMAGE

COMMAND = 'i=0; while [ $i -lt 40 ]; do echo "line $i"; i=$((i + 1)); sleep 0.5; done'
THEIRS = f"""
    from pai.estimator import Estimator
    arguments = dict(image_uri={IMAGE!r}, instance_type="ecs.c6.large", **arguments)
    Estimator(**arguments).fit()
"""


def requests_for(job: JobHandle, requests: list[dict[str, Any]]) -> Counter[str]:
    """Return the number of requests for a job by action, with its submit."""
    info = job.info
    names = (info["remote_id"], job.id, info["source_digest"])
    counts = Counter(note["action"] for note in requests if any(name in str(note) for name in names))
    return counts + Counter(["CreateTrainingJob"])


@pytest.mark.slow("environment")
def test_a_fit_takes_at_most_the_requests_of_the_official_sdk(
    pai: StandIn, home: Home, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in pai.environment(pai.make_key()).items():
        monkeypatch.setenv(name, value)
    code = {name: tmp_path / name for name in ("watched", "unwatched", "theirs")}
    for path in code.values():
        path.mkdir()
        (path / "code.py").write_text(f"# {path.name}")
    with ThreadPoolExecutor(1) as thread, closing(EmbeddedClient()) as engine:
        fit = thread.submit(run_alipai, pai, THEIRS, command=COMMAND, source_dir=str(code["theirs"]))
        unwatched = submit(engine, COMMAND, code["unwatched"], profile="pai")
        watched = submit(engine, COMMAND, code["watched"], profile="pai")
        lines: list[str] = []
        watched.wait(logs=True, write=lines.append)
        assert "".join(lines).endswith("line 39\n")
        until(lambda: engine._context.service.store.jobs.status(unwatched.id).ended)
        until(lambda: not engine._context.service.watcher._finishing)
        requests = [note for note in pai.requests if note["key"] != pai.key.id]
        ours = {name: requests_for(job, requests) for name, job in (("watched", watched), ("unwatched", unwatched))}
        fit.result()
    theirs = [note for note in pai.requests if note["key"] == pai.key.id]
    print(f"\n{len(theirs)} by alipai; ours: {ours}")
    assert ours["watched"]["ListTrainingJobLogs"] > 5 > ours["unwatched"]["ListTrainingJobLogs"] > 0
    assert ours["watched"].total() <= len(theirs), ours
    assert ours["unwatched"].total() <= len(theirs) // 2, ours
