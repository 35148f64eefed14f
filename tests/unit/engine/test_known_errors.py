"""Reasons of failed jobs, and their fixes."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.engine.failure.diagnose import diagnose

from ...support.fuzz import MANY


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
        (1, "ModuleNotFoundError: No module named 'distutils'", "`distutils`", "--requirement setuptools"),
        (1, "ModuleNotFoundError: No module named 'alibabacloud_credentials.x'", "", "--requirement alibabacloud-cred"),
        (
            1,
            "No module named 'tencentcloud.tione'\nModuleNotFoundError: No module named 'tencentcloud.tione'",
            "",
            "--requirement tencentcloud-sdk-python-tione",
        ),
        (1, "EOFError: EOF when reading a line\n", "reads standard input", "--hp"),
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
        (1, '[pai] {"failure": "ValueError: 坏\\nx", "cell": 3}\n', "cell 3: ValueError: 坏 x", ""),
        (1, 'x[pai] {"failure": "ImportError: a", "cell": 1}\n[pai] {"failure": "b", "cell": 0}', "b", ""),
        (
            1,
            '[pai] {"failure": "ModuleNotFoundError: No module named \'cv2.x\'", "cell": 2}',
            "cell 2: The m",
            "opencv",
        ),
        (1, '[pai] {"failure": "StdinNotImplementedError: raw_input", "cell": 2}', "reads standard input", "--hp"),
        (1, 'MemoryError\n[pai] {"failure": "KeyError: 1", "cell": 2}', "KeyError: 1", ""),
        (139, '[pai] {"failure": "", "cell": 4}', "The kernel died in cell 4. Ended by signal SIGSEGV.", "native"),
        (3, '[pai] {"failure": "", "cell": 4}', "The kernel died in cell 4.", ""),
        (3, '[pai] {"failure": 1', "exit code 3", ""),
        (3, '[pai] {"failure": "a"}', "exit code 3", ""),
        (255, "", "exit code 255", ""),
    ],
)
def test_exit_codes_have_reason_and_fix(code: int, tail: str, reason: str, fix: str) -> None:
    result = diagnose(code, tail)
    assert reason in result[0]
    assert fix in result[1]


@pytest.mark.parametrize(
    "module",
    ["google", "google.cloud.storage", "azure", "azure.storage.blob", "ruamel.yaml", "zope.event", "tencentcloud"],
)
def test_shared_module_is_no_package(module: str) -> None:
    reason, fix = diagnose(1, f"ModuleNotFoundError: No module named '{module}'")
    assert f"`{module}` is missing" in reason
    assert fix.startswith("Add the package that has it to requirements.txt.")


def frames(*places: tuple[str, int]) -> str:
    return "".join(f'  File "{path}", line {line}, in f\n    x = f()\n        ^^^\n' for path, line in places)


def raised(what: str, *places: tuple[str, int]) -> str:
    return "Traceback (most recent call last):\n" + frames(*places) + what + "\n"


OWN = ("/ml/usercode/train.py", 12)
PART = ("/ml/usercode/nets/model.py", 7)
TORCH = ("/opt/env/lib/python3.11/site-packages/torch/nn/functional.py", 3059)
PYTHON = ("/usr/lib/python3.11/runpy.py", 88)
RUN = ("/opt/env/bin/torchrun", 8)

CHILD_FAILED = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-01-01_00:00:00
  rank      : 1 (local_rank: 1)
  exitcode  : {} (pid: 4711)
  error_file: <N/A>
============================================================
"""
USAGE = "usage: train.py [-h] [--lr LR]\n"
BARS = "".join(f"\r{n:3}%|{'#' * 30:50}| {n}/100 [00:01<00:02]" for n in range(101))


