"""Rows about OpenPAI: the check of its job documents."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

from jupyter_pai.backends.openpai.protocol.check import check_document

from . import openpai_follow, openpai_submits
from .measure import ROOT, Row, difference

__all__ = ["ALL"]


def document_check() -> Iterator[Row]:
    """OpenPAI, the check of a job document: the recorded documents, each once."""
    vectors = json.loads((ROOT / "tests/data/openpai/protocol-vectors.json").read_text("utf-8"))
    took = []
    for vector in vectors:
        begun = time.perf_counter()
        checked = check_document(vector["yaml"])
        took.append(time.perf_counter() - begun)
        assert (not checked.errors) is vector["accept"]
    row = difference("OpenPAI, the check of a job document", took, [0.0] * len(took), 10)
    row.bound = "median under 10 ms"
    yield row


ALL: list[Callable[[], Iterator[Row]]] = [document_check, *openpai_submits.ALL, *openpai_follow.ALL]
