"""What PAI alone has of a job: the models that it has made."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client import EmbeddedClient
from jupyter_pai.errors import Unsupported

from ..conftest import script, submit
from ..platforms.pai import StandIn

TRAIN = """
    import os, pathlib

    print("loss=0.25", flush=True)
    pathlib.Path(os.environ["PAI_OUTPUT_MODEL"], "model.txt").write_text("a model")
"""
LOSS = [{"name": "loss", "regex": r"loss=([\d.]+)"}]


# Models.


def test_a_job_that_has_written_a_model_has_one(
    engine: EmbeddedClient, pai: StandIn, folder: Path, cli: Callable[..., Any]
) -> None:
    script(folder, TRAIN)
    job = submit(engine, folder=folder, entry_point="train.py", profile="pai", metric_definitions=LOSS).wait()
    (model,) = job.output_models()
    assert (model["uri"], model["channel"]) == (job.outputs["model"], "model")
    assert model["labels"] == {"Algorithm": "custom"}
    assert model["metrics"] == {"loss": 0.25}
    assert job.outputs["model"] in cli("models", job.id).stdout
    assert json.loads(cli("models", job.id, "--json").stdout) == [model]


def test_a_job_that_has_written_none_has_none(engine: EmbeddedClient, pai: StandIn, cli: Callable[..., Any]) -> None:
    job = submit(engine, "true", profile="pai").wait()
    assert job.output_models() == []
    assert "no model" in cli("models", job.id).stdout


def test_a_job_of_this_machine_has_none_that_are_noted(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "true", profile="local").wait()
    with pytest.raises(Unsupported, match="`local` cannot do this: output_models") as caught:
        job.output_models()
    assert "%pai outputs" in caught.value.fix
