"""A platform where one request of ten fails, and what holds nevertheless."""

from __future__ import annotations

from jupyter_pai.backends.pai.site import JOB_LABEL
from jupyter_pai.client.embedded import EmbeddedClient

from ...fakes.alibaba import StandIn
from ...support import faulty_submits

__all__ = ["submit_and_follow"]


def submit_and_follow(pai: StandIn, engine: EmbeddedClient, jobs: int, delays: int) -> str:
    """Submit jobs with faults, and return a summary: `support.faulty_submits`."""

    def made() -> list[str]:
        return [job["request"]["Settings"]["Tags"][JOB_LABEL] for job in pai.dlc.jobs if "Settings" in job["request"]]

    return faulty_submits.submit_and_follow(pai, made, engine, jobs, delays, profile="dlc").summary
