"""Folders that a job in a container diverts by links: later jobs, downloads and data verbs do not reach the host."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.base import finish_copy
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import BadInput, PaiError
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script
from ...support.diverted import Diversion, diverting
from .test_containers import contained, podman, storage

__all__ = ["podman", "storage"]

# Prints all texts of the input and of the output, and writes into the output.
USE = "cat $PAI_INPUT_DATA/a.txt $PAI_INPUT_DATA/sub/b.txt $PAI_OUTPUT_EXTRA/a.txt; echo 1 > $PAI_OUTPUT_EXTRA/new.txt"


@pytest.fixture
def diversion(home: Home, tmp_path: Path) -> Diversion:
    return Diversion(home, tmp_path / "files", "model")


def run(podman: EmbeddedClient, diversion: Diversion, role: str) -> str:
    """Run a job with the diverted folder as input or output. Return its log, or the error of its submit."""
    folders = {"data": diversion.elsewhere, "extra": diversion.elsewhere} | {role: diversion.model}
    inputs, outputs = {"data": str(folders["data"])}, {"extra": str(folders["extra"])}
    try:
        return contained(podman, USE, inputs=inputs, outputs=outputs).wait().logs()
    except PaiError as error:
        return str(error)


def divert_before(command: str, diversion: Diversion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Divert the folder before a command of podman. Return a file that shows that it was."""
    done = tmp_path / "diverted"
    moves = f"mv {diversion.model} {diversion.shared}/.before; mv {diversion.shared}/.link {diversion.model}"
    divert = f'if [ "$1" = {command} ] && [ ! -e {done} ]; then touch {done}; {moves}; fi'
    script(tmp_path / "bin", f'#!/bin/sh\n{divert}\nexec {shutil.which("podman")} "$@"\n', "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return done


@pytest.mark.slow("containers", first=2)
@pytest.mark.parametrize("role", ["data", "extra"])
@pytest.mark.parametrize("command", ["create", "init", "start"])
def test_folder_diverted_during_the_start_is_not_used(
    podman: EmbeddedClient,
    diversion: Diversion,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    role: str,
) -> None:
    done = divert_before(command, diversion, tmp_path, monkeypatch)
    log = run(podman, diversion, role)
    assert done.exists()
    diversion.check(log)
    if command == "start":
        assert log.startswith("abb"), log
    else:
        assert f"replaced by a link while it was mounted: {diversion.model}" in log


def test_exit_code_and_files_of_a_compared_container(podman: EmbeddedClient, diversion: Diversion) -> None:
    """Its folders lie where an earlier job can write."""
    inputs, outputs = {"data": str(diversion.model)}, {"extra": str(diversion.model / "sub")}
    job = contained(podman, f"{USE}; exit 7", inputs=inputs, outputs=outputs).wait()
    assert (job.status, job.exit_code, (diversion.model / "sub/new.txt").read_text()) == ("failed", 7, "1\n")
    diversion.check(job.logs())
    assert job.logs().startswith("abb")


def test_channel_of_a_shared_folder_replaced_by_a_link_is_not_reached(
    podman: EmbeddedClient, tmp_path: Path, home: Home
) -> None:
    host, shared = tmp_path / "host", tmp_path / "shared"
    host.mkdir()
    (host / "secret").write_text("of the host")
    code = f"import os, shutil; shutil.rmtree('/ml/output/model'); os.symlink({str(host)!r}, '/ml/output/model')"
    job = contained(podman, f'cd /; python3 -c "{code}"', output_path=str(shared)).wait()
    assert job.status == "succeeded", job.logs()
    (model,) = shared.glob("*/model")
    assert (model / "secret").read_text() == "of the host"
    for spec in ({"inputs": {"data": str(model)}}, {"outputs": {"extra": str(model)}}):
        with pytest.raises(BadInput, match=f"a link that leads out of {model.parent}"):
            contained(podman, "true", **spec)
    podman.call("delete", job=job.id)  # The folder is still one in which a job wrote.
    uri = model.as_uri()
    for call in refused_calls(podman, uri, tmp_path):
        with pytest.raises(PaiError, match="a link that leads out of"):
            call()
    assert [path.name for path in host.iterdir()] == ["secret"]
    assert (host / "secret").read_text() == "of the host"
    assert not (tmp_path / "copy").exists()


def refused_calls(engine: EmbeddedClient, uri: str, folder: Path) -> list[Callable[[], object]]:
    def copy(verb: str, **values: Any) -> object:
        return finish_copy(lambda name, copy: engine.call(name, copy=copy), engine.call(verb, **values))

    (folder / "new").write_text("1")
    return [
        lambda: engine.call("list_data", uri=f"{uri}/"),
        lambda: engine.call("measure_data", uri=f"{uri}/"),
        lambda: b"".join(engine.read("data_file", uri=f"{uri}/secret")),
        lambda: copy("get_data", body={"uri": f"{uri}/", "path": str(folder / "copy")}),
        lambda: copy("get_data", body={"uri": (folder / "new").as_uri(), "path": uri.removeprefix("file://")}),
        lambda: copy("put_data", body={"uri": f"{uri}/", "path": str(folder / "new")}),
        lambda: copy("put_data", body={"uri": folder.as_uri() + "/copy/", "path": uri.removeprefix("file://")}),
        lambda: copy("remove_data", uri=f"{uri}/secret"),
        lambda: copy("rename_data", body={"uri": f"{uri}/secret", "name": "other"}),
        lambda: engine.call("make_data_folder", body={"uri": f"{uri}/", "path": "new"}),
    ]


@pytest.mark.slow("containers")
@pytest.mark.parametrize("role", ["data", "extra"])
def test_folder_that_is_diverted_all_the_time_is_not_used(
    podman: EmbeddedClient, diversion: Diversion, role: str
) -> None:
    use_while_diverted(podman, diversion, role, starts=5, least=30)


def use_while_diverted(podman: EmbeddedClient, diversion: Diversion, role: str, *, starts: int, least: int) -> None:
    """Run jobs with a folder that another process replaces by a link and back, at least some number of times."""
    with diverting(diversion) as end:
        logs = [run(podman, diversion, role) for _number in range(starts)]
        swaps = end()
    diversion.check(logs)
    assert swaps >= least
    print(f"\n{role}: {starts} starts during {swaps} exchanges, {sum('abb' in log for log in logs)} ran")
