"""The lesson of seed 004, corrected as listed in `docs/seeds.md`, as cells of one notebook on the stand-in of TI-ONE.

Its two nodes exchange their gradients by sockets: `code/s4_torch` has the part of torch that they use.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.sdk.tikit.client import Client

from ...fakes.tione import TiOne
from ...support.waiting import PATIENCE
from ..tione.conftest import engine as engine, timings as timings, tione as tione
from .snippet_platforms import CODE, copy_snippet

# Between two cells, the user waits for the end of the job.
WAIT = "import jupyter_pai\nprint(jupyter_pai.get_job('last').wait(timeout=180))"
TASK = "train-544168070598700544"


@pytest.fixture
def server_settings() -> dict[str, Any]:
    """The bucket of the seed; enough money for its machines."""
    return {"calls_a_window": 1000, "balance": 10_000_000, "bucket": "demo-1256580188"}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def lesson(folder: Path) -> Path:
    """The folder of the lesson: `code` and `data`."""
    copy_snippet(folder, "s4_087_main", "code/main.py")
    shutil.copytree(CODE / "s4_torch", folder / "code/torch")
    # The user chooses the port.
    start = (CODE / "s4_060_start_cloud.sh").read_text("utf-8").replace("23457", str(free_port()))
    (folder / "code/start_cloud.sh").write_text(start)
    (folder / "data").mkdir()
    (folder / "data/train.csv").write_text("".join(f"{x / 10},{x / 5}\n" for x in range(1, 11)))
    return folder


def upload(folder: Path, path: str, tione: TiOne) -> str:
    text = filled("s4_020_upload", tione)
    return text.replace("LOCAL_PATH", str(folder)).replace("YOUR_COS_PATH", f"notebook-demo-classification/{path}")


def filled(snippet: str, tione: TiOne) -> str:
    """Return a snippet with the placeholders of the account filled in. The last reply is printed, as in a notebook."""
    words = {"your_secret_id": tione.key.id, "your_secret_key": tione.key.secret, "<region>": tione.region}
    text = (CODE / f"{snippet}.py").read_text("utf-8")
    for word, value in ({"YOUR_BUCKE_NAME": tione.bucket} | words).items():
        text = text.replace(word, value)
    return re.sub(r"^client\.(?=describe|create)", "last = client.", text, flags=re.MULTILINE) + "\n"


def test_lesson_runs_as_printed(tione: TiOne, home: Home, lesson: Path) -> None:
    cells = [
        upload(lesson / "data", "data", tione),
        upload(lesson / "code", "code", tione),
        filled("s4_159_submit", tione) + "task = last.Id\n" + WAIT,
        filled("s4_194_logs", tione) + "print(last)",
        filled("s4_209_model", tione) + "print(last.to_json_string())",
    ]
    code = re.sub(f'"([^"\\n]*){TASK}', r'f"\1{task}', "\n".join(cells))
    # The key is in the cell, and nowhere else.
    environment = {name: value for name, value in os.environ.items() if name not in tione.environment()}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=lesson, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (task,) = tione.tasks
    assert task.status == "SUCCEED", done.stdout
    assert task.request["TrainingMode"] == "DDP"
    assert "rank 1 of 2: weight 2.0000" in done.stdout
    assert '"Message": "TIACC - * Acc@1' in done.stdout
    model = json.loads(done.stdout.splitlines()[-1])
    assert model["Id"].startswith("m-")
    weights = [key for key in tione.objects.keys(f"output/{task.id}/") if key.endswith("model.txt")]
    assert [tione.objects.read(key) for key in weights] == [b"2.0000"]
    kept = [
        path for path in lesson.parent.rglob("*") if path.is_file() and (lesson.parent / "tione") not in path.parents
    ]
    assert [path for path in kept if tione.key.secret.encode() in path.read_bytes()] == []
    assert tione.key.secret not in user_file().read_text()


@pytest.mark.slow("examples")
def test_task_of_the_lesson_is_a_job_like_any_other(tione: TiOne, engine: EmbeddedClient, lesson: Path) -> None:
    """With two instances, metrics, outputs and code, which a rerun has, too."""
    client = Client(region=tione.region)
    for name in ("data", "code"):
        client.upload_to_cos(lesson / name, tione.bucket, f"notebook-demo-classification/{name}")
    exec(filled("s4_159_submit", tione), {"client": client})
    handle = JobHandle(engine.call("show", job="last"), engine).wait(timeout=PATIENCE)
    assert (handle.name, handle.status, handle.spec["command"]) == ("xxx5", "succeeded", "sh start_cloud.sh")
    assert [one["name"] for one in handle.instances()] == ["worker-0", "worker-1"]
    points = engine.call("metrics", job=handle.id)["metrics"]["acc1"]
    assert (points["step"], points["value"]) == ([0, 1, 2], [100.0] * 3)
    client.delete_cos_path(tione.bucket, "notebook-demo-classification/code/")
    again = handle.rerun(confirmed=True).wait(timeout=PATIENCE)
    assert again.status == "succeeded", again.logs()
    first, second = tione.tasks
    assert (first.id, second.id) == (handle.info["remote_id"], again.info["remote_id"])
