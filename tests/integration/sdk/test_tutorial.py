"""The tutorial about the SDK's names: one variable sends it to PAI."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from ...conftest import ROOT
from .snippet_platforms import SnippetPlatform

pytestmark = pytest.mark.usefixtures("private_ml")


@pytest.mark.slow("cases", first=1)
def test_one_variable_sends_the_tutorial_to_pai(place: SnippetPlatform) -> None:
    code = []
    for cell in json.loads((ROOT / "binder/tutorials/pai.ipynb").read_text("utf-8"))["cells"]:
        source = "".join(cell["source"])
        if written := re.match(r"%%writefile (\S+)\n", source):
            (place.folder / written[1]).parent.mkdir(exist_ok=True)
            (place.folder / written[1]).write_text(source[written.end() :])
        elif cell["cell_type"] == "code":
            code.append(source)
    assert code[0] == 'where = "local"'
    code[0] = f'where = "{"pai" if place.pai else "local"}"'
    command = [sys.executable, "-c", "\n".join(code)]
    done = subprocess.run(command, cwd=place.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert any(place.is_model(line) for line in done.stdout.splitlines() if line.startswith(("oss://", "/")))
    last = done.stdout.splitlines()[-1]
    assert last.startswith('Succeed {"slope": 2.')
