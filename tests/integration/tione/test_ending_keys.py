"""Temporary keys that end while files are uploaded or a task is followed: they are renewed, and nothing is lost."""

from __future__ import annotations

import os
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import CredentialsError

from ...conftest import script, until
from ...fakes.tione import TiOne
from .conftest import use_key
from .jobs import send

ROLE = "qcs::cam::uin/100000000001:roleName/train"
# Bytes that are uploaded in several parts.
LARGE = 40 << 20


@pytest.fixture(params=["machine", "pod"])
def lender(request: pytest.FixtureRequest, tione: TiOne, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine or a pod whose role lends temporary keys."""
    for name in tione.environment():
        monkeypatch.delenv(name)
    if request.param == "pod":
        (tmp_path / "identity").write_text("an identity")
        variables = {"REGION": tione.region, "PROVIDER_ID": "provider", "ROLE_ARN": ROLE}
        for name, value in {**variables, "WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "identity")}.items():
            monkeypatch.setenv(f"TKE_{name}", value)
        return
    # The metadata service is reached by a proxy.
    monkeypatch.setenv("http_proxy", tione.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    # The proxies of the first request would be kept.
    monkeypatch.setattr(urllib.request, "_opener", None)


def keys_of(tione: TiOne, service: str) -> list[str]:
    """Return the keys that signed requests to a service, in the order of their first use."""
    return [*dict.fromkeys(note["key"] for note in tione.requests if note["service"] == service and note.get("key"))]


def end_key(tione: TiOne, service: str) -> str:
    """End the key that is in use, and return its id."""
    key = keys_of(tione, service)[-1]
    tione.change_key(key, expires=0)
    return key


@pytest.mark.slow("cases", first=1)
@pytest.mark.usefixtures("lender")
@pytest.mark.parametrize("action", ["PutObject", "UploadPart"])
def test_key_that_ends_during_an_upload_is_renewed(
    engine: EmbeddedClient, tione: TiOne, folder: Path, tmp_path: Path, action: str
) -> None:
    script(folder, "import os; print(sum(one.stat().st_size for one in os.scandir(os.environ['PAI_INPUT_TRAIN'])))")
    data = tmp_path / "data"
    data.mkdir()
    if action == "UploadPart":
        (data / "rows").write_bytes(os.urandom(LARGE))
    else:
        for n in range(40):
            (data / f"row {n}").write_bytes(os.urandom(1000))
    size = sum(one.stat().st_size for one in data.iterdir())
    tione.faults.add("delay", f"cos:{action}", seconds=1, after=2)
    with ThreadPoolExecutor(1) as thread:
        sent = thread.submit(send, engine, folder=folder, entry_point="train.py", inputs={"train": str(data)})
        until(lambda: tione.faults.struck)
        ended = end_key(tione, "cos")
        tione.faults.clear()
        job = sent.result()
    job.wait()
    assert (job.status, str(size) in job.logs().splitlines()) == ("succeeded", True)
    assert 403 in [note["status"] for note in tione.requests if note["service"] == "cos"]
    assert keys_of(tione, "cos")[-1] != ended
    assert tione.objects.uploads() == []


@pytest.mark.slow("cases", first=1)
@pytest.mark.usefixtures("lender")
def test_key_that_ends_while_a_task_is_followed_is_renewed(
    engine: EmbeddedClient, tione: TiOne, tmp_path: Path
) -> None:
    job = send(engine, f"echo first; until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo last")
    until(lambda: "first" in job.logs().splitlines())
    ended = end_key(tione, "tione")
    until(lambda: keys_of(tione, "tione")[-1] != ended)
    assert (job.status, job.reason) == ("running", "")
    (tmp_path / "go").touch()
    job.wait()
    assert (job.status, job.reason) == ("succeeded", "")
    assert [line for line in job.logs().splitlines() if line in ("first", "last")] == ["first", "last"]
    details = [event for event in engine.call("events", job=job.id)["events"] if event["kind"] == "detail"]
    assert not [event for event in details if "token" in str(event)]


@pytest.mark.slow("platform")
def test_upload_is_continued_with_another_key_in_place_of_one_that_ends(
    engine: EmbeddedClient, tione: TiOne, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key in variables is renewed by who has set it. Parts that were sent before are kept."""
    script(folder, "print('trained')")
    key = tione.sts(3600)
    use_key(monkeypatch, tione, key)
    (tmp_path / "rows").write_bytes(os.urandom(LARGE))
    spec: dict[str, Any] = {"entry_point": "train.py", "inputs": {"train": str(tmp_path / "rows")}}
    tione.faults.add("delay", "cos:UploadPart", seconds=1, after=2)
    with ThreadPoolExecutor(1) as thread:
        sent = thread.submit(send, engine, folder=folder, **spec)
        until(lambda: tione.faults.struck and any(_is_stored_part(note) for note in tione.requests))
        tione.change_key(key.id, expires=0)
        tione.faults.clear()
        with pytest.raises(CredentialsError, match="token of the temporary keys") as caught:
            sent.result()
    assert key.secret not in str(caught.value)
    assert engine.call("list_jobs")["jobs"] == []
    use_key(monkeypatch, tione, tione.sts(3600))
    before = len(tione.requests)
    assert send(engine, folder=folder, **spec).wait().status == "succeeded"
    parts = [note for note in tione.requests[before:] if _is_stored_part(note)]
    assert 0 < len(parts) < LARGE / (8 << 20)
    assert tione.objects.uploads() == []


def _is_stored_part(note: dict[str, object]) -> bool:
    return (note["action"], note["status"]) == ("UploadPart", 200)