@pytest.mark.parametrize(
    ("code", "tail", "reason"),
    [
        (1, raised("ValueError: bad shape", OWN), "ValueError: bad shape (train.py, line 12)"),
        (1, "a\n" + BARS + raised("KeyError: 'x'", PYTHON, OWN, PART, TORCH), "KeyError: 'x' (nets/model.py, line 7)"),
        (1, raised("ValueError: first\nsecond\n\nthird", OWN) + BARS, "ValueError: first (train.py, line 12)"),
        (1, raised("ValueError: \n  the cause", OWN), "ValueError: the cause (train.py, line 12)"),
        (1, raised("AssertionError", ("/home/ada/x.py", 3)), "AssertionError (x.py, line 3)"),
        (1, raised("my.lib.oddly_named: x", OWN), "my.lib.oddly_named: x (train.py, line 12)"),
        (1, raised("RuntimeError: deep", TORCH), "RuntimeError: deep"),
        (
            1,
            raised("KeyError: 1", OWN)
            + "\nDuring handling of the above exception, another exception occurred:\n\n"
            + raised("ValueError: 2", PART),
            "ValueError: 2 (nets/model.py, line 7)",
        ),
        (
            1,
            raised("KeyError: 1", OWN)
            + "\nThe above exception was the direct cause of the following exception:\n\n"
            + raised("ValueError: 2", PART),
            "ValueError: 2 (nets/model.py, line 7)",
        ),
        (
            1,
            frames(OWN) + "SyntaxError: '(' was never closed\n",
            "SyntaxError: '(' was never closed (train.py, line 12)",
        ),
        (1, frames(OWN) + "IndentationError: unexpected indent\n", "IndentationError: unexpected indent"),
        (
            1,
            "Process Process-1:\n" + raised("ValueError: in a worker", PYTHON, OWN),
            "ValueError: in a worker (train.py",
        ),
        (
            1,
            'multiprocessing.pool.RemoteTraceback: \n"""\n'
            + raised("ValueError: 1", PYTHON, PART)
            + '"""\n\n'
            + "The above exception was the direct cause of the following exception:\n\n"
            + raised("ValueError: 1", OWN),
            "ValueError: 1 (train.py, line 12)",
        ),
        (
            1,
            "\n-- Process 0 terminated with the following error:\n" + raised("ValueError: spawned", TORCH, OWN),
            "ValueError: spawned (train.py",
        ),
        (
            1,
            raised("ValueError: root", OWN, TORCH) + raised(CHILD_FAILED.format(1), RUN, TORCH),
            "ValueError: root (tr",
        ),
        (
            1,
            raised("ValueError: root", OWN)
            + raised(
                "subprocess.CalledProcessError: Command '['python']' returned non-zero exit status 1.", RUN, TORCH
            ),
            "ValueError: root (train.py",
        ),
        (
            1,
            raised("subprocess.CalledProcessError: Command 'make' returned 2", OWN, PYTHON),
            "Command 'make' returned 2",
        ),
        (1, raised(CHILD_FAILED.format(-9), RUN, TORCH), "SIGKILL"),
        (1, raised(CHILD_FAILED.format(3), RUN, TORCH), "launched ended with exit code 3"),
        (
            1,
            "".join(f"[rank0]: {line}\n" for line in raised("ValueError: by rank", TORCH, OWN).splitlines()),
            "ValueError: by rank (train.py, line 12)",
        ),
        (
            1,
            "  + Exception Group Traceback (most recent call last):\n"
            '  |   File "/ml/usercode/train.py", line 3, in <module>\n  |     raise x\n'
            "  | ExceptionGroup: several (1 sub-exception)\n  +-+---------------- 1 ----------------\n"
            "    | Traceback (most recent call last):\n"
            '    |   File "/ml/usercode/train.py", line 1, in <module>\n    |     f()\n'
            "    | ValueError: inner\n    +------------------------------------\n",
            "ValueError: inner (train.py, line 1)",
        ),
        (1, raised("\x1b[31mValueError\x1b[0m: red", OWN), "ValueError: red (train.py, line 12)"),
        (130, raised("KeyboardInterrupt", OWN), "Interrupted"),
        (137, raised("ValueError: long ago, and mended", OWN) + "going on\n" * 100, "SIGKILL"),
    ],
)
def test_last_traceback_is_the_reason(code: int, tail: str, reason: str) -> None:
    result = diagnose(code, tail)[0]
    assert reason in result
    assert "\n" not in result


