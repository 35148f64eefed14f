"""The official SDK in an environment of its own: it pins numpy below 2, and is imported by no test."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from uv import find_uv_bin

from .alibaba import StandIn

__all__ = ["PYTHON_TOO_NEW", "python_of_alipai", "run_alipai", "session_of"]

PYTHON_TOO_NEW = "alipai is not made for this Python"
_VERSION = "0.4.13"


@lru_cache
def python_of_alipai() -> Path:
    """The interpreter that has alipai; made once a session, from uv's cache. Skips the test where there can be none."""
    if sys.version_info >= (3, 13):
        pytest.skip(PYTHON_TOO_NEW)
    folder = Path(tempfile.gettempdir()) / f"jupyter-pai-alipai-{_VERSION}-{os.getuid()}-{os.getpid()}"
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    python = folder / "bin/python"
    # It imports distutils, which newer interpreters leave to setuptools.
    packages = [f"alipai=={_VERSION}", "setuptools<81"]
    for command in (["venv", "-q", "--python", sys.executable, str(folder)],
                    ["pip", "install", "-q", "--python", str(python), *packages]):  # fmt: skip
        done = subprocess.run([find_uv_bin(), *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return python


def session_of(pai: StandIn) -> str:
    """Lines of Python that set up the SDK's session, as `session`: what its documents say, and the way in."""
    values = {name: value for name, value in pai.settings().items() if name != "endpoint"}
    return dedent(f"""
        import os
        from alibabacloud_tea_util.models import RuntimeOptions
        from pai.common.consts import Network
        from pai.session import setup_default_session
        runtime = RuntimeOptions(ca=os.environ["SSL_CERT_FILE"])
        session = setup_default_session(**{values!r}, network=Network.PUBLIC, runtime=runtime)
    """)


def run_alipai(pai: StandIn, script: str, **arguments: str) -> dict[str, Any]:
    """Run a script, which fills `results`, with `session`, `arguments` and `begun` (the start, by `perf_counter`).
    Return `results` with `output`, the printed text."""
    text = "import json, sys, time\nbegun = time.perf_counter()\narguments, results = json.loads(sys.argv[1]), {}\n"
    text += session_of(pai) + dedent(script)
    text += "\nprint('\\n' + json.dumps(results))"
    home = pai.folder / "home"
    home.mkdir(exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    environment |= pai.environment() | pai.proxy_environment()
    done = subprocess.run(
        [str(python_of_alipai()), "-W", "ignore", "-c", text, json.dumps(arguments)],
        env=environment, cwd=home, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    output, _, last = done.stdout.rstrip().rpartition("\n")
    reply: dict[str, Any] = json.loads(last)
    return reply | {"output": output}
