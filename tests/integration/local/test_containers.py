"""Jobs in containers of a real podman: the same contract, log and stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import BadInput, NotFound, Unsupported
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.sdk.estimator import Estimator

from ...conftest import processes_of, script, submit, until
from ...support import containers


@pytest.fixture(scope="session")
def storage() -> Iterator[dict[str, str]]:
    """Storage with the image."""
    with containers.storage() as variables:
        yield variables


@pytest.fixture
def podman(storage: dict[str, str], engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch) -> EmbeddedClient:
    """An engine whose jobs find podman and the image."""
    for name, value in storage.items():
        monkeypatch.setenv(name, value)
    return engine


def contained(engine: EmbeddedClient, command: str = "", **spec: Any) -> JobHandle:
    options = {"container": "podman"}
    return submit(engine, command, image=containers.IMAGE, options=options, **spec)


CONTRACT = """
    import json, os, sys
    from jupyter_pai import report

    print(os.getcwd(), sys.argv[1:], os.environ["PAI_HPS_LR"], os.environ["HOME"], os.environ["LD_GREETING"])
    print(json.load(open("/ml/input/config/hyperparameters.json")))
    print(open(os.environ["PAI_INPUT_TRAIN"]).read(), os.listdir("/ml/input/data/train"))
    for channel in ("MODEL", "CHECKPOINTS", "LOGS", "EXTRA"):
        with open(os.environ[f"PAI_OUTPUT_{channel}"] + "file", "w") as file:
            file.write(channel)
    report.metric("loss", 0.5, step=3)
    print(os.path.exists("/work"), "JUPYTER_PAI_HOME" in os.environ)
