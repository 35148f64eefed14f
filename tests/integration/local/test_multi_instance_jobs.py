"""Jobs of several instances: they communicate, have separate logs, and end together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jupyter_pai.backends.local import process
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.jobs.state_dir import Home

from ...conftest import processes_of, script, submit, until
from .supervised_job import DAEMONS, MODES, Started, is_alive

ALL_TO_ALL = """
    import os, socket

    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    if rank == 0:
        with socket.create_server(place) as server:
            peers = [server.accept()[0] for _ in range(size - 1)]
            total = sum(int.from_bytes(peer.recv(4), "big") for peer in peers)
            for peer in peers:
                peer.sendall(total.to_bytes(4, "big"))
    else:
        while True:
            try:
                peer = socket.create_connection(place)
                break
            except ConnectionRefusedError:
                pass  # Rank 0 is not there yet.
        peer.sendall((rank * 100).to_bytes(4, "big"))
        total = int.from_bytes(peer.recv(4), "big")
    print("rank", rank, "of", size, "total", total)
    open(os.environ["PAI_OUTPUT_MODEL"] + str(rank), "w").close()
"""


def test_instances_communicate_and_have_separate_logs(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, ALL_TO_ALL)
    job = submit(engine, folder=folder, entry_point="train.py", instance_count=12).wait()
    assert job.status == "succeeded", job.logs()
    total = 100 * sum(range(12))
    assert engine.call("show", job=job.id)["instances"] == [f"worker-{rank}" for rank in range(12)]
    for rank in range(12):
        assert job.logs(instance=f"worker-{rank}") == f"rank {rank} of 12 total {total}\n"
    job.download("model", folder / "model")
    assert len(list((folder / "model").iterdir())) == 12


def test_log_of_a_later_instance_does_not_stand_for_the_first(
    engine: EmbeddedClient, folder: Path, home: Home, tmp_path: Path
) -> None:
    """Followers begin with the log of the first instance, although that of another one may be there before it."""
    script(folder, "")
    wait = f'echo "rank $RANK"; until [ -e {tmp_path}/go ]; do sleep 0.05; done'
    job = submit(engine, folder=folder, command=wait, instance_count=2)
    log = home.job(job.id).log / "worker-0"
    until(lambda: all(path.exists() and path.read_text() for path in (log, log.with_name("worker-1"))))
    log.unlink()
    assert job.logs() == ""
    log.write_text("rank 0\n")
    assert job.logs() == "rank 0\n"
    (tmp_path / "go").touch()
    job.wait()


def test_roles_share_ranks_and_folders(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, ALL_TO_ALL)
    serve = 'echo "$JUPYTER_PAI_ROLE $JUPYTER_PAI_ROLE_RANK <${CUDA_VISIBLE_DEVICES-all}>"; python train.py'
    roles = [{"name": "chief", "command": serve, "gpu": 0}, {"name": "b", "count": 2}, {"name": "aa"}]
    job = submit(engine, folder=folder, entry_point="train.py", roles=roles).wait()
    assert job.status == "succeeded", job.logs()
    names = ["chief-0", "b-0", "b-1", "aa-0"]
    assert engine.call("show", job=job.id)["instances"] == names
    instances = engine.call("job_instances", job=job.id)["instances"]
    assert [(one["name"], one["role"], one["rank"]) for one in instances] == [
        ("chief-0", "chief", 0), ("b-0", "b", 1), ("b-1", "b", 2), ("aa-0", "aa", 3),
    ]  # fmt: skip
    assert job.logs(instance="chief-0") == "chief 0 <>\nrank 0 of 4 total 600\n"
    for rank, name in enumerate(names[1:], 1):
        assert job.logs(instance=name) == f"rank {rank} of 4 total 600\n"


def test_failed_role_is_named(engine: EmbeddedClient) -> None:
    command = "exit $((JUPYTER_PAI_ROLE_RANK * 6))"
    roles = [{"name": "ps", "command": "sleep 1000"}, {"name": "worker", "count": 2, "command": command}]
    job = submit(engine, "", roles=roles).wait()
    assert (job.status, job.info["exit_code"]) == ("failed", 6)
    ps, _first, last = engine.call("job_instances", job=job.id)["instances"]
    assert (ps["status"], last["status"], last["name"]) == ("stopped", "failed", "worker-1")
    assert "worker-1" in ps["reason"]


@pytest.mark.parametrize("mode", MODES)
def test_failed_instance_ends_the_others(tmp_path: Path, mode: str) -> None:
    # The others hear SIGTERM, and one of them does not obey. It fails when all have said their line.
    line = DAEMONS + (
        'case $RANK in 2) trap "" TERM;; esac; echo up; : > ../up$RANK;'
        "while :; do [ $RANK = 1 ] && [ -e ../up0 ] && [ -e ../up2 ] && exit 7; sleep 0.01; done"
    )
    started = Started(tmp_path / "job", line, mode, instances=3, grace=0.2)
    result = started.end()
    assert result and (result.exit_code, result.instance, result.reason) == (7, "worker-1", "")
    assert processes_of(started.id) == []
    for rank in range(3):
        assert (started.folder.log / f"worker-{rank}").read_bytes() == b"up\n"


@pytest.mark.parametrize("mode", MODES)
def test_successful_instance_leaves_the_others_running(tmp_path: Path, mode: str) -> None:
    line = "case $RANK in 0) exit 0;; esac; while [ ! -e ../go ]; do sleep 0.01; done; echo done"
    started = Started(tmp_path / "job", line, mode, instances=2)
    until(lambda: not any(b"RANK=0" in environ for environ in map(_environ, processes_of(started.id))))
    assert is_alive(started.folder)
    (started.folder.path / "ml/go").touch()
    result = started.end()
    assert result and (result.exit_code, result.reason) == (0, "")
    assert (started.folder.log / "worker-1").read_bytes() == b"done\n"


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("mode", MODES)
def test_stop_reaches_all_instances(tmp_path: Path, mode: str) -> None:
    line = "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.01; done"
    started = Started(tmp_path / "job", line, mode, instances=3)
    logs = [started.folder.log / f"worker-{rank}" for rank in range(3)]
    until(lambda: all(log.exists() and b"ready" in log.read_bytes() for log in logs))
    process.request_stop(started.folder)
    result = started.end()
    assert result and (result.exit_code, result.reason) == (3, "stopped")
    assert all(log.read_bytes().endswith(b"asked\n") for log in logs)


def test_failure_reason_names_the_instance(engine: EmbeddedClient) -> None:
    line = 'if [ $RANK = 1 ]; then python -c "import nothing_here"; exit 5; fi; sleep 1000'
    job = submit(engine, line, instance_count=2).wait()
    assert (job.status, job.exit_code) == ("failed", 5)
    assert job.reason == "worker-1: The module `nothing_here` is missing."


def test_instances_have_their_own_ends(engine: EmbeddedClient, tmp_path: Path) -> None:
    line = f"case $RANK in 0) exit 0;; 1) until [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 5;; esac; sleep 1000"
    job = submit(engine, line, instance_count=3)
    first, *others = until(lambda: [one for one in [job.instances()] if one and one[0]["exit_code"] == 0])[0]
    assert (first["name"], first["role"], first["rank"], first["status"]) == ("worker-0", "worker", 0, "succeeded")
    assert first["started_at"] <= first["ended_at"]
    assert first["node"] == os.uname().nodename
    assert [(one["status"], one["exit_code"], one["ended_at"]) for one in others] == [("running", None, None)] * 2
    (tmp_path / "go").touch()
    assert job.wait().reason == "worker-1: The command ended with exit code 5."
    assert [(one["status"], one["exit_code"], one["reason"]) for one in job.instances()] == [
        ("succeeded", 0, ""),
        ("failed", 5, ""),
        ("stopped", 143, "Stopped, because worker-1 failed."),
    ]


def test_stopped_instances_have_not_failed(engine: EmbeddedClient) -> None:
    job = submit(engine, "sleep 1000", instance_count=2)
    until(lambda: [one["status"] for one in job.instances()] == ["running"] * 2)
    job.stop().wait()
    ends = [(one["status"], one["exit_code"], one["reason"]) for one in job.instances()]
    assert ends == [("stopped", 143, "Stopped by the user.")] * 2


def test_single_instance_has_the_end_of_the_job(engine: EmbeddedClient) -> None:
    job = submit(engine, "exit 3").wait()
    (instance,) = job.instances()
    assert (instance["name"], instance["status"], instance["exit_code"]) == ("worker-0", "failed", 3)
    assert instance["ended_at"] == job.info["ended_at"]


@pytest.mark.slow("cases", first=5)
@pytest.mark.parametrize("text", ["", "0", "0 0", "1 0 1700000000\n7", "x 0 1\n", "0 999999 1\n"])
def test_damaged_ends_do_not_hide_instances(engine: EmbeddedClient, text: str) -> None:
    job = submit(engine, "true", instance_count=2).wait()
    (Home().job(job.id).path / "ends").write_text(text)
    assert [one["name"] for one in job.instances()] == ["worker-0", "worker-1"]
    (Home().job(job.id).path / "ends").unlink()
    assert [one["status"] for one in job.instances()] == ["succeeded"] * 2
