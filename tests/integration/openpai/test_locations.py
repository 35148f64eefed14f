"""The ways of code, inputs and outputs: the document, a shared storage, HDFS."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.openpai.protocol.check import LIMIT
from jupyter_pai.backends.openpai.submit.locations import Share
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import SpecError
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, until
from ...fakes.openpai import OpenPai
from ...fakes.webhdfs import WebHdfsServer
from .jobs import change_profile, ended, log, send, there

WORK = """
import os, pathlib, sys, time

model = pathlib.Path(os.environ["PAI_OUTPUT_MODEL"])
(model / "deep").mkdir()
(model / "deep" / "模型 1.txt").write_text("a model")
(pathlib.Path(os.environ["PAI_OUTPUT_CHECKPOINTS"]) / "1.ckpt").write_text("state")
pathlib.Path("beside.txt").write_text("kept")
for channel in ("FOLDER", "FILE"):
    path = pathlib.Path(os.environ["PAI_INPUT_" + channel])
    print(channel, path, sorted(p.name for p in path.iterdir()) if path.is_dir() else path.read_text())
end = sys.argv[1]
if end == "fail":
    sys.exit(7)
print("written", flush=True)
while end == "stop":
    time.sleep(1)
"""


@pytest.fixture
def server_settings() -> dict[str, Any]:
    """A stopped process has time to give its outputs back."""
    return {"submits_an_hour": 1000, "grace": 30.0}


@pytest.fixture(params=["share", "hdfs"])
def place(
    request: pytest.FixtureRequest, engine: EmbeddedClient, server: OpenPai, share: Path, hdfs: WebHdfsServer
) -> str:
    """A profile with a place for outputs."""
    if request.param == "share":
        change_profile(engine, server, mounts={"nfs": str(share)})
    else:
        change_profile(engine, server, hdfs=f"{hdfs.uri}user/{share.parent.name}")
    return str(request.param)


def big(folder: Path, size: int = 200_000) -> None:
    """Make code that fits into no document."""
    (folder / "weights.bin").write_bytes(os.urandom(size))


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("end", ["succeed", "fail", "stop"])
def test_outputs_come_back(
    engine: EmbeddedClient, server: OpenPai, folder: Path, tmp_path: Path, place: str, end: str
) -> None:
    script(folder, WORK)
    big(folder)
    data = tmp_path / "data" / "sub folder"
    data.mkdir(parents=True)
    (data / "a.csv").write_text("1")
    (data / "b 2.csv").write_text("2")
    inputs = {"folder": str(data), "file": str(data / "b 2.csv")}
    job = send(engine, folder=folder, entry_point="train.py", args=[end], inputs=inputs)
    if end == "stop":
        until(lambda: "written" in log(server, job))
        job.stop()
    state = {"succeed": "SUCCEEDED", "fail": "FAILED", "stop": "STOPPED"}[end]
    assert ended(server, job).state == state, log(server, job)
    text = log(server, job)
    assert "FOLDER /ml/input/data/folder ['a.csv', 'b 2.csv']" in text
    assert "FILE /ml/input/data/file/b 2.csv 2" in text
    assert [file["path"] for file in job.files("model")] == ["deep/模型 1.txt"]
    assert [file["path"] for file in job.files("checkpoints")] == ["1.ckpt"]
    assert [file["path"] for file in job.files("files")] == ["beside.txt"]
    assert "is at " in " ".join(job.info["notes"])


@pytest.mark.slow("cases", first=1)
def test_unchanged_folder_is_not_sent_again(
    engine: EmbeddedClient, server: OpenPai, folder: Path, share: Path, hdfs: WebHdfsServer, place: str
) -> None:
    script(folder, "print('x')")
    big(folder)
    assert ended(server, send(engine, folder=folder, entry_point="train.py")).state == "SUCCEEDED"
    before = {path: path.stat().st_mtime_ns for path in share.rglob("code/*/*")}
    hdfs.reset()
    job = send(engine, folder=folder, entry_point="train.py")
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    assert {path: path.stat().st_mtime_ns for path in share.rglob("code/*/*")} == before
    assert bool(before) == (place == "share")
    assert not [one for one in hdfs.requests if one["received"] and "/code/" in one["path"]]


def test_small_code_goes_in_the_document(
    engine: EmbeddedClient, server: OpenPai, folder: Path, share: Path, place: str
) -> None:
    script(folder, "import os; open(os.environ['PAI_OUTPUT_MODEL'] + '/m', 'w').write('m')")
    job = send(engine, folder=folder, entry_point="train.py")
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    assert [file["path"] for file in job.files("model")] == ["m"]
    assert not [*share.rglob("code")]
    assert "jupyter_pai_code" in there(server, job).document["parameters"]


def test_files_of_the_share_are_private(
    engine: EmbeddedClient, server: OpenPai, folder: Path, share: Path, tmp_path: Path
) -> None:
    change_profile(engine, server, mounts={"nfs": str(share)})
    script(folder, "import os; open(os.environ['PAI_OUTPUT_MODEL'] + '/m', 'w').write('m')")
    big(folder)
    data = tmp_path / "data.csv"
    data.write_text("1\n")
    data.chmod(0o644)
    job = send(engine, folder=folder, entry_point="train.py", inputs={"train": str(data)})
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    ours = Share("nfs", share).folder.path
    modes = {path: path.stat().st_mode & 0o777 for path in ours.rglob("*") if not path.is_relative_to(ours / "outputs")}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert (ours / "outputs" / job.id).stat().st_mode & 0o777 == 0o700


def test_input_in_a_mounted_storage_is_read_in_place(engine: EmbeddedClient, server: OpenPai, share: Path) -> None:
    change_profile(engine, server, mounts={"nfs": str(share)})
    (share / "data").mkdir()
    (share / "data" / "a").write_text("of the share")
    inputs = {"train": str(share / "data"), "one": (share / "data" / "a").as_uri()}
    job = send(engine, 'cat "$PAI_INPUT_TRAIN/a" "$PAI_INPUT_ONE"', inputs=inputs, output_path=str(share / "out"))
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    assert "of the shareof the share" in log(server, job)
    assert not [*share.rglob("inputs")]
    assert [path.is_dir() for path in share.glob("out/*/model")] == [True]


def test_inputs_and_outputs_in_hdfs_need_no_place(engine: EmbeddedClient, server: OpenPai, hdfs: WebHdfsServer) -> None:
    """As from a NameNode that the profile does not name. The outputs of a channel go to a place of its own."""
    top = hdfs.path(f"/{server.url.rpartition(':')[2]}")
    (top / "data").mkdir(parents=True)
    (top / "data" / "a").write_text("of HDFS")
    base = f"{hdfs.uri}{top.name}"
    job = send(
        engine,
        'cat "$PAI_INPUT_TRAIN/a" "$PAI_INPUT_ONE"; echo m >"$PAI_OUTPUT_MODEL/m"; echo p >"$PAI_OUTPUT_PLOTS/p"',
        inputs={"train": f"{base}/data/", "one": f"{base}/data/a"},
        outputs={"plots": f"{base}/plots"},
        output_path=f"{base}/out/",
    )
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    assert "of HDFSof HDFS" in log(server, job)
    assert (top / "plots" / "p").read_text() == "p\n"
    assert [path.read_text() for path in top.glob("out/*/model/m")] == ["m\n"]


def test_hdfs_that_refuses_fails_the_job_with_a_reason(
    engine: EmbeddedClient, server: OpenPai, hdfs: WebHdfsServer
) -> None:
    job = send(engine, "true", inputs={"train": f"{hdfs.uri}does/not/exist"})
    assert ended(server, job).state == "FAILED"
    assert "FileNotFoundException" in log(server, job)
    assert "[jupyter-pai] Cannot get code and inputs from HDFS." in log(server, job)


@pytest.mark.slow("faults")
def test_hdfs_with_faults_loses_nothing(
    engine: EmbeddedClient, server: OpenPai, hdfs: WebHdfsServer, share: Path
) -> None:
    top = hdfs.path(f"/{share.parent.name}/faults")
    (top / "data").mkdir(parents=True)
    for n in range(40):
        (top / "data" / str(n)).write_text(f"{n}" * 1000)
    for kind in ("500", "503", "reset", "cut"):
        hdfs.faults.add(kind, "*", probability=0.05)
    base = f"{hdfs.uri}{share.parent.name}/faults"
    command = 'cp -r "$PAI_INPUT_TRAIN" "$PAI_OUTPUT_MODEL/copy"'
    job = send(engine, command, inputs={"train": f"{base}/data/"}, output_path=f"{base}/out/")
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    copies = {path.name: path.read_text() for path in top.glob("out/*/model/copy/*")}
    assert copies == {f"{n}": f"{n}" * 1000 for n in range(40)}


# The limit of the document.


def fill(engine: EmbeddedClient, more: int) -> dict[str, Any]:
    """Return the fields of a spec whose document has the largest size that the server takes, and `more` bytes.

    The label of a port fills it: the first submit shows the size of the rest.
    """
    fields: dict[str, Any] = {"command": "cat a.txt", "source": {"files": {"a.txt": "the code"}}}
    size = len(document(send(engine, **fields, options={"ports": {"p" * 1000: 1}})))
    return fields | {"options": {"ports": {"p" * (1000 + LIMIT - size + more): 1}}}


def document(job: JobHandle) -> str:
    """Return the kept document of a job."""
    return Home().job(job.id).document.read_text("utf-8")


def test_document_at_the_limit_goes(engine: EmbeddedClient, server: OpenPai) -> None:
    job = send(engine, **fill(engine, 0))
    assert len(document(job)) == LIMIT
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    assert "the code" in log(server, job)


@pytest.mark.slow("cases", first=1)
def test_one_byte_more_goes_the_next_way(engine: EmbeddedClient, server: OpenPai, place: str, share: Path) -> None:
    job = send(engine, **fill(engine, 1))
    assert len(document(job)) < LIMIT
    assert "jupyter_pai_code" not in there(server, job).document["parameters"]
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    assert "the code" in log(server, job)


def test_one_byte_more_is_refused_with_both_sizes(engine: EmbeddedClient, server: OpenPai) -> None:
    fields = fill(engine, 1)
    with pytest.raises(SpecError) as caught:
        send(engine, **fields)
    assert "it would have 102,401 bytes, and the server takes 102,400" in str(caught.value)
    assert "`mounts.NAME`" in caught.value.fix
    assert engine.call("list_jobs")["total"] == 1


def test_command_that_fits_nowhere_is_refused(engine: EmbeddedClient, server: OpenPai, place: str) -> None:
    text = base64.b64encode(os.urandom(70_000)).decode()
    with pytest.raises(SpecError, match="The job document is too large") as caught:
        send(engine, f"true {text}")
    assert "write them into a file" in caught.value.fix


@pytest.mark.slow("cases")
def test_code_of_many_roles_goes_the_next_way(
    engine: EmbeddedClient, server: OpenPai, folder: Path, place: str
) -> None:
    """Each role has the whole document in its command: the controller starts no jobs of more than a million bytes."""
    big(folder, 50_000)
    roles = [{"name": f"r{n}", "command": "ls"} for n in range(20)]
    job = send(engine, folder=folder, roles=roles[:2])
    assert "jupyter_pai_code" in there(server, job).document["parameters"]
    job = send(engine, folder=folder, roles=roles)
    assert "jupyter_pai_code" not in there(server, job).document["parameters"]
    assert ended(server, job).state == "SUCCEEDED", log(server, job, "r19")
    assert "weights.bin" in log(server, job, "r19")
