"""Permissions of the state folder: submits and doctor report the same, and the policy can be strict."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import NotAllowed, StateError
from jupyter_pai.jobs.state_dir import Home

from ...conftest import SystemFile, submit


@pytest.fixture
def group_writable(tmp_path: Path) -> Iterator[Path]:
    """The folder with the state folder, in which users of a group can write."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    before = tmp_path.stat()
    os.chown(tmp_path, 0, 1)
    tmp_path.chmod(0o2775)
    yield tmp_path
    os.chown(tmp_path, before.st_uid, before.st_gid)
    tmp_path.chmod(stat.S_IMODE(before.st_mode))


def state_findings(engine: EmbeddedClient) -> list[dict[str, Any]]:
    return [finding for finding in engine.call("doctor")["findings"] if finding["what"] == "state folder"]


def test_submit_reports_what_doctor_reports(group_writable: Path, engine: EmbeddedClient) -> None:
    (finding,) = state_findings(engine)
    assert finding["state"] == "warn"
    assert f"can write in {group_writable}" in finding["text"]
    job = submit(engine, "true")
    assert f"{finding['text']} {finding['fix']}" in job.info["notes"]


def test_strict_policy_rejects_submits_but_no_other_verbs(
    group_writable: Path, engine: EmbeddedClient, system: SystemFile
) -> None:
    job = submit(engine, "true").wait()
    system("[policy]\nstrict_state = true\n")
    with pytest.raises(NotAllowed, match=f"can write in {group_writable}") as caught:
        submit(engine, "true")
    assert caught.value.details["rule"] == "strict_state"
    assert f"chmod g-w {group_writable}" in str(caught.value)
    assert engine.call("show", job=job.id)["status"] == "succeeded"
    group_writable.chmod(0o755)
    assert submit(engine, "true").wait().status == "succeeded"


def test_folder_that_becomes_writable_is_refused(engine: EmbeddedClient, home: Home) -> None:
    home.path.chmod(0o777)
    with pytest.raises(StateError, match="Other users can write in the folder"):
        submit(engine, "true")
    (finding,) = state_findings(engine)
    assert finding["state"] == "bad"
    assert "Other users can write in the folder" in finding["text"]
    home.path.chmod(0o755)
    (finding,) = state_findings(engine)
    assert (finding["state"], finding["text"]) == ("warn", f"Other users can access {home.path}.")
    assert any(finding["text"] in note for note in submit(engine, "true").info["notes"])


def test_database_is_private_in_a_folder_that_is_not(home: Home) -> None:
    home.create().path.chmod(0o755)
    before = os.umask(0)
    try:
        engine = EmbeddedClient()
        submit(engine, "true").wait()
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.path.glob("pai.sqlite3*")}
        engine.close()
    finally:
        os.umask(before)
    assert {"pai.sqlite3", "pai.sqlite3-wal", "pai.sqlite3-shm"} <= modes.keys()
    assert set(modes.values()) == {0o600}


def test_files_of_a_supervisor_are_private(engine: EmbeddedClient, home: Home) -> None:
    command = "mkdir -p ../output/output_parameters; printf 1 > ../output/output_parameters/a; echo 1; sleep 1.2"
    job = submit(engine, command).wait()
    assert job.output_parameters == {"a": "1"}
    own = home.job(job.id).path
    names = ["result", "started", "usage", "output_parameters.json", "log/worker-0", "log/worker-0.index"]
    assert {name: oct(stat.S_IMODE((own / name).stat().st_mode)) for name in names} == dict.fromkeys(names, "0o600")


def test_database_of_an_earlier_version_becomes_private(home: Home) -> None:
    EmbeddedClient().close()
    home.database.chmod(0o644)
    EmbeddedClient().close()
    assert stat.S_IMODE(home.database.stat().st_mode) == 0o600
