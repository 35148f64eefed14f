"""The roles of each type of job, and the variables by which its pods find each other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cached_property

from ..processes import free_port

__all__ = ["JOB_TYPES", "Cluster", "Member", "allows", "leads"]

_WITH_MASTER = ("Master", "Worker")
JOB_TYPES = {
    "TFJob": ("Chief", "Master", "PS", "Worker", "Evaluator", "GraphLearn"),
    "PyTorchJob": _WITH_MASTER,
    "MPIJob": _WITH_MASTER,
    "XGBoostJob": _WITH_MASTER,
    "OneFlowJob": _WITH_MASTER,
    "ElasticBatchJob": _WITH_MASTER,
    "SlurmJob": _WITH_MASTER,
    "RayJob": ("Head", "Worker"),
    "DataJuicerJob": ("Head", *_WITH_MASTER),
}
# The first pod of the first of these that a job has is its chief.
_CHIEFS = ("Chief", "Master", "Head", "Worker")
# Types whose command only the chief runs; the other pods serve it until it ends.
_BY_CHIEF = ("MPIJob", "RayJob")
# Roles that do not end by themselves.
_SERVING = ("PS", "GraphLearn", "Evaluator")
_HOSTS = "/etc/mpi/hostfile"

# A pod: its role, and its number in that.
Member = tuple[str, int]


def allows(job_type: str, role: str) -> bool:
    """Return whether a type of job has a role."""
    return role in JOB_TYPES[job_type] or (job_type == "RayJob" and bool(re.fullmatch(r"Worker-[a-z0-9-]+", role)))


def leads(job_type: str, role: str) -> bool:
    """Return whether a type of job has at most one pod of a role."""
    return role in ("Chief", "Master", "Head") and role in JOB_TYPES[job_type]


class Cluster:
    """The pods of one job; `gpus` returns the number of GPUs of a role."""

    def __init__(self, job_type: str, members: list[Member], gpus: Callable[[str], int]) -> None:
        order = [*_CHIEFS, *_SERVING]
        self._type, self._gpus = job_type, gpus
        # In the order of their ranks.
        self.members = sorted(members, key=lambda m: (order.index(m[0]) if m[0] in order else len(order), m[1]))

    @cached_property
    def _ports(self) -> dict[Member, int]:
        """A port of each pod: all of them are processes of one machine."""
        found: set[int] = set()
        while len(found) < len(self.members):
            found.add(free_port())
        return dict(zip(self.members, found, strict=True))

    @property
    def chief(self) -> Member:
        """The first pod."""
        return self.members[0]

    def runs_command(self, member: Member) -> bool:
        """Return whether a pod runs the command, or waits for the chief to end."""
        return self._type not in _BY_CHIEF or member == self.chief

    def decides(self, member: Member, policy: str) -> bool:
        """Return whether a job ends well only once this pod did."""
        if self._type in _BY_CHIEF or (self._type == "TFJob" and policy == "ChiefWorker"):
            return member == self.chief
        return member[0] not in _SERVING

    def variables(self, member: Member) -> dict[str, str]:
        """Return the variables that tell a pod of the others."""
        if self._type == "TFJob":
            return {"TF_CONFIG": json.dumps(self._topology(member))}
        port, rank = str(self._ports[self.chief]), self.members.index(member)
        if self._type == "MPIJob":
            return {"OMPI_MCA_orte_default_hostfile": _HOSTS, "OMPI_MCA_plm_rsh_agent": "sh"}
        if self._type == "RayJob":
            return {"RAY_ADDRESS": f"127.0.0.1:{port}", "RAY_PORT": port}
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(len(self.members))}
        return shared | {"RANK": str(rank), "NPROC_PER_NODE": str(self._gpus(member[0]) or 1)}

    def files(self) -> dict[str, str]:
        """Return files of each pod by their paths."""
        if self._type != "MPIJob":
            return {}
        lines = [f"127.0.0.1 slots={self._gpus(role) or 1}\n" for role, _ in self.members]
        return {_HOSTS: "".join(lines)}

    def _topology(self, member: Member) -> dict[str, object]:
        addresses: dict[str, list[str]] = {}
        for role, number in self.members:
            if role != "Evaluator":  # It is no part of the cluster that trains.
                addresses.setdefault(role.lower(), []).append(f"127.0.0.1:{self._ports[role, number]}")
        task = {"type": member[0].lower(), "index": member[1]}
        return {"cluster": addresses, "task": task, "environment": "cloud"}
