"""Long runs on a platform with faults: no job is lost or duplicated."""

from __future__ import annotations

import pytest

from jupyter_pai.client.embedded import EmbeddedClient

from ..fakes.alibaba import StandIn
from ..integration.pai.conftest import engine, pai, timings  # noqa: F401  fixtures
from ..integration.pai.faulty_platform import OPTIONAL, submit_and_follow, submit_in_turn, submit_with_lost_replies

pytestmark = pytest.mark.soak

JOBS, DELAYS = 300, 50
LOST, LAG = 100, 10.0
IN_TURN, LONGEST = 60, 30.0


def test_submits_under_faults_create_one_job_with_a_complete_log(
    pai: StandIn,  # noqa: F811
    engine: EmbeddedClient,  # noqa: F811
) -> None:
    for action in OPTIONAL:
        pai.faults.add("500", f"paistudio:{action}")
    print(submit_and_follow(pai, engine, JOBS, DELAYS))


def test_submits_with_lost_replies_and_lagging_lists_create_one_job(
    pai: StandIn,  # noqa: F811
    engine: EmbeddedClient,  # noqa: F811
) -> None:
    print(submit_with_lost_replies(pai, engine, LOST, LAG))


def test_submits_in_turn_under_faults_create_one_job_in_time(
    pai: StandIn,  # noqa: F811
    engine: EmbeddedClient,  # noqa: F811
) -> None:
    text, longest = submit_in_turn(pai, engine, IN_TURN)
    print(text)
    assert longest < LONGEST


def test_submits_with_lost_replies_find_their_jobs_in_lists_without_filters(
    pai: StandIn,  # noqa: F811
    engine: EmbeddedClient,  # noqa: F811
) -> None:
    with pai.without_filters():
        print(submit_with_lost_replies(pai, engine, LOST, 1))
