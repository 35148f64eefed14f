"""The conformance suites of backends."""

from __future__ import annotations

import sys
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ...backends.base import Caller, Capability
from ...backends.remote import RemoteBackend
from ...core.errors import BadInput, NotFound, Unsupported
from ...core.field_errors import form_schema
from ...core.secret import Secret
from ...jobs.job import JobStatus, now
from ...jobs.spec import parse_spec
from ...jobs.state_dir import Home
from .harness import PROFILE, Bench, read, story

__all__ = ["BackendPromises", "RemoteBackendPromises"]


class BackendPromises:
    """Base of a test class with the fixture `keys`: the settings of a profile of the backend."""

    @pytest.fixture
    def keys(self) -> dict[str, Any]:
        raise NotImplementedError("the keys of a profile")

    @pytest.fixture
    def readable(self, tmp_path: Path) -> Path:
        """A folder of this machine that jobs can read, if the backend has no storage for inputs."""
        return tmp_path

    @pytest.fixture
    def state(self, tmp_path: Path) -> Home:
        """The state folder."""
        return Home(tmp_path / "state")

    @pytest.fixture
    def bench(self, keys: dict[str, Any], state: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
        monkeypatch.setenv("JUPYTER_PAI_CONFIG", str(tmp_path / "jupyter_pai.toml"))
        from ..profiles import Profiles

        Profiles(state).edit(PROFILE, keys)
        return Bench(state)

    def test_it_is_held_to_all_that_holds_for_its_kind(self, bench: Bench) -> None:
        assert isinstance(bench.backend, RemoteBackend) == isinstance(self, RemoteBackendPromises)
        assert (Capability.RUNS_HERE in bench.backend.capabilities) != isinstance(self, RemoteBackendPromises)

    @story
    async def test_a_job_that_succeeds(self, bench: Bench) -> None:
        job, remote_id, report = await bench.finish("cat a.txt; echo m > $PAI_OUTPUT_MODEL/m")
        assert (report.status, report.exit_code, report.reason) == (JobStatus.SUCCEEDED, 0, "")
        assert report.started_at
        assert report.ended_at
        # Platforms report times in seconds.
        assert job.submitted_at - timedelta(seconds=1) <= report.started_at <= report.ended_at <= now()
        assert {"model", "checkpoints", "tensorboard"} <= job.outputs.keys()
        assert all(uri.endswith("/") for uri in job.outputs.values())
        assert bench.outputs(job, "model") == {"m": b"m\n"}
        await bench.only_log(job, remote_id, b"from the code\n")

    @story
    async def test_a_job_that_fails(self, bench: Bench) -> None:
        _job, _remote_id, report = await bench.finish("exit 9")
        assert (report.status, report.exit_code) == (JobStatus.FAILED, 9)

    @story
    async def test_hyperparameters_inputs_and_variables_reach_a_job(self, bench: Bench, readable: Path) -> None:
        uri = await bench.put(b"seven\n", readable / "it's 7.txt")
        command = 'echo "$PAI_HPS_RATE|$GIVEN"; cat "$PAI_INPUT_TRAIN"'
        job, remote_id, _report = await bench.finish(
            command, hyperparameters={"rate": "it's 0.1"}, inputs={"train": uri}, environment={"GIVEN": "a b"}
        )
        await bench.only_log(job, remote_id, b"it's 0.1|a b\nseven\n")

    @story
    async def test_stop_ends_it_and_stop_again_does_nothing(self, bench: Bench) -> None:
        _job, remote_id = await bench.submit("sleep 1000")
        await bench.until(remote_id, lambda report: report.status is JobStatus.RUNNING)
        await bench.backend.stop(remote_id)
        report = await bench.ended(remote_id)
        assert report.status is JobStatus.STOPPED
        assert report.reason
        await bench.backend.stop(remote_id)
        assert (await bench.ended(remote_id)).status is JobStatus.STOPPED

    @story
    async def test_many_are_asked_for_in_one_call(self, bench: Bench) -> None:
        ids = [(await bench.finish(f"exit {n}"))[1] for n in range(5)]
        reports = await bench.backend.poll(ids)
        assert [reports[remote_id].exit_code for remote_id in ids] == [0, 1, 2, 3, 4]
        assert await bench.backend.poll([]) == {}

    @story
    async def test_who_picks_by_sizes_gives_a_machine_that_there_is(self, bench: Bench) -> None:
        spec = parse_spec({"name": "x", "command": "true", "image": bench.backend.settings.default_image, "cpu": 1})
        check = await bench.backend.check(spec, Caller(sys.executable))
        spec, again = await bench.backend.resolve(spec, check)
        assert set(check.notes) <= set(again.notes)
        assert (await bench.backend.resolve(spec, check))[0] == spec, "what is settled stays so"
        names = [kind.name for kind in await bench.backend.instance_types()]
        assert not spec.instance_type or spec.instance_type in names
        assert bool(spec.instance_type) == (Capability.SIZES in bench.backend.capabilities)

    @story
    async def test_machines_have_names_and_sizes(self, bench: Bench) -> None:
        kinds = await bench.backend.instance_types()
        assert len({kind.name for kind in kinds}) == len(kinds)
        assert all(kind.name and kind.cpu > 0 and kind.memory > 0 and kind.gpu >= 0 for kind in kinds)

    @story
    async def test_quotas_have_names_and_at_most_all_of_them_is_free(self, bench: Bench) -> None:
        quotas = await bench.backend.quotas()
        assert len({quota.id for quota in quotas}) == len(quotas)
        for quota in quotas:
            assert quota.id or quota.name
            assert 0 <= quota.free_cpu <= quota.cpu
            assert 0 <= quota.free_memory <= quota.memory
            assert 0 <= quota.free_gpu <= quota.gpu

    @story
    async def test_links_lead_to_pages(self, bench: Bench) -> None:
        for link in bench.backend.links():
            assert link.title
            assert link.url.startswith(("https://", "http://"))

    @story
    async def test_check_refuses_before_anything_is_made(self, bench: Bench) -> None:
        with pytest.raises(BadInput):
            await bench.submit("true", inputs={"train": "nonsense://x y"})
        assert list(bench.home.jobs.iterdir()) == []

    @story
    async def test_a_job_that_was_never_started_has_failed(self, bench: Bench) -> None:
        """Submit a job, and simulate a crash before the reply is stored."""
        bench.home.job("gone").path.mkdir()
        if Capability.RUNS_HERE not in bench.backend.capabilities:
            assert await bench.backend.find("gone") == ""
            assert await bench.backend.poll(["gone"]) == {}
            return
        report = (await bench.backend.poll(["gone"]))["gone"]
        assert report.status is JobStatus.FAILED
        assert report.reason

    def test_it_examines_itself(self, bench: Bench) -> None:
        for finding in bench.backend.examine():
            assert finding.state in ("ok", "warn", "bad")
            assert finding.what
            assert finding.text
            assert finding.state == "ok" or finding.fix

    def test_it_says_whether_it_runs_tensorboards(self, bench: Bench) -> None:
        assert (bench.backend.boards is not None) == (Capability.BOARDS in bench.backend.capabilities)

    def test_its_settings_are_documented_in_their_model(self, bench: Bench) -> None:
        for name, field in bench.backend.settings_model.model_fields.items():
            assert name == "backend" or field.description, name

    def test_its_options_and_settings_can_be_drawn(self, bench: Bench) -> None:
        assert isinstance(bench.backend.title, str)
        for model in (bench.backend.settings_model, bench.backend.options_model):
            schema = form_schema(model)
            for name, field in (schema or {}).get("properties", {}).items():
                assert field["title"], name
                assert "$ref" not in str(field), name

    @story
    async def test_secrets_reach_the_job_and_not_its_log(self, bench: Bench) -> None:
        if Capability.SECRETS not in bench.backend.capabilities:
            return
        value = "it is a sec" + "ret, keep it"
        command = 'test ${#TOKEN} = 23; echo "$?"; echo "<$TOKEN>"'
        job, remote_id, _report = await bench.finish(command, {"TOKEN": Secret(value)}, secrets={"TOKEN": "t"})
        assert value.encode() not in await bench.only_log(job, remote_id, b"0\n<[secret TOKEN]>\n")

    @story
    async def test_output_parameters_come_back(self, bench: Bench) -> None:
        if Capability.OUTPUT_PARAMETERS not in bench.backend.capabilities:
            return
        folder = "$(dirname $PAI_OUTPUT_MODEL)/output_parameters"
        _job, _remote_id, report = await bench.finish(f"mkdir -p {folder}; printf 0.9 > {folder}/accuracy")
        assert report.output_parameters == {"accuracy": "0.9"}
        if Capability.SECRETS in bench.backend.capabilities:
            command, secrets = f'mkdir -p {folder}; printf "$TOKEN" > {folder}/token', {"TOKEN": Secret("keep it")}
            _job, _remote_id, report = await bench.finish(command, secrets, secrets={"TOKEN": "t"})
            assert report.output_parameters == {"token": "[secret TOKEN]"}

    @story
    async def test_instances_come_in_the_order_of_their_ranks(self, bench: Bench) -> None:
        if Capability.MULTI_NODE not in bench.backend.capabilities:
            return
        job, remote_id, _report = await bench.finish('echo "$RANK of $WORLD_SIZE"', instance_count=2)
        names = await bench.instances(job, remote_id)
        assert len(names) == 2
        for rank, name in enumerate(names):
            await bench.log(job, remote_id, name, b"%d of 2\n" % rank)


class RemoteBackendPromises(BackendPromises):
    """Further tests for a backend of a remote platform."""

    @story
    async def test_its_folders_can_be_written_and_read(self, bench: Bench) -> None:
        digest = uuid.uuid4().hex
        code, inputs = await bench.backend.code_uri(digest, 1), await bench.backend.input_uri()
        assert not code or code.endswith(f"/{digest}/")
        for uri in filter(None, (code, inputs)):
            assert uri.endswith("/")
            storage = bench.storages.of(uri, PROFILE)
            storage.put(b"x", f"{uri}{digest}.txt")
            assert read(storage, uri, f"{digest}.txt") == b"x"
            storage.delete(f"{uri}{digest}.txt")

    @story
    async def test_a_log_is_read_completely_and_once_by_several_processes(self, bench: Bench) -> None:
        command = 'n=0; while [ $n -lt 500 ]; do echo "line $n"; n=$((n+1)); done; echo; echo 完'
        expected = "".join(f"line {n}\n" for n in range(500)).encode() + "\n完\n".encode()
        job, remote_id, _report = await bench.finish(command)
        await bench.only_log(job, remote_id, expected)

    @story
    async def test_times_of_a_log_are_those_of_the_job(self, bench: Bench) -> None:
        job, remote_id, report = await bench.finish("echo first; sleep 1.5; echo second")
        (instance,) = await bench.instances(job, remote_id)
        log = await bench.log(job, remote_id, instance, b"second\n")
        piece = await bench.backend.log(remote_id, instance, "")
        if not piece.times:
            return
        offsets, times = zip(*piece.times, strict=True)
        assert offsets[0] == 0
        assert list(offsets) == sorted(offsets)
        assert offsets[-1] < len(piece.data)
        assert list(times) == sorted(times)
        assert report.started_at
        assert report.started_at.timestamp() - 1 <= times[0] <= now().timestamp()
        assert log.index(b"second") in offsets

    @story
    async def test_a_job_is_found_by_our_id(self, bench: Bench) -> None:
        job, remote_id = await bench.submit("true")
        assert await bench.backend.find(job.id) == remote_id
        await bench.ended(remote_id)
        assert await bench.backend.find(job.id) == remote_id

    @story
    async def test_jobs_are_listed_newest_first_and_told(self, bench: Bench) -> None:
        ids = [(await bench.finish("true"))[1] for _n in range(2)]
        jobs = await bench.backend.jobs()
        assert {one.remote_id for one in jobs} >= {*ids}
        times = [one.submitted_at for one in jobs]
        assert times == sorted(times, reverse=True)
        assert len(await bench.backend.jobs(limit=1)) == 1
        assert await bench.backend.jobs(before=min(times) - timedelta(days=1)) == []
        job = await bench.backend.job(ids[0])
        assert (job.remote_id, job.report.status) == (ids[0], JobStatus.SUCCEEDED)
        assert job.outputs.keys() >= {"model"}
        with pytest.raises(NotFound):
            await bench.backend.job("gone")

    @story
    async def test_events_go_on_where_they_were(self, bench: Bench) -> None:
        _job, remote_id, _report = await bench.finish("true")
        events, cursor, _more = await bench.backend.events(remote_id, "")
        assert all(event.text for event in events)
        assert all(event.time <= now() for event in events if event.time)
        again, last, more = await bench.another().events(remote_id, cursor)
        assert {event.key for event in again} <= {event.key for event in events if event.key}
        assert not more
        assert bool(last) == bool(cursor)

    @story
    async def test_samples_are_those_after_a_time(self, bench: Bench) -> None:
        _job, remote_id, _report = await bench.finish("true")
        times = [sample.time for sample in await bench.backend.samples(remote_id, 0)]
        assert times == sorted(times)
        assert list(await bench.backend.samples(remote_id, now().timestamp() + 3600)) == []

    @story
    async def test_metrics_that_the_platform_reads_go_on_where_they_were(self, bench: Bench) -> None:
        _job, remote_id, _report = await bench.finish("true")
        for name in await bench.backend.metric_names(remote_id):
            points = list((await bench.backend.points(remote_id, name, 0)).points)
            assert list((await bench.backend.points(remote_id, name, 1)).points) == points[1:]

    @story
    async def test_what_is_not_claimed_is_refused(self, bench: Bench) -> None:
        _job, remote_id = await bench.submit("true")
        if Capability.OUTPUT_MODELS not in bench.backend.capabilities:
            with pytest.raises(Unsupported):
                await bench.backend.output_models(remote_id)
        if Capability.TERMINAL not in bench.backend.capabilities:
            with pytest.raises(Unsupported):
                await bench.backend.terminal(remote_id, "")
        await bench.ended(remote_id)

    @story
    async def test_what_is_deleted_is_forgotten(self, bench: Bench) -> None:
        job, remote_id, _report = await bench.finish("true")
        if Capability.DELETE not in bench.backend.capabilities:
            with pytest.raises(Unsupported):
                await bench.backend.delete(remote_id)
            return
        await bench.backend.delete(remote_id)
        await bench.backend.delete(remote_id)
        assert await bench.backend.poll([remote_id]) == {}
        assert await bench.backend.find(job.id) == ""

    def test_the_poll_interval_is_shorter_for_few_or_watched_jobs(self, bench: Bench) -> None:
        assert 0 < bench.backend.poll_interval(1, watched=True) <= bench.backend.poll_interval(1, watched=False)
        assert bench.backend.poll_interval(1, watched=False) <= bench.backend.poll_interval(1000, watched=False)
