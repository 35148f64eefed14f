"""The rules of the training contract in detail."""

from __future__ import annotations

import json
import shlex
import string
import subprocess

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.core import contract
from jupyter_pai.core.contract import Layout

from ...support.fuzz import MANY, NAMES, VALUES


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0.10", "0.10"),
        (10, "10"),
        (0.001, "0.001"),
        (1e-5, "1e-05"),
        (True, "True"),
        ([1, "a"], '[1, "a"]'),
        ({"学": 1}, '{"学": 1}'),
        (None, None),
    ],
)
def test_values_are_encoded_like_pai(value: object, text: str | None) -> None:
    assert contract.text(value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("10", 10), ("0.001", 0.001), ("1e-5", 1e-5), ("-3", -3), ("True", True), ("false", False), ("007", "007")],
        *[("1_000", "1_000"), ("NaN", "NaN"), ("1e999", "1e999"), ("", ""), (" 1", " 1"), ("٣", "٣")],
    ],
)
def test_numbers_and_booleans_are_typed(text: str, value: object) -> None:
    assert contract.typed(text) == value
    assert type(contract.typed(text)) is type(value)


def test_short_variable_names_are_upper_case() -> None:
    result, left = contract.variables("PAI_HPS_", ["epochs", "batch-size", "train.learning_rate"])
    assert result == {
        "epochs": "PAI_HPS_EPOCHS",
        "batch-size": "PAI_HPS_BATCH_SIZE",
        "train.learning_rate": "PAI_HPS_TRAIN_LEARNING_RATE",
    }
    assert left == []


def test_colliding_names_have_no_short_variable() -> None:
    result, left = contract.variables("PAI_HPS_", ["a-b", "a_b", "学习率", "lr"])
    assert result == {"lr": "PAI_HPS_LR"}
    assert sorted(left) == ["a-b", "a_b", "学习率"]


def test_user_args_keep_names_and_order() -> None:
    assert contract.user_args({"epochs": "10", "batch-size": "32", "learning-rate": "0.001"}) == (
        "--epochs 10 --batch-size 32 --learning-rate 0.001"
    )


@pytest.mark.parametrize("value", ["-1", "-0.5", "-1e-3", "-.5"])
def test_negative_numbers_are_separate_words(value: str) -> None:
    assert contract.user_args({"x": value}) == f"--x {value}"


@pytest.mark.parametrize("value", ["-a", "--help", "-1x"])
def test_option_like_values_are_joined(value: str) -> None:
    assert contract.user_args({"x": value}) == f"--x={value}"


@MANY
@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_user_args_survive_a_round_trip(hyperparameters: dict[str, str]) -> None:
    words = shlex.split(contract.user_args(hyperparameters))
    result: dict[str, str] = {}
    while words:
        word = words.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        result[name] = value if equals else words.pop(0)
    assert result == hyperparameters


@pytest.mark.parametrize(
    "command",
    ["python t.py $PAI_USER_ARGS", "python t.py ${PAI_USER_ARGS}", "a;python t.py $PAI_USER_ARGS&&b", "$PAI_USER_ARGS"],
)
def test_unquoted_variable_is_expanded(command: str) -> None:
    expanded = contract.expand_user_args(command, {"x": "a b"})
    assert expanded == command.replace("${PAI_USER_ARGS}", "$PAI_USER_ARGS").replace("$PAI_USER_ARGS", "--x 'a b'")


@pytest.mark.parametrize(
    "command",
    [
        "echo '$PAI_USER_ARGS'",
        'echo "$PAI_USER_ARGS"',
        r"echo \$PAI_USER_ARGS",
        "echo $PAI_USER_ARGS_MORE",
        "echo x$PAI_USER_ARGS",
        "echo # $PAI_USER_ARGS",
        "echo 'it'\\''s $PAI_USER_ARGS'",
    ],
)
def test_quoted_and_other_variables_are_kept(command: str) -> None:
    assert contract.expand_user_args(command, {"x": "1"}) == command


@MANY
@given(st.text(st.sampled_from("ab $'\"\\;&|#\n{}()<>"), max_size=30))
def test_expansion_changes_nothing_else(command: str) -> None:
    assert contract.expand_user_args(command, {"x": "1"}) == command


@MANY
@given(st.dictionaries(NAMES.filter(lambda n: len(n) < 50), VALUES, min_size=1, max_size=3))
def test_real_shell_passes_every_value(hyperparameters: dict[str, str]) -> None:
    command = contract.expand_user_args("printf '%s\\0' $PAI_USER_ARGS", hyperparameters)
    words = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True).stdout.split(b"\0")[:-1]
    assert words == [word.encode() for word in shlex.split(contract.user_args(hyperparameters))]


@pytest.mark.parametrize("name", ["", "a b", "a=b", "a\0", "a\tb", "a\u3000b"])
def test_invalid_names_are_rejected(name: str) -> None:
    assert contract.check_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "a\0", "a\x9b", "a\u202eb", "x" * 201])
def test_invalid_channels_are_rejected(name: str) -> None:
    assert contract.check_channel(name)


@pytest.mark.parametrize("name", ["train", "train_data", "训练", "a-b.c"])
def test_valid_channels_are_accepted(name: str) -> None:
    assert contract.check_channel(name) is None


def test_environment_equals_the_documented_example() -> None:
    layout = Layout()
    inputs = {"train": "", "test": "test.csv"}
    result, left = contract.environment(layout, {"epochs": "10", "batch-size": "32"}, inputs, ["predictions"])
    assert result == {
        "PAI_WORKING_DIR": "/ml/usercode/",
        "PAI_CONFIG_DIR": "/ml/input/config/",
        "PAI_HPS": '{"epochs": 10, "batch-size": 32}',
        "PAI_USER_ARGS": "--epochs 10 --batch-size 32",
        "PAI_HPS_EPOCHS": "10",
        "PAI_HPS_BATCH_SIZE": "32",
        "PAI_INPUT_TRAIN": "/ml/input/data/train/",
        "PAI_INPUT_TEST": "/ml/input/data/test/test.csv",
        "PAI_OUTPUT_MODEL": "/ml/output/model/",
        "PAI_OUTPUT_CHECKPOINTS": "/ml/output/checkpoints/",
        "PAI_OUTPUT_TENSORBOARD": "/ml/output/tensorboard/",
        "PAI_OUTPUT_LOGS": "/ml/output/tensorboard/",
        "PAI_OUTPUT_PREDICTIONS": "/ml/output/predictions/",
    }
    assert left == []


@MANY
@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_pai_hps_is_json_of_all_hyperparameters(hyperparameters: dict[str, str]) -> None:
    result, _left = contract.environment(Layout(), hyperparameters, {}, [])
    assert json.loads(result["PAI_HPS"]).keys() == hyperparameters.keys()
    assert all(set(name) <= set(string.ascii_uppercase + string.digits + "_") for name in result)


def test_launch_line_of_a_custom_job() -> None:
    line = contract.launch_line(
        "xgb_train.py",
        {"n_estimators": "500", "objective": "multi:softmax", "max_depth": "5"},
        {"train_data": "/ml/input/data/train_data/train.csv"},
    )
    assert line == (
        "python xgb_train.py --n_estimators 500 --objective multi:softmax --max_depth 5 "
        "--train_data /ml/input/data/train_data/train.csv"
    )
    assert contract.launch_line("run.sh", {}) == "sh run.sh"
    line = contract.launch_line("sub/训练 1.ipynb", {"lr": "0.1"})
    assert line == "python -m jupyter_pai.backends.runtime.run_notebook 'sub/训练 1.ipynb' --lr 0.1"
