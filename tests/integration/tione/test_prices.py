"""The price of a job of TI-ONE is shown before the submit, and confirmed where it may be high."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import CredentialsError, PaiError, QuotaExceeded, SoldOut, Unconfirmed

from ...fakes.tione import SecretKey, TiOne
from .conftest import PROFILE, use_key, write_profile

GPU_TYPE = "TI.GN10.2XLARGE40.POST"


@pytest.fixture
def spec() -> dict[str, Any]:
    """A job on one machine without a GPU."""
    return {"name": "x", "command": "true", "profile": PROFILE}


def test_price_and_total_of_one_machine_are_shown_without_a_question(
    tione: TiOne, engine: EmbeddedClient, spec: dict[str, Any]
) -> None:
    shown = engine.preview(spec | {"max_run_time": 7200})
    assert shown["questions"] == []
    assert shown["cost"] == (
        "It runs on 1 machine TI.S.MEDIUM.POST, for 0.91 CNY per hour. It is stopped after at most 2 h. It costs "
        "at most 1.82 CNY. You are billed until the job ends, even if you close this page or JupyterLab."
    )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"instance_type": GPU_TYPE}, f"on 1 machine {GPU_TYPE}, for 13.28 CNY per hour."),
        (
            {"instance_type": GPU_TYPE, "instance_count": 3},
            f"on 3 machines {GPU_TYPE}, for 3 × 13.28 CNY = 39.84 CNY per hour.",
        ),
        ({"instance_count": 2}, "on 2 machines TI.S.MEDIUM.POST, for 2 × 0.91 CNY = 1.82 CNY per hour."),
    ],
)
def test_gpus_and_several_nodes_are_confirmed_without_a_price_limit(
    tione: TiOne, engine: EmbeddedClient, spec: dict[str, Any], fields: dict[str, Any], text: str
) -> None:
    shown = engine.preview(spec | fields | {"max_run_time": 3600})
    assert shown["questions"] == [shown["cost"]]
    assert text in shown["cost"]
    with pytest.raises(Unconfirmed) as caught:
        engine.submit(spec | fields)
    assert text in caught.value.message
    assert tione.count("CreateTrainingTask") == 0


def test_machines_of_all_roles_are_paid(tione: TiOne, engine: EmbeddedClient, spec: dict[str, Any]) -> None:
    roles = [{"name": "ps", "count": 2}, {"name": "worker", "count": 1, "instance_type": GPU_TYPE}]
    shown = engine.preview(
        spec | {"roles": roles, "options": {"training_mode": "PS_WORKER"}, "image": "tf1.15-py3.7-cpu"}
    )
    assert f"on 2 machines TI.S.MEDIUM.POST + 1 machine {GPU_TYPE}, for" in shown["cost"]
    assert "2 × 0.91 CNY + 1 × 13.28 CNY = 15.1 CNY per hour." in shown["cost"]
    assert shown["questions"] == [shown["cost"]]


@pytest.mark.parametrize(
    ("limit", "asks"), [("14 CNY", False), ("13.28 CNY", False), ("13 CNY", True), ("100 USD", True)]
)
def test_price_limit_decides_which_jobs_are_confirmed(
    tione: TiOne, engine: EmbeddedClient, spec: dict[str, Any], limit: str, asks: bool
) -> None:
    write_profile(tione, price_limit=limit)
    shown = engine.preview(spec | {"instance_type": GPU_TYPE})
    assert shown["questions"] == ([shown["cost"]] if asks else [])
    assert ("price limit of" in shown["cost"]) == asks


@pytest.mark.parametrize("limit", ["1000 CNY", None])
def test_missing_price_counts_as_above_the_limit(
    tione: TiOne, engine: EmbeddedClient, spec: dict[str, Any], limit: str | None
) -> None:
    tione.settings.unpriced = {GPU_TYPE, "TI.S.MEDIUM.POST"}
    write_profile(tione, price_limit=limit)
    shown = engine.preview(spec | {"instance_type": GPU_TYPE})
    assert shown["questions"] == [shown["cost"]]
    assert f"on 1 machine {GPU_TYPE}; the price is unknown." in shown["cost"]
    assert "costs at most" not in shown["cost"]
    # Without a limit, one machine without a GPU needs no confirmation.
    assert bool(engine.preview(spec)["questions"]) == bool(limit)


def test_refused_prices_are_unknown_and_stop_no_job(
    tione: TiOne, engine: EmbeddedClient, spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_key(monkeypatch, tione, tione.make_key(["tione:DescribeBilling*"]))
    shown = engine.preview(spec)
    assert "the price is unknown" in shown["cost"]
    # Whether the type has a GPU is unknown, too.
    assert shown["questions"] == [shown["cost"]]


def test_wrong_key_is_reported_at_the_price(
    tione: TiOne, engine: EmbeddedClient, spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_key(monkeypatch, tione, SecretKey(tione.key.id, "wrong"))
    with pytest.raises(CredentialsError, match="SecretKey does not belong"):
        engine.preview(spec)


def test_sold_out_type_is_shown_before_the_submit(tione: TiOne, engine: EmbeddedClient, spec: dict[str, Any]) -> None:
    tione.settings.sold_out = {"TI.S.MEDIUM.POST"}
    notes = engine.preview(spec)["notes"]
    assert "The instance type TI.S.MEDIUM.POST is sold out in ap-guangzhou: the platform may reject the job." in notes


def test_resource_group_is_paid_in_advance(tione: TiOne, engine: EmbeddedClient, spec: dict[str, Any]) -> None:
    group = {"cpu": 4, "memory": "8GiB", "gpu": 1, "instance_count": 2}
    options = {"resource_group_id": "trsg-standin1"}
    shown = engine.preview(spec | group | {"options": options})
    assert shown["cost"] == "It runs in the resource group trsg-standin1, which is paid in advance."
    assert shown["questions"] == []
    assert tione.count("DescribeBillingSpecsPrice") == 0


def test_prices_are_cached_and_requested_once(tione: TiOne, engine: EmbeddedClient, spec: dict[str, Any]) -> None:
    with ThreadPoolExecutor(4) as threads:
        costs = {shown["cost"] for shown in threads.map(engine.preview, [spec] * 12)}
    assert len(costs) == 1
    assert tione.count("DescribeBillingSpecs") == tione.count("DescribeBillingSpecsPrice") == 1
    # The table of the form is current.
    engine.call("instances", profile=PROFILE)
    assert tione.count("DescribeBillingSpecsPrice") == 2


def test_price_is_a_note_of_the_job(tione: TiOne, engine: EmbeddedClient, spec: dict[str, Any]) -> None:
    job = engine.submit(spec | {"instance_type": GPU_TYPE}, confirmed=True)["job"]
    assert any("for 13.28 CNY per hour. It is stopped after at most 24 h." in note for note in job["notes"])
    assert any("It costs at most 318.72 CNY." in note for note in job["notes"])


# Refusals of the platform.


@pytest.mark.parametrize(
    ("settings", "kind", "text", "fix"),
    [
        ({"balance": 0}, QuotaExceeded, "The balance of the account is too low.", "Top up the account"),
        (
            {"sold_out": {"TI.S.MEDIUM.POST"}},
            SoldOut,
            "The instance type is sold out in this region.",
            "jupyter pai instances",
        ),
    ],
)
def test_missing_money_and_machines_are_reported_at_the_submit(
    tione: TiOne,
    engine: EmbeddedClient,
    spec: dict[str, Any],
    settings: dict[str, Any],
    kind: type[PaiError],
    text: str,
    fix: str,
) -> None:
    vars(tione.settings).update(settings)
    with pytest.raises(kind) as caught:
        engine.submit(spec, confirmed=True)
    assert caught.value.message.startswith(text)
    assert "TI-ONE CreateTrainingTask" in caught.value.message
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("changes", "text", "fix"),
    [
        ({"project_id": "999"}, "The workspace 999 does not exist", "Check the id and the profile."),
        ({"region": "ap-nowhere"}, "The service is not available in this region.", "Change the profile's `region`"),
        ({"default_instance_type": "TI.NONE"}, "The instance type does not exist", "jupyter pai instances"),
    ],
)
def test_wrong_place_is_reported_at_the_submit(
    tione: TiOne, engine: EmbeddedClient, spec: dict[str, Any], changes: dict[str, Any], text: str, fix: str
) -> None:
    write_profile(tione, **changes)
    with pytest.raises(PaiError) as caught:
        engine.submit(spec, confirmed=True)
    assert text in caught.value.message
    assert fix in caught.value.fix
    assert tione.tasks == []
