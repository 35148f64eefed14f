"""Nothing secret of a user or of a job is in a reply, page, log, file or address, whatever a user does on a cluster.

A real server runs on the cluster, and answers as it does for the panels in JupyterLab.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.config.toml_file import user_file
from jupyter_pai.jobs.state_dir import Home

from ...conftest import until
from ...fakes.openpai import OpenPai
from ...fakes.openpai_client import document
from ...fakes.webhdfs import WebHdfsServer
from ...support.connections import run_and_close
from ..server.pages import Pages, in_all_forms
from .conftest import PASSWORD, PROFILE, USER, client_of, write_profile
from .jobs import IMAGE

pytestmark = pytest.mark.usefixtures("private_ml")

WRONG = "a-wrong-password"
VALUE, OF_FILE, OF_OTHERS = "value-of-" + "KEY", "value-in-" + "a-file", "value-of-" + "others"
COMMAND = 'echo "the key is $KEY"; echo "$KEY" | base64; echo model > $PAI_OUTPUT_MODEL/model.txt'
JOB_FILE = """\
protocolVersion: 2
name: digits
type: job
prerequisites: [{name: image, type: dockerimage, uri: "python:3.12"}]
secrets: {key: VALUE}
taskRoles:
  main:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 128, gpu: 0}
    commands: ['echo "<% $secrets.key %> is the key"']
""".replace("VALUE", OF_FILE)


@pytest.fixture
def server_settings(share: Path) -> dict[str, Any]:
    """The details of the storages have a password."""
    return {"storages": {"nfs": str(share), "smb": str(share)}}


@pytest.fixture
def pages(server: OpenPai, tmp_path: Path) -> Iterator[Pages]:
    """Pages of a server that logs all that it can, with an audit log."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a file system")
    server._site.accounts.users[USER].storages.append("smb")
    started = Pages(tmp_path, PROFILE, "storages")
    yield started
    started.server.stop()


def forbidden(server: OpenPai) -> dict[str, str]:
    """Return what must not be anywhere, by its name, in the forms in which it may be found."""
    values = {"password": PASSWORD, "wrong": WRONG, "private key": f"private key of {USER}"}
    values |= {"storage": "storage-secret", "job": VALUE, "file": OF_FILE, "others": OF_OTHERS}
    values |= {f"token {number}": token for number, token in enumerate(server.tokens(USER))}
    return in_all_forms(values)


def run(pages: Pages, folder: Path, **spec: Any) -> str:
    """Submit a job that prints its secret, and wait for its end. Return its id."""
    fields = {"name": "key", "command": COMMAND, "secrets": {"KEY": "KEY"}, **IMAGE, **spec}
    return pages.run({**fields, "source": {"folder": str(folder)}})


def submit_of_others(home: Home, server: OpenPai) -> str:
    """Submit a job with a secret as another program does. Return its remote id."""
    text = document("theirs", "test -n '<% $secrets.token %>'", secrets={"token": OF_OTHERS})
    run_and_close(lambda: client_of(home).submit(text))
    until(lambda: server.job(f"{USER}~theirs").state == "SUCCEEDED")
    return f"{USER}~theirs"


@pytest.mark.slow("platform")
def test_nothing_secret_is_shown_or_kept(
    pages: Pages,
    server: OpenPai,
    home: Home,
    folder: Path,
    share: Path,
    hdfs: WebHdfsServer,
    tmp_path: Path,
) -> None:
    login = {"username": USER, "password": PASSWORD}
    pages.call("set_credentials", {**login, "password": WRONG}, profile=PROFILE)
    pages.call("set_credentials", login, profile=PROFILE)
    pages.call("set_secret", {"value": VALUE}, secret="KEY")
    (folder / "code.txt").write_text("code")
    jobs = [run(pages, folder)]  # With the code in the document.
    (folder / "big.bin").write_bytes(os.urandom(200_000))
    uri = f"{hdfs.uri}user/{tmp_path.name}"
    for keys in ({"mounts": {"nfs": str(share), "smb": str(share)}}, {"hdfs": uri}):
        write_profile(server, **keys)
        pages.call("set_credentials", login, profile=PROFILE)
        jobs.append(run(pages, folder))
        pages.call("download", {"to": str(pages.server.root / "out")}, job=jobs[-1])
    # A job file, also one with faults.
    (pages.server.root / "form.pai.yaml").write_text(JOB_FILE)
    form = pages.call("form", path="form.pai.yaml", profile=PROFILE)
    pages.call("preview", form["request"])
    jobs.append(pages.call("submit", {**form["request"], "confirmed": True})["job"]["id"])
    pages.ended(jobs[-1])
    assert "is the key" in pages.call("log", job=jobs[-1])
    for fault in (JOB_FILE.replace(f"key: {OF_FILE}", f"key: [{OF_FILE}]"), JOB_FILE.replace(f"{OF_FILE}}}", OF_FILE)):
        (pages.server.root / "faults.pai.yaml").write_text(fault)
        broken = pages.call("form", path="faults.pai.yaml", profile=PROFILE)
        pages.call("submit", {**broken.get("request", form["request"]), "confirmed": True})
    (pages.server.root / "faults.pai.yaml").unlink()
    # A job of another program, and a refusal of the cluster.
    adopted = pages.call("adopt", {"remote_id": submit_of_others(home, server), "profile": PROFILE})["id"]
    assert pages.ended(adopted)["status"] == "succeeded"
    server.faults.add("refused", "rest:submit", status=403, count=1)
    request = {"spec": {"name": "no", "command": "true", "profile": PROFILE, **IMAGE, "source": {"files": {"a": ""}}}}
    pages.call("submit", {**request, "confirmed": True})
    for job in [*jobs, adopted]:
        pages.all(job, uri)
    pages.call("try_jobs", profile=PROFILE)
    found = forbidden(server)
    server.revoke_tokens(USER)
    pages.all(jobs[0], uri)
    assert '"verb": "submit"' in pages.audit.read_text()
    (pages.server.root / "form.pai.yaml").unlink()  # That of the user.
    files = [user_file()]
    for place in (home.path, share, hdfs.path(f"/user/{tmp_path.name}")):
        files += [path for path in place.rglob("*") if path.is_file()]
    calls = [(one["path"], one["query"]) for one in server.requests if one["action"].startswith("rest:")]
    texts = {"addresses": json.dumps(calls).encode(), **{str(path): path.read_bytes() for path in files}}
    assert sum("/document" in name for name in texts) >= 4
    assert any(name.endswith("model.txt") for name in texts)
    assert pages.places(found, texts) == []
