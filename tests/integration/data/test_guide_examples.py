"""The examples on the guide's page about data work, in both languages."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ...fakes.alibaba import StandIn

DOCS = Path(__file__).parents[3] / "docs/guide"


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize(("name", "title"), [("data.md", "Storages"), ("data.zh-CN.md", "存储")])
def test_examples_of_the_guide_run(
    cli: Callable[..., subprocess.CompletedProcess[str]], pai: StandIn, folder: Path, name: str, title: str
) -> None:
    section = re.search(rf"^## {title}\n(.*?)^## ", (DOCS / name).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert section
    block = re.search(r"^```\n(.*?)^```$", section[1], re.DOTALL | re.MULTILINE)
    assert block
    (folder / "data").mkdir()
    (folder / "data/train.csv").write_text("1,2")
    for line in block[1].splitlines():
        words = shlex.split(line.replace("my-bucket", pai.bucket).removeprefix("%pai "))
        done = cli(*words)
        assert done.returncode == 0, (line, done.stderr)
    assert (folder / "here/train.csv").read_text() == "1,2"
    assert pai.objects.keys() == ["results/"]
