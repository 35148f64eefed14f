"""No access key, token or secret of a job is in a file, archive, log, reply, page or address.

A real server runs on the stand-in, and answers as it does for the panels in JupyterLab.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import logging
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.secret_store import NAME as SECRETS
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import PaiError
from jupyter_pai.jobs.state_dir import Home

from ...conftest import until
from ...fakes.tione import SecretKey, TiOne
from ...fakes.tione_client import Client
from ..server.pages import Pages, in_all_forms
from .conftest import PROFILE, use_key

WRONG = "a-wrong-secret-key"
VALUE, OF_REGISTRY = "value-of-" + "KEY", "password-of-" + "a-registry"
COMMAND = 'echo "the key is $KEY"; echo "$KEY" | base64; echo model > $PAI_OUTPUT_MODEL/model.txt'


def login(key: SecretKey) -> dict[str, str]:
    """Return the body of a login with a key."""
    return {"secret_id": key.id, "secret_key": key.secret, **({"token": key.token} if key.token else {})}


def forbidden(*keys: SecretKey) -> dict[str, str]:
    """Return what must not be anywhere, by its name, in the forms in which it may be found."""
    values = {"wrong": WRONG, "job": VALUE, "registry": OF_REGISTRY}
    for number, key in enumerate(keys):
        values |= {f"secret key {number}": key.secret, f"token {number}": key.token}
    return in_all_forms({name: value for name, value in values.items() if value})


def sent(tione: TiOne) -> dict[str, bytes]:
    """Return what is on the platform and may be read by others: addresses, objects, archives, and bodies but their
    fields for secrets."""
    calls = [(one["path"], one["query"]) for one in tione.requests]
    bodies = [
        {name: value for name, value in task.request.items() if name not in ("Envs", "ImageInfo")}
        for task in tione.tasks
    ]
    texts = {"addresses": json.dumps(calls).encode(), "bodies": json.dumps(bodies).encode()}
    for body in bodies:
        for name in ("WorkerStartCmd", "StartCmd"):
            encoded = json.loads(base64.b64decode(body["EncodedStartCmdInfo"]["StartCmdInfo"])).get(name) or ""
            for word in encoded.split():
                texts |= _unpacked(f"script {len(texts)}", word)
    for key in tione.objects.keys(""):
        texts[key] = tione.objects.read(key)
        if key.endswith(".tar.gz"):
            with tarfile.open(fileobj=io.BytesIO(texts[key])) as archive:
                files = {one.name: archive.extractfile(one) for one in archive if one.isfile()}
                texts |= {f"{key} {name}": file.read() for name, file in files.items() if file}
    return texts


def _unpacked(name: str, word: str) -> dict[str, bytes]:
    try:
        return {name: gzip.decompress(base64.b64decode(word, validate=True))}
    except (ValueError, OSError, EOFError):
        return {name: word.encode()}


def files_of(home: Home) -> dict[str, bytes]:
    """Return the files of the user but that with the secrets."""
    paths = [path for path in home.path.rglob("*") if path.is_file() and path.name != SECRETS]
    return {str(path): path.read_bytes() for path in [*paths, user_file()]}


@pytest.fixture
def pages(tione: TiOne, home: Home, tmp_path: Path) -> Iterator[Pages]:
    """Pages of a server that logs all that it can, with an audit log."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a file system")
    started = Pages(tmp_path, PROFILE, "vpc_id")
    yield started
    started.server.stop()


