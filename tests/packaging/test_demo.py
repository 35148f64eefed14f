"""The programs of `make demo` and `make lab`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from jupyter_pai.jobs.state_dir import Home

from ..conftest import PATIENCE, ROOT, until


def demo(name: str, environment: dict[str, str]) -> Path:
    """Run the demo on a notebook, and return the folder of the model that it names."""
    command = [sys.executable, "-m", "binder.demo", "--notebook", name]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    output = dict(line.split(":", 1) for line in done.stdout.rpartition("\n\n")[2].splitlines())
    assert output["status"].strip() == "succeeded"
    assert output["metric"].split()[0] == "accuracy"
    model = Path(output["model"].strip().removeprefix("file://"))
    assert (model / "digits.joblib").exists()
    assert output["job"].strip() in str(model)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) <= 55
    return model


def test_demo_builds_no_front_end(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}

    def plan(target: str) -> str:
        command = ["make", "--dry-run", f"VENV={tmp_path}/new", f"EXTENSION={tmp_path}/not-built", target]
        return subprocess.check_output(command, cwd=ROOT, env=environment, text=True)

    assert "jlpm build" in plan("lab")
    assert "jlpm" not in plan("demo")
    assert plan("demo").count("step()") <= 5  # Each prints a line.


@pytest.mark.slow("environment")
def test_demo_prints_status_metric_and_model(home: Home) -> None:
    assert demo("tutorial.zh-CN.ipynb", dict(os.environ)).is_relative_to(home.jobs)


@pytest.mark.slow("environment")
def test_demo_uses_neither_state_nor_profiles_of_the_user(tmp_path: Path) -> None:
    (tmp_path / ".jupyter").mkdir()
    (tmp_path / ".jupyter/jupyter_pai.toml").write_text('default = "mine"\n[profiles.mine]\nbackend = "pai"\n')
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTER_")}
    model = demo("tutorial.ipynb", {**kept, "HOME": str(tmp_path)})
    assert model.is_relative_to(ROOT / "build/state/jobs")
    assert not list(tmp_path.rglob("pai.sqlite3"))


def test_lab_opens_on_the_tutorial(home: Home) -> None:
    runtime = Path(os.environ["JUPYTER_RUNTIME_DIR"])
    lab = subprocess.Popen(
        [sys.executable, "-m", "binder.demo", "--lab"],
        cwd=ROOT,
        env={**os.environ, "JUPYTER_TOKEN": "a-token", "BROWSER": "true"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )

    def tutorial() -> dict[str, object]:
        assert lab.poll() is None
        with suppress(URLError, ValueError):  # It is not there yet, or not complete.
            for info in runtime.glob("jpserver-*.json"):
                url = json.loads(info.read_text())["url"]
                with urlopen(f"{url}api/contents/tutorial.ipynb?token=a-token", timeout=5) as reply:
                    return dict(json.loads(reply.read()))
        return {}

    try:
        assert until(tutorial)["type"] == "notebook"
    finally:
        lab.terminate()
        output, _ = lab.communicate(timeout=PATIENCE)
    assert b"lab/tree/tutorial.ipynb" in output
