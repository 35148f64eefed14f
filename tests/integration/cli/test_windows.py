"""Windows: one clear message in place of missing modules."""

from __future__ import annotations

import subprocess
import sys

import pytest

MESSAGE = "jupyter-pai does not run on Windows. Use it in WSL 2, or on a Jupyter server on Linux."
# The platform, and the modules that it lacks.
WINDOWS = """
import sys
sys.platform = "win32"
sys.modules.update(dict.fromkeys(("fcntl", "grp", "pwd", "resource", "termios")))
import jupyter_pai
"""


def on_windows(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WINDOWS + code], capture_output=True, text=True, check=False)


def test_command_line_prints_the_message() -> None:
    done = on_windows("from jupyter_pai.__main__ import main; sys.exit(main())")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{MESSAGE}\n")


@pytest.mark.parametrize(
    "call", ["load_ipython_extension(None)", "_jupyter_server_extension_points()", "submit", "connect", "Estimator"]
)
def test_other_entry_points_raise_it(call: str) -> None:
    done = on_windows(f"jupyter_pai.{call}")
    assert done.stderr.splitlines()[-1] == f"jupyter_pai.core.errors.Unsupported: {MESSAGE}"
