"""The conformance suite of all backends."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import SecretStr

from ...backends.base import Caller, Capability
from ...backends.remote import RemoteBackend
from ...core.errors import BadInput
from ...core.field_errors import form_schema, picked_fields
from ...core.secret import Secret
from ...jobs.job import JobStatus, now
from ...jobs.spec import parse_spec
from ...jobs.state_dir import Home
from .harness import PROFILE, Bench, story

__all__ = ["BackendPromises"]


class BackendPromises:
    """Base of a test class with the fixture `keys`: the settings of a profile of the backend."""

    is_remote: ClassVar[bool] = False
    # Seconds of each wait for the platform.
    patience: ClassVar[float] = 60.0

    @pytest.fixture
    def keys(self) -> dict[str, Any]:
        raise NotImplementedError("the keys of a profile")

    @pytest.fixture
    def readable(self, tmp_path: Path) -> Path:
        """A folder of this machine that jobs can read, if the backend has no storage for inputs."""
        return tmp_path

    @pytest.fixture
    def login(self) -> dict[str, Any] | None:
        """The fields of a login to the platform of the tests; None if it has no login."""
        return None

    @pytest.fixture
    def job_file(self) -> tuple[str, str] | None:
        """The name and the text of a job file of the platform, which writes `from the job file`; None if the platform
        has no job files."""
        return None

    @pytest.fixture
    def state(self, tmp_path: Path) -> Home:
        """The state folder."""
        return Home(tmp_path / "state")

    @pytest.fixture
    def bench(self, keys: dict[str, Any], state: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
        monkeypatch.setenv("JUPYTER_PAI_CONFIG", str(tmp_path / "jupyter_pai.toml"))
        from ..profiles import Profiles

        Profiles(state).edit(PROFILE, keys)
        return Bench(state, self.patience)

    def test_it_is_held_to_all_that_holds_for_its_kind(self, bench: Bench) -> None:
        assert isinstance(bench.backend, RemoteBackend) == self.is_remote
        assert (Capability.RUNS_HERE in bench.backend.capabilities) != self.is_remote

    @story
    async def test_a_job_that_succeeds(self, bench: Bench) -> None:
        job, remote_id, report = await bench.finish("cat a.txt; echo m > $PAI_OUTPUT_MODEL/m")
        assert (report.status, report.exit_code, report.reason) == (JobStatus.SUCCEEDED, 0, "")
        assert report.started_at
        assert report.ended_at
        # Platforms report times in seconds.
        assert job.submitted_at - timedelta(seconds=1) <= report.started_at <= report.ended_at <= now()
        if bench.backend.stores_outputs:
            assert {"model", "checkpoints", "tensorboard"} <= job.outputs.keys()
            assert bench.outputs(job, "model") == {"m": b"m\n"}
        assert all(uri.endswith("/") for uri in job.outputs.values())
        await bench.only_log(job, remote_id, b"from the code\n")

    @story
    async def test_a_job_that_fails(self, bench: Bench) -> None:
        _job, _remote_id, report = await bench.finish("exit 9")
        assert (report.status, report.exit_code) == (JobStatus.FAILED, 9)

    @story
    async def test_hyperparameters_inputs_and_variables_reach_a_job(self, bench: Bench, readable: Path) -> None:
        uri = await bench.put(b"seven\n", readable / "it's 7.txt")
        assert uri or not bench.backend.stores_inputs, "`input_uri` or the fixture `readable` has a place for inputs"
        command = 'echo "$PAI_HPS_RATE|$GIVEN"; ' + ('cat "$PAI_INPUT_TRAIN"' if uri else "echo seven")
        inputs = {"train": uri} if uri else {}
        job, remote_id, _report = await bench.finish(
            command, hyperparameters={"rate": "it's 0.1"}, inputs=inputs, environment={"GIVEN": "a b"}
        )
        await bench.only_log(job, remote_id, b"it's 0.1|a b\nseven\n")

    @story
    async def test_job_file_is_read_and_runs(
        self, bench: Bench, job_file: tuple[str, str] | None, tmp_path: Path
    ) -> None:
        assert bool(job_file) == bool(bench.backend.job_files), "the fixture `job_file` has a job file"
        if not job_file:
            return
        name, text = job_file
        path = tmp_path / "files" / name
        path.parent.mkdir()
        path.write_text(text)
        assert bench.backend.is_job_file(path)
        assert not bench.backend.is_job_file(path.with_name("notes.txt"))
        read = bench.backend.read_job_file(path, text)
        job, remote_id, report = await bench.finish(**read.spec)
        assert report.status is JobStatus.SUCCEEDED
        await bench.only_log(job, remote_id, b"from the job file\n")
        with pytest.raises(BadInput):
            bench.backend.read_job_file(path, "")

    @story
    async def test_document_is_shown_without_a_submit(self, bench: Bench) -> None:
        document = await bench.backend.document(parse_spec({"name": "shown", "command": "echo shown"}))
        if document:
            assert document.name
            # The command may be encoded.
            assert "shown" in document.text
            assert document.language in ("yaml", "bash", "json")

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
        # A platform without machines to choose from takes the sizes themselves.
        assert bool(spec.instance_type) == (Capability.SIZES in bench.backend.capabilities and bool(names))

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
    async def test_fields_are_picked_from_lists_of_the_platform(self, bench: Bench) -> None:
        for model in (bench.backend.settings_model, bench.backend.options_model):
            for name in picked_fields(form_schema(model)):
                values = [choice.value for choice in await bench.backend.choices(name)]
                assert "" not in values, name
                assert len({*values}) == len(values), name
        assert list(await bench.backend.choices("no list of this name")) == []

    @story
    async def test_a_price_has_a_currency(self, bench: Bench) -> None:
        for kind in await bench.backend.instance_types():
            assert kind.price is None or kind.price.currency, kind.name

    @story
    async def test_notes_on_a_changed_profile_are_texts(self, bench: Bench) -> None:
        notes = await bench.backend.profile_notes(bench.backend.settings, {*bench.backend.settings.model_fields_set})
        assert all(note.isprintable() for note in notes)

    @story
    async def test_a_login_is_exchanged_for_what_is_stored(
        self, bench: Bench, login: dict[str, Any] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = bench.backend.login_model or bench.backend.credentials_model
        assert (bench.backend.credentials_model is None) == (model is None)
        for name, field in ((form_schema(model) or {}).get("properties") or {}).items():
            assert field["title"], name
        if not login:
            return
        assert model
        monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
        monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
        from ..profiles import Profiles

        await Profiles(bench.home).log_in(PROFILE, login)
        (file,) = (tmp_path / "config").iterdir()
        if bench.backend.login_model:
            fields = dict(model.model_validate(login)).values()
            passwords = [field.get_secret_value() for field in fields if isinstance(field, SecretStr)]
            assert not [1 for password in passwords if password and password in file.read_text()]
        # The platform accepts it.
        other = bench.another()
        assert await other.instance_types() or await other.quotas()

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
        job, remote_id, report = await bench.finish(f"mkdir -p {folder}; printf 0.9 > {folder}/accuracy")
        assert (await bench.completed(job, remote_id, report)).output_parameters == {"accuracy": "0.9"}
        if Capability.SECRETS in bench.backend.capabilities:
            command, secrets = f'mkdir -p {folder}; printf "$TOKEN" > {folder}/token', {"TOKEN": Secret("keep it")}
            job, remote_id, report = await bench.finish(command, secrets, secrets={"TOKEN": "t"})
            report = await bench.completed(job, remote_id, report)
            assert report.output_parameters == {"token": "[secret TOKEN]"}

    @story
    async def test_instances_come_in_the_order_of_their_ranks(self, bench: Bench) -> None:
        if Capability.MULTI_NODE not in bench.backend.capabilities:
            return
        # Rank and number have two names each.
        command = '[ "$MASTER_ADDR" ] && [ "$CHIEF_IP" ] && echo "$RANK of $WORLD_SIZE, $INDEX of $NODE_NUM"'
        job, remote_id, report = await bench.finish(command, instance_count=2)
        instances = await bench.backend.instances(remote_id)
        assert len({one.name for one in instances}) == 2
        for rank, one in enumerate(instances):
            await bench.log(job, remote_id, one.name, b"%d of 2, %d of 2\n" % (rank, rank))
            assert one.rank in (None, rank)
            assert one.status in (None, JobStatus.SUCCEEDED)
            assert one.exit_code in (None, 0)
            assert one.attempt in (None, 1)
            times = [time for time in (report.started_at, one.started_at, one.ended_at, now()) if time]
            assert times == sorted(times)

    @story
    async def test_roles_have_commands_of_their_own(self, bench: Bench) -> None:
        if Capability.ROLES not in bench.backend.capabilities:
            return
        text = "$RANK of $WORLD_SIZE, $JUPYTER_PAI_ROLE $JUPYTER_PAI_ROLE_RANK"
        roles = [{"name": "ps", "command": f'echo "serve: {text}"'}, {"name": "worker", "count": 2}]
        job, remote_id, report = await bench.finish(f'echo "train: {text}"', roles=roles)
        assert report.status is JobStatus.SUCCEEDED
        instances = await bench.backend.instances(remote_id)
        assert [one.name for one in instances] == job.spec.instance_names == ["ps-0", "worker-0", "worker-1"]
        assert [(one.role, one.rank) for one in instances] == [("ps", 0), ("worker", 1), ("worker", 2)]
        lines = ["serve: 0 of 3, ps 0", "train: 1 of 3, worker 0", "train: 2 of 3, worker 1"]
        for one, line in zip(instances, lines, strict=True):
            await bench.log(job, remote_id, one.name, f"{line}\n".encode())

    @story
    async def test_failed_instance_is_marked(self, bench: Bench) -> None:
        if Capability.MULTI_NODE not in bench.backend.capabilities:
            return
        _job, remote_id, report = await bench.finish("exit $((RANK * 7))", instance_count=2)
        assert (report.status, report.exit_code) == (JobStatus.FAILED, 7)
        _first, second = await bench.backend.instances(remote_id)
        assert report.instance in ("", second.name)
        assert second.status in (None, JobStatus.FAILED)
        assert second.exit_code in (None, 7)

    @story
    async def test_instances_end_with_their_job(self, bench: Bench) -> None:
        _job, remote_id = await bench.submit("sleep 1000")
        await bench.until(remote_id, lambda report: report.status is JobStatus.RUNNING)
        (instance,) = await bench.instances(remote_id)
        assert instance.status is None or not instance.status.ended
        assert (instance.exit_code, instance.ended_at) == (None, None)
        await bench.backend.stop(remote_id)
        await bench.ended(remote_id)
        (instance,) = await bench.backend.instances(remote_id)
        assert instance.status is None or instance.status.ended
