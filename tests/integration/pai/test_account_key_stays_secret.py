"""The account's key is in no file, log, reply or object."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import PaiError
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, submit
from ...fakes.alibaba import StandIn


def test_account_key_is_in_no_file_log_reply_or_object(
    engine: EmbeddedClient,
    pai: StandIn,
    home: Home,
    folder: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    script(folder, "import os; print(dict(os.environ)); print('loss=1')")
    data = tmp_path / "data.csv"
    data.write_text("a,b\n1,2\n")
    job = submit(engine, folder=folder, entry_point="train.py", profile="pai", inputs={"train": str(data)}).wait()
    assert job.status == "succeeded"
    answers = [engine.call(verb, job=job.id) for verb in ("show", "events", "outputs", "metrics", "provenance", "code")]
    answers += [engine.call(verb) for verb in ("profiles", "list_jobs", "disk")]
    answers += [engine.call(verb, profile="pai") for verb in ("instances", "images", "doctor")]
    pai.change_key(pai.key.id, active=False)
    try:
        with pytest.raises(PaiError) as caught:
            submit(engine, "echo other", profile="pai", source={"files": {"other": "x"}})
    finally:
        pai.change_key(pai.key.id, active=True)
    answers.append(caught.value.as_json())
    secret = pai.key.secret
    assert secret not in json.dumps(answers)
    assert secret not in caplog.text
    assert not [text for text in capfd.readouterr() if secret in text]
    assert not [path for path in home.path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert not [key for key in pai.objects.keys("") if secret.encode() in pai.objects.read(key)]
    assert secret not in json.dumps(pai.requests)
