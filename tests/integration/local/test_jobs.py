"""Jobs on this machine, from submit to end, and bad input with its messages."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pandas
import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.client.summary import job_failed
from jupyter_pai.core.errors import BadInput, Conflict, NotFound, SpecError, StateError, Unsupported
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, processes_of, script, submit, until


def frame_of(handle: JobHandle) -> pandas.DataFrame:
    return handle.metrics().to_pandas()


def test_job_runs_from_submit_to_model(engine: EmbeddedClient, folder: Path, tmp_path: Path) -> None:
    script(
        folder,
        """
        import argparse, os
        from jupyter_pai import report
        parser = argparse.ArgumentParser()
        parser.add_argument("--epochs", type=int)
        for epoch in range(parser.parse_args().epochs):
            print(f"epoch {epoch} loss={1 / (epoch + 1)}")
            report.metric("accuracy", epoch / 10, step=epoch)
            report.progress((epoch + 1) / 5)
        with open(os.path.join(os.environ["PAI_OUTPUT_MODEL"], "weights"), "w") as file:
            file.write("trained")
        """,
    )
    handle = submit(
        engine,
        folder=folder,
        entry_point="train.py",
        hyperparameters={"epochs": 5},
        metric_definitions=[{"name": "loss", "regex": r"loss=([0-9.]+)"}],
    )
    assert "".join(handle.follow()).count("epoch") == 5
    assert handle.wait().status == "succeeded"
    assert handle.exit_code == 0
    assert handle.progress == 1.0
    frame = frame_of(handle)
    assert list(frame[frame["name"] == "loss"]["value"]) == [1.0, 0.5, pytest.approx(1 / 3), 0.25, 0.2]
    assert list(frame[frame["name"] == "accuracy"]["step"]) == [0, 1, 2, 3, 4]
    assert (handle.download("model", tmp_path / "here") / "weights").read_text() == "trained"
    assert "succeeded" in repr(handle)


def test_status_events_are_in_order(engine: EmbeddedClient, folder: Path) -> None:
    handle = submit(engine, f"while [ ! -e {folder}/go ]; do sleep 0.01; done")
    until(lambda: handle.status == "running")
    (folder / "go").touch()
    handle.wait()
    events = engine.call("events", job=handle.id)["events"]
    states = [event["data"]["status"] for event in events if event["kind"] == "status"]
    assert states == ["starting", "running", "succeeded"]
    info = handle.info
    assert info["submitted_at"] <= info["started_at"] <= info["ended_at"]


def test_stop_ends_all_processes_of_the_job(engine: EmbeddedClient) -> None:
    handle = submit(engine, "(setsid sleep 1000 &); echo up; sleep 1000")
    until(lambda: "up" in handle.logs())
    handle.stop().wait()
    assert (handle.status, handle.reason) == ("stopped", "Stopped by the user.")
    assert processes_of(handle.id) == []
    handle.stop()  # One that has ended: nothing happens.
    assert handle.status == "stopped"


def test_job_that_exits_with_0_on_stop_has_succeeded(engine: EmbeddedClient) -> None:
    handle = submit(engine, "trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.01; done")
    until(lambda: "up" in handle.logs())
    assert handle.stop().wait().status == "succeeded"


def test_script_may_clean_up_on_stop(engine: EmbeddedClient, folder: Path) -> None:
    """No shell is between the script and the signal."""
    script(
        folder,
        """
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.3), print("saved"), sys.exit(5)))
        print("up")
        time.sleep(1000)
        """,
    )
    handle = submit(engine, folder=folder, entry_point="train.py")
    until(lambda: "up" in handle.logs())
    handle.stop().wait()
    assert (handle.status, handle.exit_code, handle.logs()) == ("stopped", 5, "up\nsaved\n")


def test_max_run_time_stops_the_job(engine: EmbeddedClient) -> None:
    handle = submit(engine, "sleep 1000", max_run_time=1).wait()
    assert (handle.status, handle.reason) == ("stopped", "Stopped: the maximum run time was reached.")


def test_killed_supervisor_is_the_failure_reason(engine: EmbeddedClient, home: Home) -> None:
    handle = submit(engine, "echo up; sleep 1000")
    until(lambda: "up" in handle.logs())
    os.kill(int((home.job(handle.id).path / "started").read_text().split()[0]), signal.SIGKILL)
    handle.wait()
    assert handle.status == "failed"
    assert "supervisor was killed" in handle.reason
    assert handle.logs() == "up\n"


def test_rerun_uses_the_same_code(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "print('first')")
    handle = submit(engine, folder=folder, entry_point="train.py", name="work_20260101-000000").wait()
    script(folder, "print('second')")
    again = handle.rerun().wait()
    assert again.logs() == "first\n"
    assert again.id != handle.id
    assert again.name.startswith("work_2")
    assert again.name != handle.name


def test_delete_removes_job_files_and_unused_code(engine: EmbeddedClient, folder: Path, home: Home) -> None:
    script(folder, "import os; open(os.environ['PAI_OUTPUT_MODEL'] + '/weights', 'w').close(); raise ValueError")
    one = submit(engine, folder=folder, entry_point="train.py").wait()
    two = submit(engine, folder=folder, entry_point="train.py").wait()
    archives = list(home.sources.glob("*.tar.gz"))
    assert len(archives) == 1
    # The folder of a failed job is kept until the job is deleted.
    assert one.status == "failed"
    for name in ("ml/usercode/train.py", "log", "output/model/weights"):
        assert (home.job(one.id).path / name).exists(), name
    one.delete()
    assert not home.job(one.id).path.exists()
    assert archives[0].exists()
    two.delete()
    assert not archives[0].exists()
    with pytest.raises(NotFound):
        engine.call("show", job=one.id)


def test_running_job_is_not_deleted(engine: EmbeddedClient) -> None:
    handle = submit(engine, "sleep 1000")
    with pytest.raises(Conflict, match=handle.id):
        handle.delete()
    handle.stop().wait()


def test_outputs_in_a_user_folder_are_kept_on_delete(engine: EmbeddedClient, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    for text in ("one", "two"):
        handle = submit(
            engine, f"echo {text} > $PAI_OUTPUT_MODEL/m", outputs={"model": str(out)}, confirmed=True
        ).wait()
        assert (out / "m").read_text() == f"{text}\n"
    assert handle.outputs["model"] == out.as_uri() + "/"
    handle.delete()
    assert (out / "m").exists()


def test_output_folder_of_a_profile_is_used(engine: EmbeddedClient, tmp_path: Path) -> None:
    values = {"backend": "local", "default_output": str(tmp_path / "all")}
    engine.call("set_profile", profile="team", body={"values": values})
    handles = [submit(engine, "echo 1 > $PAI_OUTPUT_MODEL/m", profile="team", name="a/b").wait() for _ in range(2)]
    places = {handle.outputs["model"] for handle in handles}
    assert len(places) == 2
    assert all(place.startswith((tmp_path / "all" / "a_b-").as_uri()) for place in places)


def test_ignored_instance_type_and_image_are_noted(engine: EmbeddedClient) -> None:
    handle = submit(engine, "true", instance_type="ecs.gn7i", image="registry/x:1").wait()
    assert handle.status == "succeeded"
    notes = " ".join(handle.info["notes"])
    for word in ("ecs.gn7i", "registry/x:1"):
        assert word in notes
    # No GPU is left to jobs, and no machine has so many cores: said as well.
    engine.call("set_profile", profile="local", body={"values": {"backend": "local", "max_gpu": 0}})
    for name in ("local_gpu", "local.4096"):
        handle = submit(engine, "true", instance_type=name).wait()
        assert [name in note for note in handle.info["notes"]] == [True]


def test_repeated_submit_creates_one_job(engine: EmbeddedClient) -> None:
    body = {"spec": {"name": "x", "command": "true", "source": {"files": {"a": ""}}}, "key": "once"}
    first, second = (engine.call("submit", body=body)["job"]["id"] for _ in range(2))
    assert first == second
    assert engine.call("list_jobs")["total"] == 1


# Bad input: each answers in one message what, where and what to do.


@pytest.mark.parametrize(
    ("spec", "error", "what", "fix"),
    [
        ({"inputs": {"train": "/no/such/data"}}, BadInput, "`train` not found: /no/such/data", "Relative paths"),
        ({"inputs": {"train": "oss://bucket/key"}}, BadInput, "oss://bucket/key", "profile set"),
        ({"inputs": {"train": "http://[bad"}}, Unsupported, "http://[bad", "oss://"),
        ({"inputs": {"train": "file://elsewhere/x"}}, SpecError, "inputs.train: `file://elsewhere/x`", ""),
        ({"outputs": {"model": "file:///x?"}}, SpecError, "Write %3F for `?`", ""),
        ({"output_path": "file:///x/../y"}, SpecError, "output_path: `file:///x/../y` contains `..`", ""),
        ({"outputs": {"model": "/etc/passwd"}}, BadInput, "/etc/passwd", "folder of your own"),
        ({"output_path": "/etc/passwd/x"}, BadInput, "/etc/passwd/x", "folder of your own"),
        ({"profile": "wrok"}, NotFound, "`wrok`", "`local`"),
        ({"python": "/no/python"}, BadInput, "/no/python", "--python"),
        ({"python": "no-such-env"}, BadInput, "`no-such-env`", "python3"),
        ({"instance_count": 65}, Unsupported, "at most 64 instances, not 65", "--instance-count"),
        ({"metric_definitions": [{"name": "l", "regex": "(("}]}, SpecError, "((", ""),
        ({"source": {"folder": "/no/folder"}}, BadInput, "/no/folder", "Relative paths"),
    ],
)
def test_invalid_jobs_are_rejected_before_they_are_stored(
    engine: EmbeddedClient, spec: dict[str, Any], error: type[Exception], what: str, fix: str
) -> None:
    with pytest.raises(error) as caught:
        submit(engine, "true", **spec)
    assert what in caught.value.message  # type: ignore[attr-defined]
    assert fix in caught.value.fix  # type: ignore[attr-defined]
    assert engine.call("list_jobs")["total"] == 0


def test_unknown_backend_is_named(engine: EmbeddedClient) -> None:
    with pytest.raises(NotFound, match="`lokal`") as caught:
        engine.submit({"name": "x", "command": "true"}, backend="lokal")
    assert "`local`" in caught.value.fix


@pytest.mark.slow("cases", first=6)
@pytest.mark.parametrize(
    ("command", "code", "reason", "fix"),
    [
        ("trian --x 1", 127, "Command `trian` not found.", "./trian"),
        ("python nope.py", 2, "`nope.py` is not in the folder", "--dry-run"),
        ("python -c 'import no_such_module'", 1, "`no_such_module` is missing", "--requirement no_such_module"),
        ("python -c 'input()'", 1, "reads standard input", "--hp"),
        ("kill -SEGV $$", 139, "SIGSEGV", "native"),
        ("kill -KILL $$", 137, "SIGKILL", "memory"),
        ("ulimit -v 300000; python -c 'x = bytearray(10**9)'", 1, "Out of memory", "smaller"),
        ("touch x; ./x", 126, "could not be executed", "chmod"),
        ("exit 3", 3, "exit code 3", ""),
    ],
)
def test_failed_jobs_have_reason_and_fix(
    engine: EmbeddedClient, command: str, code: int, reason: str, fix: str
) -> None:
    handle = submit(engine, command).wait()
    assert handle.status == "failed"
    assert handle.exit_code == code, handle.logs()
    assert reason in handle.reason
    assert fix in handle.info["fix"]
    error = job_failed(handle.info, handle.tail())
    assert reason in str(error)
    assert error.details["exit_code"] == code


def memory_group() -> Path | None:
    """A control group of 64 MiB, of the first or second kind, if one can be made."""
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(root) / f"jupyter-pai-test-{os.getpid()}"
        try:
            group.mkdir()
            (group / limit).write_text(str(64 << 20))
            return group
        except OSError:
            if group.is_dir():
                group.rmdir()
    return None


@pytest.fixture
def small_memory() -> Iterator[Path]:
    group = memory_group()
    if not group:
        pytest.skip("no memory control group can be made here")
    yield group
    until(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


def test_out_of_memory_kill_is_the_reason(engine: EmbeddedClient, small_memory: Path) -> None:
    eat = f"{sys.executable} -c 'x = bytearray(300 << 20); print(len(x))'"
    handle = submit(engine, f"echo $$ > {small_memory}/cgroup.procs; exec {eat}").wait()
    assert (handle.status, handle.exit_code) == ("failed", 137), handle.logs()
    assert handle.reason == "Killed by the system: out of memory."


@pytest.mark.slow("processes")
def test_slow_metric_pattern_is_noted(engine: EmbeddedClient) -> None:
    definitions = [{"name": "bad", "regex": "(a|aa)+$"}, {"name": "good", "regex": r"loss=(\d)"}]
    handle = submit(engine, f"echo {'a' * 60}!; echo loss=1", metric_definitions=definitions).wait()
    assert any("`bad`" in note for note in handle.info["notes"])
    assert handle.info["metrics"]["good"]["value"] == 1


def test_impossible_downloads_are_rejected(engine: EmbeddedClient, tmp_path: Path) -> None:
    handle = submit(engine, "echo 1 > $PAI_OUTPUT_MODEL/m").wait()
    with pytest.raises(NotFound, match="`weights`") as caught:
        handle.download("weights", tmp_path / "x")
    assert "model" in caught.value.fix
    with pytest.raises(NotFound, match="no files in `checkpoints`"):
        handle.download("checkpoints", tmp_path / "x")
    handle.download("model", tmp_path / "x")
    with pytest.raises(Conflict, match="m") as conflict:
        handle.download("model", tmp_path / "x")
    assert "overwrite=True" in conflict.value.fix
    reply: list[tuple[int, int]] = []
    handle.download("model", tmp_path / "x", overwrite=True, progress=lambda *part: reply.append(part))
    assert reply[-1] == (2, 2)
    assert [(file["path"], file["bytes"]) for file in handle.files("model")] == [("m", 2)]
    assert handle.read_file("m") == b"1\n"
    with pytest.raises(NotFound, match="`no`"):
        handle.read_file("no")


def test_files_of_all_channels_are_listed(engine: EmbeddedClient) -> None:
    command = "echo 1 > f; cd $PAI_OUTPUT_CHECKPOINTS; for i in $(seq 501); do echo > $i; done"
    handle = submit(engine, command).wait()
    files = [(file["channel"], file["path"]) for file in handle.files()]
    assert sorted(files) == sorted([*(("checkpoints", str(i + 1)) for i in range(501)), ("files", "f")])
    assert [file["path"] for file in handle.files("files")] == ["f"]
    text = handle.text()
    assert f"checkpoints: {handle.outputs['checkpoints']}" in text
    assert "model: " not in text


def test_interrupted_download_leaves_no_files(engine: EmbeddedClient, tmp_path: Path) -> None:
    handle = submit(engine, "truncate -s 1T $PAI_OUTPUT_MODEL/m").wait()

    def interrupt(done: int, whole: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        handle.download("model", tmp_path / "x", progress=interrupt)
    until(lambda: not (tmp_path / "x").exists())


def test_job_handle_has_logs_spec_and_display(engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = submit(engine, "printf 'a\\nb\\nc\\n'").wait()
    assert f"{handle}" == handle.id
    assert handle.logs(tail=1) == "c\n"
    assert handle.spec["command"].startswith("printf")
    bundle = handle._repr_mimebundle_()
    assert bundle["application/vnd.jupyter-pai.job+json"]["job_id"] == handle.id
    with pytest.raises(TimeoutError, match=r"running|starting"):
        JobHandle(submit(engine, "sleep 1000", max_run_time=2).info, engine).wait(timeout=0.1)


def test_full_disk_fails_the_submit_without_leftovers(
    home: Home, small_disk: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_PAI_HOME", str(small_disk / "state"))
    engine = EmbeddedClient()
    try:
        # Too large to be packed; and packed small, too large to be unpacked.
        for content in (os.urandom(3_000_000), bytes(9_000_000)):
            (folder / "data.bin").write_bytes(content)
            with pytest.raises(StateError, match=r"No space left on device.*Free disk space"):
                submit(engine, "true", folder)
        assert list((small_disk / "state/jobs").iterdir()) == []
        (folder / "data.bin").write_bytes(b"small")
        assert submit(engine, "true", folder).wait().status == "succeeded"
    finally:
        engine.close()


def test_temporarily_full_disk_loses_nothing(
    home: Home, small_disk: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Log, metrics and database pause and resume."""
    monkeypatch.setenv("JUPYTER_PAI_HOME", str(small_disk / "state"))
    script(folder, """
        import pathlib, time
        print("ready", flush=True)
        while not pathlib.Path("FULL").exists():
            time.sleep(0.01)
        for n in range(5000):
            print("n=%d" % n, "x" * 100)
    """.replace("FULL", str(folder / "full")))  # fmt: skip
    engine = EmbeddedClient()
    try:
        handle = submit(
            engine, folder=folder, entry_point="train.py", metric_definitions=[{"name": "n", "regex": r"n=(\d+)"}]
        )
        until(lambda: "ready" in handle.logs())
        ballast = (small_disk / "ballast").open("wb", buffering=0)
        with pytest.raises(OSError, match="No space"):
            all(map(ballast.write, repeat(bytes(4096))))
        (folder / "full").touch()
        with pytest.raises(TimeoutError):
            handle.wait(timeout=2)
        (small_disk / "ballast").unlink()
        ballast.close()
        assert handle.wait(timeout=PATIENCE).status == "succeeded", (handle.reason, handle.logs()[-500:])
        assert handle.logs().count("\n") == 5001
        assert list(frame_of(handle)["value"]) == list(range(5000))
    finally:
        engine.close()


