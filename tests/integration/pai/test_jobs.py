"""Jobs on the stand-in of PAI, from submit to outputs."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import Conflict, NotFound, Refused, SpecError, Unconfirmed, Unsupported

from ...conftest import script, submit, until
from ...fakes.alibaba import StandIn
from .conftest import IMAGE


def test_job_runs_from_submit_to_model(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(
        folder,
        """
        import os, pathlib

        print("training with", os.environ["PAI_HPS_LR"], os.getcwd(), flush=True)
        print(*open("/ml/input/config/hyperparameters.json"))
        pathlib.Path(os.environ["PAI_OUTPUT_MODEL"], "model.txt").write_text("a model")
        pathlib.Path("/ml/output/logs/events").write_text("e")
        """,
    )
    job = submit(engine, folder=folder, entry_point="train.py", profile="pai", hyperparameters={"lr": 0.1}).wait()
    assert job.status == "succeeded", (job.reason, job.logs())
    assert "training with 0.1 /ml/usercode\n" in job.logs()
    assert job.info["started_at"]
    assert job.info["console_url"].startswith("https://pai.console.aliyun.com/")
    assert job.info["platform_status"] == "Succeed"
    assert [file["path"] for file in job.files("model")] == ["model.txt"]
    assert [file["path"] for file in job.files("tensorboard")] == ["events"]


def test_instances_are_known_after_the_platform_forgot_the_job(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "exit $((RANK * 3))", profile="pai", instance_count=2).wait()
    remote_id = job.info["remote_id"]
    pai.remove_job(remote_id)
    before = len(pai.requests)
    with closing(EmbeddedClient()) as restarted:
        instances = JobHandle(restarted.call("show", job=job.id), restarted).instances()
    assert [(one["name"], one["role"], one["rank"], one["status"], one["platform_status"]) for one in instances] == [
        (f"{remote_id}-master-0", "master", 0, "succeeded", "Succeeded"),
        (f"{remote_id}-worker-0", "worker", 1, "failed", "Failed"),
    ]
    assert {(one["node"], one["exit_code"], one["attempt"]) for one in instances} == {("", None, None)}
    assert len(pai.requests) == before
    assert f"{remote_id}-worker-0: failed (Failed)" in job.text()


def test_arguments_reach_the_script_unchanged(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(folder, "import os, sys; print(sys.argv[1:], os.environ['PAI_USER_ARGS'], sep='\\n')")
    words = ["--lr", "0.5", "it's $HOME", "+x=y"]
    fields: dict[str, Any] = {"entry_point": "train.py", "hyperparameters": {"n": "1"}, "args": words}
    job = submit(engine, folder=folder, profile="pai", **fields).wait()
    assert job.logs().splitlines()[-2:] == [
        repr(["--n", "1", *words]),
        "--n 1 --lr 0.5 'it'\"'\"'s $HOME' +x=y",
    ]


def test_user_args_reach_the_command(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(folder, "import sys; print(sys.argv[1:])")
    values = {"name": "two words", "q": "it's", "neg": "-x", "学习率": "0.1"}
    job = submit(engine, "python train.py $PAI_USER_ARGS # comment", folder, profile="pai", hyperparameters=values)
    assert "['--name', 'two words', '--q', \"it's\", '--neg=-x', '--学习率', '0.1']\n" in job.wait().logs()


def test_failed_job_has_a_reason_and_keeps_its_log(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(folder, "print(*map('line {}'.format, range(2500)), sep='\\n', flush=True)\nraise ValueError('no data')")
    job = submit(engine, folder=folder, entry_point="train.py", profile="pai").wait()
    assert job.reason == "ValueError: no data (train.py, line 2)"
    assert job.exit_code == 1
    pai.expire_log(job.info["remote_id"])
    with closing(EmbeddedClient()) as restarted:
        log = JobHandle(restarted.call("show", job=job.id), restarted).logs()
    assert [line for line in log.splitlines() if line.startswith("line ")] == [f"line {n}" for n in range(2500)]
    assert "Traceback (most recent call last):\n" in log


def test_growing_log_and_its_metrics_are_read(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(
        folder,
        """
        for step in range(3000):
            print(f"step {step} loss={1 / (step + 1)}", flush=True)
        """,
    )
    job = submit(
        engine,
        folder=folder,
        entry_point="train.py",
        profile="pai",
        metric_definitions=[{"name": "loss", "regex": r"loss=([\d.e-]+)"}],
    )
    followed = "".join(job.follow())
    assert job.wait().status == "succeeded"
    assert followed == job.logs()
    steps = [line for line in followed.splitlines() if line.startswith("step ")]
    assert [line.split()[1] for line in steps] == [str(n) for n in range(3000)]
    assert engine.call("metrics", job=job.id)["metrics"]["loss"]["end"] == 3000


def test_platform_events_are_recorded(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    job = submit(engine, "true", profile="pai").wait()
    events = engine.call("events", job=job.id)["events"]
    messages = [event["data"]["text"] for event in events if event["kind"] == "platform"]
    assert messages
    assert len(messages) == len(set(messages))


def test_stop_ends_the_job_on_the_platform(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "echo here; sleep 1000", profile="pai")
    until(lambda: "here\n" in job.logs())
    job.stop()
    until(lambda: job.ended)
    assert job.status == "stopped"
    assert job.reason
    assert "here\n" in job.logs()


def test_stop_of_a_job_that_ends_meanwhile_is_no_error(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    job = submit(engine, f"echo here; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done", profile="pai")
    until(lambda: "here\n" in job.logs())
    pai.faults.add("delay", "paistudio:StopTrainingJob", seconds=3, count=1)
    asked = pai.count("paistudio", "GetTrainingJob")
    with ThreadPoolExecutor() as pool:
        stopped = pool.submit(job.stop)
        until(lambda: pai.count("paistudio", "GetTrainingJob") > asked)
        (tmp_path / "go").touch()
        stopped.result()
    assert job.wait().status in ("succeeded", "stopped")


def test_delete_removes_the_job_on_the_platform(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "true", profile="pai").wait()
    remote_id = job.info["remote_id"]
    job.delete()
    assert remote_id not in [there["id"] for there in pai.jobs]


def stored(pai: StandIn) -> list[str]:
    """Return the paths of the objects that were stored. Existing ones are not replaced."""
    return [note["path"] for note in pai.requests if note["action"] == "PutObject" and note["status"] == 200]


def test_code_is_uploaded_once(engine: EmbeddedClient, pai: StandIn, folder: Path) -> None:
    script(folder, "print(1)")
    (folder / "requirements.txt").write_text("six\n")
    submit(engine, folder=folder, entry_point="train.py", profile="pai").wait()
    sent = stored(pai)
    assert len(sent) == 2  # The archive, and beside it what the service looks for by its name.
    submit(engine, folder=folder, entry_point="train.py", profile="pai").wait()
    assert stored(pai) == sent
    script(folder, "print(2)")
    assert "2\n" in submit(engine, folder=folder, entry_point="train.py", profile="pai").wait().logs()


def test_unknown_image_fails_the_job_with_a_fix(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "true", profile="pai", image=f"{IMAGE}-no-such-tag")
    until(lambda: job.ended)
    assert job.status == "failed"
    assert "no-such-tag" in job.reason
    assert "%pai images" in job.info["fix"]


def test_job_submitted_elsewhere_is_imported(engine: EmbeddedClient, pai: StandIn) -> None:
    command = ["sh", "-c", "echo from elsewhere"]
    algorithm = {"Command": command, "Image": IMAGE, "JobType": "PyTorchJob"}
    (theirs,) = pai.add_jobs(1, TrainingJobName="theirs", AlgorithmSpec=algorithm)
    pai.age_job(theirs, 30 * 86400)
    # Earlier tests leave newer jobs at the stand-in, which may fill a page.
    listed = engine.call("remote_jobs", profile="pai", before=str(time.time() - 29 * 86400))["jobs"]
    assert [(one["name"], one["job_id"]) for one in listed if one["remote_id"] == theirs] == [("theirs", "")]
    pai.add_lines(theirs, "line {number}", count=5)
    job = engine.call("adopt", body={"remote_id": theirs, "profile": "pai"})
    assert job["spec"]["command"] == "echo from elsewhere"
    assert engine.call("adopt", body={"remote_id": theirs, "profile": "pai"})["id"] == job["id"]
    until(lambda: engine.call("show", job=job["id"])["status"] == "running")
    pai.set_job(theirs, "Succeed")
    until(lambda: engine.call("show", job=job["id"])["status"] == "succeeded")
    with pytest.raises(NotFound):
        engine.call("adopt", body={"remote_id": "trainnosuch", "profile": "pai"})


def test_unknown_status_is_shown_and_not_terminal(engine: EmbeddedClient, pai: StandIn) -> None:
    (theirs,) = pai.add_jobs(1)
    job = engine.call("adopt", body={"remote_id": theirs, "profile": "pai"})
    pai.set_job(theirs, "Hibernating")
    shown = until(
        lambda: result if (result := engine.call("show", job=job["id"]))["platform_status"] == "Hibernating" else {}
    )
    assert shown["status"] == "running"


@pytest.mark.parametrize(
    ("fields", "kind", "text"),
    [
        ({"image": ""}, SpecError, "image"),
        ({"instance_type": "ecs.gn6i-c4g1.xlarge"}, Unconfirmed, "GPUs"),
        ({"options": {"spot": {"strategy": "SpotAsPriceGo", "discount_limit": 0.5}}}, SpecError, "discount_limit"),
        ({"options": {"resource_id": "quota1"}}, SpecError, "instance_spec"),
        ({"options": {"nonsense": 1}}, SpecError, "nonsense"),
        ({"inputs": {"train": "gopher://x/y"}}, SpecError, "gopher"),
        ({"tty": True}, Unsupported, "a terminal as standard output"),
        ({"secrets": {"TOKEN": "t"}}, Unsupported, "secrets"),
        ({"name": "x" * 128 + "y"}, SpecError, "name"),
    ],
)
def test_invalid_jobs_cause_no_request(
    engine: EmbeddedClient, pai: StandIn, fields: dict[str, Any], kind: type[Exception], text: str
) -> None:
    if fields.get("image") == "":
        engine.call("set_profile", profile="pai", body={"values": {"default_image": None}})
    with pytest.raises(kind, match=text):
        submit(engine, "true", profile="pai", **fields)
    assert pai.requests == []


def test_rejected_job_is_stored_as_failed(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises((Refused, Conflict, NotFound)) as caught:
        submit(engine, "true", profile="pai", instance_type="ecs.no-such")
    assert caught.value.fix
    assert engine.call("list_jobs")["jobs"][0]["status"] == "failed"


def test_output_path_that_is_given_twice_keeps_both_models(engine: EmbeddedClient, pai: StandIn) -> None:
    path = f"oss://{pai.bucket}/twice"
    jobs = [
        submit(engine, f"echo {n} > /ml/output/model/m", output_path=path, profile="pai", name="a/b").wait()
        for n in (1, 2)
    ]
    assert [job.read_file("m") for job in jobs] == [b"1\n", b"2\n"]
    assert all(job.outputs["model"].startswith(f"{path}/a_b-") for job in jobs)
    named: dict[str, Any] = {"outputs": {"model": f"{path}/model/"}}
    first = submit(engine, "echo 3 > /ml/output/model/m", profile="pai", **named).wait()
    with pytest.raises(Unconfirmed, match=f"The outputs of {first.id} are in {path}/model/"):
        submit(engine, "true", profile="pai", **named)
