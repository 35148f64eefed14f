"""The notebook of seed 001 from its first to its last cell, on this machine and on the stand-in of PAI: a custom job, a
component, and a workflow that branches on the accuracy. The split of the data is fixed, so that both branches are
taken."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .snippet_platforms import SnippetPlatform, copy_snippet

pytestmark = pytest.mark.usefixtures("private_ml")

# The states of the data's split whose accuracy is above 0.90, and below.
ACCURATE, INACCURATE = 0, 7
CELLS = "s1_019_session s1_074_iris s1_083_upload s1_240_run s1_296_download s1_313_component s1_369_workflow".split()
# A local run has no bucket.
LOCAL = "job_train_data_uri, job_output_path_uri = './train.csv', './output/'\n"
WITHOUT_BUCKET = ("s1_083_upload", "s1_296_download")
# What each run of the workflow did: the status of each step, and the outputs of its job.
RESULT = """
import json, jupyter_pai
steps = jupyter_pai.get_workflow("last").steps
print("steps:", json.dumps({step.name: [step.status, step.job and step.job.spec["output_path"]] for step in steps}))
"""
SPLIT = "train_test_split(df, test_size=0.3"
# The workflow again with another split.
AGAIN = f"""
text = open("code/xgb_train.py").read()
open("code/xgb_train.py", "w").write(text.replace("random_state={INACCURATE}", "random_state={ACCURATE}"))
"""


def run_notebook(place: SnippetPlatform) -> str:
    """Run the cells, and the last one again with another split of the data. Return the printed text."""
    copy_snippet(place.folder, "xgb_train", "code/xgb_train.py")
    script = place.folder / "code/xgb_train.py"
    text = script.read_text("utf-8").replace(SPLIT, f"{SPLIT}, random_state={INACCURATE}")
    # Threads take longer than the training.
    script.write_text(text.replace("import os\n", "import os; os.environ['OMP_NUM_THREADS'] = '1'\n", 1), "utf-8")
    # Fewer trees: the accuracy is the same.
    trees = {": 500": ": 50", ": 1000": ": 100"}
    cells = [place.filled(name, **trees) for name in CELLS if place.pai or name not in WITHOUT_BUCKET]
    if not place.pai:
        # A session requires an account.
        cells[0] = f"from jupyter_pai.sdk.job.common import JobConfig\n{LOCAL}"
        cells = [text.replace("sess.region_id", '"cn-hangzhou"') for text in cells]
    text = "\n".join([*cells, RESULT, AGAIN, cells[-1], RESULT])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text], cwd=place.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow("cases")
def test_notebook_runs_to_its_last_cell_by_both_branches(place: SnippetPlatform) -> None:
    printed = run_notebook(place)
    first, second = (json.loads(line[7:]) for line in printed.splitlines() if line.startswith("steps: "))
    for steps, taken, skipped in ((first, "2", "3"), (second, "3", "2")):
        statuses = {"train-step-1": "succeeded", f"train-step-{taken}": "succeeded", f"train-step-{skipped}": "skipped"}
        assert {name: status for name, (status, _path) in steps.items()} == statuses
        path = Path(steps[f"train-step-{taken}"][1])
        if place.pai:
            assert place.pai.objects.read(f"custom-job-example/output/train-step-{taken}/model/xgb_model")
        else:
            assert (path / "model/xgb_model").is_file()
    assert "<RegisteredComponent xgb-example, version v-" in printed
    for line in ("job_config    Map", "n_estimators  Int = 50", "train_data    DataSet (OSS)"):
        assert line in printed
    assert printed.count("Save model succeed: model_path=/ml/output/model/xgb_model") == 2
    if not place.pai:
        assert "Ignored by the backend local: worker_instance_type" in printed
        return
    assert [job["type"] for job in place.pai.dlc.jobs[-6:]] == ["TFJob"] * 6
    (role,) = place.pai.dlc.jobs[-1]["request"]["JobSpecs"]
    assert (role["Type"], role["PodCount"], role["EcsSpec"]) == ("Worker", 1, "ecs.c6.large")
    assert "Stored these settings, without keys, as the profile `dlc`." in printed
    assert (place.folder / "xgb_model").is_file()