def test_long_message_keeps_the_location() -> None:
    result = diagnose(1, raised("ValueError: " + "x" * 5_000, OWN))[0]
    assert len(result) == 300
    assert result.endswith("x… (train.py, line 12)")


@pytest.mark.parametrize(
    ("code", "reply", "reason", "fix"),
    [
        (1, "ModuleNotFoundError: No module named 'cv2'", "`cv2`", "opencv-python-headless"),
        (1, "ModuleNotFoundError: No module named 'Crypto.Cipher'", "`Crypto.Cipher`", "pycryptodome"),
        (1, "ModuleNotFoundError: No module named 'helper'", "`helper`", "--dry-run"),
        (
            1,
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of "
            "15.77 GiB of which 12.25 MiB is free.",
            "Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 15.77 GiB",
            "smaller batch",
        ),
        (1, "RuntimeError: CUDA error: out of memory", "on the GPU", "smaller"),
        (1, "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 3.00 TiB", "Out of memory", "smaller"),
        (
            1,
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "this GPU",
            "generation",
        ),
        (1, "RuntimeError: CUDA driver version is insufficient for CUDA runtime version", "driver", "Update"),
        (1, "RuntimeError: The NVIDIA driver on your system is too old (found version 10010).", "driver", "Update"),
        (1, "AssertionError: Torch not compiled with CUDA enabled", "without CUDA", "is_available"),
        (
            1,
            "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
            "checkpoint",
            "map_location",
        ),
        (1, "RuntimeError: Found no NVIDIA driver on your system.", "No GPU", "--gpu"),
        (1, "ImportError: libcuda.so.1: cannot open shared object file: No such file", "No GPU", "--gpu"),
        (1, "RuntimeError: CUDA error: device-side assert triggered", "assertion", "CUDA_LAUNCH_BLOCKING"),
        (1, "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, internal error", "NCCL", "NCCL_DEBUG"),
        (
            1,
            "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
            "`libGL.so.1`",
            "headless",
        ),
        (1, "ImportError: libcudnn.so.8: cannot open shared object file: No such file", "`libcudnn.so.8`", "CUDA"),
        (
            1,
            "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that dataloader's "
            "workers are out of shared memory.",
            "shared memory",
            "num_workers=0",
        ),
        (1, "OSError: [Errno 28] No space left on device: '/ml/output/model/m'", "disk is full", "%pai delete"),
        (
            1,
            "PermissionError: [Errno 13] Permission denied: '/etc/shadow'",
            "Permission denied: /etc/shadow",
            "PAI_OUTPUT",
        ),
        (
            1,
            "OSError: [Errno 30] Read-only file system: '/ml/input/data/a'",
            "Read-only: /ml/input/data/a",
            "PAI_OUTPUT_",
        ),
        (1, "FileNotFoundError: [Errno 2] No such file or directory: 'data/x.csv'", "`data/x.csv`", "--input"),
        (1, "FileNotFoundError: [Errno 2] No such file or directory: '/ml/input/data/t/x'", "/ml/input", "--input"),
        (1, "FileNotFoundError: [Errno 2] No such file or directory: '/home/ada/x.csv'", "/home/ada", "machine"),
        (1, "ConnectionRefusedError: [Errno 111] Connection refused", "refused", "running"),
        (1, "socket.gaierror: [Errno -2] Name or service not known", "could not be reached", "network"),
        (1, "OSError: [Errno 98] Address already in use", "port", "another port"),
        (1, "EOFError: EOF when reading a line", "reads standard input", "--hp"),
    ],
)
def test_known_exception_has_a_fix(code: int, reply: str, reason: str, fix: str) -> None:
    """Only the end of a traceback counts, not the same words earlier in the log."""
    result = diagnose(code, "some words\n" + raised(reply, OWN))
    assert reason in result[0]
    assert fix in result[1]
    assert "ValueError: x" in diagnose(code, raised(reply, OWN) + "went on\n" + raised("ValueError: x", OWN))[0]


