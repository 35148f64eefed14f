"""What is said of a spot machine's price before a job is submitted to one."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.pai.catalog import InstanceCatalog
from jupyter_pai.backends.pai.pricing import Discount, discount_of
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.cloud import http as transport
from jupyter_pai.cloud.alibaba.account import AlibabaAccount, AliyunSettings
from jupyter_pai.core.errors import SpecError, Unconfirmed

from ...conftest import script, submit
from ...fakes.alibaba import StandIn

SPOT = {"spot": {"strategy": "SpotAsPriceGo"}}


def limited(share: float) -> dict[str, Any]:
    return {"spot": {"strategy": "SpotWithPriceLimit", "discount_limit": share}}


def spot_note(engine: EmbeddedClient, **fields: Any) -> str:
    """What is said of it with the job."""
    job = submit(engine, "true", profile="pai", **fields)
    notes: list[str] = [note for note in job.info["notes"] if note.startswith("Spot")]
    assert len(notes) == 1
    return notes[0]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that fail are soon repeated."""
    monkeypatch.setattr(transport, "_FIRST_WAIT", 0.01)
    monkeypatch.setattr(transport, "_JITTER", 0.02)


def test_what_it_costs_now_and_in_the_last_day(engine: EmbeddedClient, pai: StandIn) -> None:
    note = spot_note(engine, options=SPOT)
    assert note.startswith("Spot: 25–28 % of the regular price now (25–5"), note
    assert "reclaimed" in note
    assert pai.count("dlc") == 0, "the list is not needed"
    assert pai.jobs[-1]["asked"]["ComputeResource"]["SpotSpec"] == {"SpotStrategy": "SpotAsPriceGo"}


def test_it_is_asked_for_once_for_jobs_that_follow_each_other(engine: EmbeddedClient, pai: StandIn) -> None:
    assert spot_note(engine, options=SPOT) == spot_note(engine, options=SPOT)
    assert pai.count("paistudio", "GetSpotPriceHistory") == 1


def test_a_job_on_no_spot_machine_asks_for_no_price(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "true", profile="pai")
    assert not any("Spot" in note for note in job.info["notes"])
    assert pai.count("paistudio", "GetSpotPriceHistory") == 0


@pytest.mark.parametrize(("limit", "waits"), [(0.2, True), (0.25, False), (0.9, False)])
def test_a_limit_that_is_below_it(engine: EmbeddedClient, pai: StandIn, limit: float, waits: bool) -> None:
    note = spot_note(engine, options=limited(limit))
    assert ("the limit of 20 %: the job may wait" in note) is waits


def test_the_question_has_it_too_with_a_machine_that_was_picked(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(Unconfirmed, match=r"ecs\.gn6v-c8g1\.2xlarge with GPUs.*Spot: 40–43 % of the regular price now"):
        submit(engine, "true", profile="pai", gpu=1, cpu=8, options=SPOT)


def test_a_picked_machine_is_let_as_a_spot_machine(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(Unconfirmed, match=r"ml\.gu8xf"):
        submit(engine, "true", profile="pai", gpu=4, options=SPOT)
    with pytest.raises(Unconfirmed, match=r"ecs\.gn7e"):
        submit(engine, "true", profile="pai", gpu=4)


@pytest.mark.parametrize("kind", ["500", "refused", "cut"])
def test_where_the_history_fails_the_list_tells(engine: EmbeddedClient, pai: StandIn, kind: str) -> None:
    pai.faults.add(kind, "paistudio:GetSpotPriceHistory", **({"status": 403} if kind == "refused" else {}))
    assert spot_note(engine, options=SPOT).startswith("Spot: 25 % of the regular price now; ")


def test_no_failure_keeps_a_job_from_being_submitted(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.faults.add("500", "paistudio:GetSpotPriceHistory")
    pai.faults.add("refused", "dlc:*", status=403)
    assert "current price is unknown" in spot_note(engine, options=SPOT)


def test_nobody_waits_long_for_a_price(pai: StandIn) -> None:
    account = AlibabaAccount(AliyunSettings.model_validate({"backend": "pai", **pai.settings()}))
    pai.faults.add("delay", "paistudio:GetSpotPriceHistory", seconds=60)

    async def asked() -> Discount | None:
        catalogue = InstanceCatalog(account, timeout=0.1)
        try:
            assert await catalogue.discount("ecs.c6.large") is None
            pai.faults.clear()
            return await catalogue.discount("ecs.c6.large")
        finally:
            await transport.close()

    assert asyncio.run(asked()) is None, "who agrees to what it costs does not wait once more"


def test_a_machine_that_is_let_to_nobody_so(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(Unconfirmed, match="current price is unknown"):
        submit(engine, "true", profile="pai", instance_type="ecs.gn7e-c16g1.16xlarge", options=SPOT)


def test_in_a_quota_there_are_no_spot_machines(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(SpecError, match="spot"):
        submit(engine, "true", profile="pai", cpu=1, memory="1GiB", options=SPOT | {"resource_id": "quota1stand"})
    assert pai.requests == []


def test_a_dry_run_says_it(pai: StandIn, folder: Path, cli: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    script(folder, "")
    words = ("submit", "--backend", "pai", "--dry-run", "--option", "spot.strategy=SpotAsPriceGo", "--command", "true")
    assert "note: Spot: 25–28 % of the regular price now" in cli(*words).stdout


def item(share: object, time: object, zone: str = "b") -> dict[str, object]:
    return {"SpotDiscount": share, "Timestamp": time, "ZoneId": zone}


@pytest.mark.parametrize(
    ("history", "discount"),
    [
        ([], None),
        ([item(None, "2024-07-10T11:00:00Z"), item(0.3, ""), item(32, "2024-07-10T11:00:00Z")], None),
        ([item("0.3", "2024-07-10T11:00:00Z")], Discount((0.3, 0.3), (0.3, 0.3))),
        (
            [item(0.3, "2024-07-10T11:00:00Z"), item(0.5, "2024-07-10T12:00:00Z"), item(0.1, "2024-07-10T09:00:00")],
            Discount((0.5, 0.5), (0.1, 0.5)),
        ),
        (
            [item(0.3, "2024-07-10T11:00:00Z", "b"), item(0.5, "2024-07-10T10:00:00Z", "c")],
            Discount((0.3, 0.5), (0.3, 0.5)),
        ),
    ],
)
def test_a_history_in_any_order(history: list[dict[str, object]], discount: Discount | None) -> None:
    assert discount_of(history) == discount
    assert discount_of(history[::-1]) == discount
