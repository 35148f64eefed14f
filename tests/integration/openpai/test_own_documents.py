"""Documents of the user's own: from a job file, or a generated one that was edited."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import SpecError
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script
from ...fakes.openpai import OpenPai
from ...fakes.webhdfs import WebHdfsServer
from .jobs import change_profile, ended, log, preview, send, there

# More than a line, with what a shell would change.
VALUE = "a'b $HOME\n\n"

OWN = """\
# My job.
protocolVersion: 2
name: {name}
type: job
prerequisites:
  - {{name: img, type: dockerimage, uri: some/image}}
secrets: {{pw: "******"}}
taskRoles:
  w:
    dockerImage: img   # a comment
    resourcePerInstance: {{cpu: 1, memoryMB: 512, gpu: 0}}
    commands: ['echo "<% $secrets.pw %>" | wc -c; ls "$PAI_JOB_NAME" || true']
"""


def test_own_document_goes_as_it_is_but_for_its_name(engine: EmbeddedClient, server: OpenPai, home: Home) -> None:
    engine.call("set_secret", secret="KEY", body={"value": "12345"})
    text = OWN.format(name="x" * 255)
    fields: dict[str, Any] = {"command": "true", "secrets": {"pw": "KEY"}, "options": {"document": text}}
    assert preview(engine, **fields)["document"]["text"] == text
    job = send(engine, **fields)
    assert ended(server, job).state == "SUCCEEDED", log(server, job, "w")
    name = "x" * 246 + f"_{job.id}"
    kept = home.job(job.id).document.read_text()
    assert kept == text.replace("x" * 255, f'"{name}"')
    assert there(server, job).name == name
    assert log(server, job, "w").startswith("6\n")
    assert job.info["outputs"] == {}


@pytest.mark.parametrize("way", ["document", "share", "hdfs"])
def test_code_of_an_own_document_is_in_its_folder(
    engine: EmbeddedClient, server: OpenPai, folder: Path, share: Path, hdfs: WebHdfsServer, way: str
) -> None:
    script(folder, "print(1)", "run me.py")
    (folder / "run me.py").chmod(0o755)
    if way != "document":
        places: dict[str, dict[str, Any]] = {
            "share": {"mounts": {"nfs": str(share)}},
            "hdfs": {"hdfs": f"{hdfs.uri}own"},
        }
        change_profile(engine, server, **places[way])
        (folder / "weights.bin").write_bytes(os.urandom(200_000))
    text = OWN.format(name="own").replace('secrets: {pw: "******"}\n', "").replace("<% $secrets.pw %>", "")
    text = text.replace("ls ", "ls -l ")
    job = send(engine, "true", folder=folder, options={"document": text, "code_folder": "$PAI_JOB_NAME"})
    assert ended(server, job).state == "SUCCEEDED", log(server, job, "w")
    lines = log(server, job, "w").splitlines()
    assert [line[:10] for line in lines if line.endswith(" run me.py")] == ["-rwxr-xr-x"]
    assert any(line.endswith(" weights.bin") for line in lines) == (way != "document")


def test_edited_preview_is_sent_with_its_code(
    engine: EmbeddedClient, server: OpenPai, folder: Path, share: Path
) -> None:
    change_profile(engine, server, mounts={"nfs": str(share)})
    engine.call("set_secret", secret="KEY", body={"value": VALUE})
    script(
        folder,
        """
        import os, pathlib
        print("got", os.environ["PAI_HPS_LR"], len(os.environ["TOKEN"]))
        pathlib.Path(os.environ["PAI_OUTPUT_MODEL"], "m").write_text("m")
        """,
    )
    fields: dict[str, Any] = {
        "entry_point": "train.py", "source": {"folder": str(folder)}, "hyperparameters": {"lr": "1"},
        "secrets": {"TOKEN": "KEY"},
    }  # fmt: skip
    text = preview(engine, **fields)["document"]["text"]
    edited = text.replace("memoryMB: 8192", "memoryMB: 4000  # enough")
    assert edited != text
    job = send(engine, **(fields | {"options": {"document": edited}}))
    assert ended(server, job).state == "SUCCEEDED", log(server, job)
    assert f"got 1 {len(VALUE)}" in log(server, job)
    role = there(server, job).document["taskRoles"]["worker"]
    assert role["resourcePerInstance"]["memoryMB"] == 4000
    assert [file["path"] for file in job.files("model")] == ["m"]
    assert there(server, job).document["extras"]["jupyterPai"]["outputs"].endswith(f"/outputs/{job.id}/")


def test_own_document_with_the_value_of_a_secret_is_refused(
    engine: EmbeddedClient, server: OpenPai, home: Home
) -> None:
    text = OWN.format(name="own").replace('"******"', VALUE)
    (found,) = preview(engine, command="true", options={"document": text})["problems"]
    assert (found["path"], found["is_error"]) == ("secrets.pw", True)
    assert text.splitlines()[found["line"] - 1].startswith("secrets:")
    assert VALUE not in json.dumps(found)
    with pytest.raises(SpecError, match="would be stored with the job"):
        send(engine, "true", options={"document": text})
    assert not [path for path in home.jobs.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()]
    assert not server.count("rest:submit")


def test_own_document_with_errors_is_refused(engine: EmbeddedClient, server: OpenPai) -> None:
    text = OWN.format(name="own").replace("cpu: 1, ", "").replace("type: job", "type: task")
    with pytest.raises(SpecError) as caught:
        send(engine, "true", options={"document": text})
    for part in ("type", "`job`", "taskRoles.w.resourcePerInstance", "`cpu`"):
        assert part in str(caught.value)
    with pytest.raises(SpecError, match="You may not use the virtual cluster `other`"):
        send(engine, "true", options={"document": OWN.format(name="own") + "defaults: {virtualCluster: other}\n"})
    assert not server.count("rest:submit")
