"""Job files damaged by a power cut, a restart, a wrong clock or a user are reported, and affect no other job."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.local.liveness import Liveness, liveness_of
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.config.toml_file import SettingsFile
from jupyter_pai.core.errors import NotFound, SettingsError
from jupyter_pai.jobs.state_dir import Home, JobFolder

from ...conftest import PATIENCE, submit, until
from .supervised_job import fill, power_off


@pytest.fixture
def left(home: Home, tmp_path: Path) -> Callable[[str, bytes | None], JobHandle]:
    """A job that ran during a power cut, with one damaged file (None: a missing one)."""

    def cut(name: str, content: bytes | None) -> JobHandle:
        engine = EmbeddedClient()
        try:
            handle = submit(engine, "echo n=1; while :; do sleep 0.1; done", metric_definitions=[
                {"name": "n", "regex": r"n=(\d+)"}])  # fmt: skip
            until(lambda: "n" in handle.info["metrics"] and handle.status == "running")
            info = handle.info
        finally:
            engine.close()
        power_off(info["id"])
        path = home.job(info["id"]).path / name
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        return JobHandle(info, EmbeddedClient())

    return cut


@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("result", b"", "supervisor was killed"),
        ("result", b"status=0\nrea", "supervisor was killed"),
        ("result", b"\0" * 100, "supervisor was killed"),
        ("result", b"status=x\nreason=\nended=1\noom_kills=0\n", "supervisor was killed"),
        ("started", b"", "the machine was restarted"),
        ("started", b"\xff\0\0", "the machine was restarted"),
        ("started", b"123 45", "the machine was restarted"),
        ("started", b"123 45 another-boot host 1700000000", "the machine was restarted"),
        ("started", None, "never started"),
        ("lock", b"", "supervisor was killed"),
        ("lock", None, "supervisor was killed"),
        ("spec.json", b"", "supervisor was killed"),
        ("job.json", b"", "supervisor was killed"),
        ("follower.lock", b"\xff half", "supervisor was killed"),
        ("log/worker-0.index", b"torn", "supervisor was killed"),
    ],
)
def test_damaged_job_file_fails_only_its_job(
    left: Callable[[str, bytes | None], JobHandle], name: str, content: bytes | None, reason: str
) -> None:
    handle = left(name, content)
    try:
        handle.wait(timeout=PATIENCE)
        assert handle.status == "failed"
        assert reason in handle.reason
        assert submit(handle._client, "echo fine").wait().logs() == "fine\n"
        assert handle.rerun().stop().wait().status == "stopped"
        assert handle.logs() == "n=1\n"
        handle.delete()
    finally:
        handle._client.close()  # type: ignore[attr-defined]  # EmbeddedClient's


@pytest.mark.parametrize(
    ("name", "content", "error", "metrics"),
    [
        ("platform.points", "{\n", "", ["n"]),
        ("series", "", "FileExistsError: ", []),
        ("manifest.json", "[1]", "", ["n"]),
    ],
)
def test_unreadable_data_keeps_no_job_from_ending(
    home: Home, folder: Path, name: str, content: str, error: str, metrics: list[str]
) -> None:
    """Neither its metrics nor the files that explain its failure."""
    engine = EmbeddedClient()
    code = f"until [ -e {folder}/go ]; do sleep 0.05; done; echo n=1; python -c 'import missing_one'"
    handle = submit(engine, code, metric_definitions=[{"name": "n", "regex": r"n=(\d+)"}])
    until(lambda: handle.status == "running")
    engine.close()
    path = home.job(handle.id).path / name
    shutil.rmtree(path, ignore_errors=True)
    path.write_text(content)
    engine = EmbeddedClient()
    try:
        (folder / "go").touch()
        handle = JobHandle(engine.call("show", job=handle.id), engine).wait(timeout=PATIENCE)
        assert (handle.status, handle.info["exit_code"]) == ("failed", 1)
        note = f"Its metrics may be incomplete: {error}"
        assert [text[: len(note)] for text in handle.info["notes"]] == [note] * bool(error)
        assert [*handle.info["metrics"]] == metrics
        assert submit(engine, "echo fine").wait().logs() == "fine\n"
        handle.delete()
    finally:
        engine.close()


def test_job_whose_folder_vanished_fails(engine: EmbeddedClient, home: Home) -> None:
    handle = submit(engine, "sleep 1000")
    until(lambda: handle.status == "running")
    power_off(handle.id)
    folder = home.job(handle.id).path

    def is_removed() -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    until(is_removed)  # The engine writes the end there.
    handle.wait(timeout=PATIENCE)
    if handle.status == "failed":  # The engine held its lease, and saw its death before that.
        assert "ended early" in handle.reason or "never started" in handle.reason
    with pytest.raises(NotFound, match="Cannot read the code"):
        handle.rerun()
    handle.delete()
    assert engine.call("list_jobs")["total"] == 0


def test_job_is_not_dead_while_its_disk_is_not_mounted(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path / "jobs/x")
    with pytest.raises(FileNotFoundError):
        liveness_of(folder)
    folder.path.parent.mkdir()
    assert liveness_of(folder) is Liveness.DEAD


def test_job_folder_removed_between_engines_fails_the_job(home: Home) -> None:
    engine = EmbeddedClient()
    handle = submit(engine, "sleep 1000")
    until(lambda: handle.status == "running")
    info = handle.info
    until((home.job(info["id"]).path / "provenance.json").exists)  # It is written in the background.
    engine.close()
    power_off(info["id"])
    shutil.rmtree(home.job(info["id"]).path)
    engine = EmbeddedClient()
    try:
        handle = JobHandle(info, engine).wait(timeout=PATIENCE)
        assert handle.status == "lost"
        assert str(home.job(handle.id).path) in handle.reason
        handle.delete()
    finally:
        engine.close()


def test_rerun_without_packed_code_is_rejected(engine: EmbeddedClient, home: Home) -> None:
    handle = submit(engine, "true").wait()
    home.job(handle.id).source.unlink()
    with pytest.raises(NotFound, match="code of job") as caught:
        handle.rerun()
    assert "`source=`" in caught.value.fix


def test_output_parameters_are_found_after_a_clock_change(engine: EmbeddedClient, tmp_path: Path) -> None:
    """A job whose clock was set back, and one that finds parameters of an earlier job."""
    write = "mkdir -p $PAI_WORKING_DIR/../output/output_parameters; cd $PAI_WORKING_DIR/../output/output_parameters"
    exact: dict[str, Any] = {"output_path": str(tmp_path / "o"), "layout": "code"}
    first = submit(engine, f"{write}; echo 1 > a; echo 1 > b; touch -d 2001-01-01 a b", **exact)
    assert first.wait().output_parameters == {"a": "1\n", "b": "1\n"}, first.logs()
    second = submit(engine, f"{write}; echo 2 > b; touch -d 1999-01-01 b", **exact, confirmed=True).wait()
    assert second.output_parameters == {"b": "2\n"}, second.logs()


def test_full_disk_leaves_settings_unchanged(small_disk: Path) -> None:
    path = small_disk / "jupyter_pai.toml"
    path.write_text('default = "local"\n')
    fill(small_disk)
    file = SettingsFile(path)
    file.set("x", {"backend": "local"})
    with pytest.raises(SettingsError, match="No space left") as caught:
        file.save()
    assert "Free disk space" in caught.value.fix
    assert path.read_text() == 'default = "local"\n'
    assert sorted(os.listdir(small_disk)) == ["ballast", "jupyter_pai.toml"]
