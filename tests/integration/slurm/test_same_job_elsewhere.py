"""The scripts of the seeds run on this machine, on the stand-in of PAI and on Slurm. Only the profile differs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, submit
from ...fakes.alibaba import StandIn
from ...support.slurm import SlurmCluster
from ..pai.conftest import IMAGE
from ..sdk.snippet_platforms import CODE


@pytest.fixture
def platforms(
    cluster: SlurmCluster, platform: StandIn, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profiles `local`, `pai` and `lab`."""
    for name, value in {**platform.environment(), "SLURM_CONF": str(cluster.config)}.items():
        monkeypatch.setenv(name, value)
    pai = {"default_image": IMAGE, "default_instance_type": "ecs.c6.large", **platform.settings()}
    profiles = {
        "local": {"backend": "local"},
        "pai": {"backend": "pai", **pai},
        "lab": {"backend": "slurm", "folder": str(tmp_path / "shared")},
    }
    lines = []
    for name, keys in profiles.items():
        lines += [f"[profiles.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("\n".join(lines), "utf-8")
    os.chmod(user_file(), 0o600)


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("profile", ["local", "pai", "lab"])
@pytest.mark.usefixtures("platforms", "private_ml")
def test_xgboost_script_of_seed_001(engine: EmbeddedClient, folder: Path, profile: str) -> None:
    script(folder, (CODE / "xgb_train.py").read_text("utf-8"), "xgb_train.py")
    rows = "\n".join(f"{n % 7},{n % 5},{n % 3}" for n in range(120))
    data = folder.parent / "iris.csv"
    data.write_text(f"a,b,target\n{rows}\n")
    job = submit(
        engine, "python xgb_train.py $PAI_USER_ARGS --train_data $PAI_INPUT_TRAIN_DATA", folder, profile=profile,
        inputs={"train_data": str(data)}, hyperparameters={"n_estimators": 10, "max_depth": 3},
    ).wait()  # fmt: skip
    assert job.status == "succeeded", (job.reason, job.logs())
    assert "xgb_model" in [file["path"] for file in job.files("model")]
    accuracy = float(job.info["output_parameters"]["test-accuracy"])
    assert 0 <= accuracy <= 1
    assert f"Output model accuracy={accuracy}" in job.logs()


@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize("profile", ["local", "pai", "lab"])
@pytest.mark.usefixtures("platforms")
def test_argparse_script_of_seed_002(engine: EmbeddedClient, folder: Path, profile: str) -> None:
    script(folder, (CODE / "s2_076_train.py").read_text("utf-8"))
    job = submit(
        engine, "python train.py $PAI_USER_ARGS", folder, profile=profile,
        hyperparameters={"batch_size": 64, "learning_rate": 0.5, "training_method": "it's full"},
    ).wait()  # fmt: skip
    assert job.status == "succeeded", (job.reason, job.logs())
    assert "64\n0.5\nit's full\n" in job.logs()
