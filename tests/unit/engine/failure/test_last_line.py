"""Reasons of failures without an exception."""

from __future__ import annotations

import pytest

from jupyter_pai.engine.failure.diagnose import diagnose

from .test_tracebacks import BOX

TEXT = "no rows in data/x.csv: pass --data"
LAST = f"The command ended with exit code 1. Last line of the log: {TEXT}"
LAUNCHER = """Traceback (most recent call last):
  File "/opt/env/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
  exitcode  : 1 (pid: 4711)
============================================================
"""


@pytest.mark.parametrize(
    "tail",
    [
        f"epoch 1\n{TEXT}\n",
        f"epoch 1\n{TEXT}\n{BOX}",
        f"[default0]:epoch 1\n[default0]:{TEXT}\n",
        f"epoch 1\n{TEXT}\nwandb: Run history:\nwandb: loss ▁\n\n 50%|█████     | 5/10 [00:01<00:01]\n",
        f"epoch 1\n╭─ Error ─╮\n│ {TEXT}   │\n╰─────────╯\n",
        f"epoch 1\n{TEXT}\nsrun: error: node1: task 0: Exited with exit code 1\n",
    ],
)
def test_text_of_an_exit_is_the_reason(tail: str) -> None:
    assert diagnose(1, tail)[0] == LAST


def test_text_of_an_exit_precedes_the_summary_of_a_launcher() -> None:
    reason = diagnose(1, f"{TEXT}\n{LAUNCHER}")[0]
    assert reason == f"One of the processes that were launched ended with exit code 1. Last line of the log: {TEXT}"


def test_message_in_a_box_is_the_reason() -> None:
    assert "Primary job" not in diagnose(1, f"{TEXT}\n{BOX}")[0]
    assert "Primary job" not in diagnose(3, BOX)[0]
    assert "non-zero exit code" in diagnose(3, BOX)[0]
