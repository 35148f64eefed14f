"""Long runs on PAI-DLC with faults: no job is lost or duplicated."""

from __future__ import annotations

import pytest

from jupyter_pai.client.embedded import EmbeddedClient

from ..fakes.alibaba import StandIn
from ..integration.dlc.conftest import pai  # noqa: F401  # Fixtures.
from ..integration.dlc.faulty_platform import submit_and_follow
from ..integration.pai.conftest import engine, timings  # noqa: F401  # Fixtures.

pytestmark = pytest.mark.soak

JOBS, DELAYS = 100, 20


def test_submits_under_faults_make_one_job_with_a_complete_log(
    pai: StandIn,  # noqa: F811
    engine: EmbeddedClient,  # noqa: F811
) -> None:
    print(submit_and_follow(pai, engine, JOBS, DELAYS))
