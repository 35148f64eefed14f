"""Inputs in other places: downloaded for local jobs, uploaded for those of a platform, once per content."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import BadInput, NotFound, SettingsError
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.source import dataframes as frames
from jupyter_pai.source.magic_line import words_of

from ...conftest import submit
from ...fakes.alibaba import StandIn


def local(engine: EmbeddedClient, command: str, **inputs: str) -> JobHandle:
    return submit(engine, command, inputs=inputs, profile="local").wait()


def log_of(job: JobHandle) -> str:
    return job.tail()


def test_remote_file_is_fetched_once_per_version(engine: EmbeddedClient, pai: StandIn, home: Home) -> None:
    pai.objects.write("d/a.csv", b"one")
    uri = f"oss://{pai.bucket}/d/a.csv"
    for _n in range(2):
        job = local(engine, 'cat "$PAI_INPUT_TRAIN"', train=uri)
        assert log_of(job) == "one"
    assert pai.count("oss", "GetObject") == 1
    assert job.info["spec"]["inputs"] == {"train": uri}
    pai.objects.write("d/a.csv", b"two")
    assert log_of(local(engine, 'cat "$PAI_INPUT_TRAIN"', train=uri)) == "two"
    assert pai.count("oss", "GetObject") == 2


def test_remote_folder_is_fetched_completely(engine: EmbeddedClient, pai: StandIn) -> None:
    for key in ("a", "b/c"):
        pai.objects.write(f"d/{key}", key.encode())
    command = 'cd "$PAI_INPUT_TRAIN" && cat a b/c'
    for uri in (f"oss://{pai.bucket}/d/", f"oss://{pai.bucket}/d"):
        assert log_of(local(engine, command, train=uri)) == "ab/c"
    pai.objects.write("d/a", b"new")
    assert log_of(local(engine, command, train=f"oss://{pai.bucket}/d/")) == "newb/c"


def test_missing_remote_input_is_named(engine: EmbeddedClient, pai: StandIn, home: Home) -> None:
    with pytest.raises(NotFound, match=r"`train`.*d/no"):
        local(engine, "true", train=f"oss://{pai.bucket}/d/no")
    assert engine.call("list_jobs")["jobs"] == []
    assert [*home.jobs.iterdir()] == []


def test_remote_input_without_an_account_names_the_command_to_add_one(home: Home) -> None:
    engine = EmbeddedClient()
    try:
        with pytest.raises(SettingsError, match="profile set"):
            submit(engine, "true", inputs={"train": "oss://bucket/a"})
    finally:
        engine.close()


def sent(engine: EmbeddedClient, command: str, **inputs: Any) -> JobHandle:
    return submit(engine, command, inputs=inputs, profile="pai").wait()


def test_local_file_is_uploaded_once(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    path.write_text("1,2")
    job = sent(engine, 'cat "$PAI_INPUT_TRAIN"', train=str(path))
    assert job.status == "succeeded"
    assert "1,2" in job.tail()
    keys = pai.objects.keys("pai/input_data/")
    assert [key.rpartition("/")[2] for key in keys] == ["train.csv"]
    assert job.info["inputs"]["train"].endswith(keys[0])
    pai.forget_requests()
    sent(engine, "true", train=str(path))
    assert [r["path"] for r in pai.requests if r["action"] == "PutObject" and "input_data" in r["path"]] == []


def test_local_folder_upload_is_resumed_and_done_once(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "b").mkdir(parents=True)
    (folder / "a").write_text("A")
    (folder / "b/c").write_text("C")
    job = sent(engine, 'cd "$PAI_INPUT_TRAIN" && cat a b/c', train=str(folder))
    assert "AC" in job.tail()
    uri = job.info["inputs"]["train"]
    assert uri.endswith("/")
    keys = pai.objects.keys("pai/input_data/")
    assert len(keys) == 3
    # As if it had been killed before the last file and the note.
    for key in (keys[1], next(key for key in keys if key.endswith(".json"))):
        pai.objects.delete(key)
    pai.forget_requests()
    assert sent(engine, "true", train=str(folder)).info["inputs"]["train"] == uri
    assert pai.objects.keys("pai/input_data/") == keys
    assert sum(r["action"] == "PutObject" and "input_data" in r["path"] for r in pai.requests) == 2


def test_missing_or_empty_local_input_is_named(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path, reply in (("no", "does not exist"), ("empty", "is empty")):
        with pytest.raises(BadInput, match=rf"`train`.*{reply}|{reply}"):
            sent(engine, "true", train=str(tmp_path / path))


def test_staging_reports_progress(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(20 << 20))
    reply: list[tuple[int, int]] = []
    pai.faults.add("delay", "oss:UploadPart", seconds=0.5, count=1)
    spec = {
        "name": "x",
        "command": "true",
        "source": {"files": {"a": ""}},
        "profile": "pai",
        "inputs": {"train": str(tmp_path / "large")},
    }
    engine.submit(spec, progress=lambda done, whole: reply.append((done, whole)))
    assert reply[-1] == (20 << 20, 20 << 20)


def test_data_frame_is_an_input(engine: EmbeddedClient, pai: StandIn, home: Home) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    script = "import sys; print(open(sys.argv[1], 'rb').read()[:9])"
    for _n in range(2):
        job = submit(engine, f'python -c "{script}" "$PAI_INPUT_TRAIN"', inputs={"train": frame}, profile="local")
        job.wait()
        assert job.info["spec"]["inputs"]["train"].endswith(("train.parquet", "train.csv"))
    assert len([path for path in home.inputs.iterdir() if path.is_dir() and (path / "ready").exists()]) == 1
    job = submit(engine, 'ls "$PAI_INPUT_TRAIN"', inputs={"train": frame}, profile="pai").wait()
    assert "train." in job.tail()


def test_frames_without_parquet_are_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if not installed
    frame = pd.DataFrame({"a": [1, 2]})
    assert frames.save_frame(frame, "train", tmp_path).read_text() == "a\n1\n2\n"
    named = frames.save_frame(frame.set_index(pd.Index(["x", "y"], name="k")), "train", tmp_path)
    assert named.read_text() == "k,a\nx,1\ny,2\n"
    assert frames.save_frame(frame.copy(), "train", tmp_path).parent.parent != named.parent.parent


def test_data_frame_variable_stays_a_name_in_a_magic() -> None:
    frame = pd.DataFrame({"a": [1]})
    assert words_of("--input train=$df --hp n={n}", {"df": frame, "n": 3}) == ["--input", "train=df", "--hp", "n=3"]


def prune(engine: EmbeddedClient, **criteria: Any) -> dict[str, Any]:
    return dict(engine.call("prune", body=criteria))


def aged(home: Home, days: float) -> None:
    """Make all inputs look unused for a number of days."""
    then = time.time() - days * 86_400
    for path in home.inputs.iterdir():
        for one in (path / "ready", path):
            if (path / "ready").exists():
                os.utime(one, (then, then))


def test_unused_fetched_input_is_pruned(engine: EmbeddedClient, pai: StandIn, home: Home) -> None:
    pai.objects.write("d/a", b"x" * 100_000)
    uri = f"oss://{pai.bucket}/d/a"
    job = submit(engine, "sleep 600", inputs={"train": uri}, profile="local")
    parts = {part["what"]: part for part in engine.call("disk")["parts"]}
    assert (parts["inputs"]["count"], parts["inputs"]["bytes"] > 99_999) == (1, True)
    aged(home, 31)
    assert prune(engine, environments=True)["environments"] == []
    job.stop().wait()
    assert [one["name"] for one in prune(engine, dry_run=True)["environments"]] == [uri]
    assert prune(engine)["bytes"] > 99_999
    assert [path for path in home.inputs.iterdir() if path.is_dir() and path.name != "known"] == []
    assert local(engine, 'wc -c < "$PAI_INPUT_TRAIN"', train=uri).tail().strip() == "100000"


def test_data_frame_is_kept_while_a_job_uses_it(engine: EmbeddedClient, home: Home) -> None:
    job = submit(engine, "true", inputs={"train": pd.DataFrame({"a": [1]})}, profile="local").wait()
    aged(home, 31)
    assert prune(engine, environments=True)["environments"] == []
    job.delete()
    assert len(prune(engine, environments=True)["environments"]) == 1


def test_changed_content_with_equal_size_and_time_is_uploaded(
    engine: EmbeddedClient, pai: StandIn, tmp_path: Path
) -> None:
    path = tmp_path / "data.csv"
    path.write_text("one")
    old = time.time() - 1000
    os.utime(path, (old, old))
    command = 'cat "$PAI_INPUT_TRAIN"'
    assert "one" in submit(engine, command, inputs={"train": str(path)}, profile="pai").wait().logs()
    with path.open("r+") as file:  # The same inode.
        file.write("two")
    os.utime(path, (old, old))
    assert "two" in submit(engine, command, inputs={"train": str(path)}, profile="pai").wait().logs()