@pytest.mark.parametrize(
    ("code", "tail", "reason", "fix"),
    [
        (2, USAGE + "x.py: error: unrecognized arguments: --lerning-rate 0.1", "--lerning-rate", "--hp lerning-rate"),
        (2, "train.py: error: argument --lr: invalid float value: 'x'", "invalid float value", "--hp lr"),
        (2, "train.py: error: the following arguments are required: --data, --epochs", "required", "--hp epochs=VALUE"),
        (2, "Usage: train.py [OPTIONS]\nError: No such option: --lerning-rate", "--lerning-rate", "--hp lerning-rate"),
        (2, "make: *** [Makefile:2: all] Error 1\nx.c:3: error: too few", "exit code 2", ""),
        (127, "x: error while loading: libm.so.40: cannot open shared object file: x", "libm.so.40", "system"),
        (1, "W tensorflow: Could not load dynamic library 'libcudart.so.11.0'; dlerror\n", "libcudart", "CUDA"),
        (135, "Bus error (core dumped)\n", "SIGBUS", "num_workers=0"),
        (132, "Illegal instruction\n", "SIGILL", "processor"),
        (1, "cp: cannot create regular file: No space left on device\n", "disk is full", "delete"),
        (126, "sh: 1: ./run.sh: Permission denied\n", "exit code 126", "chmod +x"),
        (2, "/bin/sh: 1: cannot create raw/s.csv: Read-only file system\n", "Read-only: raw/s.csv", "PAI_OUTPUT_"),
        (1, "/bin/bash: line 1: raw/s.csv: Read-only file system\n", "Read-only: raw/s.csv", "PAI_OUTPUT_"),
        (2, "sort: open failed: raw/s.csv: Read-only file system\n", "Read-only: raw/s.csv", "PAI_OUTPUT_"),
        (1, "cp: cannot create regular file 'raw/s': Read-only file system\n", "Read-only: raw/s", "PAI_OUTPUT_"),
        (1, "Error: EROFS: read-only file system, open '/ml/input/x'\n", "Read-only: /ml/input/x", "PAI_OUTPUT_"),
        (1, "panic: open /ml/input/x: read-only file system\n", "Read-only: /ml/input/x", "PAI_OUTPUT_"),
    ],
)  # fmt: skip
def test_known_error_without_a_traceback_has_a_fix(code: int, tail: str, reason: str, fix: str) -> None:
    result = diagnose(code, tail)
    assert reason in result[0]
    assert fix in result[1]


PARTS = st.sampled_from(
    """Traceback (most recent call last):
|  File "/ml/usercode/a.py", line 3
|ValueError: x|\n|\r| |中|: error: |argument|not found|PermissionError: '|'|: |[rank0]: |CUDA out of memory. |lib|
exitcode  : -99999 (|ChildFailedError:|.so.1: cannot open shared object file|\x1b[|\ud800""".split("|")
)


@MANY
@given(code=st.integers(1, 255), parts=st.lists(PARTS | st.text(max_size=10), max_size=40))
def test_any_log_gives_a_reason(code: int, parts: list[str]) -> None:
    reason, fix = diagnose(code, "".join(parts))
    assert 0 < len(reason) <= 300
    assert reason.isprintable() or "\ud800" in reason or not reason.isascii()
    assert "\n" not in reason
    assert isinstance(fix, str)


@pytest.mark.parametrize("code", [1, 2, 127, 137])
@pytest.mark.parametrize(
    "piece",
    ["a", " ", "1", "\n", ": ", ":", "'", "PermissionError: '", ": error: option", "not found: ", 'File "', "| ", "[a",
     "lib", "lib.so", "\x1b[0", "\r", "x.y", "FileNotFoundError: No such file or directory: '", '  File "x", line 1\n'],
)  # fmt: skip
def test_diagnosis_takes_linear_time(code: int, piece: str) -> None:
    """A pattern with backtracking would exceed the time limit of the tests."""
    for text in (piece * (65_536 // len(piece)), piece * (65_536 // len(piece)) + "!", "\n".join([piece * 700] * 30)):
        diagnose(code, text)


def test_last_missing_module_is_named() -> None:
    tail = "ModuleNotFoundError: No module named 'a'\nModuleNotFoundError: No module named 'b'\n"
    assert "`b`" in diagnose(1, tail)[0]
