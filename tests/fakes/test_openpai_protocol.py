"""The validator of the stand-in of OpenPAI gives the recorded verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .alibaba.service_errors import Refusal
from .openpai.documents import read
from .openpai.templates import fill_secrets
from .openpai.validator import check, check_hived

DATA = Path(__file__).parents[1] / "data/openpai"
VECTORS: list[dict[str, Any]] = json.loads((DATA / "protocol-vectors.json").read_text("utf-8"))
SKUS = {"K80": {"cpu": 4, "memory": 8192, "gpu": 1}, "CPU": {"cpu": 4, "memory": 8192, "gpu": 0}}


def sample(**hived: Any) -> dict[str, Any]:
    document, _ = check((DATA / "sample-ok.yaml").read_text("utf-8"))
    document["extras"]["hivedScheduler"] |= hived
    return document


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["case"])
def test_verdict_is_the_recorded_one(vector: dict[str, Any]) -> None:
    if vector["accept"]:
        _, entries = check(vector["yaml"])
        assert list(entries.values()) == [vector["entrypoint"]]
    else:
        with pytest.raises(Refusal) as caught:
            check(vector["yaml"])
        assert (caught.value.status, caught.value.code or None) == (vector["http"], vector["code"])


def test_commands_of_the_sample_are_rendered_and_its_secrets_are_left() -> None:
    document, entries = check((DATA / "sample-ok.yaml").read_text("utf-8"))
    assert entries["worker"].splitlines() == [
        "echo pre",
        "echo 3 b <% $secrets.tok %> <% $parameters.nope %>",
        "python train.py --lr 0.01",
        "echo post",
    ]
    assert "echo 3 b s3cret <%" in fill_secrets(entries["worker"], document["secrets"])


def test_yaml_has_the_types_of_js_yaml() -> None:
    text = "{a: yes, b: 2001-01-01, c: 0o7, d: 017, e: 1_000, f: 1e3, g: ~, h: True, i: 0x1F, 1: x, j: on, k: .5}"
    assert read(text) == {
        "a": "yes",
        "b": "2001-01-01",
        "c": "0o7",
        "d": 15,
        "e": 1000,
        "f": 1000.0,
        "g": None,
        "h": True,
        "i": 31,
        "1": "x",
        "j": "on",
        "k": 0.5,
    }


@pytest.mark.parametrize(
    ("hived", "status"),
    [
        ({"jobPriorityClass": "high"}, 400),
        ({"taskRoles": {"other": {"skuType": "K80"}}}, 400),
        ({"taskRoles": {"worker": {"skuType": "K80", "pinnedCellId": "c"}}}, 400),
        ({"taskRoles": {"worker": {"skuType": "A100"}}}, 500),
        ({"taskRoles": {"worker": {"skuType": "CPU"}}}, 400),
    ],
)
def test_hived_part_is_refused(hived: dict[str, Any], status: int) -> None:
    with pytest.raises(Refusal) as caught:
        check_hived(sample(**hived), SKUS, 4)
    assert caught.value.status == status


def test_hived_counts_units_against_the_quota() -> None:
    check_hived(sample(), SKUS, 2)
    with pytest.raises(Refusal, match="2 SKUs"):
        check_hived(sample(), SKUS, 1)
