"""Detected metrics: in logs that the frameworks print, in single lines, and none in ordinary logs.

`framework_logs` has the output of a script with each framework, named after its version. Where the framework is
installed, the script runs again.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.jobs.logs.file import LogFile
from jupyter_pai.jobs.metrics.detection.detector import detect
from jupyter_pai.jobs.metrics.detection.line import Point
from jupyter_pai.jobs.metrics.detection.state import DetectorState
from jupyter_pai.jobs.metrics.log_source import LogMetricSource
from jupyter_pai.jobs.metrics.series import SeriesWriter, pack

from ...support.fuzz import MANY

FRAMEWORKS = Path(__file__).parent / "framework_logs"
ORDINARY = sorted((Path(__file__).parent / "ordinary_logs").glob("*.log"))

Steps = dict[str, list[int | None]]


def times(steps: list[int | None], *names: str) -> Steps:
    return dict.fromkeys(names, steps)


# The named scalars of each log, with their steps, and the progress at its end.
EXPECTED: dict[str, tuple[Steps, float | None]] = {
    "xgboost": (
        times([0, 1, 2, 3], "train-rmse", "train-mae", "valid-rmse", "valid-mae")
        | times([0, 1, 2], "train-rmse-mean", "train-rmse-std", "test-rmse-mean", "test-rmse-std"),
        None,
    ),
    "lightgbm": (
        times([1, 2, 3, 4, 5, 6], "training's l2", "training's l1", "valid_1's l2", "valid_1's l1")
        | times([1, 2], "valid's l2-mean", "valid's l2-stdv"),
        None,
    ),
    "catboost": (times([0, 1, 2, 3], "learn", "test", "best") | times([None], "bestTest", "bestIteration"), None),
    "keras": (
        times([1, 2, 1, 2], "accuracy", "loss", "val_accuracy", "val_loss")
        | times([None], "evaluate/accuracy", "evaluate/loss"),
        1.0,
    ),
    "tqdm": (times([1, 2, 3, 4, 5], "loss", "lr") | times([1, 2, 3, 4, 5, 6, 7, 8], "acc"), 1.0),
    "lightning": (
        times([1, 2, 3, 4, 5, 6, 7, 8], "train_loss") | times([4, 8, 8], "val_loss") | times([8], "test_loss"),
        None,
    ),
    "transformers": (
        times([4, 8, 12, 16], "loss", "grad_norm", "learning_rate")
        | times([8, 16], "eval_loss", "eval_runtime", "eval_samples_per_second", "eval_steps_per_second")
        | times([16], "train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss")
        | times([4, 8, 8, 12, 16, 16, 16], "epoch"),
        1.0,
    ),
    "sklearn": (
        times([1, 2, 3, 4], "loss", "Validation score")
        | times([1, 2, 3], "Norm", "NNZs", "Bias", "T", "Avg. loss", "Objective")
        | times([1, 2, 3, 4], "Train Loss", "OOB Improve")
        | times([1, 2, 3], "max depth", "train loss", "val loss")
        | times([0, 1, 2], "inertia")
        | times([1], "Inertia")
        | {"mean batch inertia": [1, 2, 3, 4], "ewa inertia": [2, 3, 4]}
        | times([None] * 4, "score")
        | times([None] * 2, "train_accuracy", "test_accuracy", "train_f1", "test_f1")
        | times([1, 2], "perplexity")
        | {"Mean sigma": [None], "error": [10, 20, 50, 100, 150, 200, 250, 300], "KL divergence": [250, 300]}
        | times([50, 100, 150, 200, 250, 300], "gradient norm")
        | times([1, 2], "pseudo-likelihood")
        | times([1, 2, 3], "change"),
        1.0,
    ),
}


def found(data: bytes, state: DetectorState | None = None) -> tuple[Steps, float | None]:
    points, end = detect(data, 0, state or DetectorState(), ended=True)
    steps: Steps = {}
    for point in points:
        steps.setdefault(point.name, []).append(point.step)
    return steps, end.progress


def metrics(text: str) -> list[tuple[str, int | None, float]]:
    return [point[1:] for point in detect(text.encode(), 0, DetectorState(), ended=True).points]


def progress(text: str) -> float | None:
    return detect(text.encode(), 0, DetectorState(), ended=True).state.progress


def recorded(name: str) -> bytes:
    (path,) = FRAMEWORKS.glob(f"{name}-*.log")
    return path.read_bytes()


@pytest.mark.parametrize("name", EXPECTED)
def test_scalars_of_a_framework_are_found(name: str) -> None:
    assert found(recorded(name)) == EXPECTED[name]


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("name", [name for name in EXPECTED if find_spec(name)])
def test_scalars_of_an_installed_framework_are_found(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(FRAMEWORKS / f"{name}_log.py")]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with open(tmp_path / "log", "wb") as log:
        subprocess.run(command, stdout=log, stderr=log, env=environment, cwd=tmp_path, check=True)
    data = (tmp_path / "log").read_bytes()
    assert found(data) == EXPECTED[name], data.decode()


@pytest.mark.parametrize("name", EXPECTED)
def test_values_are_those_of_the_log(name: str) -> None:
    data = recorded(name)
    for point in detect(data, 0, DetectorState(), ended=True).points:
        line = re.split(rb"[\r\n]", data[point.offset :], maxsplit=1)[0].decode()
        assert point.value in [float(text) for text in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", line)], (point, line)


@pytest.mark.parametrize("name", EXPECTED)
def test_chunks_give_the_metrics_of_the_whole_log(name: str) -> None:
    """As when the log grows, and each time a new watcher continues."""
    data = recorded(name)
    points: list[Point] = []
    state, start = DetectorState(), 0
    for end in [match.end() for match in re.finditer(rb"[\r\n]", data)]:
        if data[end - 1 : end + 1] == b"\r\n":
            continue
        more, state = detect(data[start:end], start, state)
        points, start = points + more, end
    more, _state = detect(data[start:], start, state, ended=True)
    assert points + more == detect(data, 0, DetectorState(), ended=True).points


@pytest.mark.parametrize("path", ORDINARY, ids=lambda path: path.stem)
def test_nothing_is_found_in_an_ordinary_log(path: Path) -> None:
    assert found(path.read_bytes()) == ({}, None)


def test_there_are_ordinary_logs() -> None:
    assert len(ORDINARY) >= 20


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("loss=0.1", [("loss", None, 0.1)]),
        ("loss: 0.1 - acc: 0.9", [("loss", None, 0.1), ("acc", None, 0.9)]),
        ("Epoch 3/10 - loss: 0.5 - lr: 1e-3", [("loss", 3, 0.5), ("lr", 3, 1e-3)]),
        ("Step 100/1000: loss=0.5", [("loss", 100, 0.5)]),
        ("Epoch [3/10], Step [100/600], Loss: 0.5", [("Loss", 1300, 0.5)]),
        ("Train Epoch: 2 [640/60000 (1%)]\tLoss: 2.300000", [("Loss", 60640, 2.3)]),
        ("Test set: Average loss: 0.0265, Accuracy: 9912/10000 (99%)", [("Average loss", None, 0.0265)]),
        ("iter 10: loss 4.2031, time 12.34ms, mfu 1.23%", [("loss", 10, 4.2031), ("mfu", 10, 1.23)]),
        ("step 20: train loss 4.2, val loss 4.1", [("train loss", 20, 4.2), ("val loss", 20, 4.1)]),
        ("Epoch 1\ntrain Loss: 0.7 Acc: 0.5\n", [("train Loss", 1, 0.7), ("train Acc", 1, 0.5)]),
        ("Epoch 1\n-----\nloss: 2.3  [   64/60000]\n", [("loss", 64, 2.3)]),
        ("loss: 0.5\nloss: 0.4\n", [("loss", None, 0.5), ("loss", None, 0.4)]),
        ("2026-11-24 00:16:21,123 INFO Epoch 1 | loss=0.5 | acc=93.1%", [("loss", 1, 0.5), ("acc", 1, 93.1)]),
        ('{"epoch": 1, "loss": 0.5, "nested": {"a": 1}}', [("loss", 1, 0.5)]),
        ("{'loss': 0.5, 'acc': np.float64(0.75), 'step': 7}", [("loss", 7, 0.5), ("acc", 7, 0.75)]),
        ("{'loss': 0.25, 'learning_rate': 1e-05, 'epoch': 0.5}", [
            ("loss", None, 0.25), ("learning_rate", None, 1e-05), ("epoch", None, 0.5),
        ]),
        ("loss: tensor(0.125, grad_fn=<MseLossBackward0>)", [("loss", None, 0.125)]),
        ("mAP@0.5:0.95: 0.61", [("mAP@0.5:0.95", None, 0.61)]),
        ("RMSE: 1.25, valAcc: 0.75, f1_macro=0.5", [
            ("RMSE", None, 1.25), ("valAcc", None, 0.75), ("f1_macro", None, 0.5),
        ]),
        ("损失: 0.5，准确率：0.75", [("损失", None, 0.5), ("准确率", None, 0.75)]),
        ("\x1b[32mloss\x1b[0m: \x1b[1m0.5\x1b[0m", [("loss", None, 0.5)]),
        ("10/10 [====] - 1s 10ms/step - loss: 1.2 - accuracy: 0.5", [("loss", None, 1.2), ("accuracy", None, 0.5)]),
        (
            "──────\n     Test metric       DataLoader 0       DataLoader 1\n──────\n"
            "  acc    0.75   0.5\n  loss   0.25\n──────\nacc   1.0\n",
            [("acc/dataloader_idx_0", None, 0.75), ("acc/dataloader_idx_1", None, 0.5)],
        ),
        (
            "Epoch: [0][ 10/391]\tTime  0.1 ( 0.2)\tLoss 6.9e+00 (6.95e+00)\tAcc@1   1.00 (  0.10)",
            [("Time", 10, 0.1), ("Loss", 10, 6.9), ("Acc@1", 10, 1.0)],
        ),
        (
            " iteration       10/     100 | elapsed time per iteration (ms): 12.4 | lm loss: 1.05E+01 | grad norm: 1.2",
            [("lm loss", 10, 10.5), ("grad norm", 10, 1.2)],
        ),
        (
            "loss=0.1, target_loss=0.05, batch_size=32, took=3.2s, at=12:30:05, v=1.2.3",
            [("loss", None, 0.1), ("target_loss", None, 0.05), ("batch_size", None, 32.0)],
        ),
    ],
)  # fmt: skip
def test_metrics_of_a_line(line: str, expected: list[tuple[str, int | None, float]]) -> None:
    assert metrics(line) == expected


def test_values_that_are_not_finite_are_metrics() -> None:
    assert [repr(value) for _name, _step, value in metrics("loss: nan\nloss=inf\nloss=-inf\n")] == [
        "nan",
        "inf",
        "-inf",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("step 100/1000", 0.1),
        ("Epoch 3/10", 0.2),  # It begins.
        ("Epoch 3/10 loss=0.5", 0.3),  # It has ended.
        ("Epoch 0/9\nEpoch 1/9\n", 0.1),
        ("Epoch 3/10\n 5/10 ━━━━ 1s 39ms/step - loss: 0.5\x08\x08\r", 0.25),
        ("Epoch [3/10], Step [300/600], Loss: 0.5", 0.25),
        ("Epoch 9/10\nEpoch 1/10\n", 0.0),  # Another training
        (" 30%|███       | 3/10 [00:01<00:02, 3.0it/s]", 0.3),
        # The bar of an inner loop does not change that of the outer one.
        (" 30%|███ | 3/10 [00:01<00:02, 3.0it/s]\r 50%|█ | 1/2 [00:01<00:02, 3.0it/s]\r", 0.3),
        ("Epoch 2/4:  50%|█████| 5/10 [00:01<00:02, 3.0it/s]", 0.375),
        ("Epoch 3:  50%|█████| 5/10 [00:01<00:02, 3.0it/s]", None),  # The number of epochs is unknown.
        ("building tree 3 of 4", 0.5),
        (
            "Fitting 5 folds for each of 2 candidates, totalling 10 fits\n[CV 1/5] END C=1;, score=0.9 total time= 0s",
            0.1,
        ),
    ],
)
def test_progress(text: str, expected: float | None) -> None:
    assert progress(text) == pytest.approx(expected)


def test_values_of_the_last_bar_count_when_the_job_ends(tmp_path: Path) -> None:
    """They wait for a following line until then."""
    (tmp_path / "log").mkdir()
    bar = "\r 50%|█████     | 5/10 [00:01<00:01, 5.0it/s, acc=0.75]\r"
    LogFile(tmp_path / "log", "worker-0").append(bar.encode(), [(0, 1.0)])
    source, writer = LogMetricSource(tmp_path / "log", [], detects=True), SeriesWriter(tmp_path / "series")
    source.advance(writer, ended=False)
    assert (writer.at.counts, writer.at.detected_progress) == ({}, 0.5)
    for _ in range(2):
        source.advance(writer, ended=True)
        assert [(point.step, point.value) for point in writer.read("acc")] == [(5, 0.75)]


@pytest.mark.parametrize("end", ["\n", "\r"])
def test_many_equal_lines_are_thinned(end: str) -> None:
    """The last one of successive lines counts, other lines all do."""
    data = "".join(f"step {n} loss={n}.5{end}" + f"val_acc=0.5{end}" * (n % 1000 == 0) for n in range(60_000)).encode()
    steps, _progress = found(data)
    assert steps["loss"][:19_900] == list(range(19_900))
    assert 600 < len(steps["loss"]) - 20_000 < 1_200
    assert steps["loss"][-1] == 59_999
    assert len(steps["val_acc"]) == 60


# Text that costs much if a pattern backtracks.
HARD = [
    "a" * 8_000,
    "loss" * 2_000,
    "loss=" * 1_600,
    "loss " * 1_600,
    "(" * 8_000,
    "a(" * 4_000 + "loss=1",
    "1%|" * 2_000,
    "{" * 8_000,
    "[1]\t" + "a:1\t" * 1_500,
    "1:\t" * 2_000 + "\ttotal: ",
    "Epoch " * 1_300,
    "1/1 " * 2_000 + "/step",
    "step 1 " + "loss 1 " * 1_000,
    "[CV] END " + "a=1 " * 1_900,
    "loss=" + "1" * 7_000,
    " " * 8_000 + "loss=1x",
]


@pytest.mark.parametrize(
    "text",
    [
        f"step {'9' * 20} loss=0.5",
        f"epoch {'9' * 5_000} loss=0.5",
        f"epoch {'9' * 400}/3 loss=0.5",
        f"Epoch {10**17}:  50%|█████     | 5/{10**17} [00:01<00:01, 5.0it/s, loss=0.5]",
        '{"step": 1e300, "loss": 0.5}',
        '{"step": NaN, "loss": 0.5}',
        '{"step": Infinity, "loss": 0.5}',
    ],
)
def test_steps_have_64_bits(text: str) -> None:
    for _name, step, value in [*metrics(f"{text}\nloss=1\n"), ("", 0, 0.0)]:
        assert len(pack(0.0, step or 0, value)) == 24


def test_hard_lines_take_no_longer_than_others() -> None:
    data = "\n".join(HARD * 3).encode() + b"\nloss=1\n"
    assert "loss" in found(data)[0]


@MANY
@given(
    st.lists(
        st.text(max_size=20) | st.sampled_from([*HARD[:3], "loss=1", "\r", "\n", " 5%|█| 1/2 [0:1<0:1, a=1]", "{}"])
    )
)
def test_any_log_can_be_read(parts: list[str]) -> None:
    data = "".join(parts).encode("utf-8", "surrogatepass")
    points, state = detect(data, 5, DetectorState(), ended=True)
    assert all(5 <= point.offset <= len(data) + 5 for point in points)
    assert not state.is_open
