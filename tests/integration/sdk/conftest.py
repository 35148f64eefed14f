from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...fakes.alibaba import StandIn
from ..pai.conftest import write_profile
from ..server.conftest import server as server  # a real Jupyter server
from .snippet_platforms import SnippetPlatform, copy_snippet


@pytest.fixture
def keys(platform: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The stand-in, with its keys in the environment."""
    for name, value in platform.environment().items():
        monkeypatch.setenv(name, value)
    platform.forget_requests()
    return platform


@pytest.fixture
def scripts(home: Home, folder: Path) -> Path:
    """A folder with the scripts that the seeds' snippets submit."""
    copy_snippet(folder, "s0_056_train", "train_src/train.py")
    copy_snippet(folder, "s2_041_train", "read_src/train.py")
    copy_snippet(folder, "s2_076_train", "argparse_src/train.py")
    (folder / "argv_src").mkdir()
    (folder / "argv_src/train.py").write_text("import sys; print(*sys.argv[1:])\n")
    return folder


@pytest.fixture
def here(scripts: Path) -> SnippetPlatform:
    """This machine."""
    return SnippetPlatform(scripts)


@pytest.fixture
def there(scripts: Path, keys: StandIn) -> SnippetPlatform:
    """The stand-in of PAI."""
    return SnippetPlatform(scripts, keys)


@pytest.fixture(params=["here", "there"])
def place(request: pytest.FixtureRequest) -> SnippetPlatform:
    """This machine and the stand-in, in turn."""
    result: SnippetPlatform = request.getfixturevalue(request.param)
    return result


@pytest.fixture
def pai(engine: Any, platform: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The stand-in, as a second profile."""
    for name, value in platform.environment().items():
        monkeypatch.setenv(name, value)
    write_profile(platform)
    platform.clear()
    return platform