"""


def test_container_job_follows_the_contract(podman: EmbeddedClient, folder: Path, tmp_path: Path) -> None:
    script(folder, CONTRACT)
    tmp_path /= 'a:b, "c"'  # Characters with a meaning in the options of an engine.
    data = tmp_path / "data"
    data.mkdir(parents=True)
    (data / "a.txt").write_text("rows")
    (data / "b.txt").write_text("more")
    job = contained(
        podman, folder=folder, entry_point="train.py", hyperparameters={"lr": 0.1, "note": "a b"},
        inputs={"train": str(data / "a.txt")}, outputs={"extra": str(tmp_path / "extra")},
        environment={"HOME": "/tmp", "LD_GREETING": 'it\'s "x"\n'},
    ).wait()  # fmt: skip
    assert job.status == "succeeded", job.logs()
    lines = job.logs().splitlines()
    assert lines[0] == "/ml/usercode ['--lr', '0.1', '--note', 'a b'] 0.1 /tmp it's \"x\""
    assert lines[2] == "{'lr': '0.1', 'note': 'a b'}"
    assert lines[3].startswith("rows [") and "b.txt" in lines[3]
    assert "False False" in lines
    assert (tmp_path / "extra/file").read_text() == "EXTRA"
    files = {name: Path(unquote(uri.removeprefix("file://"))) / "file" for name, uri in job.outputs.items()}
    result = {name: file.read_text() for name, file in files.items() if name not in ("files", "figures")}
    assert result == {"model": "MODEL", "checkpoints": "CHECKPOINTS", "tensorboard": "LOGS", "extra": "EXTRA"}
    assert all(file.stat().st_uid == os.getuid() for file in files.values() if file.exists())
    loss = podman.call("show", job=job.id)["metrics"]["loss"]
    assert (loss["value"], loss["step"]) == (0.5, 3)
    assert containers.names() == []


def test_path_that_the_container_does_not_have_is_asked_about(
    podman: EmbeddedClient, folder: Path, user_data: Path
) -> None:
    script(folder, f"open('{user_data}/README.md')")
    spec = {"name": "a", "entry_point": "train.py", "source": {"folder": str(folder)}}
    (question,) = podman.preview({**spec, "image": containers.IMAGE, "options": {"container": "podman"}})["questions"]
    assert f"`{user_data}/README.md` (train.py, line 1), a path of this machine" in question
    assert podman.preview(spec)["questions"] == []


def test_files_beside_the_code_are_an_output(podman: EmbeddedClient) -> None:
    job = contained(podman, "echo 1 > result.txt").wait()
    assert job.read_file("result.txt", "files") == b"1\n"


def test_packages_of_the_folder_are_imported(podman: EmbeddedClient, folder: Path) -> None:
    script(folder, "name = 'mine'", "src/digits/__init__.py")
    script(folder, "import digits; print(digits.name)", "scripts/train.py")
    job = contained(podman, folder=folder, entry_point="scripts/train.py").wait()
    assert job.logs() == "mine\n"


@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("nothing-here", 127)])
def test_exit_code_of_the_container_is_reported(podman: EmbeddedClient, command: str, code: int) -> None:
    job = contained(podman, command).wait()
    assert (job.status, job.exit_code) == ("failed", code)
    assert containers.names() == []


def test_output_of_the_container_is_logged_byte_for_byte(podman: EmbeddedClient) -> None:
    job = contained(podman, r"printf 'a\000\377\n\033[1mc\r'; echo x > /dev/stderr; printf b >&2").wait()
    log = b"".join(podman.read("log", job=job.id))
    assert sorted(log) == sorted(b"a\0\xff\n\x1b[1mc\rx\nb")  # Two streams, whose order a container does not keep.


def test_secrets_reach_the_container_outside_the_command_line(podman: EmbeddedClient, tmp_path: Path) -> None:
    for name in ("PASSED", "DOCKER_PASSED"):
        podman.call("set_secret", secret=name, body={"value": f"the value of {name}"})
    gate = tmp_path / "go"
    gate.mkdir()
    job = contained(
        podman, 'echo "$PASSED, $DOCKER_PASSED"; while [ ! -e $PAI_INPUT_GATE/now ]; do sleep 0.05; done',
        secrets={"PASSED": "PASSED", "DOCKER_PASSED": "DOCKER_PASSED"}, inputs={"gate": str(gate)},
    )  # fmt: skip
    until(job.logs)
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert any(job.id.encode() in line for line in lines)
    assert not any(b"the value of" in line for line in lines)
    (gate / "now").touch()
    assert job.wait().status == "succeeded"
    assert job.logs().count("secret") == 2
    assert "the value of" not in job.logs()


def test_stop_sends_sigterm_to_the_container(podman: EmbeddedClient) -> None:
    job = contained(podman, "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.05; done")
    until(lambda: "ready" in job.logs())
    job.stop()
    assert job.wait().status == "stopped"
    assert job.exit_code == 3
    assert "asked" in job.logs()
    assert containers.names() == []


def test_container_ignoring_sigterm_is_removed(podman: EmbeddedClient) -> None:
    podman.call("set_profile", profile="local", body={"values": {"backend": "local", "grace_time": 0.3}})
    job = contained(podman, "trap '' TERM; (sleep 1000 &); echo ready; while :; do sleep 0.05; done")
    until(lambda: "ready" in job.logs())
    job.stop()
    assert job.wait().status == "stopped"
    assert containers.names() == []
    assert processes_of(job.id) == []


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("victim", ["supervisor", "guard", "both"])
def test_killed_supervisor_or_guard_leaves_no_container(podman: EmbeddedClient, victim: str) -> None:
    job = contained(podman, "echo ready; while :; do sleep 0.05; done")
    until(lambda: "ready" in job.logs())
    folder = podman._context.service.home.job(job.id)
    supervisor = int((folder.path / "started").read_text().split()[0])
    guard = int(Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()[0])
    for pid in {"supervisor": [supervisor], "guard": [guard], "both": [supervisor, guard]}[victim]:
        with suppress(ProcessLookupError):  # A guard whose supervisor was killed before it may be through.
            os.kill(pid, signal.SIGKILL)
    assert job.wait().status == "failed"
    until(lambda: containers.names() == [])


def test_each_instance_has_a_container(podman: EmbeddedClient) -> None:
    job = contained(podman, "echo rank $RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT", instance_count=2).wait()
    assert job.status == "succeeded", job.logs()
    logs = [job.logs(instance=f"worker-{rank}") for rank in range(2)]
    assert [log.partition(" of ")[0] for log in logs] == ["rank 0", "rank 1"], logs
    assert logs[0].replace("rank 0", "rank 1") == logs[1]


def test_sdk_instance_type_local_uses_a_container(podman: EmbeddedClient, folder: Path) -> None:
    script(folder, "import sys; print(sys.executable, sys.argv[1:])")
    estimator = Estimator(
        image_uri=containers.IMAGE, command="python train.py $PAI_USER_ARGS", source_dir=folder,
        instance_type="local", hyperparameters={"lr": 0.1},
    )  # fmt: skip
    job = estimator.fit()
    assert job.logs() == "/tmp/.jupyter-pai/python ['--lr', '0.1']\n"
    assert job.info["notes"] == []


def test_roles_need_an_image_each(podman: EmbeddedClient) -> None:
    roles = [{"name": "ps", "image": containers.IMAGE, "command": "echo $JUPYTER_PAI_ROLE of an image"}]
    roles.append({"name": "worker", "command": "true"})
    with pytest.raises(BadInput, match="`worker` has no image"):
        submit(podman, "", roles=roles, options={"container": "podman"})
    roles[1]["image"] = containers.IMAGE
    job = submit(podman, "", roles=roles, options={"container": "podman"}).wait()
    assert (job.status, job.logs(instance="ps-0")) == ("succeeded", "ps of an image\n")


def test_missing_image_is_reported(podman: EmbeddedClient) -> None:
    job = submit(podman, "true", image="localhost/nothing:1", options={"container": "podman"}).wait()
    assert (job.status, job.exit_code) == ("failed", 125)
    assert "localhost/nothing:1" in job.logs()
    assert job.reason == "The container could not be started (exit code 125)."


def replace(path: str, target: Path) -> str:
    """Return a command that replaces a folder by a link."""
    code = f"import os, shutil; shutil.rmtree({path!r}); os.symlink({str(target)!r}, {path!r})"
    return f'cd /; python3 -c "{code}"'


def leave(podman: EmbeddedClient, channel: str, target: Path) -> JobHandle:
    """Run a job that replaces one of its channels by a link to a folder of the host."""
    job = contained(podman, replace(f"/ml/output/{channel}", target)).wait()
    assert job.status == "succeeded", job.logs()
    folder = Path(job.outputs[channel].removeprefix("file://"))
    assert folder.is_symlink()
    assert (folder / "secret").read_text() == "of the host"
    return job


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the host, which no job gets."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("of the host")
    return folder


def test_channel_replaced_by_a_link_is_not_read(podman: EmbeddedClient, outside: Path, tmp_path: Path) -> None:
    job = leave(podman, "model", outside)
    (model,) = [one for one in podman.call("outputs", job=job.id)["channels"] if one["name"] == "model"]
    assert (model["state"], model["count"], model["files"]) == ("unknown", 0, [])
    assert "without following links" in model["problem"]
    for request in (
        lambda: job.read_file("secret"),
        lambda: podman.call("peek", job=job.id, channel="model", path="secret"),
        lambda: job.download(str(tmp_path / "copy")),
    ):
        with pytest.raises(NotFound):
            request()
    assert not (tmp_path / "copy").exists()
    podman.call("delete", job=job.id)
    assert (outside / "secret").read_text() == "of the host"


def test_checkpoints_replaced_by_a_link_are_not_resumed(podman: EmbeddedClient, outside: Path, tmp_path: Path) -> None:
    job = leave(podman, "checkpoints", outside)
    with pytest.raises(NotFound, match="without following links"):
        podman.rerun(job.id, {}, resume=True)
    with pytest.raises(BadInput, match="a link that leads out of"):
        contained(podman, "true", inputs={"checkpoints": job.outputs["checkpoints"]})
    assert [path.name for path in outside.iterdir()] == ["secret"]


@pytest.mark.slow("processes")
def test_working_folder_replaced_by_a_link_is_not_kept(podman: EmbeddedClient, outside: Path) -> None:
    """At the end of a job, the files beside its code become an output."""
    job = contained(podman, replace("/ml/usercode", outside)).wait()
    assert podman.call("outputs", job=job.id, channel="files")["channels"][0]["files"] == []
    job = contained(podman, f"echo x > new; {replace('/ml/output/files', outside)}").wait()
    job = contained(podman, f"mkdir sub; echo x > sub/new; ln -s {outside} /ml/output/files/sub").wait()
    assert job.status == "succeeded"
    assert [path.name for path in outside.iterdir()] == ["secret"]


@pytest.mark.slow("processes")
def test_inputs_are_read_only(podman: EmbeddedClient, outside: Path) -> None:
    first = contained(podman, "echo whole > $PAI_OUTPUT_CHECKPOINTS/step").wait()
    resumed = podman.rerun(
        first.id, {"command": "cat $PAI_INPUT_CHECKPOINTS/step; touch $PAI_INPUT_CHECKPOINTS/x || echo refused"},
        resume=True,
    )  # fmt: skip
    job = JobHandle(resumed["job"], podman).wait()
    assert job.status == "succeeded", job.logs()
    # Podman forwards standard error apart, so that its parts have no fixed place.
    assert job.logs().count("whole") == job.logs().count("refused") == 1
    job = contained(podman, "echo x > $PAI_INPUT_DATA/secret || echo refused", inputs={"data": str(outside)}).wait()
    assert "refused" in job.logs()
    job = contained(podman, "touch /opt/jupyter-pai/x /opt/jupyter-pai/locale/x || echo refused").wait()
    assert "refused" in job.logs()


def test_environments_of_an_image_are_its_own(
    engine: EmbeddedClient, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job could otherwise change the packages that a job without a container imports."""
    go = tmp_path / "go"
    waits = f'case "$1" in version) echo 1;; run) echo up; while [ ! -e {go} ]; do sleep 0.05; done;; esac'
    script(tmp_path / "bin", f"#!/bin/sh\n{waits}", "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    job = contained(engine, "true", requirements=["six"])
    until(lambda: "up" in job.logs())
    command = json.loads((home.job(job.id).path / "arguments.json").read_text())["roles"][0][2]
    mounts = json.loads(next(word for word in command if word.startswith("[[")))
    (data,) = [Path(path) for path, place, _writable in mounts if place == "/opt/jupyter-pai-environments"]
    assert data == home.image_environments(containers.IMAGE) / "data"
    assert data != home.image_environments("another") / "data"
    assert engine.call("prune", body={"environments": True})["environments"] == []
    assert data.is_dir()
    go.touch()
    job.wait()
    removed = engine.call("prune", body={"environments": True})["environments"]
    assert [one["id"] for one in removed] == [data.parent.name]
    assert not data.exists()


@pytest.mark.slow("cases", first=3)
@pytest.mark.parametrize("text", ["/bin/sh -c 'touch {mark}'", "podman; touch {mark}", "{mark}", "$(touch {mark})", ""])
def test_file_with_the_engine_is_never_a_command(podman: EmbeddedClient, tmp_path: Path, home: Home, text: str) -> None:
    """A job whose supervisor is gone: its containers are removed by the engine that its folder names."""
    job = contained(podman, "echo ready; while :; do sleep 0.05; done")
    until(lambda: "ready" in job.logs())
    folder = home.job(job.id).path
    assert (folder / "container").read_text() == "podman"
    mark = tmp_path / "ran"
    program = script(tmp_path, f"#!/bin/sh\ntouch {mark}", "podman")
    program.chmod(0o755)
    (folder / "container").write_text(text.format(mark=mark) or f"{program} rm x")
    supervisor = int((folder / "started").read_text().split()[0])
    guard = int(Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()[0])
    for pid in (supervisor, guard):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert job.wait().status == "failed"
    subprocess.run(["podman", "rm", "--force", "--time", "0", f"jupyter-pai-{job.id}-0"], check=False)
    assert not mark.exists()


def test_invalid_container_options_are_rejected(
    podman: EmbeddedClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="requires an image"):
        submit(podman, "true", options={"container": "podman"})
    with pytest.raises(BadInput, match=r"options\.container"):
        submit(podman, "true", image="x", options={"container": "lxc"})
    with pytest.raises(BadInput, match=r"options\.contaner"):
        submit(podman, "true", image="x", options={"contaner": "podman"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unsupported, match="`podman` is not installed"):
        contained(podman, "true")
