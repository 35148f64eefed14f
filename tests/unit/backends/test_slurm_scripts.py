"""The commands for containers, and the arguments of `sbatch`, for jobs that no test cluster can run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.slurm import batch
from jupyter_pai.backends.slurm.cluster import Node, Partition, Shape
from jupyter_pai.backends.slurm.options import SlurmOptions, SlurmSettings
from jupyter_pai.backends.slurm.shared_folder import SharedFolder
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec

A100 = Shape(64, 512_000, 4, "a100")
GPU = Partition("gpu", True, True, 0, (Node("g1", A100, 64, 512_000, 4, "idle"),))


def job(**fields: Any) -> Job:
    spec = parse_spec({"name": "it's a job", "command": "true", **fields})
    return Job(id="abcdefgh", spec=spec, backend="slurm", profile="lab", status=JobStatus.STARTING, submitted_at=now())


def settings(folder: Path, **keys: Any) -> SlurmSettings:
    return SlurmSettings(backend="slurm", folder=str(folder), **keys)


def arguments(spec: dict[str, Any], options: dict[str, Any] | None = None) -> list[str]:
    made, chosen = job(**spec), SlurmOptions.model_validate(options or {})
    return batch.sbatch_arguments(made, chosen, batch.components(made.spec, chosen, {"worker": GPU}), 90)


def test_apptainer_runs_the_image_with_ml_and_the_shared_folder(tmp_path: Path) -> None:
    made = job(image="pytorch/pytorch:2.4", gpu=1, inputs={"train": "/data/train"})
    text = batch.rank_script(made, settings(tmp_path, container="apptainer"), SharedFolder(str(tmp_path)), "")
    (line,) = [line for line in text.splitlines() if line.startswith("pai_container=")]
    (command,) = shlex.split(line.removeprefix("pai_container="))
    assert command == (
        f"apptainer exec --nv --bind /data/train --bind {tmp_path} "
        '--bind "$pai_ml_folder/ml:/ml" --bind "$pai_ml_folder/opt:/opt/ml" --pwd / docker://pytorch/pytorch:2.4'
    )


@pytest.mark.parametrize("image", ["/images/torch.sif", "library://lab/torch", "oras://lab/torch:1"])
def test_apptainer_gets_other_images_as_they_are(tmp_path: Path, image: str) -> None:
    text = batch.rank_script(job(image=image), settings(tmp_path, container="apptainer"), SharedFolder("/shared"), "")
    assert f" --pwd / {image}" in text
    assert "--nv" not in text


@pytest.mark.parametrize(
    ("image", "passed"),
    [
        ("pytorch/pytorch:2.4", "pytorch/pytorch:2.4"),
        ("nvcr.io/nvidia/pytorch:24.05", "nvcr.io#nvidia/pytorch:24.05"),
        ("/images/torch.sqsh", "/images/torch.sqsh"),
    ],
)  # fmt: skip
def test_pyxis_gets_image_and_mounts_by_srun(tmp_path: Path, image: str, passed: str) -> None:
    made, shared = job(image=image, cpu=4), SharedFolder(str(tmp_path))
    place, options = settings(tmp_path, container="pyxis"), SlurmOptions.model_validate({})
    text = batch.batch_script(made, place, options, shared, batch.components(made.spec, options, {"worker": GPU}))
    (line,) = [line for line in text.splitlines() if line.startswith("pai_srun=")]
    (srun,) = shlex.split(line.removeprefix("pai_srun="))
    assert f"--container-image={passed}" in shlex.split(srun)
    assert f"--container-mounts={tmp_path}:{tmp_path}" in srun
    assert "--cpus-per-task=4" in srun
    assert "pai_container=''" in batch.rank_script(made, place, shared, "")


def test_roles_of_one_size_are_one_component() -> None:
    roles = [{"name": "a", "cpu": 2}, {"name": "b", "count": 2, "cpu": 2}, {"name": "c", "cpu": 4}]
    made, options = job(roles=roles), SlurmOptions()
    parts = batch.components(made.spec, options, {})
    assert [(part.count, part.resources) for part in parts] == [
        (3, ("--cpus-per-task=2",)),
        (1, ("--cpus-per-task=4",)),
    ]
    words = batch.sbatch_arguments(made, options, parts, 0)
    first, second = words[: words.index(":")], words[words.index(":") + 1 :]
    assert {"--parsable", "--nodes=3", "--ntasks=3", "--cpus-per-task=2"} <= {*first}
    assert {"--nodes=1", "--ntasks=1", "--cpus-per-task=4", "--comment=jupyter-pai:abcdefgh"} <= {*second}


def test_instance_type_is_a_whole_node_and_sizes_a_part() -> None:
    assert {"--cpus-per-task=64", "--mem=0", "--gres=gpu:a100:4"} <= {*arguments({"instance_type": "gpu"})}
    part = arguments({"instance_type": "gpu", "cpu": 7.5, "memory": "10GiB", "gpu": 2})
    assert {"--cpus-per-task=8", "--mem=10240M", "--gres=gpu:a100:2", "--time=2", "--no-requeue"} <= {*part}
    assert "--gres=fpga:1" in arguments({"cpu": 1}, {"gres": "fpga:1"})


def test_options_of_a_job_precede_those_of_its_profile(tmp_path: Path) -> None:
    place = settings(tmp_path, partition="gpu", account="physics", qos="long")
    chosen = batch.choose(place, SlurmOptions.model_validate({"account": "biology", "requeue": True}))
    words = batch.sbatch_arguments(job(), chosen, batch.components(job().spec, chosen, {}), 0)
    assert {"--partition=gpu", "--account=biology", "--qos=long", "--requeue"} <= {*words}
    assert not [word for word in words if word.startswith(("--time", "--mem"))]
    assert "--job-name=it_s_a_job.abcdefgh" in words


@pytest.mark.parametrize("field", ["partition", "account", "qos", "reservation", "constraint", "gres", "host"])
@pytest.mark.parametrize("text", ["--wrap=evil", "a b", "a\nb"])
def test_values_that_could_be_options_are_refused(tmp_path: Path, field: str, text: str) -> None:
    with pytest.raises(ValueError, match=field):
        settings(tmp_path, **{field: text})
