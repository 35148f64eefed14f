"""Tracebacks as Python, IPython and rich print them, through the tags of launchers."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from jupyter_pai.engine.failure.diagnose import diagnose

# A program that fails in two functions, one of which handles the error of the other.
PROGRAM = """
import sys
HOOK
def load(path):
    return {}["rows"]
def train():
    try:
        load("x")
    except KeyError as error:
        raise ValueError("bad shape: the number of classes is not that of the labels in the file\\nsee") from error
train()
"""
PLACE = "(train.py, line 10)"
HOOKS = {
    "plain": "",
    "rich": "from rich.traceback import install; install()",
    "rich with locals": "from rich.traceback import install; install(show_locals=True, width=60)",
    **{
        f"IPython {mode}": f"from IPython.core.ultratb import AutoFormattedTB; sys.excepthook = "
        f"AutoFormattedTB(mode={mode!r}, theme_name={colours!r})"
        for mode, colours in (("Plain", "nocolor"), ("Context", "linux"), ("Verbose", "nocolor"))
    },
}  # fmt: skip


def failure(folder: Path, text: str) -> tuple[int, str]:
    """Run a program; return its exit code and its output."""
    (folder / "train.py").write_text(text)
    done = subprocess.run([sys.executable, "train.py"], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("hook", HOOKS)
def test_last_exception_is_the_reason(hook: str, tmp_path: Path) -> None:
    reason = diagnose(*failure(tmp_path, PROGRAM.replace("HOOK", HOOKS[hook])))[0]
    words = "ValueError: bad shape: the number of classes is not that of the labels in the file"
    assert reason == f"{words} {PLACE}"


# Of older versions of IPython, and of its cells.
IN_CELLS = {
    "Cell In[3]": """ValueError                                Traceback (most recent call last)
Cell In[3], line 7
      5 x = 1
----> 7 f(x)

ValueError: bad
""",
    "In [3]": """ValueError                                Traceback (most recent call last)
Input In [3], in <cell line: 7>()
----> 7 f(x)

ValueError: bad
""",
    "train.py": """ValueError                                Traceback (most recent call last)
<ipython-input-3-abc> in <module>
----> 9 f(x)

~/train.py in f(x)
      6
----> 7     raise ValueError("bad")

ValueError: bad
""",
}


@pytest.mark.parametrize("place", IN_CELLS)
def test_exception_of_a_cell_names_its_line(place: str) -> None:
    name = "~/train.py" if place == "train.py" else place
    assert diagnose(1, "-" * 75 + "\n" + IN_CELLS[place])[0] == f"ValueError: bad ({name}, line 7)"


@pytest.mark.parametrize("message", ["error in load(x)", "a in b()", "no loss in <module>"])
def test_message_is_no_place(message: str) -> None:
    tail = f'Traceback (most recent call last):\n  File "/ml/usercode/a.py", line 3, in f\nValueError: {message}\n'
    assert diagnose(1, tail)[0] == f"ValueError: {message} (a.py, line 3)"
    # As loguru prints it.
    tail = tail.replace("  File", "\n> File").replace("ValueError", "    └ 0\n\nValueError")
    assert diagnose(1, tail)[0] == f"ValueError: {message} (a.py, line 3)"


def test_innermost_part_of_an_exception_group_is_the_reason(tmp_path: Path) -> None:
    text = "raise ExceptionGroup('all', [ValueError('one'), ExceptionGroup('part', [KeyError('two')])])"
    assert diagnose(*failure(tmp_path, text))[0] == "KeyError: 'two' (train.py, line 1)"


TAGS = ["[1,{n}]<stderr>:", "[default{n}]:", "[rank{n}]: ", "{n}: ", "(pid=70{n}) ",
        "\x1b[36m(W pid=7{n}, ip=10.0.0.1)\x1b[0m ",
        "worker-{n}  | ", "2026-01-01T00:00:00.123Z stderr F ", "2026-01-01 00:00:00,123 [1,{n}]<stderr>:"]  # fmt: skip
BOX = f"""{"-" * 74}
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
{"-" * 74}
"""


@pytest.mark.parametrize("tag", TAGS)
def test_exception_behind_tags_is_the_reason(tag: str) -> None:
    def rows(n: int) -> list[str]:
        frame = f'  File "/ml/usercode/train.py", line {n}, in f\n    f()\n'
        text = f"Traceback (most recent call last):\n{frame}ValueError: of {n}\n"
        return [tag.format(n=n) + line + "\n" for line in text.splitlines()]

    assert diagnose(1, "".join(rows(1)) + BOX)[0] == "ValueError: of 1 (train.py, line 1)"
    if "{n}" in tag:  # The lines of two processes are mixed.
        mixed = "".join(chain.from_iterable(zip(rows(1), rows(2), strict=True)))
        assert diagnose(1, mixed + BOX)[0] == "ValueError: of 2 (train.py, line 2)"
