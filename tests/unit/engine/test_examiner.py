"""Work of requests in threads: a few at a time, since other requests need threads too."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from jupyter_pai.engine.requests import Submitted, submit_request
from jupyter_pai.engine.service import JobService
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE
from ...support import small_plugin


async def _until_some_wait(platform: Path, service: JobService, submits: list[asyncio.Task[Submitted]]) -> list[Path]:
    """Wait until the jobs that are not being prepared wait for the others. Return what is being prepared."""
    async with asyncio.timeout(PATIENCE):
        while True:
            begun = [*platform.glob("*.begun")]
            if len(begun) == len(submits) or (len(begun) > 1 and service.submitter.examine.free._waiters):
                return begun
            assert not any(submit.done() for submit in submits)
            await asyncio.sleep(0.01)


async def _submit_three(home: Home, platform: Path) -> None:
    service = JobService(home)
    await service.start()
    service.profiles.edit("small", {"backend": "small", "folder": str(platform)})
    (platform / "busy").touch()
    spec = {"profile": "small", "command": "true", "source": {"files": {"a": ""}}}
    requests = [submit_request({"spec": spec | {"name": name}}) for name in ("one", "two", "three")]
    submits: list[asyncio.Task[Submitted]] = [asyncio.create_task(service.submitter.submit(one)) for one in requests]
    assert len(await _until_some_wait(platform, service, submits)) == 2
    (platform / "busy").unlink()
    for submit in submits:
        assert (await service.wait((await submit).job, PATIENCE)).status.ended
    assert {path.stem for path in platform.glob("*.begun")} == {"one", "two", "three"}
    await service.close()


def test_two_jobs_of_this_machine_are_prepared_at_a_time(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = tmp_path / "platform"
    platform.mkdir()
    with small_plugin.installed(tmp_path / "site", monkeypatch):
        asyncio.run(_submit_three(home, platform))
