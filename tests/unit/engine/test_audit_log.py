"""The audit log's file: complete lines in order, despite full disks and slow readers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.base import finish_copy
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.policy import Policy, PolicyRules
from jupyter_pai.core.errors import NotAllowed, NotFound, PaiError
from jupyter_pai.engine.audit_log import Audit

from ...conftest import SystemFile, submit


def audit_to(path: Path, **rules: Any) -> Audit:
    return Audit(lambda: Policy(PolicyRules(audit_file=str(path), **rules), Path("/etc/jupyter/jupyter_pai.toml")))


def note(audit: Audit, verb: str, *, starts: bool = False) -> None:
    async def run() -> None:
        async with audit.entry(verb, "job", starts=starts):
            pass

    asyncio.run(run())


def verbs(path: Path) -> list[str]:
    return [json.loads(line)["verb"] for line in path.read_text().splitlines() if line]


def test_entries_without_a_file_go_to_the_logger(system: SystemFile, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "jupyter_pai.audit"):
        note(Audit(Policy), "stop")
    (record,) = caplog.records
    assert (record.name, json.loads(record.getMessage())["verb"]) == ("jupyter_pai.audit", "stop")


def test_names_cannot_start_a_new_line(system: SystemFile, tmp_path: Path, engine: EmbeddedClient) -> None:
    path = tmp_path / "audit"
    system(f"[policy]\naudit_file = '{path}'\n")
    with pytest.raises(NotFound):
        engine.call("stop", job='x"}\n{"verb": "delete", "result": "ok"\u2028\ud800')
    submit(engine, "true", name='q" \u2028 工作')
    assert verbs(path) == ["stop", "submit"]
    assert len(path.read_bytes().split(b"\n")) == 3


def test_concurrent_entries_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    audits = [audit_to(path) for _engine in range(4)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: note(audits[n % 4], "x" * 5000 + str(n)), range(200)))
    assert sorted(verbs(path)) == sorted("x" * 5000 + str(n) for n in range(200))


def test_full_disk_defers_entries_and_refuses_required_ones(small_disk: Path) -> None:
    path, filler = small_disk / "audit", small_disk / "filler"
    audit = audit_to(path, audit_required=True)
    path.touch()
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(512)):
            pass
    note(audit, "stop")
    with pytest.raises(NotAllowed, match=f"{path} cannot be written: No space left on device") as caught:
        note(audit, "submit", starts=True)
    assert caught.value.details["rule"] == "audit_required"
    assert path.read_bytes() == b""
    filler.unlink()
    note(audit, "delete")
    assert verbs(path) == ["stop", "submit", "delete"]


def test_truncated_entry_is_written_again_whole(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    audit = audit_to(path)
    note(audit, "submit")
    size, limits = path.stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, limits[1]))
    try:
        note(audit, "stop")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.stat().st_size == size + 20
    note(audit, "delete")
    first, cut, *rest = path.read_text().splitlines()
    assert (json.loads(first)["verb"], len(cut)) == ("submit", 20)
    assert [json.loads(line)["verb"] for line in rest] == ["stop", "delete"]


def test_pipe_without_a_reader_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    audit = audit_to(path)
    note(audit, "submit", starts=True)
    assert audit.trouble() == "No such device or address"


def test_failed_verb_is_logged_with_its_error(tmp_path: Path) -> None:
    path = tmp_path / "audit"

    async def fail(error: BaseException) -> None:
        async with audit_to(path).entry("submit") as entry:
            entry.fields["name"] = "x"
            raise error

    for error in (ValueError("secret words"), asyncio.CancelledError()):
        with pytest.raises(type(error)):
            asyncio.run(fail(error))
    assert [json.loads(line)["result"] for line in path.read_text().splitlines()] == ["ValueError", "CancelledError"]
    assert "secret words" not in path.read_text()


def test_changes_of_data_and_secrets_are_logged_without_values(
    system: SystemFile, tmp_path: Path, engine: EmbeddedClient
) -> None:
    path, store, value = tmp_path / "audit", tmp_path / "store", "q8Zr3kLw9XbN2vTy"
    system(f"[policy]\naudit_file = '{path}'\n")
    store.mkdir()
    (tmp_path / "a.csv").write_text("1")
    uri, local = f"{store.as_uri()}/", str(tmp_path)

    def copied(verb: str, **arguments: Any) -> None:
        finish_copy(lambda name, number: engine.call(name, copy=number), engine.call(verb, **arguments))

    engine.call("set_secret", secret="HF_TOKEN", body={"value": value})
    engine.call("remove_secret", secret="HF_TOKEN")
    with pytest.raises(PaiError):
        engine.call("set_secret", secret=value, body={"value": value})
    engine.call("make_data_folder", body={"uri": uri, "path": "new"})
    copied("put_data", body={"uri": uri, "path": f"{local}/a.csv"})
    copied("get_data", body={"uri": f"{uri}a.csv", "path": f"{local}/back"})
    copied("rename_data", body={"uri": f"{uri}a.csv", "name": "b.csv"})
    copied("remove_data", uri=f"{uri}b.csv")
    engine.call("begin_upload", body={"uri": uri, "path": "c.csv", "bytes": 1})
    with pytest.raises(PaiError):
        engine.call("remove_data", uri="none://ada:words@host/key@x")
    job = submit(engine, "echo 1 > $PAI_OUTPUT_MODEL/a").wait()
    copied("download", job=job.id, body={"folder": f"{local}/out"})
    keys = ("verb", "name", "uri", "path", "result")
    lines = [[line.get(key) for key in keys] for line in map(json.loads, path.read_text().splitlines())]
    assert lines == [
        ["set_secret", "HF_TOKEN", None, None, "ok"],
        ["remove_secret", "HF_TOKEN", None, None, "ok"],
        ["set_secret", "", None, None, "BadInput"],
        ["make_data_folder", "", uri, "new", "ok"],
        ["put_data", "", uri, f"{local}/a.csv", "ok"],
        ["get_data", "", f"{uri}a.csv", f"{local}/back", "ok"],
        ["rename_data", "", f"{uri}a.csv", "b.csv", "ok"],
        ["remove_data", "", f"{uri}b.csv", None, "ok"],
        ["begin_upload", "", uri, "c.csv", "ok"],
        ["remove_data", "", "none://host/key@x", None, "Unsupported"],
        ["submit", "test", None, None, "ok"],
        ["download", "test", job.info["outputs"]["model"], f"{local}/out", "ok"],
    ]
    assert value not in path.read_text()
