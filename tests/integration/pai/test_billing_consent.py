"""Costs are confirmed once, and only for paid platforms."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.check import Check
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import Unconfirmed
from jupyter_pai.jobs.spec import JobSpec
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, submit
from ...fakes.alibaba import StandIn
from .conftest import write_profile

GPU = {"profile": "pai", "instance_type": "ecs.gn6i-c4g1.xlarge"}


def test_price_limit_needs_confirmation_of_each_machine(pai: StandIn, home: Home) -> None:
    write_profile(pai, price_limit=5)
    engine = EmbeddedClient()
    try:
        with pytest.raises(Unconfirmed, match=r"ecs\.c6\.large.*price limit cannot be checked") as caught:
            submit(engine, "true", profile="pai")
        assert "--yes" in caught.value.fix
        with pytest.raises(Unconfirmed, match=r"3 machines ecs\.c6\.xlarge"):
            submit(engine, "true", profile="pai", cpu=4, instance_count=3)
        share = {"resource_id": "quota1stand"}
        submit(engine, "true", profile="pai", cpu=1, memory="1GiB", options=share).wait()
    finally:
        engine.close()


def test_unconfirmed_costs_are_shown(engine: EmbeddedClient, folder: Path, cli: Any) -> None:
    """Machines without GPUs, and the account's own: type, time limit, and continued billing."""
    script(folder, "")
    spec = {"name": "x", "command": "true", "source": {"folder": str(folder)}, "profile": "pai"}
    for fields, place in (
        (
            {"instance_count": 2, "max_run_time": 7200},
            "on 2 machines ecs.c6.large; .*price. It is stopped after at most 2 h",
        ),
        ({"cpu": 4, "options": {"spot": {"strategy": "SpotAsPriceGo"}}}, r"on 1 machine ecs\.c6\.xlarge; .* 24 h\."),
        ({"cpu": 1, "memory": "1GiB", "options": {"resource_id": "quota1stand"}}, "in the quota quota1stand; .*price"),
    ):
        result = engine.preview(spec | fields)
        assert result["questions"] == []
        assert re.search(
            f"It runs {place}.* billed until the job ends, .*close this page or JupyterLab", result["cost"]
        )
    reply = cli("submit", "--backend", "pai", "--command", "true", "--dry-run").stdout
    assert "cost: It runs on 1 machine ecs.c6.large" in reply
    assert any("until the job ends" in note for note in engine.submit(spec)["job"]["notes"])
    preview = engine.preview(spec | GPU)
    assert preview["cost"] == preview["questions"][0]
    assert "until the job ends" in preview["cost"]
    assert engine.preview(spec | {"profile": "local"})["cost"] == ""


def test_backend_without_a_cost_gets_a_default_cost_text(engine: EmbeddedClient, folder: Path) -> None:
    spec = JobSpec(name="x", command="true", instance_type="big", source={"folder": str(folder)})
    check = Check(questions=("Is that right?",)).paid(spec, 0)
    assert check.cost.startswith("It runs on 1 machine big; ")
    assert "No run-time limit: billed until it ends." in check.cost
    assert check.questions == ("Is that right?",)


def test_attaching_needs_no_confirmation(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("1")
    cell: dict[str, Any] = {"name": "cell", "command": "true", "source": {"files": {"a": ""}}, **GPU}
    cell["inputs"] = {"train": str(tmp_path / "data.csv")}
    with pytest.raises(Unconfirmed):
        engine.submit(cell, attach=True)
    first = engine.submit(cell, attach=True, confirmed=True)["job"]
    again = engine.submit(cell | {"name": "later"}, attach=True)
    assert (again["attached"], again["job"]["id"]) == (True, first["id"])


def test_changed_data_is_asked_about_before_it_is_billed_again(
    engine: EmbeddedClient, pai: StandIn, folder: Path
) -> None:
    script(folder, "print(1)")
    (folder / "data.csv").write_text("1")
    cell: dict[str, Any] = {"name": "cell", "entry_point": "train.py", "source": {"folder": str(folder)}}
    cell["profile"] = "pai"
    first = engine.submit(cell, attach=True)["job"]
    (folder / "data.csv").write_text("2")
    with pytest.raises(Unconfirmed, match=r"data.csv changed.*--exclude data.csv.*--again"):
        engine.submit(cell, attach=True)
    assert engine.call("list_jobs")["total"] == 1
    assert engine.submit(cell, attach=True, confirmed=True)["job"]["id"] != first["id"]
    # Changed code is a reason of its own.
    script(folder, "print(2)")
    assert not engine.submit(cell, attach=True)["attached"]


def test_rerun_needs_confirmation(engine: EmbeddedClient, pai: StandIn) -> None:
    cell = {"name": "x", "command": "true", "source": {"files": {"a": ""}}, **GPU}
    first = engine.submit(cell, confirmed=True)["job"]
    with pytest.raises(Unconfirmed, match="GPUs"):
        engine.rerun(first["id"])
    assert engine.rerun(first["id"], confirmed=True)["job"]["id"] != first["id"]


def test_submit_without_a_terminal_needs_the_option_yes(
    pai: StandIn, folder: Path, cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    script(folder, "")
    words = ("submit", "--backend", "pai", "--gpu", "1", "--command", "true", "--detach")
    assert "to confirm: It runs on 1 machine ecs.gn6i" in cli(*words[:-1], "--dry-run").stdout
    refused = cli(*words)
    assert refused.returncode == 2
    assert "ecs.gn6i-c4g1.xlarge with GPUs" in refused.stderr
    assert "--yes" in refused.stderr
    assert not pai.count("paistudio") and not pai.count("oss", "PutObject")
    agreed = cli(*words, "--yes")
    assert agreed.returncode == 0, agreed.stderr
    assert pai.jobs[-1]["request"]["ComputeResource"]["EcsSpec"] == "ecs.gn6i-c4g1.xlarge"
    job = agreed.stdout.split()[0].strip("<,")
    again = cli("rerun", job, "--detach")
    assert again.returncode == 2
    assert "--yes" in again.stderr
