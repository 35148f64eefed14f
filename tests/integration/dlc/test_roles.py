"""Roles meet: each instance knows its rank, its role and the first instance."""

from __future__ import annotations

import re

import pytest

from jupyter_pai.client.embedded import EmbeddedClient

from ...conftest import submit
from ...fakes.alibaba import StandIn

LINE = 'echo "$JUPYTER_PAI_ROLE $JUPYTER_PAI_ROLE_RANK is $RANK of $WORLD_SIZE at ${MASTER_ADDR:+there}"'


@pytest.mark.parametrize(
    ("roles", "options", "names"),
    [
        ([{"name": "worker", "count": 2}, {"name": "master"}], {}, ["master-0", "worker-0", "worker-1"]),
        ([{"name": "chief"}, {"name": "worker"}, {"name": "evaluator"}], {}, ["chief-0", "worker-0", "evaluator-0"]),
        ([{"name": "worker", "count": 2}], {"job_type": "XGBoostJob"}, ["worker-0", "worker-1"]),
    ],
)
def test_each_instance_knows_its_place(
    engine: EmbeddedClient, pai: StandIn, roles: list[dict[str, object]], options: dict[str, str], names: list[str]
) -> None:
    job = submit(engine, LINE, profile="dlc", roles=roles, options=options).wait()
    assert job.status == "succeeded"
    assert job.info["instances"] == names
    for rank, name in enumerate(names):
        role, _dash, number = name.rpartition("-")
        assert f"{role} {number} is {rank} of {len(names)} at there" in job.logs(instance=name)


def test_first_instance_leads_in_mpi(engine: EmbeddedClient, pai: StandIn) -> None:
    roles = [{"name": "master"}, {"name": "worker", "count": 2}]
    job = submit(engine, f"{LINE}; cat /etc/mpi/hostfile", profile="dlc", roles=roles, options={"job_type": "MPIJob"})
    job.wait()
    assert "master 0 is 0 of 3" in job.logs(instance="master-0")
    assert len(re.findall(r"slots=1", job.logs(instance="master-0"))) == 3


def test_failed_instance_is_named(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, 'echo "I am $RANK"; [ "$RANK" != 1 ] || exit 3; sleep 1000', profile="dlc", instance_count=2)
    job.wait()
    assert (job.status, job.info["exit_code"]) == ("failed", 3)
    rows = {row["name"]: row for row in engine.call("job_instances", job=job.id)["instances"]}
    assert rows["worker-1"]["exit_code"] == 3
