"""Parameters of Python functions: their names in errors, and suggestions for unknown ones."""

from __future__ import annotations

import re

import pytest

from jupyter_pai.client import parameters
from jupyter_pai.client.parameters import as_parameters, check_names, option_names, parameter_names
from jupyter_pai.commands.parser import parser as grammar
from jupyter_pai.core.errors import BadInput, SpecError
from jupyter_pai.core.i18n import catalogue
from jupyter_pai.jobs.spec import JobSpec

from ...design.messages import texts

# Lines of commands, notes on hyperparameters, and steps of a manual check.
OTHER_PLACES = re.compile(r"jupyter_pai/(commands|backends/runtime)/|labextension/|.*/checks?\.py")
NAMED = set(grammar.options_of(grammar.parser("%pai", ["submit"]), "submit"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Request fewer: --instance-count.", "Request fewer: `instance_count=`."),
        ("Pass one: --image NAME.", 'Pass one: `image="NAME"`.'),
        ("Pass it: --hp lr=0.1", 'Pass it: `hyperparameters={"lr": "0.1"}`'),
        ("Pass data with --input NAME=PATH, and read it", 'Pass data with `inputs={"NAME": "PATH"}`, and read it'),
        ("Add --requirement torch, or a line", 'Add `requirements=["torch"]`, or a line'),
        ("Install a package with --requirement.", "Install a package with `requirements=`."),
        ("Omit --instance-type or the option.", "Omit `instance_type=` or the option."),
        ("Set both --cpu and --memory, in addition to --gpu.", "Set both `cpu=` and `memory=`, in addition to `gpu=`."),
        ("Name a script: --command 'python SCRIPT $X'.", 'Name a script: `command="python SCRIPT $X"`.'),
        ("Pass it: --input 'x=/a b/x.csv'. Then", 'Pass it: `inputs={"x": "/a b/x.csv"}`. Then'),
        ("Pass it: --input x=/a,b/c:d.", 'Pass it: `inputs={"x": "/a,b/c:d"}`.'),
        ("Pack it: --source '/it'\"'\"'s'.", 'Pack it: `source="/it\'s"`.'),
        ("Write `--command` instead.", "Write `command=` instead."),
        ("Exclude it with --exclude, or ask.", "Exclude it with `source=`, or ask."),
        ("omit --exclude data/.", 'omit `source={"exclude": ["data/"]}`.'),
        ("Confirm with --yes.", "Confirm with `confirmed=True`."),
        ("run without a container: --container none.", 'run without a container: `options={"container": "none"}`.'),
        ("请用 --instance-type 指定。", "请用 `instance_type=` 指定。"),
        ("用 --input NAME=PATH 传递，再", '用 `inputs={"NAME": "PATH"}` 传递，再'),
        ("Store it: %pai secret set NAME --force x. Then --yes.", None),
        ("If gone: %pai delete --force abc", "If gone: %pai delete --force abc"),
        ("Log in: `other-cli set --profile x`, or `--wait`", "Log in: `other-cli set --profile x`, or `wait=True`"),
        ("For torchrun: --rdzv-endpoint=localhost:0.", "For torchrun: --rdzv-endpoint=localhost:0."),
    ],
)
def test_options_become_parameters(text: str, expected: str | None) -> None:
    assert as_parameters(text) == (expected or "Store it: %pai secret set NAME --force x. Then `confirmed=True`.")
    assert as_parameters(as_parameters(text)) == as_parameters(text)


def test_no_message_of_the_engine_names_an_option() -> None:
    """Each option in a message becomes a parameter, except in commands and for programs other than ours."""
    left = []
    chinese = catalogue("zh-CN")
    for message, places in texts().items():
        if not isinstance(message, str) or all(OTHER_PLACES.match(file) for file, _line in places):
            continue
        for text in (message, *chinese.get(message, [])):
            plain = parameters._OPTION.sub(lambda match: match[0] if match["option"] else "", as_parameters(text))
            left += [f"{option}: {text}" for option in re.findall(r"--[a-z][a-z-]+", plain) if option in NAMED]
    assert left == []


def test_names_of_options_stay_in_lines() -> None:
    def fail() -> None:
        with parameter_names({"image": "image_uri"}):
            raise BadInput("No image.", fix="Pass one: --image NAME.")

    with pytest.raises(BadInput) as raised:
        fail()
    assert str(raised.value) == 'No image. Pass one: `image_uri="NAME"`.'
    with option_names(), pytest.raises(BadInput, match="--image NAME"):
        fail()


def test_fields_are_those_of_a_spec() -> None:
    assert set(JobSpec.model_fields) == parameters.FIELDS


@pytest.mark.parametrize(
    ("name", "meant"),
    [("instance_typ", "instance_type"), ("hp", "hyperparameters"), ("image_uri", "image"), ("env", "environment")],
)
def test_unknown_name_is_rejected_with_a_suggestion(name: str, meant: str) -> None:
    with pytest.raises(SpecError, match=rf"`{name}`.*Did you mean `{meant}`\?"):
        check_names([name], parameters.FIELDS)
