"""Jobs on two nodes: plain, torch-like and MPI scripts need no line of Slurm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient

from ...conftest import PATIENCE, made_once, script, submit, until
from ...support.own_environments import constraint, group
from ...support.slurm import SlurmCluster

# What `torch.distributed` does for `env://`: rank 0 listens at MASTER_ADDR, all others connect to it.
RENDEZVOUS = """
import os, socket, time

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
assert os.environ["LOCAL_RANK"] == "0"
if rank == 0:
    with socket.create_server(address) as server:
        peers = [server.accept()[0] for _n in range(size - 1)]
        total = sum(int(peer.recv(100)) for peer in peers)
        for peer in peers:
            peer.sendall(str(total).encode())
else:
    while True:
        try:
            peer = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    peer.sendall(str(41 + rank).encode())
    total = int(peer.recv(100))
print(f"rank {rank} of {size} on {os.environ['SLURMD_NODENAME']}: {total}")
"""


def test_nodes_exchange_data_through_the_master_address(
    lab: SlurmCluster, engine: EmbeddedClient, folder: Path
) -> None:
    script(folder, RENDEZVOUS)
    names = 'echo "$INDEX of $NODE_NUM, $GPU_NUM_PER_NODE of $GPU_NUM, $CHIEF_IP in $NODE_LIST, $(ls -m /opt/ml)"'
    job = submit(engine, f"{names}; python train.py", folder, instance_count=2).wait()
    assert job.status == "succeeded", (job.reason, job.logs(instance="worker-0"), job.logs(instance="worker-1"))
    assert "rank 0 of 2 on n1: 42\n" in job.logs(instance="worker-0")
    assert "rank 1 of 2 on n2: 42\n" in job.logs(instance="worker-1")
    for rank in range(2):
        tione = f"{rank} of 2, 0 of 0, 127.0.0.1 in 127.0.0.1:0,127.0.0.1:0, code, input, model, output\n"
        assert tione in job.logs(instance=f"worker-{rank}")
    found = [(one["name"], one["rank"], one["node"], one["status"], one["exit_code"]) for one in job.instances()]
    assert found == [("worker-0", 0, "n1", "succeeded", 0), ("worker-1", 1, "n2", "succeeded", 0)]


def test_failed_instance_is_named_and_ends_the_others(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    job = submit(engine, "if [ $RANK = 1 ]; then exit 7; else sleep 1000; fi", instance_count=2).wait(timeout=PATIENCE)
    assert (job.status, job.info["exit_code"]) == ("failed", 7)
    first, second = job.instances()
    assert (second["status"], second["exit_code"]) == ("failed", 7)
    assert first["status"] == "failed"
    assert first["exit_code"] != 7


def test_roles_of_different_sizes_exchange_data(lab: SlurmCluster, engine: EmbeddedClient, folder: Path) -> None:
    """They are the components of a heterogeneous job."""
    script(folder, RENDEZVOUS)
    chief = "echo $JUPYTER_PAI_ROLE $SLURM_CPUS_ON_NODE; exec python train.py"
    roles = [{"name": "chief", "cpu": 3, "memory": "500MiB", "command": chief}, {"name": "worker", "cpu": 1}]
    job = submit(engine, folder=folder, entry_point="train.py", roles=roles).wait(timeout=PATIENCE)
    assert job.status == "succeeded", (job.reason, job.logs(instance="chief-0"), job.logs(instance="worker-0"))
    assert "chief 3\nrank 0 of 2 on n1: 42\n" in job.logs(instance="chief-0")
    assert "rank 1 of 2 on n2: 42\n" in job.logs(instance="worker-0")
    found = [(one["name"], one["role"], one["rank"], one["node"], one["status"]) for one in job.instances()]
    assert found == [("chief-0", "chief", 0, "n1", "succeeded"), ("worker-0", "worker", 1, "n2", "succeeded")]
    remote = {one["remote_id"]: one["name"] for one in engine.call("remote_jobs", profile="lab")["jobs"]}
    assert list(remote.values()).count(job.name) == 1, "each component appears as a job"


def test_roles_end_together(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    roles = [{"name": "ps", "cpu": 2, "command": "echo up; sleep 1000"}, {"name": "worker", "cpu": 1}]
    job = submit(engine, "exit 7", roles=roles).wait(timeout=PATIENCE)
    assert (job.status, job.info["exit_code"]) == ("failed", 7)
    assert [(one["name"], one["status"]) for one in job.instances()] == [("ps-0", "failed"), ("worker-0", "failed")]
    job = submit(engine, "sleep 1000", roles=roles)
    until(lambda: len(job.instances()) == 2)
    job.stop()
    assert job.wait(timeout=PATIENCE).status == "stopped"
    until(lambda: not lab.run("squeue", "-h", "--me"))


@pytest.mark.slow("cluster")
def test_mpi_script_finds_its_ranks(lab: SlurmCluster, engine: EmbeddedClient, folder: Path) -> None:
    """By the interface of the cluster; MPICH and mpi4py come from PyPI."""

    def install(place: Path) -> None:
        words = ["pip", "install", "--quiet", "--target", str(place), *group("mpi"), *constraint()]
        subprocess.run([sys.executable, "-m", "uv", *words], check=True)

    packages = made_once("mpi", install)
    script(
        folder,
        """
        from mpi4py import MPI

        world = MPI.COMM_WORLD
        total = world.allreduce(world.rank + 20)
        print(f"rank {world.rank} of {world.size}: {total}")
        """,
    )
    job = submit(
        engine, folder=folder, entry_point="train.py", instance_count=2, options={"mpi": "pmi2"},
        environment={"PYTHONPATH": str(packages), "LD_LIBRARY_PATH": f"{packages}/lib"},
    ).wait(timeout=PATIENCE)  # fmt: skip
    assert job.status == "succeeded", (job.reason, job.logs(instance="worker-0"))
    assert "rank 0 of 2: 41\n" in job.logs(instance="worker-0")
    assert "rank 1 of 2: 41\n" in job.logs(instance="worker-1")
