"""Waiting for a transfer."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_pai.client.base import finish_copy
from jupyter_pai.core.errors import Conflict


def states(*statuses: str) -> list[dict[str, Any]]:
    whole = len(statuses) - 1
    return [{"id": "c1", "status": status, "done": n, "bytes": whole} for n, status in enumerate(statuses)]


@pytest.mark.parametrize("statuses", [["done"], ["waiting", "running", "done"]])
def test_progress_ends_with_all_bytes(statuses: list[str]) -> None:
    first, *rest = states(*statuses)
    seen: list[tuple[int, int]] = []
    waiting = iter(rest)
    last = finish_copy(lambda _verb, _number: next(waiting), first, lambda *part: seen.append(part))
    assert last["status"] == "done"
    assert seen == [(n, len(rest)) for n in range(len(statuses))]


def test_failed_transfer_raises_its_error() -> None:
    (failed,) = states("failed")
    with pytest.raises(Conflict, match="disk"):
        finish_copy(lambda *_: {}, failed | {"error": {"code": "Conflict", "message": "disk", "fix": ""}})
    with pytest.raises(Conflict, match="ended"):
        finish_copy(lambda *_: {}, failed | {"error": None})


def test_interrupt_cancels_the_transfer() -> None:
    verbs: list[str] = []

    def call(verb: str, number: str) -> dict[str, Any]:
        verbs.append(f"{verb} {number}")
        if verb == "copy":
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        finish_copy(call, states("running", "done")[0])
    assert verbs == ["copy c1", "cancel_copy c1"]
