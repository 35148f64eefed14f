"""The tutorial of two nodes: one variable sends it to TI-ONE, with the cells that need an account."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from ...conftest import ROOT
from ...fakes.tione import TiOne
from .conftest import write_profile

# Runs the cells of standard input as a notebook does; the first failure ends it.
RUN = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in json.load(sys.stdin):
    shell.run_cell(cell).raise_error()
"""


def test_one_variable_sends_the_tutorial_to_tione(tione: TiOne, tmp_path: Path) -> None:
    # With a limit, a price below it needs no confirmation.
    write_profile(tione, price_limit="100 CNY")
    bucket = str(tione.profile()["bucket"])
    cells = json.loads((ROOT / "binder/tutorials/tione.ipynb").read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code[1] == 'where = "local"'
    code[1] = 'where = "tione"'
    words = [source.replace("BUCKET-APPID", bucket) for source in code]
    folder = tmp_path / "lesson"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps(words), cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    images = [line for line in lines if line.startswith("node ") and line.endswith(" images")]
    assert images == ["node 0 of 1: 1437 images", "node 0 of 2: 719 images", "node 1 of 2: 718 images"]
    _trial, first, second = (line.rpartition(" ")[2] for line in lines if re.match("node .*: sum of ", line))
    assert first == second
    assert re.search(r"^\(64, 10\) right: 9\d%$", done.stdout, re.MULTILINE)
    assert re.search(r"^TI\.S\.MEDIUM\.POST .* CNY$", done.stdout, re.MULTILINE)
    assert " torch1.9-py3.8-cuda11.1-gpu" in done.stdout
    assert re.search(rf"^Registered digits v1: cos://{bucket}/.*/model/$", done.stdout, re.MULTILINE)
    assert tione.objects.keys("classify/") == ["classify/digits.npz"]