def test_job_with_damaged_files_blocks_no_other(home: Home, tmp_path: Path) -> None:
    engine = EmbeddedClient()
    broken = submit(engine, f"echo up; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done")
    until(lambda: "up" in broken.logs())
    engine.close()
    series = home.job(broken.id).series
    if series.exists():
        shutil.rmtree(series)
    series.write_text("no folder")
    engine = EmbeddedClient()
    try:
        assert submit(engine, "echo fine").wait(timeout=PATIENCE).status == "succeeded"
        series.unlink()
        (tmp_path / "go").touch()
        assert JobHandle(engine.call("show", job=broken.id), engine).wait(timeout=PATIENCE).status == "succeeded"
    finally:
        engine.close()


def test_state_folder_is_not_packed(engine: EmbeddedClient, home: Home) -> None:
    folder = home.path.parent
    script(folder, "import os; print(sorted(os.listdir()))", "train.py")
    first, second = (submit(engine, "python train.py", folder).wait() for _ in range(2))
    for log in first.logs(), second.logs():
        assert ("train.py" in log, home.path.name in log) == (True, False)


def test_job_that_ends_with_the_server_of_a_hub_says_so(
    engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "This job runs inside your JupyterHub server"
    assert not [note for note in submit(engine, "true").info["notes"] if text in note]
    monkeypatch.setenv("JUPYTERHUB_API_URL", "http://hub:8081/hub/api")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert [note for note in submit(engine, "true").info["notes"] if text in note]
