"""Messages after an interrupt of a submit."""

from __future__ import annotations

import contextlib
import socket

import pytest

from jupyter_pai.client import interrupts
from jupyter_pai.client.http import HttpClient
from jupyter_pai.client.parameters import option_names
from jupyter_pai.core.discovery import ServerInfo

JOB = {"id": "abcd", "ended_at": None, "name": "x", "status": "running", "backend": "local", "paid": True}


@pytest.fixture
def gone() -> HttpClient:
    """A client whose server has stopped."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return HttpClient(ServerInfo(f"http://127.0.0.1:{probe.getsockname()[1]}/", "secret"))


@pytest.mark.parametrize("is_line", [True, False])
def test_unknown_outcome_is_reported(gone: HttpClient, capsys: pytest.CaptureFixture[str], is_line: bool) -> None:
    with option_names() if is_line else contextlib.nullcontext():
        interrupts.explain_submit(KeyboardInterrupt(), gone.call, "key")
    command = "jupyter pai list" if is_line else "jupyter_pai.list_jobs()"
    expected = f"Interrupted. The engine does not respond: the job may have been submitted. To check: {command}"
    assert capsys.readouterr() == ("", f"\n{expected}\n")


def test_interrupt_is_explained_once(gone: HttpClient, capsys: pytest.CaptureFixture[str]) -> None:
    interrupt = KeyboardInterrupt()
    interrupts.explain_wait(interrupt, JOB)
    stop = 'jupyter_pai.get_job("abcd").stop()'
    expected = f"Job abcd is still running. To stop it: {stop}\nYou are billed until it ends."
    assert capsys.readouterr().err == f"\n{expected}\n"
    interrupts.explain_submit(interrupt, gone.call, "key")
    assert capsys.readouterr().err == ""
