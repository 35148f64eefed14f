"""The seeds' snippets, corrected as listed in `docs/seeds.md`, run on this machine and on the stand-in of PAI.

A file `s0_020_….py` in `code/` is the snippet that begins at line 20 of seed 000. `xgb_train.py` is seed 001's script,
byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import get_job
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import JobFailed
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.sdk.estimator import Estimator
from jupyter_pai.sdk.job import CustomJob

from ...conftest import submit
from ...fakes.alibaba import StandIn
from ..server.real_server import RealServer
from .snippet_platforms import CODE, SnippetPlatform, copy_snippet

NO_TORCH = "torch is not installed"
NO_TENSORBOARD = "tensorboard is not installed"
# The seed names its model without an extension.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Unknown file format:UserWarning"),
    pytest.mark.usefixtures("private_ml"),
]


# Seed 000


@pytest.mark.slow("cases", first=1)
def test_s0_020_estimator_and_fit(place: SnippetPlatform) -> None:
    printed = place.run("s0_020_estimator")
    assert "Hyperparameters:  {'n_estimators': '500', 'max_depth': '5'}" in printed
    assert place.is_model(printed.splitlines()[-1])


def test_s0_109_hyperparameters_file(engine: EmbeddedClient) -> None:
    command = "cat $PAI_CONFIG_DIR/hyperparameters.json"
    log = submit(engine, command, hyperparameters={"batch_size": 32, "learning_rate": 0.01}).wait().logs()
    assert json.loads(log) == {"batch_size": "32", "learning_rate": "0.01"}


@pytest.mark.slow("cases", first=1)
def test_s0_121_and_s2_092_inputs(place: SnippetPlatform) -> None:
    printed = place.run("s0_121_fit")
    assert "/ml/input/data/train/train.csv /ml/input/data/test/\n1,2\ntest.csv\n" in printed


@pytest.mark.slow("examples")
def test_s0_148_images(there: SnippetPlatform) -> None:
    lines = there.run("s0_148_images").splitlines()
    assert len(lines) == 65 + 3
    assert all("pytorch-training:" in line for line in lines[:-3])
    assert "tensorflow-training:2.3-cpu" in lines[-3]
    assert "tensorflow-training:2.12-gpu" in lines[-2]
    assert "pytorch-training:1.12-gpu" in lines[-1]


@pytest.mark.slow("cases", first=1)
def test_s0_196_complete_job(place: SnippetPlatform) -> None:
    printing = "\nprint(est.latest_job.name, est.latest_job.info['notes'], est.latest_job.spec['image'])\n"
    printed = place.run("s0_196_job", **{"est.model_data()": f"est.model_data(){printing}"})
    assert "'objective': 'reg:squarederror'" in printed
    assert "example_train_job_2" in printed
    if place.pai:
        assert "pytorch-training:2.0-gpu" in printed
        assert place.pai.jobs[-1]["request"]["ComputeResource"]["EcsSpec"] == "ecs.c6.xlarge"
    else:
        assert "ecs.c6.xlarge" in printed


@pytest.mark.skipif(find_spec("torch") is None or find_spec("tensorboard") is None, reason=NO_TORCH)
def test_s0_238_tensorboard_logs(engine: EmbeddedClient, folder: Path) -> None:
    copy_snippet(folder, "s0_238_writer", "train.py")
    handle = submit(engine, folder=folder, entry_point="train.py").wait()
    assert handle.status == "succeeded", handle.logs()
    assert list(Path(handle.outputs["tensorboard"].removeprefix("file://")).glob("events.out.tfevents.*"))


@pytest.mark.slow("examples")
@pytest.mark.skipif(find_spec("tensorboard") is None, reason=NO_TENSORBOARD)
def test_s0_254_tensorboard(here: SnippetPlatform, server: RealServer) -> None:
    writer = (
        "from tensorboard.summary.writer.event_file_writer import EventFileWriter\nimport os\n"
        "EventFileWriter(os.environ['PAI_OUTPUT_LOGS']).close()\n"
    )
    (server.root / "train.py").write_text(writer)
    printed = server.notebook().run(here.filled("s0_254_tensorboard")).text
    assert re.search(rf"^http://localhost:{server.port}/pai/tensorboard/\w+/$", printed, re.MULTILINE)
    assert server.rest("GET", "/pai/api/v1/tensorboards") == {"tensorboards": []}


@pytest.mark.slow("examples")
def test_s0_254_tensorboard_on_pai(there: SnippetPlatform) -> None:
    (there.folder / "train.py").write_text("print('trained')\n")
    printed = there.run("s0_254_tensorboard")
    assert printed.splitlines()[-1].startswith("http://127.0.0.1:")
    assert there.pai
    assert (there.pai.count("dlc", "CreateTensorboard"), there.pai.count("dlc", "DeleteTensorboard")) == (1, 1)


@pytest.mark.slow("cases", first=1)
def test_s0_284_local(place: SnippetPlatform) -> None:
    """With data on this machine, and with data on OSS."""
    data = place.folder / "data/to/test/data"
    data.mkdir(parents=True)
    printed = place.run("s0_284_local", **{"/data/to/test/data": str(data)})
    assert Path(printed.splitlines()[-1]).is_dir()


def test_s0_320_variables_of_hyperparameters(engine: EmbeddedClient) -> None:
    command = "echo PAI_HPS_EPOCHS=$PAI_HPS_EPOCHS; env | grep ^PAI_"
    log = submit(engine, command, hyperparameters={"epochs": 10, "batch-size": 32, "train.learning_rate": 0.001})
    lines = log.wait().logs().splitlines()
    for line in ("PAI_HPS_EPOCHS=10", "PAI_HPS_BATCH_SIZE=32", "PAI_HPS_TRAIN_LEARNING_RATE=0.001"):
        assert line in lines


@pytest.mark.slow("cases", first=1)
def test_s0_330_variables_in_the_command(place: SnippetPlatform) -> None:
    assert "\n--epochs 10 --batch-size 32\n" in place.run("s0_330_variables")


def test_s0_349_user_args(engine: EmbeddedClient) -> None:
    hyperparameters = {"epochs": 10, "batch-size": 32, "learning-rate": 0.001}
    log = submit(engine, 'echo "$PAI_USER_ARGS"', hyperparameters=hyperparameters).wait().logs()
    assert log == "--epochs 10 --batch-size 32 --learning-rate 0.001\n"


@pytest.mark.slow("cases", first=1)
def test_s0_359_user_args_in_the_command(place: SnippetPlatform) -> None:
    assert "\n--epochs 10 --learning-rate 0.001 --batch-size 32\n" in place.run("s0_359_user_args")


def test_s0_372_hyperparameters_as_json(engine: EmbeddedClient) -> None:
    log = submit(engine, 'echo "$PAI_HPS"', hyperparameters={"epochs": 10, "batch-size": 32}).wait().logs()
    assert log == '{"epochs": 10, "batch-size": 32}\n'


def test_s0_388_and_405_input_and_output_variables(engine: EmbeddedClient, here: SnippetPlatform) -> None:
    inputs = {"train": f"{here.folder}/path-to-data/", "test": f"{here.folder}/test/data/test.csv"}
    log = submit(engine, "env | grep -E '^PAI_(IN|OUT)PUT' | sort", inputs=inputs).wait().logs()
    assert log.splitlines() == [
        "PAI_INPUT_TEST=/ml/input/data/test/test.csv",
        "PAI_INPUT_TRAIN=/ml/input/data/train/",
        "PAI_OUTPUT_CHECKPOINTS=/ml/output/checkpoints/",
        "PAI_OUTPUT_FIGURES=/ml/output/figures/",
        "PAI_OUTPUT_FILES=/ml/output/files/",
        "PAI_OUTPUT_LOGS=/ml/output/tensorboard/",
        "PAI_OUTPUT_MODEL=/ml/output/model/",
        "PAI_OUTPUT_TENSORBOARD=/ml/output/tensorboard/",
    ]


def test_s0_172_requirements_are_installed_first(engine: EmbeddedClient, folder: Path) -> None:
    """`requirements.txt` of the code folder, with packages that are installed already (see test_launcher)."""
    (folder / "requirements.txt").write_text("pandas\nscikit-learn\n")
    (folder / "train.py").write_text("import utils\n")
    (folder / "utils.py").write_text("import pandas; print('ready')\n")
    assert submit(engine, folder=folder, entry_point="train.py").wait().logs() == "ready\n"


# Seed 001


@pytest.fixture
def iris(home: Home, folder: Path) -> Path:
    """The folder of the CustomJob document: the script byte for byte, and the iris data as its snippet writes them."""
    copy_snippet(folder, "xgb_train", "code/xgb_train.py")
    subprocess.run([sys.executable, str(CODE / "s1_074_iris.py")], cwd=folder, check=True)
    return folder


def test_xgb_train_equals_the_documented_script() -> None:
    digest = hashlib.sha256((CODE / "xgb_train.py").read_bytes()).hexdigest()
    assert digest == "565dd1bad94e8a63d1380dd8c7c13743cfa8c5405aa0b3daca547027427770b2"


def trained(model: Path, accuracy: str) -> None:
    """Assert that there are a model and an accuracy."""
    from xgboost import XGBClassifier

    classifier = XGBClassifier()
    classifier.load_model(model / "xgb_model")
    assert classifier.n_features_in_ == 4
    assert 0.8 < float(accuracy) <= 1


@pytest.mark.slow("examples")
def test_xgb_train_from_the_command_line(cli: object, iris: Path) -> None:
    words = ["submit", "code/xgb_train.py", "--hp", "n_estimators=50", "--hp", "max_depth=5", "--wait", "--json"]
    words += ["--input", "train_data=train.csv", "--hp", "train_data=/ml/input/data/train_data/train.csv"]
    words += ["--metric", "accuracy=Output model accuracy=([0-9.]+)"]
    done = cli(*words)  # type: ignore[operator]
    job = json.loads(done.stdout)
    accuracy = str(job["metrics"]["accuracy"]["value"])
    trained(Path(job["outputs"]["model"].removeprefix("file://")), accuracy)
    assert f"test-accuracy: {accuracy}" in cli("show", job["id"]).stdout  # type: ignore[operator]


@pytest.mark.slow("examples")
def test_xgb_train_from_a_cell(server: RealServer, iris: Path) -> None:
    shutil.copytree(iris, server.root, dirs_exist_ok=True)
    notebook = server.notebook()
    script = (CODE / "xgb_train.py").read_text("utf-8")
    options = "--hp n_estimators=50 --hp train_data=/ml/input/data/train_data/train.csv --input train_data=train.csv"
    tell = "print(job.wait().status, job.output_parameters['test-accuracy'], job.outputs['model'])"
    for line in (
        f"%%pai_train {options} --as job\n{script}",
        f"%pai submit code/xgb_train.py {options} --as job",
    ):
        notebook.run(line)
        status, accuracy, model = notebook.run(tell).text.split()
        assert status == "succeeded"
        trained(Path(model.removeprefix("file://")), accuracy)


@pytest.mark.slow("examples")
def test_xgb_train_by_the_estimator(iris: Path, engine: EmbeddedClient) -> None:
    estimator = Estimator(
        command="python xgb_train.py $PAI_USER_ARGS --train_data $PAI_INPUT_TRAIN_DATA",
        source_dir=iris / "code",
        instance_type="local",
        hyperparameters={"n_estimators": 50, "max_depth": 5},
    )
    job = estimator.fit(inputs={"train_data": str(iris / "train.csv")})
    trained(Path(estimator.model_data()), job.output_parameters["test-accuracy"])


@pytest.mark.slow("examples")
def test_s1_215_documented_command_line(engine: EmbeddedClient, iris: Path) -> None:
    command = (
        "python xgb_train.py \\\n--n_estimators 500 \\\n--objective multi:softmax \\\n--max_depth 5 \\\n"
        "--train_data /ml/input/data/train_data/train.csv"
    )
    inputs = {"train_data": f"{iris}/train.csv"}
    handle = submit(engine, command, iris / "code", inputs=inputs).wait()
    trained(Path(handle.outputs["model"].removeprefix("file://")), handle.output_parameters["test-accuracy"])


@pytest.mark.slow("examples")
def test_s1_240_custom_job_local_run(iris: Path) -> None:
    for _ in range(2):
        printed = SnippetPlatform(iris).run("s1_240_custom_job")
        assert "Save model succeed: model_path=/ml/output/model/xgb_model" in printed
        trained(iris / "output/model", (iris / "output/output_parameters/test-accuracy").read_text())


@pytest.mark.slow("examples")
def test_s1_034_session_with_keys_in_the_cell(iris: Path, platform: StandIn) -> None:
    """As printed, except for the OSS endpoint of the stand-in."""
    words = {
        "<YourAccessKeyId>": platform.key.id,
        "<YourAccessKeySecret>": platform.key.secret,
        "<RegionIdWorking>": platform.region,
        "<YourWorkspaceId>": platform.workspace_id,
        '"<YourOssBucketName>",': f'"{platform.bucket}", oss_endpoint="{platform.oss_endpoint}",',
    }
    place = SnippetPlatform(iris)
    printed = place.run("s1_019_session", "s1_083_upload", **words)
    assert "config session" in printed
    assert platform.objects.read("custom-job-example/train-data/train.csv") == (iris / "train.csv").read_bytes()
    settings = user_file().read_text()
    assert f'workspace_id = "{platform.workspace_id}"' in settings
    assert platform.key.secret not in settings and platform.key.id not in settings


def test_failed_local_run_raises(home: Home, folder: Path) -> None:
    (folder / "go.py").write_text("print('so far'); import no_such_module")
    with pytest.raises(JobFailed) as caught:
        CustomJob(entry_point="go.py", source_code=folder).local_run()
    assert "`no_such_module`" in caught.value.message
    assert "so far" in caught.value.message
    assert 'requirements=["no_such_module"]' in caught.value.fix


# Seed 002


@pytest.mark.slow("cases", first=1)
def test_s2_015_hyperparameters_read_from_the_file(place: SnippetPlatform) -> None:
    printed = place.run("s2_015_submit_job", **{"<YourTrainingCodeDir>": "read_src"})
    assert "{'batch_size': '32', 'learning_rate': '0.01'}" in printed


@pytest.mark.slow("cases", first=1)
def test_s2_060_hyperparameters_read_by_argparse(place: SnippetPlatform) -> None:
    assert "\n32\n0.01\nlora\n" in place.run("s2_060_submit_job")


@pytest.mark.slow("cases", first=1)
def test_s2_110_model_uri(place: SnippetPlatform) -> None:
    printed = place.run("s2_110_model_data", **{"<YourTrainingCodeDir>": "train_src"})
    assert place.is_model(printed.splitlines()[-1])


@pytest.mark.skipif(find_spec("torch") is None, reason=NO_TORCH)
def test_s2_124_torch_model_is_saved(engine: EmbeddedClient, folder: Path) -> None:
    copy_snippet(folder, "s2_124_train", "train.py")
    handle = submit(engine, folder=folder, entry_point="train.py").wait()
    assert handle.status == "succeeded", handle.logs()
    assert (Path(handle.outputs["model"].removeprefix("file://")) / "model.pth").exists()


# The estimator beyond the seeds


def test_estimator_without_wait_returns_a_job(engine: EmbeddedClient, folder: Path) -> None:
    (folder / "a").touch()
    estimator = Estimator(command=["sh", "-c", "echo hi; exit 3"], source_dir=folder, instance_type="local")
    job = estimator.fit(wait=False)
    assert job.id
    with pytest.raises(JobFailed, match="exit code 3"):
        estimator.wait()
    with pytest.raises(Exception, match="fit"):
        Estimator(command="x", source_dir=folder).model_data()


@pytest.mark.slow("examples")
def test_interrupted_fit_leaves_the_job_running(engine: EmbeddedClient, folder: Path) -> None:
    (folder / "a").touch()
    code = (
        "from jupyter_pai.sdk.estimator import Estimator\n"
        "Estimator(command='echo begun; sleep 600', instance_type='local').fit()"
    )
    command = [sys.executable, "-u", "-c", code]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as fitting:
        assert fitting.stdout
        assert any("begun" in line for line in fitting.stdout)
        fitting.send_signal(signal.SIGINT)
        _rest, errors = fitting.communicate()
    job = get_job("last")
    assert f"Job {job.id} is still running. To stop it: latest_job.stop(), or jupyter pai stop {job.id}" in errors
    assert job.status == "running"
    assert job.stop().wait().status == "stopped"


def test_estimator_stops_its_job(engine: EmbeddedClient, folder: Path) -> None:
    (folder / "a").touch()
    estimator = Estimator(command="sleep 600", source_dir=folder, instance_type="local")
    estimator.fit(wait=False)
    assert estimator.stop().wait().status == "stopped"
