"""Why a job failed, and what to do."""

from __future__ import annotations

import pytest

from jupyter_pai.diagnosis import diagnose


@pytest.mark.parametrize(
    ("code", "tail", "reason", "fix"),
    [
        (
            1,
            "Traceback\nModuleNotFoundError: No module named 'sklearn.svm'\n",
            "`sklearn.svm`",
            "--requirement scikit-learn",
        ),
        (1, "ModuleNotFoundError: No module named 'tabulate'", "`tabulate`", "--requirement tabulate"),
        (1, "EOFError: EOF when reading a line\n", "asks for input", "--hp"),
        (127, "/bin/sh: 1: trian: not found\n", "`trian`", "./trian"),
        (127, "sh: 1: trian: not found\n", "`trian`", "./trian"),
        (127, "bash: line 1: trian: command not found\n", "`trian`", "./trian"),
        (127, "/ml/bin/sh: line 3: a-b.c: not found", "`a-b.c`", ""),
        (2, "python: can't open file '/ml/usercode/nope.py': [Errno 2] No such file", "`nope.py`", "--dry-run"),
        (1, "MemoryError\n", "Out of memory", "smaller"),
        (1, "torch.OutOfMemoryError: CUDA out of memory. Tried", "Out of memory", "smaller"),
        (137, "", "SIGKILL", "memory"),
        (139, "", "SIGSEGV", "native"),
        (143, "", "SIGTERM", ""),
        (126, "", "126", "chmod"),
        (97, "", "requirements", "log"),
        (3, "some words", "exit code 3", ""),
        (255, "", "exit code 255", ""),
    ],
)
def test_reasons(code: int, tail: str, reason: str, fix: str) -> None:
    found = diagnose(code, tail)
    assert reason in found[0]
    assert fix in found[1]


def test_the_last_missing_module_counts() -> None:
    tail = "ModuleNotFoundError: No module named 'a'\nModuleNotFoundError: No module named 'b'\n"
    assert "`b`" in diagnose(1, tail)[0]
