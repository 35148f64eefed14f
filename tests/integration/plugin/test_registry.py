"""The registry of a plug-in: what the engine adds to a registration, and what it rejects."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.core.errors import SpecError, Unsupported

from ...conftest import script, submit
from .conftest import opened


def test_output_of_a_job_is_registered(neighbour: Path, folder: Path, cli: Callable[..., Any]) -> None:
    script(folder, "import os; open(os.environ['PAI_OUTPUT_MODEL'] + '/a', 'w').write('1'); print('loss=0.5')")
    with opened(neighbour) as engine:
        job = submit(engine, folder=folder, entry_point="train.py", profile="den", hyperparameters={"lr": "1"}).wait()
        body: dict[str, Any] = {"model": "net", "job": job.id, "labels": {"a": "b"}}
        version = engine.call("register_model", body=body)["version"]
        assert (version["version"], version["uri"], version["labels"]) == ("v1", job.outputs["model"], {"a": "b"})
        assert (version["metrics"], version["hyperparameters"]) == ({"loss": 0.5}, {"lr": "1"})
        assert [one["id"] for one in job.output_models()] == ["1"]
        with pytest.raises(SpecError, match="format: the platform does not support it"):
            engine.call("register_model", body=body | {"format": "ONNX"})
        with pytest.raises(Unsupported, match="cannot delete the files"):
            engine.call("delete_model", model="net", files=True)
    assert json.loads(cli("models", "list", "--profile", "den", "--json").stdout)[0]["name"] == "net"
    assert Path(neighbour, "home/models.json").exists()
    assert "Deleted net" in cli("models", "delete", "net", "--profile", "den", "--yes").stdout
    assert json.loads(Path(neighbour, "home/models.json").read_text()) == {}