@pytest.mark.slow("platform")
def test_nothing_secret_is_shown_or_kept(pages: Pages, tione: TiOne, home: Home, folder: Path) -> None:
    own, lent = tione.make_key(), tione.sts(3600)
    pages.call("set_credentials", login(SecretKey(own.id, WRONG)), profile=PROFILE)
    pages.call("doctor", profile=PROFILE)
    pages.call("instances", profile=PROFILE)
    pages.call("set_credentials", login(own), profile=PROFILE)
    for name, value in {"KEY": VALUE, "REGISTRY": OF_REGISTRY}.items():
        pages.call("set_secret", {"value": value}, secret=name)
    (folder / "code.txt").write_text("code")
    tione.objects.write("data/row", b"a row")
    spec = {
        "name": "key", "command": COMMAND, "secrets": {"KEY": "KEY", "REGISTRY": "REGISTRY"},
        "source": {"folder": str(folder)},
        "inputs": {"train": f"cos://{tione.bucket}/data/", "own": str(folder)},
        "options": {"image_user": "me", "image_password": "REGISTRY"}, "image": "example.com/a/b:1",
    }  # fmt: skip
    jobs = [pages.run(spec)]
    pages.call("set_credentials", login(lent), profile=PROFILE)
    jobs.append(pages.run(spec))
    pages.call("download", {"to": str(pages.server.root / "out")}, job=jobs[-1])
    # A task of another program, and a refusal that quotes the request.
    task = Client(tione).submit("theirs", "echo theirs", Envs=[{"Name": "A", "Value": "a", "IsPrivate": True}])
    until(lambda: tione.task(task).status == "SUCCEED")
    adopted = pages.call("adopt", {"remote_id": task, "profile": PROFILE})["id"]
    assert pages.ended(adopted)["status"] == "succeeded"
    quoted = f"you sent {lent.token} and {VALUE}"
    tione.faults.add("refused", "tione:CreateTrainingTask", code="InvalidParameter", message=quoted, count=1)
    pages.call("submit", {"spec": {**spec, "profile": PROFILE}, "confirmed": True})
    for job in [*jobs, adopted]:
        pages.all(job, f"cos://{tione.bucket}/data/")
    for verb in ("try_jobs", "remote_jobs", "doctor"):
        pages.call(verb, profile=PROFILE)
    tione.change_key(lent.id, expires=0)
    pages.all(jobs[0], f"cos://{tione.bucket}/data/")
    assert '"verb": "submit"' in pages.audit.read_text()
    texts = {**files_of(home), **sent(tione)}
    assert any(name.endswith("source.tar.gz code.txt") for name in texts)
    assert any(name.endswith("model.txt") for name in texts)
    assert pages.places(forbidden(own, lent), texts) == []
    envs = [env for one in tione.tasks for env in one.request.get("Envs") or [] if env["Name"] == "KEY"]
    assert envs == [{"Name": "KEY", "Value": VALUE, "IsPrivate": True}] * 2


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("place", ["variables", "profile"])
def test_keys_are_in_no_file_log_reply_or_address(
    engine: EmbeddedClient,
    tione: TiOne,
    home: Home,
    cli: Callable[..., CompletedProcess[str]],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    key = tione.sts(3600)
    use_key(monkeypatch, tione, key)
    if place == "profile":
        for name in tione.environment(key):
            monkeypatch.delenv(name)
        engine.call("set_credentials", profile=PROFILE, body=login(key))
    shown: list[Any] = [engine.call(verb) for verb in ("profiles", "backends", "list_jobs", "disk")]
    shown += [engine.call(verb, profile=PROFILE) for verb in ("instances", "images", "doctor", "remote_jobs")]
    for words in (["profile", "list", "--json"], ["doctor"], ["instances"], ["images"]):
        done = cli(*words)
        shown.append(done.stdout + done.stderr)
    tione.change_key(key.id, expires=0)
    for verb in ("instances", "doctor"):
        try:
            shown.append(engine.call(verb, profile=PROFILE))
        except PaiError as error:
            shown.append(error.as_json())
    texts = {"reply": json.dumps(shown, ensure_ascii=False), "log": caplog.text, "output": str(capfd.readouterr())}
    texts["requests"] = json.dumps(tione.requests)
    for value in forbidden(key).values():
        assert not [name for name, text in texts.items() if value in text]
        assert not [name for name, text in {**files_of(home), **sent(tione)}.items() if value.encode() in text]
