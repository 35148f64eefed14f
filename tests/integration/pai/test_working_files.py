"""The files that a job on the stand-in of PAI writes beside its code, and its figures."""

from __future__ import annotations

import os
import venv
from pathlib import Path

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle

from ...conftest import script, submit, until
from ...fakes.alibaba import StandIn
from .conftest import write_profile

SAVES = """
    import pathlib, sys
    pathlib.Path("out").mkdir()
    pathlib.Path("out/model.npz").write_bytes(b"w" * 3000)
    pathlib.Path("large.bin").write_bytes(b"x" * 20_000)
    pathlib.Path(".env").write_text("KEY=1")
    print("saved", flush=True)
"""


def paths(job: JobHandle) -> list[str]:
    return sorted(file["path"] for file in job.files("files"))


def test_files_beside_the_code_are_an_output(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(folder, f"{SAVES}    sys.exit(3)\n")
    job = submit(engine, folder=folder, entry_point="train.py", profile="pai").wait()
    assert (job.status, job.exit_code) == ("failed", 3)
    assert paths(job) == ["large.bin", "out/model.npz"]
    assert job.read_file("out/model.npz", "files") == b"w" * 3000
    assert job.logs().endswith("\nsaved\n")


def test_paths_above_the_folder_of_the_script_are_an_output(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(folder, "import os; os.mkdir('../results'); open('../results/m', 'w').write('1')", "scripts/train.py")
    for source, entry_point in ((folder, "scripts/train.py"), (folder / "scripts", "train.py")):
        job = submit(engine, folder=source, entry_point=entry_point, profile="pai").wait()
        assert (job.status, paths(job)) == ("succeeded", ["results/m"]), job.logs()
    job = submit(engine, folder=folder / "scripts", entry_point="train.py", profile="pai", instance_count=2).wait()
    assert paths(job) == ["results/m", "worker-1/results/m"], job.logs()


def test_limit_of_the_profile_is_reported_in_the_log(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    write_profile(pai, files_limit="10KB")
    script(folder, SAVES)
    job = submit(engine, folder=folder, entry_point="train.py", profile="pai").wait()
    assert paths(job) == ["out/model.npz"]
    assert job.logs().endswith(
        "\nsaved\n[jupyter-pai] Files beside the code were not kept, as they exceed 10 kB together (`files_limit`): "
        "large.bin\n"
    )


def test_stopped_job_keeps_its_files(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(folder, f"{SAVES}    import time; time.sleep(1000)\n")
    job = submit(engine, folder=folder, entry_point="train.py", profile="pai")
    until(lambda: "saved" in job.logs())
    job.stop()
    assert job.wait().status == "stopped"
    assert paths(job) == ["large.bin", "out/model.npz"]


def test_packages_of_the_folder_are_imported(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(folder, "name = 'mine'", "src/digits/__init__.py")
    script(folder, "name = 'too'", "lib/letters.py")
    script(folder, "[tool.setuptools.packages.find]\nwhere = ['lib']", "pyproject.toml")
    script(folder, "import digits, letters, other; print(digits.name, letters.name)", "scripts/train.py")
    script(folder, "", "scripts/more/other.py")
    variables = {"PYTHONPATH": "scripts/more"}
    job = submit(engine, folder=folder, entry_point="scripts/train.py", profile="pai", environment=variables).wait()
    assert "mine too" in job.logs()


def test_figures_are_an_output(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(folder, "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()")
    job = submit(engine, folder=folder, entry_point="train.py", profile="pai").wait()
    assert job.status == "succeeded", job.logs()
    assert [file["path"] for file in job.files("figures")] == ["figure-1.png"]


def test_script_reports_without_the_package(engine: EmbeddedClient, pai: StandIn, folder: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "python", symlinks=True)
    variables = {"PATH": f"{tmp_path}/python/bin:{os.environ['PATH']}"}
    script(folder, "from jupyter_pai import report; report.metric('gain', 0.5, step=3); print(report.__file__)")
    job = submit(engine, folder=folder, entry_point="train.py", profile="pai", environment=variables).wait()
    assert job.status == "succeeded", job.logs()
    assert "/tmp/jupyter-pai/jupyter_pai/report.py" in job.logs()
    assert [(point.step, point.value) for point in job.metrics()] == [(3, 0.5)]


def test_own_channel_of_that_name_wins(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(folder, f"{SAVES}    pathlib.Path('/ml/output/files/own').write_text('1')\n")
    own = f"oss://{pai.bucket}/own/"
    job = submit(engine, folder=folder, entry_point="train.py", profile="pai", outputs={"files": own}).wait()
    assert paths(job) == ["own"]
