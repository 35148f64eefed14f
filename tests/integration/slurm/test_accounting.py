"""A cluster that keeps an accounting: accounts are known, and ends of jobs that the controller has forgotten."""

from __future__ import annotations

import getpass
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import Refused
from jupyter_pai.jobs.state_dir import Home

from ...conftest import submit, until
from ...support.slurm import SlurmCluster
from .conftest import write_profile


@pytest.fixture(scope="module")
def accounting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    with SlurmCluster(tmp_path_factory.mktemp("accounting"), accounts=("physics", "biology")) as running:
        yield running


@pytest.fixture
def institute(
    accounting: SlurmCluster, home: Home, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SlurmCluster]:
    """The cluster, with a profile for it."""
    monkeypatch.setenv("SLURM_CONF", str(accounting.config))
    write_profile(shared)
    yield accounting
    accounting.run("scancel", "--me")


def test_account_that_is_unknown(institute: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    with pytest.raises(Refused, match="Invalid account or account/partition combination") as caught:
        submit(engine, "true", options={"account": "chemistry"})
    assert "sacctmgr show assoc" in caught.value.fix
    job = submit(engine, "true", options={"account": "biology"}).wait()
    assert "Account=biology" in institute.run("scontrol", "show", "job", job.info["remote_id"])
    write_profile(shared, account="chemistry")
    findings = {one["what"]: one for one in engine.call("doctor", profile="lab")["findings"]}
    assert findings["lab: account"]["text"] == "You have no account `chemistry`."
    assert findings["lab: account"]["fix"].startswith("Set `account` of the profile to one of: biology, physics")


def test_choices_of_a_form_are_those_of_the_cluster(institute: SlurmCluster, engine: EmbeddedClient) -> None:
    def values(name: str) -> list[str]:
        found = [one["value"] for one in engine.call("choices", profile="lab", name=name)["choices"]]
        return [value for value in found if value != "root"]

    assert values("accounts") == ["biology", "physics"]
    assert values("partitions") == ["debug", "short", "urgent"]
    assert values("qos") == ["normal"]
    assert values("instance_types") == ["debug", "short", "urgent"]
    user = getpass.getuser()
    words = ("ReservationName=monday", "StartTime=now+100", "Duration=10", f"Users={user}", "Nodes=n2")
    institute.run("scontrol", "create", "reservation", *words)
    assert values("reservations") == ["monday"]
    institute.run("scontrol", "delete", "ReservationName=monday")


@pytest.mark.slow("cluster")
def test_end_that_only_the_accounting_knows(institute: SlurmCluster) -> None:
    """The job ended without a result of its script and without an engine, and the controller has forgotten it."""
    with closing(EmbeddedClient()) as first:
        job = submit(first, "sleep 1000")
        until(lambda: job.status == "running")
        remote_id = job.info["remote_id"]
    until(lambda: job.id in institute.run("sacct", "-n", "-X", "-o", "JobName%50", "-j", remote_id))
    institute.run("scancel", "--signal=KILL", "--full", remote_id)
    until(lambda: "CANCELLED" in institute.run("sacct", "-n", "-X", "-o", "State", "-j", remote_id))
    institute.kill("ctld", signal.SIGTERM)
    institute.start_controller(forget=True)
    assert remote_id not in institute.run("squeue", "-h", "--states=all", "-o", "%i").split()
    with closing(EmbeddedClient()) as second:
        until(lambda: second.call("show", job=job.id)["status"] == "stopped")
        shown = second.call("show", job=job.id)
        assert shown["platform_status"] == "CANCELLED"
        assert "scancel" in shown["reason"]
        listed = {one["remote_id"]: one for one in second.call("remote_jobs", profile="lab")["jobs"]}
        assert listed[remote_id]["status"] == "stopped"
