"""The seeds' snippets, repaired as `docs/seeds.md` lists, run for real on this machine.

A file `s0_020_….py` in `code/` is the snippet that begins at line 20 of seed 000. `xgb_train.py` is seed 001's script,
byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from jupyter_pai.client import EmbeddedClient
from jupyter_pai.errors import JobFailed
from jupyter_pai.home import Home
from jupyter_pai.sdk.estimator import Estimator
from jupyter_pai.sdk.job import CustomJob

from ..conftest import submit
from ..server.real import RealServer

CODE = Path(__file__).parent / "code"
NO_TORCH = "torch is not installed"
# The seed names its model without an extension.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Unknown file format:UserWarning"),
    pytest.mark.usefixtures("private_ml"),
]


def use(folder: Path, snippet: str, name: str) -> None:
    """Lay a snippet into a folder under the name by which the seed calls it."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(CODE / f"{snippet}.py", folder / name)


def run(folder: Path, snippet: str) -> str:
    """What a snippet prints that submits a job."""
    done = subprocess.run(
        [sys.executable, str(CODE / f"{snippet}.py")], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def work(home: Home, folder: Path) -> Path:
    """A folder with what the seeds' snippets refer to. Their images are placeholders: jobs run without."""
    settings = folder.parent / "jupyter-config/jupyter_pai.toml"
    settings.parent.mkdir()
    settings.write_text('[profiles.local]\nbackend = "local"\ncontainer = "none"\n')
    use(folder, "s0_056_train", "train_src/train.py")
    for data in ("path/to/train/data/a.csv", "train/data/train.csv", "test/data/test.csv", "path-to-data/b.csv"):
        (folder / data).parent.mkdir(parents=True, exist_ok=True)
        (folder / data).write_text("1,2\n")
    (folder / "data/to/test/data").mkdir(parents=True)
    (folder / "argv_src").mkdir()
    (folder / "argv_src/train.py").write_text("import sys; print(*sys.argv[1:])\n")
    use(folder, "s2_041_train", "read_src/train.py")
    use(folder, "s2_076_train", "argparse_src/train.py")
    return folder


# Seed 000


def test_s0_020_estimator_and_fit(work: Path) -> None:
    printed = run(work, "s0_020_estimator")
    assert "Hyperparameters:  {'n_estimators': '500', 'max_depth': '5'}" in printed
    assert Path(printed.splitlines()[-1]).is_dir()


def test_s0_109_the_hyperparameters_file(engine: EmbeddedClient) -> None:
    command = "cat $PAI_CONFIG_DIR/hyperparameters.json"
    log = submit(engine, command, hyperparameters={"batch_size": 32, "learning_rate": 0.01}).wait().logs()
    assert json.loads(log) == {"batch_size": "32", "learning_rate": "0.01"}


def test_s0_121_inputs(work: Path) -> None:
    printed = run(work, "s0_121_fit")
    assert "/ml/input/data/train/train.csv /ml/input/data/test/\n1,2\ntest.csv\n" in printed


def test_s0_196_a_whole_job(work: Path) -> None:
    printed = run(work, "s0_196_job")
    assert "'objective': 'reg:squarederror'" in printed
    assert "example_train_job_2" in printed
    assert "ecs.c6.xlarge" in printed


@pytest.mark.skipif(find_spec("torch") is None or find_spec("tensorboard") is None, reason=NO_TORCH)
def test_s0_238_tensorboard_logs(engine: EmbeddedClient, folder: Path) -> None:
    use(folder, "s0_238_writer", "train.py")
    handle = submit(engine, folder=folder, entry_point="train.py").wait()
    assert handle.status == "succeeded", handle.logs()
    assert list(Path(handle.outputs["tensorboard"].removeprefix("file://")).glob("events.out.tfevents.*"))


def test_s0_284_local(work: Path) -> None:
    printed = run(work, "s0_284_local")
    assert Path(printed.splitlines()[-1]).is_dir()


def test_s0_320_variables_of_hyperparameters(engine: EmbeddedClient) -> None:
    command = "echo PAI_HPS_EPOCHS=$PAI_HPS_EPOCHS; env | grep ^PAI_"
    log = submit(engine, command, hyperparameters={"epochs": 10, "batch-size": 32, "train.learning_rate": 0.001})
    lines = log.wait().logs().splitlines()
    for line in ("PAI_HPS_EPOCHS=10", "PAI_HPS_BATCH_SIZE=32", "PAI_HPS_TRAIN_LEARNING_RATE=0.001"):
        assert line in lines


def test_s0_330_variables_in_the_command(work: Path) -> None:
    assert "\n--epochs 10 --batch-size 32\n" in run(work, "s0_330_variables")


def test_s0_349_user_args(engine: EmbeddedClient) -> None:
    hyperparameters = {"epochs": 10, "batch-size": 32, "learning-rate": 0.001}
    log = submit(engine, 'echo "$PAI_USER_ARGS"', hyperparameters=hyperparameters).wait().logs()
    assert log == "--epochs 10 --batch-size 32 --learning-rate 0.001\n"


def test_s0_359_user_args_in_the_command(work: Path) -> None:
    assert "\n--epochs 10 --learning-rate 0.001 --batch-size 32\n" in run(work, "s0_359_user_args")


def test_s0_372_hyperparameters_as_json(engine: EmbeddedClient) -> None:
    log = submit(engine, 'echo "$PAI_HPS"', hyperparameters={"epochs": 10, "batch-size": 32}).wait().logs()
    assert log == '{"epochs": 10, "batch-size": 32}\n'


def test_s0_388_and_405_input_and_output_variables(engine: EmbeddedClient, work: Path) -> None:
    inputs = {"train": f"{work}/path-to-data/", "test": f"{work}/test/data/test.csv"}
    log = submit(engine, "env | grep -E '^PAI_(IN|OUT)PUT' | sort", inputs=inputs).wait().logs()
    assert log.splitlines() == [
        "PAI_INPUT_TEST=/ml/input/data/test/test.csv",
        "PAI_INPUT_TRAIN=/ml/input/data/train/",
        "PAI_OUTPUT_CHECKPOINTS=/ml/output/checkpoints/",
        "PAI_OUTPUT_LOGS=/ml/output/tensorboard/",
        "PAI_OUTPUT_MODEL=/ml/output/model/",
        "PAI_OUTPUT_TENSORBOARD=/ml/output/tensorboard/",
    ]


def test_s0_172_requirements_are_installed_first(engine: EmbeddedClient, folder: Path) -> None:
    """`requirements.txt` of the code folder; here of packages that are there already (see test_launcher)."""
    (folder / "requirements.txt").write_text("pandas\nscikit-learn\n")
    (folder / "train.py").write_text("import utils\n")
    (folder / "utils.py").write_text("import pandas; print('ready')\n")
    assert submit(engine, folder=folder, entry_point="train.py").wait().logs() == "ready\n"


# Seed 001


@pytest.fixture
def iris(home: Home, folder: Path) -> Path:
    """The folder of the CustomJob document: the script byte for byte, and the iris data as its snippet writes them."""
    use(folder, "xgb_train", "code/xgb_train.py")
    subprocess.run([sys.executable, str(CODE / "s1_074_iris.py")], cwd=folder, check=True)
    return folder


def test_the_script_is_the_documents_byte_for_byte() -> None:
    digest = hashlib.sha256((CODE / "xgb_train.py").read_bytes()).hexdigest()
    assert digest == "565dd1bad94e8a63d1380dd8c7c13743cfa8c5405aa0b3daca547027427770b2"


def trained(model: Path, accuracy: str) -> None:
    """A model and an accuracy came back."""
    from xgboost import XGBClassifier

    classifier = XGBClassifier()
    classifier.load_model(model / "xgb_model")
    assert classifier.n_features_in_ == 4
    assert 0.8 < float(accuracy) <= 1


def test_xgb_train_from_the_command_line(cli: object, iris: Path) -> None:
    words = ["submit", "code/xgb_train.py", "--hp", "n_estimators=50", "--hp", "max_depth=5", "--wait", "--json"]
    words += ["--input", "train_data=train.csv", "--hp", "train_data=/ml/input/data/train_data/train.csv"]
    words += ["--metric", "accuracy=Output model accuracy=([0-9.]+)"]
    done = cli(*words)  # type: ignore[operator]
    job = json.loads(done.stdout)
    accuracy = str(job["metrics"]["accuracy"]["value"])
    trained(Path(job["outputs"]["model"].removeprefix("file://")), accuracy)
    assert f"test-accuracy: {accuracy}" in cli("show", job["id"]).stdout  # type: ignore[operator]


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


def test_xgb_train_by_the_estimator(iris: Path, engine: EmbeddedClient) -> None:
    estimator = Estimator(
        command="python xgb_train.py $PAI_USER_ARGS --train_data $PAI_INPUT_TRAIN_DATA",
        source_dir=iris / "code",
        instance_type="local",
        hyperparameters={"n_estimators": 50, "max_depth": 5},
    )
    job = estimator.fit(inputs={"train_data": str(iris / "train.csv")})
    trained(Path(estimator.model_data()), job.output_parameters["test-accuracy"])


def test_s1_215_the_command_line_of_the_document(engine: EmbeddedClient, iris: Path) -> None:
    command = (
        "python xgb_train.py \\\n--n_estimators 500 \\\n--objective multi:softmax \\\n--max_depth 5 \\\n"
        "--train_data /ml/input/data/train_data/train.csv"
    )
    inputs = {"train_data": f"{iris}/train.csv"}
    handle = submit(engine, command, iris / "code", inputs=inputs).wait()
    trained(Path(handle.outputs["model"].removeprefix("file://")), handle.output_parameters["test-accuracy"])


def test_s1_240_custom_job_local_run(iris: Path) -> None:
    for _ in range(2):
        printed = run(iris, "s1_240_custom_job")
        assert "Save model succeed: model_path=/ml/output/model/xgb_model" in printed
        trained(iris / "output/model", (iris / "output/output_parameters/test-accuracy").read_text())


def test_local_run_of_what_fails_raises(home: Home, folder: Path) -> None:
    (folder / "go.py").write_text("print('so far'); import no_such_module")
    with pytest.raises(JobFailed) as caught:
        CustomJob(entry_point="go.py", source_code=folder).local_run()
    assert "`no_such_module`" in caught.value.message
    assert "so far" in caught.value.message
    assert "--requirement no_such_module" in caught.value.fix


# Seed 002


def test_s2_015_hyperparameters_read_from_the_file(work: Path) -> None:
    assert "{'batch_size': '32', 'learning_rate': '0.01'}" in run(work, "s2_015_submit_job")


def test_s2_060_hyperparameters_read_by_argparse(work: Path) -> None:
    assert "\n32\n0.01\nlora\n" in run(work, "s2_060_submit_job")


def test_s2_110_the_models_place(work: Path) -> None:
    assert Path(run(work, "s2_110_model_data").splitlines()[-1]).is_dir()


@pytest.mark.skipif(find_spec("torch") is None, reason=NO_TORCH)
def test_s2_124_a_torch_model_is_saved(engine: EmbeddedClient, folder: Path) -> None:
    use(folder, "s2_124_train", "train.py")
    handle = submit(engine, folder=folder, entry_point="train.py").wait()
    assert handle.status == "succeeded", handle.logs()
    assert (Path(handle.outputs["model"].removeprefix("file://")) / "model.pth").exists()


# The estimator beyond the seeds


def test_an_estimator_that_does_not_wait(engine: EmbeddedClient, folder: Path) -> None:
    (folder / "a").touch()
    estimator = Estimator(command=["sh", "-c", "echo hi; exit 3"], source_dir=folder, instance_type="local")
    job = estimator.fit(wait=False)
    assert job.id
    with pytest.raises(JobFailed, match="exit code 3"):
        estimator.wait()
    with pytest.raises(Exception, match="fit"):
        Estimator(command="x", source_dir=folder).model_data()
