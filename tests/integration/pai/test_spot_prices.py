"""The spot price shown before a job is submitted."""

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
    """Return the note about the spot price."""
    job = submit(engine, "true", profile="pai", **fields)
    notes: list[str] = [note for note in job.info["notes"] if note.startswith("Spot")]
    assert len(notes) == 1
    return notes[0]


def test_spot_note_shows_current_and_daily_prices(engine: EmbeddedClient, pai: StandIn) -> None:
    note = spot_note(engine, options=SPOT)
    assert note.startswith("Spot: 25–28 % of the regular price now (25–5"), note
    assert "reclaimed" in note
    assert pai.count("dlc") == 0, "the list is not needed"
    assert pai.jobs[-1]["request"]["ComputeResource"]["SpotSpec"] == {"SpotStrategy": "SpotAsPriceGo"}


def test_spot_price_is_cached(engine: EmbeddedClient, pai: StandIn) -> None:
    assert spot_note(engine, options=SPOT) == spot_note(engine, options=SPOT)
    assert pai.count("paistudio", "GetSpotPriceHistory") == 1


def test_regular_job_fetches_no_spot_price(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "true", profile="pai")
    assert not any("Spot" in note for note in job.info["notes"])
    assert pai.count("paistudio", "GetSpotPriceHistory") == 0


@pytest.mark.parametrize(("limit", "waits"), [(0.2, True), (0.25, False), (0.9, False)])
def test_price_limit_below_the_price_is_noted(engine: EmbeddedClient, pai: StandIn, limit: float, waits: bool) -> None:
    note = spot_note(engine, options=limited(limit))
    assert ("the limit of 20 %: the job may wait" in note) is waits


def test_confirmation_includes_the_spot_price(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(Unconfirmed, match=r"ecs\.gn6v-c8g1\.2xlarge with GPUs.*Spot: 40–43 % of the regular price now"):
        submit(engine, "true", profile="pai", gpu=1, cpu=8, options=SPOT)


def test_selected_type_is_available_as_spot(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(Unconfirmed, match=r"ml\.gu8xf"):
        submit(engine, "true", profile="pai", gpu=4, options=SPOT)
    with pytest.raises(Unconfirmed, match=r"ecs\.gn7e"):
        submit(engine, "true", profile="pai", gpu=4)


@pytest.mark.parametrize("kind", ["500", "refused", "cut"])
def test_failed_price_history_falls_back_to_the_list(engine: EmbeddedClient, pai: StandIn, kind: str) -> None:
    pai.faults.add(kind, "paistudio:GetSpotPriceHistory", **({"status": 403} if kind == "refused" else {}))
    assert spot_note(engine, options=SPOT).startswith("Spot: 25 % of the regular price now; ")


def test_failed_price_requests_do_not_block_the_submit(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.faults.add("500", "paistudio:GetSpotPriceHistory")
    pai.faults.add("refused", "dlc:*", status=403)
    assert "current price is unknown" in spot_note(engine, options=SPOT)


def test_slow_price_request_times_out(pai: StandIn) -> None:
    account = AlibabaAccount(AliyunSettings.model_validate({"backend": "pai", **pai.settings()}))
    pai.faults.add("delay", "paistudio:GetSpotPriceHistory", seconds=60)

    async def fetch() -> Discount | None:
        catalogue = InstanceCatalog(account, timeout=0.1)
        try:
            assert await catalogue.discount("ecs.c6.large") is None
            pai.faults.clear()
            return await catalogue.discount("ecs.c6.large")
        finally:
            await transport.close()

    assert asyncio.run(fetch()) is None, "who agrees to what it costs does not wait once more"


def test_type_without_a_spot_offer_is_noted(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(Unconfirmed, match="current price is unknown"):
        submit(engine, "true", profile="pai", instance_type="ecs.gn7e-c16g1.16xlarge", options=SPOT)


def test_spot_options_in_a_quota_are_rejected(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(SpecError, match="spot"):
        submit(engine, "true", profile="pai", cpu=1, memory="1GiB", options=SPOT | {"resource_id": "quota1stand"})
    assert pai.requests == []


def test_dry_run_shows_the_spot_price(
    pai: StandIn, folder: Path, cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
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
def test_price_history_may_be_unsorted(history: list[dict[str, object]], discount: Discount | None) -> None:
    assert discount_of(history) == discount
    assert discount_of(history[::-1]) == discount
