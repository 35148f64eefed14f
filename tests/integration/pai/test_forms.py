"""Forms for a paid platform: errors by field, and confirmation of costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import jupyter_pai
from jupyter_pai.client.connect import connect
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import PaiError, Unconfirmed

from ...fakes.alibaba import StandIn

SHARE = {"cpu": 1, "memory": 1}
FAULTS: list[tuple[dict[str, Any], list[str]]] = [
    ({"options": {"spot": {"strategy": "SpotWithPriceLimit"}}}, ["options.spot.discount_limit"]),
    ({"options": {"spot": {"strategy": "cheap"}}}, ["options.spot.strategy"]),
    ({"options": {"priority": 3}}, ["options.priority"]),
    ({"options": {"resource_id": "q", "instance_spec": {"cpu": 0}}}, [
        "options.instance_spec.cpu", "options.instance_spec.memory",
    ]),
    ({"options": {"resource_id": "quota1stand"}, "cpu": 1}, ["memory", "options.resource_id"]),
    ({"options": {"resource_id": "q", "instance_spec": SHARE}, "instance_type": "ecs.g7.large"}, [
        "instance_type", "options.resource_id",
    ]),
    ({"options": {"input_roles": {"none": "r"}}}, ["options.input_roles.none"]),
    ({"cpu": 100_000, "gpu": 900}, ["cpu", "gpu"]),
    ({"inputs": {"train": "s3://x/y"}}, ["inputs.train"]),
    ({"inputs": {"train": "/none/at/all"}}, ["inputs.train"]),
    ({"inputs": {"train": "dataset://"}}, ["inputs.train"]),
    ({"outputs": {"x": "dataset://d1"}}, ["outputs.x"]),
    ({"tty": True}, ["tty"]),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "paths"), FAULTS, ids=lambda value: str(value)[:40])
def test_platform_errors_name_a_field(engine: EmbeddedClient, fields: dict[str, Any], paths: Any) -> None:
    spec = {"command": "true", "profile": "pai", "source": {"files": {"a": ""}}}
    with pytest.raises(PaiError) as caught:
        engine.preview(spec | fields)
    assert sorted(caught.value.details["faults"]) == sorted(paths)  # type: ignore[call-overload]  # JSON
    assert 400 <= caught.value.status < 500


def test_form_confirms_costs_before_submit(pai: StandIn, folder: Path) -> None:
    (folder / "train.py").write_text("print('trained')")
    form = jupyter_pai.form(folder / "train.py", profile="pai")
    form.instance_type = "ecs.gn6i-c4g1.xlarge"
    assert form.options == {}
    preview = form.preview()
    assert "until the job ends" in preview["cost"] + str(preview["questions"])
    assert preview["questions"]
    with pytest.raises(Unconfirmed):
        form.submit()
    assert not form.value.get("job", form.job)
    form.submit(confirmed=True)
    assert form.job is not None
    assert form.job.info["backend"] == "pai"
    assert connect().call("list_jobs")["total"] == 1
