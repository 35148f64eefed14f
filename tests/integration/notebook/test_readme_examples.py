"""The first job in README and guide works, in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..server.real_server import RealServer

ROOT = Path(__file__).parents[3]
DOCUMENTS = ["README.md", "README.zh-CN.md", "docs/guide/start.md", "docs/guide/start.zh-CN.md"]


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_first_job_of_the_readme_succeeds(server: RealServer, name: str) -> None:
    blocks = re.findall(r"^```\n(.*?)^```$", (ROOT / name).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    first = next(n for n, block in enumerate(blocks) if block == "%load_ext jupyter_pai\n")
    notebook = server.notebook()
    for cell in blocks[first : first + 2]:
        notebook.run(cell)
    notebook.run("job.wait(); frame = job.metrics(); folder = job.download('model', '.')")
    code = "print(job.status, len(frame) >= 3, (folder / 'weights').exists())"
    assert notebook.run(code).text == "succeeded True True\n"
