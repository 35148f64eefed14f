"""Long run on a platform where one request of ten fails: no job is lost or duplicated."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient

from ..fakes.alibaba import StandIn
from ..integration.pai.conftest import engine, pai, timings  # noqa: F401  fixtures
from ..integration.pai.faulty_platform import submit_and_follow

pytestmark = pytest.mark.soak

JOBS, DELAYS = 300, 50


def test_submits_under_faults_create_one_job_with_a_complete_log(
    pai: StandIn,  # noqa: F811
    engine: EmbeddedClient,  # noqa: F811
    folder: Path,
) -> None:
    print(submit_and_follow(pai, engine, folder, JOBS, DELAYS))
