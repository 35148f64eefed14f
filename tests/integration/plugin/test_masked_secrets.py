"""Secrets of a job on a platform that shows them in its log: the engine masks them, also across kills and changes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import PaiError
from jupyter_pai.jobs.logs.file import LogFile
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, submit, until
from .conftest import opened

VALUE = "tok-" + "3n/Zt+9q" * 3
# Prints the secret in two parts, and the rest when `go` exists; the last line has no end.
PRINTS = """
    import base64, os, pathlib, sys, time
    token = os.environ["HF_TOKEN"]
    print("loss=0.5", token, flush=True)
    print("half:", token[:17], end="", flush=True)
    while not os.path.exists("go"):
        time.sleep(0.02)
    print(token[17:], base64.b64encode(token.encode()).decode())
    folder = pathlib.Path(os.environ["PAI_OUTPUT_MODEL"]).parent / "output_parameters"
    folder.mkdir(exist_ok=True)
    folder.joinpath("token").write_text(f"is {token}")
    print("end:", token, end="")
"""
WHOLE = "loss=0.5 [secret HF_TOKEN]\nhalf: [secret HF_TOKEN] [secret HF_TOKEN]\nend: [secret HF_TOKEN]"
OPENS = "import sys; from jupyter_pai.client.embedded import EmbeddedClient; EmbeddedClient(); sys.stdin.read()"


def started(engine: EmbeddedClient, folder: Path) -> JobHandle:
    """A job that has printed half of its secret, and waits."""
    engine.call("set_secret", secret="hub", body={"value": VALUE})
    script(folder, PRINTS)
    job = submit(engine, folder=folder, entry_point="train.py", profile="den", secrets={"HF_TOKEN": "hub"})
    until(lambda: "half:" in job.logs())
    return job


def seen_by(engine: EmbeddedClient, job: JobHandle) -> JobHandle:
    """The job in another engine."""
    return JobHandle(engine.call("show", job=job.id), engine)


def go_on(neighbour: Path, job: JobHandle) -> None:
    (neighbour / "home/jobs" / job.id / "ml/usercode/go").touch()


def holders(folder: Path) -> list[str]:
    """Return the files that contain the value or its first half."""
    return [path.name for path in folder.rglob("*") if path.is_file() and VALUE[:17].encode() in path.read_bytes()]


def test_engine_masks_what_the_platform_shows(
    engine: EmbeddedClient, neighbour: Path, folder: Path, home: Home
) -> None:
    job = started(engine, folder)
    platform_log = LogFile(neighbour / "home/jobs" / job.id / "log", "worker-0")
    until(lambda: platform_log.read(0, 1000).endswith(VALUE[:17].encode()))
    followed: list[str] = []
    watching = threading.Thread(target=lambda: followed.extend(job.follow()))
    watching.start()
    until(lambda: "".join(followed).endswith("half: "))
    assert holders(home.path) == []
    go_on(neighbour, job)
    job.wait()
    watching.join()
    assert VALUE.encode() in platform_log.read(0, 1000)
    assert job.logs() == WHOLE == "".join(followed)
    assert job.info["output_parameters"] == {"token": "is [secret HF_TOKEN]"}
    assert job.info["metrics"]["loss"]["value"] == 0.5
    assert VALUE not in json.dumps([job.info, engine.call("events")])
    assert holders(home.path) == []


def test_killed_engine_neither_shows_nor_loses_the_held_back_half(
    neighbour: Path, folder: Path, home: Home, cli: Callable[..., Any]
) -> None:
    with opened(neighbour) as engine:
        job = started(engine, folder)
    # Another process watches the job, and is killed.
    with subprocess.Popen([sys.executable, "-c", OPENS], stdin=subprocess.PIPE) as other:
        assert cli("logs", job.id).stdout == "loss=0.5 [secret HF_TOKEN]\nhalf: "
        other.kill()
    assert holders(home.path) == []
    go_on(neighbour, job)
    with opened(neighbour) as engine:
        assert seen_by(engine, job).wait().logs() == WHOLE
    assert holders(home.path) == []


@pytest.mark.slow("platform")
def test_log_waits_for_the_value_of_the_submit(neighbour: Path, folder: Path, home: Home) -> None:
    with opened(neighbour) as engine:
        job = started(engine, folder)
        engine.call("set_secret", secret="hub", body={"value": "another value"})
    with opened(neighbour) as engine:
        job = seen_by(engine, job)
        until(lambda: "has another value than at the submit" in job.info["reason"])
        assert job.info["fix"] == "Store the earlier value again: %pai secret set hub"
        assert job.logs() == "loss=0.5 [secret HF_TOKEN]\nhalf: "
        engine.call("set_secret", secret="hub", body={"value": VALUE})
        go_on(neighbour, job)
        assert job.wait().logs() == WHOLE
        assert not job.info["reason"]


def test_job_that_ends_without_its_value_has_no_log(neighbour: Path, folder: Path, home: Home) -> None:
    with opened(neighbour) as engine:
        job = started(engine, folder)
        engine.call("remove_secret", secret="hub")
    go_on(neighbour, job)
    with opened(neighbour) as engine:
        job = seen_by(engine, job).wait()
        assert job.status == "succeeded"
        assert job.logs() == "loss=0.5 [secret HF_TOKEN]\nhalf: "
        assert job.info["output_parameters"] == {}
        assert any("secrets in them cannot be masked: Unknown secret `hub`" in note for note in job.info["notes"])
    assert holders(home.path) == []


def test_refusal_that_quotes_a_secret_is_masked(engine: EmbeddedClient, neighbour: Path) -> None:
    engine.call("set_secret", secret="hub", body={"value": VALUE})
    inputs = {"train": str(neighbour / VALUE)}
    with pytest.raises(PaiError, match=r"\[secret HF_TOKEN\]") as caught:
        submit(engine, "true", profile="den", secrets={"HF_TOKEN": "hub"}, inputs=inputs)
    assert VALUE not in str(caught.value) + str(caught.value.as_json())
    (job,) = engine.call("list_jobs")["jobs"]
    assert job["status"] == "failed"
    assert "[secret HF_TOKEN]" in job["reason"]
    assert VALUE not in job["reason"]
