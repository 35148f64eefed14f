"""Tags of launchers and loggers before the lines of a log."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.jobs.logs.tags import Untagged, untagged

from ...support.fuzz import MANY

RANKS = ["[1,3]<stderr>:", "[prterun-node-7@1,3]<stdout>: ", "[prterun-node-7@1,3][node:41]<stdout>: ", "[3]<stdout>:",
         "Thu Jan  1 00:00:00 2026[1,3]<stdout>:", "[default3]:", "[rank3]: ", "[trainer3]:", "[rank: 3] ", "[GPU3] ",
         "Rank 3: ", "[2026-01-01 00:00:00,123][rank3]:", "3: ", " 3: "]  # fmt: skip
NAMES = {
    "(pid=7) ": "pid-7",
    "(RayTrainWorker pid=7, ip=10.0.0.2) ": "pid-7",
    "worker-1  | ": "worker-1",
    "project_worker_2  | ": "project_worker_2",
    "[pod/train-worker-0/main] ": "train-worker-0",
    "2026-01-01T00:00:00.123456789Z stderr F ": "",
    "2026-01-01 00:00:00,123 - ": "",
    "2026-01-01 00:00:00.123 | ": "",
    "[2026-01-01 00:00:00]<stdout>:": "",
    "[12:00:01] ": "",
}
LINE = "Epoch 1 loss=0.5"


@pytest.mark.parametrize("tag", RANKS)
def test_rank_is_read(tag: str) -> None:
    assert untagged(tag + LINE)[:3] == (LINE, "", "3")


@pytest.mark.parametrize("tag", NAMES)
def test_name_is_read(tag: str) -> None:
    assert untagged(tag + LINE)[:3] == (LINE, NAMES[tag], "")
    assert untagged(f"{tag}[rank3]: {LINE}")[:3] == (LINE, NAMES[tag], "3")


def test_repetitions_of_ray_are_removed() -> None:
    assert untagged(f"(f pid=7) {LINE} [repeated 3x across cluster]").text == LINE


@pytest.mark.parametrize(
    "line",
    ["3: loss=0.5", "3:\tlearn: 0.5\ttotal: 1s", "[3]\ttrain-rmse:0.5", "[epoch3]: loss", "epoch-3 | loss 0.5",
     "loss | 0.5", "fold_1  | 0.5", "[INFO] loss", "Task 3: accuracy 0.5", "2026-01-01 loss", "", "[1/3] loss"],
)  # fmt: skip
def test_other_numbers_and_names_are_no_tags(line: str) -> None:
    assert untagged(line) == Untagged(line)


def test_number_is_a_rank_if_others_are() -> None:
    assert untagged("3: loss=0.5", numbered=True) == Untagged("loss=0.5", "", "3", True)


@MANY
@given(st.lists(st.sampled_from([*RANKS, *NAMES]) | st.text(max_size=8), max_size=12).map("".join))
def test_any_line_is_read(line: str) -> None:
    assert line.endswith(untagged(line).text) or "repeated" in line


@pytest.mark.parametrize(
    "piece", ["a", "-", "_1", "a-1_", "[", "[a,", "(", "(a ", "1", " ", "gpu", "[pod/", "2026-01-01 00:00:00"]
)
def test_tags_are_found_in_linear_time(piece: str) -> None:
    """A pattern with backtracking would exceed the time limit of the tests."""
    for end in ("", "!", "|", "]", ")"):
        untagged(piece * (100_000 // len(piece)) + end)
