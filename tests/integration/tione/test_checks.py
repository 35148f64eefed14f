"""The findings of `doctor` for TI-ONE, and their messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from subprocess import CompletedProcess
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient

from ...fakes.tione import SecretKey, TiOne
from .conftest import PROFILE, use_key, write_profile

# The findings on an account without trouble, but that on the storage.
_OF_ACCOUNT = [
    "credentials", "region", "clock", "workspace", "training tasks", "instance types", "resource groups", "images",
    "balance",
]  # fmt: skip


def findings(engine: EmbeddedClient) -> dict[str, tuple[str, str, str]]:
    """Return state, text and fix of each finding about the profile."""
    found = engine.call("doctor", profile=PROFILE)["findings"]
    return {one["what"].removeprefix(f"{PROFILE}: "): (one["state"], one["text"], one["fix"]) for one in found}


def test_doctor_finds_nothing_wrong(tione: TiOne, engine: EmbeddedClient) -> None:
    found = findings(engine)
    assert {what: found[what][0] for what in _OF_ACCOUNT} == dict.fromkeys(_OF_ACCOUNT, "ok")
    assert found["region"][1] == f"ap-guangzhou, {tione.url}"
    assert found["workspace"][1] == "default (0)"
    assert found["instance types"][1] == "4 available, 1 sold out"
    assert "trsg-standin1 pool, 4 of 4 GPUs free" in found["resource groups"][1]
    assert found["balance"][1] == "1,000 CNY"
    assert tione.key.secret not in str(found)
    assert tione.key.id not in str(found), "only a part of the id is shown"


def test_storage_is_written_and_read(tione: TiOne, engine: EmbeddedClient) -> None:
    assert findings(engine)["storage"][0] == "ok"
    # The test object is deleted.
    assert tione.objects.keys() == []


def test_temporary_key_is_named(tione: TiOne, engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch, tione, tione.sts(600))
    assert findings(engine)["credentials"][1].startswith("temporary key: AKID…")


def test_own_keys_of_the_profile_are_checked(
    tione: TiOne, engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in tione.environment():
        monkeypatch.delenv(name)
    (finding,) = findings(engine).values()
    assert finding[:2] == ("bad", "No Tencent Cloud keys found.")
    assert "%pai profile login" in finding[2]
    login = {"secret_id": tione.key.id, "secret_key": tione.key.secret}
    engine.call("set_credentials", profile=PROFILE, body=login)
    assert findings(engine)["credentials"][0] == "ok"


# Keys, region, clock.


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (SecretKey("AKIDnobody", "secret-of-nobody"), "The SecretId does not exist, or is disabled."),
        (None, "The SecretKey does not belong to the SecretId."),
    ],
)
def test_wrong_key_is_reported(
    tione: TiOne, engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch, key: SecretKey | None, text: str
) -> None:
    use_key(monkeypatch, tione, key or SecretKey(tione.key.id, "another-secret"))
    found = findings(engine)
    assert found["region"][0] == "ok"
    assert found["credentials"][0] == "bad"
    assert found["credentials"][1].startswith(text)
    assert "`%pai profile login NAME`" in found["credentials"][2]
    assert "workspace" not in found, "all other checks would fail"
    assert "another-secret" not in str(found)
    assert "secret-of-nobody" not in str(found)


def test_expired_key_is_reported(tione: TiOne, engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tione.sts(600)
    use_key(monkeypatch, tione, key)
    tione.change_key(key.id, expires=0)
    state, text, _fix = findings(engine)["credentials"]
    assert (state, "token of the temporary keys" in text) == ("bad", True)


def test_wrong_region_is_reported(tione: TiOne, engine: EmbeddedClient) -> None:
    write_profile(tione, region="ap-nowhere")
    state, text, fix = findings(engine)["region"]
    assert state == "bad"
    assert text.startswith("The service is not available in this region.")
    assert "ap-nowhere" in text
    assert "ap-guangzhou" in fix


def test_unreachable_endpoint_is_reported(tione: TiOne, engine: EmbeddedClient) -> None:
    write_profile(tione, endpoint="http://127.0.0.1:9")
    state, text, _fix = findings(engine)["region"]
    assert (state, "127.0.0.1:9" in text) == ("bad", True)


def test_missing_region_is_reported(tione: TiOne, engine: EmbeddedClient) -> None:
    write_profile(tione, region=None)
    (finding,) = findings(engine).values()
    assert finding == (
        "bad",
        "The profile has no `region` key.",
        "Set the region: %pai profile set NAME region=ap-guangzhou",
    )


@pytest.mark.parametrize("minutes", [6, 20])
def test_clock_that_is_slow_by_more_than_five_minutes_is_reported(
    tione: TiOne, engine: EmbeddedClient, minutes: int
) -> None:
    tione.move_clock(minutes * 60)
    state, text, fix = findings(engine)["clock"]
    assert state == "bad"
    assert text == f"This machine's clock is {minutes} minutes slow. The platform accepts requests within 5 minutes."
    assert "NTP" in fix


def test_clock_that_is_slow_by_four_minutes_is_accepted(tione: TiOne, engine: EmbeddedClient) -> None:
    tione.move_clock(240)
    assert findings(engine)["clock"][0] == "ok"


# Workspace, permissions, money, machines.


def test_unknown_workspace_is_reported_with_the_known_ones(tione: TiOne, engine: EmbeddedClient) -> None:
    write_profile(tione, project_id="999")
    state, text, fix = findings(engine)["workspace"]
    assert (state, text) == ("bad", "You may not use the workspace `999`, or there is none in ap-guangzhou.")
    assert fix == "Set `project_id` of the profile to one of: 0 (default), 1001 (team)"


def test_other_workspace_is_used_by_all_checks(tione: TiOne, engine: EmbeddedClient) -> None:
    write_profile(tione, project_id="1001")
    found = findings(engine)
    assert found["workspace"][:2] == ("ok", "team (1001)")
    assert found["training tasks"][:2] == ("ok", "0 tasks")


def test_missing_permission_names_the_action(
    tione: TiOne, engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_key(
        monkeypatch, tione, tione.make_key(["tione:DescribeTrainingTasks", "billing:*", "tione:DescribeWorkspaces"])
    )
    found = findings(engine)
    assert found["training tasks"][0] == "bad"
    assert found["training tasks"][1].startswith("The account lacks a permission.")
    assert found["training tasks"][2].endswith("for the CAM action `tione:DescribeTrainingTasks`.")
    # Jobs run without these.
    assert {found[what][0] for what in ("workspace", "balance")} == {"warn"}
    assert "billing:DescribeAccountBalance" in found["balance"][2]
    assert found["clock"][0] == "ok", "a refused action is no reason for the clock"


def test_missing_permission_for_prices_is_a_warning(
    tione: TiOne, engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_key(monkeypatch, tione, tione.make_key(["tione:DescribeBillingSpecsPrice"]))
    state, text, fix = findings(engine)["instance types"]
    assert (state, "no prices" in text) == ("warn", True)
    assert "tione:DescribeBillingSpecsPrice" in fix


def test_account_without_money_is_reported(tione: TiOne, engine: EmbeddedClient) -> None:
    tione.settings.balance = 0
    state, text, fix = findings(engine)["balance"]
    assert (state, "no money left" in text, "Top up" in fix) == ("bad", True, True)
    # Jobs in a resource group are paid already.
    write_profile(tione, resource_group="trsg-standin1")
    assert findings(engine)["balance"][0] == "warn"


@pytest.mark.parametrize(
    ("changes", "what", "state", "text"),
    [
        ({"default_instance_type": "TI.NONE"}, "instance types", "bad", "no instance type `TI.NONE`"),
        ({"default_instance_type": "TI.GN8.6XLARGE56.POST"}, "instance types", "warn", "is sold out in ap-guangzhou"),
        ({"resource_group": "trsg-other"}, "resource groups", "bad", "`trsg-other`"),
        ({"default_image": "torch7"}, "images", "bad", "no image `torch7`"),
        ({"default_image": "ccr.ccs.tencentyun.com/me/mine:1"}, "images", "ok", "me/mine:1"),
    ],
)
def test_defaults_of_the_profile_are_checked(
    tione: TiOne, engine: EmbeddedClient, changes: dict[str, Any], what: str, state: str, text: str
) -> None:
    write_profile(tione, **changes)
    found = findings(engine)[what]
    assert (found[0], text in found[1]) == (state, True), found


# The bucket.


@pytest.mark.parametrize(
    ("bucket", "text"),
    [("other-1250000000", "The bucket does not exist, or is in another region."), (None, "no `bucket` key")],
)
def test_wrong_or_missing_bucket_is_reported(
    tione: TiOne, engine: EmbeddedClient, bucket: str | None, text: str
) -> None:
    write_profile(tione, bucket=bucket)
    found = findings(engine)["storage"]
    assert (found[0], text in found[1]) == ("bad", True), found
    assert "bucket" in found[2]


@pytest.mark.parametrize("action", ["cos:PutObject", "cos:GetObject"])
def test_bucket_that_cannot_be_written_or_read_is_reported(
    tione: TiOne, engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    use_key(monkeypatch, tione, tione.make_key([f"{action}*"]))
    state, text, _fix = findings(engine)["storage"]
    assert (state, "lacks a permission" in text) == ("bad", True), text


# As users ask.


def test_doctor_command_reports_the_profile(tione: TiOne, cli: Callable[..., CompletedProcess[str]]) -> None:
    done = cli("doctor", "--backend", "tione", "--json")
    found = {finding["what"]: finding["state"] for finding in json.loads(done.stdout)}
    assert found["tione: balance"] == "ok"


def test_doctor_live_lists_manual_checks(tione: TiOne, cli: Callable[..., CompletedProcess[str]]) -> None:
    shown = cli("doctor", "--live", "--backend", "tione").stdout
    assert "jupyter pai instances --backend tione" in shown
