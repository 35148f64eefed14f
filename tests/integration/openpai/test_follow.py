"""States, instances, events, stop and search of jobs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from jupyter_pai.backends.openpai.follow.follower import Follower, poll_interval
from jupyter_pai.core.errors import CredentialsError, NotFound, Refused
from jupyter_pai.jobs.job import JobStatus
from jupyter_pai.jobs.state_dir import Home

from ...fakes.openpai import OpenPai
from ...fakes.openpai_client import role
from ...support.waiting import PATIENCE
from .followed import Process, follow, waiting_for

pytestmark = pytest.mark.usefixtures("private_ml", "engine")

_SSH = {"com.microsoft.pai.runtimeplugin": [{"plugin": "ssh", "parameters": {"jobssh": True}}]}


def test_job_waits_runs_and_ends(server: OpenPai, home: Home, share: Path) -> None:
    async def story(process: Process) -> None:
        server.settings.room = False
        job = await process.submit("train", waiting_for("go", between="exit 7"))
        waiting = await process.report(job)
        assert (waiting.status, waiting.platform_status, waiting.started_at) == (JobStatus.QUEUED, "WAITING", None)
        assert waiting.console_url == f"{server.url}/job-detail.html?username=me&jobName=train"
        server.settings.room = True
        running = await process.until(job, lambda report: report.status is JobStatus.RUNNING)
        assert running.started_at
        (share / "go").touch()
        ended = await process.ended(job)
        assert (ended.status, ended.exit_code, ended.fix) == (JobStatus.FAILED, 7, "the solution of UserCommandFailed")
        (instance,) = await process.follower.instances(job)
        assert (instance.name, instance.status, instance.exit_code) == ("main-0", JobStatus.FAILED, 7)

    follow(home, story)


def test_job_that_the_cluster_does_not_have_is_left_out(home: Home) -> None:
    async def story(process: Process) -> None:
        job = await process.submit("there", "true")
        assert [*await process.follower.poll([job, "me~gone", "gone"])] == [job]
        ids = [job, *(f"me~gone{n}" for n in range(10))]
        assert [*await process.follower.poll(ids)] == [job]
        assert await process.follower.instances("me~gone") == ()
        assert (await process.follower.events("me~gone", "")).events == ()

    follow(home, story)


def test_gateway_without_its_server_loses_no_job(server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        job = await process.submit("there", "true")
        server.faults.add("refused", "rest:detail", status=404, code="")
        for ids in ([job], [job, *(f"me~gone{n}" for n in range(10))]):
            with pytest.raises(NotFound):
                await process.another().follower.poll(ids)
        server.faults.clear()
        assert [*await process.follower.poll([job])] == [job]

    follow(home, story)


def test_stop_before_the_start_is_shown_until_the_controller_acts(server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        server.settings.room = False
        job = await process.submit("waits", "true")
        await process.instance_names(job)
        server.settings.controller = False
        await process.follower.stop(job)
        for ids in ([job], [job, *(f"me~gone{n}" for n in range(10))]):
            stopping = (await process.another().follower.poll(ids))[job]
            assert (stopping.status, stopping.platform_status) == (JobStatus.QUEUED, "stopping")
        server.settings.controller = True
        stopped = await process.ended(job)
        assert (stopped.status, stopped.reason, stopped.exit_code) == (JobStatus.STOPPED, "Stopped by the user.", None)
        await process.follower.stop(job)
        assert (await process.another().ended(job)).status is JobStatus.STOPPED

    follow(home, story)


def test_unknown_state_is_no_end(server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        job = await process.submit("odd", "sleep 1000")
        await process.until(job, lambda report: report.status is JobStatus.RUNNING)
        server.job(job).sub_state = "AttemptOfALaterVersion"
        for ids in ([job], [job, *(f"me~gone{n}" for n in range(10))]):
            odd = (await process.another().follower.poll(ids))[job]
            assert (odd.status, odd.platform_status) == (JobStatus.RUNNING, "UNKNOWN")
        await process.follower.stop(job)
        assert (await process.ended(job)).status is JobStatus.STOPPED

    follow(home, story)


def test_one_list_serves_all_jobs_and_details_those_that_have_ended(server: OpenPai, home: Home, share: Path) -> None:
    async def story(process: Process) -> None:
        jobs = [await process.submit(f"job{n}", waiting_for(f"go{n}")) for n in range(6)]
        before = server.count("rest:list"), server.count("rest:detail")
        await asyncio.gather(*(process.follower.poll(jobs) for _n in range(5)))
        assert (server.count("rest:list"), server.count("rest:detail")) == (before[0] + 1, before[1])
        (query,) = {str(one["query"].get("username")) for one in server.requests if one["action"] == "rest:list"}
        assert query == "me"
        (share / "go3").touch()
        async with asyncio.timeout(PATIENCE):
            while not (reports := await process.follower.poll(jobs))[jobs[3]].status.ended:
                await asyncio.sleep(0.1)
        assert sum(report.status.ended for report in reports.values()) == 1
        await process.follower.poll(jobs)
        assert server.count("rest:detail") == before[1] + 1
        for job in jobs:
            await process.follower.stop(job)

    follow(home, story)


def test_list_is_read_in_pages(server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        jobs = [await process.submit(f"job{n}", "sleep 1000") for n in range(5)]
        reports = await Follower(process.client, page=2).poll(jobs)
        assert [report.status.ended for report in reports.values()] == [False] * 5
        assert (server.count("rest:list"), server.count("rest:detail")) == (3, 0)
        for job in jobs:
            await process.follower.stop(job)

    follow(home, story)


def test_many_ends_do_not_delay_the_states_of_others(server: OpenPai, home: Home, share: Path) -> None:
    async def story(process: Process) -> None:
        jobs = [await process.submit(f"job{n}", waiting_for("go")) for n in range(8)]
        follower = Follower(process.client, most_details=2)
        assert not any(report.status.ended for report in (await follower.poll(jobs)).values())
        (share / "go").touch()
        for job in jobs:
            await process.ended(job)
        left, seen = jobs, list[int]()
        async with asyncio.timeout(PATIENCE):
            while left:
                ended = [job for job, report in (await follower.poll(left)).items() if report.status.ended]
                seen.append(len(ended))
                left = [job for job in left if job not in ended]
                await asyncio.sleep(0.1 if not ended else 0)
        assert sum(seen) == 8
        assert {*seen} <= {0, 2, 3}

    follow(home, story)


def test_roles_have_the_names_of_the_spec(home: Home) -> None:
    async def story(process: Process) -> None:
        roles = {"zeta1": role("true"), "alpha": role("true", instances=2)}
        extras = {"jupyterPai": {"roles": {"zeta1": "Zeta_1"}}}
        job = await process.submit("roles", roles=roles, extras=extras)
        await process.ended(job)
        found = await process.follower.instances(job)
        assert [(one.name, one.role, one.rank) for one in found] == [
            ("Zeta_1-0", "Zeta_1", 0), ("alpha-0", "alpha", 1), ("alpha-1", "alpha", 2)
        ]  # fmt: skip
        assert (await process.follower.log(job, "Zeta_1-0", "")).data == b""

    follow(home, story)


def test_failed_instance_is_named(home: Home) -> None:
    async def story(process: Process) -> None:
        job = await process.submit("gang", roles={"good": role("sleep 1000"), "bad": role("echo why >&2; exit 3")})
        ended = await process.ended(job)
        assert (ended.status, ended.instance, ended.exit_code, ended.reason) == (JobStatus.FAILED, "bad-0", 3, "why")
        states = {one.name: (one.status, one.exit_code) for one in await process.follower.instances(job)}
        assert states == {"good-0": (JobStatus.STOPPED, None), "bad-0": (JobStatus.FAILED, 3)}

    follow(home, story)


def test_lost_node_is_a_reason_with_a_fix(server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        job = await process.submit("lost", "echo up; sleep 1000")
        await process.log_until(job, b"up\n")
        server.lose_task(job, "main", 0)
        ended = await process.ended(job)
        assert (ended.status, ended.exit_code) == (JobStatus.FAILED, None)
        assert ended.reason.startswith("the reason of NodeLost (NodeLost, -1001)")
        assert ended.fix == "the solution of NodeLost"

    follow(home, story)


def test_events_say_why_a_job_waits(server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        server.settings.room = False
        job = await process.submit("waits", roles={"ps": role("true", instances=2)})
        async with asyncio.timeout(PATIENCE):
            while not (page := await process.follower.events(job, "")).events:
                await asyncio.sleep(0.02)
        assert {one.instance for one in page.events} == {"ps-0", "ps-1"}
        assert page.events[0].text.startswith("FailedScheduling: 0/1 nodes are available")
        assert page.events[0].warning
        assert list((await process.another().follower.events(job, page.cursor)).events) == []
        server.settings.room = True
        await process.ended(job)
        (link,) = (await process.follower.events(job, page.cursor)).events
        assert f"{server.url}/grafana/dashboard/db/joblevelmetrics?var-job=me~waits&from=" in link.text

    follow(home, story)


def test_job_is_found_by_our_id_only(home: Home) -> None:
    async def story(process: Process) -> None:
        for name in ("train_0123abcd", "other_0123abcd9", "a0123abcd"):
            await process.submit(name, "true")
        assert await process.ours("0123abcd") == {"me~train_0123abcd"}
        assert await process.ours("123abcd") == set()
        assert await process.follower.lists_any({"me~train_0123abcd"})
        assert not await process.follower.lists_any({"me~train"})

    follow(home, story)


def test_terminal_is_a_line_of_ssh_for_a_job_with_a_server(home: Home, server: OpenPai) -> None:
    async def story(process: Process) -> None:
        plain = await process.submit("plain", "sleep 1000")
        await process.until(plain, lambda report: report.status is JobStatus.RUNNING)
        with pytest.raises(Refused, match="--option ssh=true"):
            await process.follower.terminal(plain, "main-0")
        with_ssh = await process.submit("with_ssh", "sleep 1000", extras=_SSH)
        await process.until(with_ssh, lambda report: report.status is JobStatus.RUNNING)
        command = await process.follower.terminal(with_ssh, "main-0")
        port = server.job(with_ssh).tasks[0].ports["ssh"]
        assert command.arguments == ("ssh", "-p", port, "root@127.0.0.1")
        for job in (plain, with_ssh):
            await process.follower.stop(job)
            await process.ended(job)
        with pytest.raises(NotFound):
            await process.follower.terminal(with_ssh, "main-0")

    follow(home, story)


def test_limit_of_lists_is_waited_for(server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        jobs = [await process.submit(f"job{n}", "true") for n in range(5)]
        server.faults.add("throttled", "rest:list", seconds=1, count=1)
        reports = await process.follower.poll(jobs)
        assert len(reports) == 5
        refused, repeated = [one for one in server.requests if one["action"] == "rest:list"][-2:]
        assert (refused["status"], repeated["status"]) == (429, 200)
        assert repeated["time"] - refused["time"] >= 1

    follow(home, story)


def test_revoked_token_ends_no_job(server: OpenPai, home: Home) -> None:
    async def story(process: Process) -> None:
        job = await process.submit("stays", "sleep 1000")
        await process.until(job, lambda report: report.status is JobStatus.RUNNING)
        server.revoke_tokens("me")
        with pytest.raises(CredentialsError, match="profile login"):
            await process.report(job)
        with pytest.raises(CredentialsError):
            await process.another().follower.log(job, "main-0", "")

    follow(home, story)


def test_polls_keep_the_limits_of_the_server() -> None:
    assert poll_interval(1000, watched=False) >= 5
    assert all(poll_interval(n, watched=True) * 60 >= 60 for n in range(1, 1000))
