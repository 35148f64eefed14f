"""The administrator's policy: valid files, refusals, and their messages."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends import load_backends
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config import settings as files
from jupyter_pai.config.policy import Policy, PolicyRules
from jupyter_pai.core.errors import NotAllowed, PaiError, SettingsError
from jupyter_pai.jobs.spec import JobSpec

from ...conftest import ROOT, SystemFile, submit, until

MODELS = {name: backend.settings_model for name, backend in load_backends().items()}
LOCKED = """\
[policy]
locked = ['work']
contact = 'ada@example.com'
[profiles.work]
backend = 'local'
grace_time = 5
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "own.toml"
    monkeypatch.setenv("JUPYTER_PAI_CONFIG", str(path))
    return path


def policy(**rules: Any) -> Policy:
    return Policy(PolicyRules(**{"contact": "ada@example.com"} | rules), Path("/etc/jupyter/jupyter_pai.toml"))


def spec(**fields: Any) -> JobSpec:
    return JobSpec(name="x", command="true", **fields)


def test_empty_policy_allows_everything(system_path: Path) -> None:
    assert files.policy(system_path).rules == PolicyRules()
    Policy().check(spec(instance_type="x", image="y", max_run_time=10**9), "any", "any")
    Policy().check_source(1 << 60)
    Policy().check_room(1 << 20)
    Policy().check_tensorboard()


def test_limits_may_be_reached() -> None:
    for seconds in (1, 59, 60):
        policy(max_run_time=60).check(spec(max_run_time=seconds), "any", "any")
    policy(jobs_at_a_time=2).check_room(1)
    with pytest.raises(NotAllowed):
        policy(jobs_at_a_time=2).check_room(2)
    for size in (0, 999, int("1000")):
        policy(source_limit="1 kB").check_source(size)
    with pytest.raises(NotAllowed):
        policy(source_limit="1 kB").check_source(1001)


@pytest.mark.parametrize("rules", [{"price_limit": -0.5}, {"max_run_time": 0}, {"jobs_at_a_time": -1}])
def test_limits_are_positive(rules: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"greater than|Invalid price"):
        policy(**rules)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({"local": False}, {}, "local", "not allowed on this machine"),
    ({"backends": ["pai"]}, {}, "backends", "The backend `local` is not allowed here. Allowed: `pai`."),
    ({"profiles": ["team-*"]}, {}, "profiles", "The profile `work` is not allowed here. Allowed: `team-*`."),
    ({"profiles": []}, {}, "profiles", "Allowed: none."),
    (
        {"instance_types": ["ecs.g7.*", "local"]},
        {"instance_type": "ecs.gn6v-c8g1.2xlarge"},
        "instance_types",
        "`ecs.gn6v-c8g1.2xlarge` is not allowed here. Allowed: `ecs.g7.*`, `local`.",
    ),
    ({"images": ["registry.example.com/ml/*"]}, {"image": "docker.io/x:1"}, "images", "The image `docker.io/x:1`"),
    ({"max_run_time": 60}, {"max_run_time": 61}, "max_run_time", "61 s requested, 60 s allowed"),
]


@pytest.mark.parametrize(("rules", "fields", "rule", "words"), REFUSED)
def test_refusal_names_subject_rule_and_contact(
    rules: dict[str, Any], fields: dict[str, Any], rule: str, words: str
) -> None:
    with pytest.raises(NotAllowed) as caught:
        policy(**rules).check(spec(**fields), "work", "local")
    error = caught.value
    assert words in error.message
    assert error.fix == f"Rule `{rule}` in /etc/jupyter/jupyter_pai.toml. Contact: ada@example.com."
    assert (error.status, error.details["rule"], error.details["contact"]) == (400, rule, "ada@example.com")
    # A form shows it beside the field; that of a backend is the profile, by which it is chosen.
    faults = error.details["faults"]
    assert isinstance(faults, dict)
    (field,) = faults
    assert field in (*fields, "profile")


@pytest.mark.parametrize(
    ("rules", "fields"),
    [
        ({"backends": ["loc*"], "profiles": ["w?rk"]}, {}),
        ({"instance_types": ["ecs.g7.*"]}, {"instance_type": "ecs.g7.xlarge"}),
        ({"instance_types": ["ecs.g7.*"], "images": ["x"]}, {}),  # None is named: the machine itself.
        ({"images": ["registry.example.com/*"]}, {"image": "registry.example.com/ml/torch:2"}),
        ({"max_run_time": 60}, {"max_run_time": 60}),
    ],
)
def test_matching_jobs_are_allowed(rules: dict[str, Any], fields: dict[str, Any]) -> None:
    policy(**rules).check(spec(**fields), "work", "local")


def test_roles_are_checked() -> None:
    roles = [{"name": "ps"}, {"name": "worker", "image": "other"}]
    with pytest.raises(NotAllowed, match="other"):
        policy(images=["x"]).check(spec(image="x", roles=roles), "work", "local")


@pytest.mark.parametrize("document", ["operators.md", "operators.zh-CN.md"])
def test_documented_example_is_valid(system: SystemFile, document: str) -> None:
    example = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / document).read_text("utf-8"), re.DOTALL)
    assert example
    result = files.load(MODELS, system=system(example[1]))
    team = result.pick()
    assert (team.name, result.locked) == ("team", {"team"})
    defaults = team.settings
    request = spec(instance_type=defaults.default_instance_type, image=defaults.default_image)
    result.policy.check(request, team.name, team.backend)
    with pytest.raises(NotAllowed, match="not allowed on this machine"):
        result.policy.check(spec(), "local", "local")


def test_patterns_are_case_sensitive() -> None:
    assert not policy(images=["Registry/*"]).allows("images", "registry/x")


def test_default_contact_is_the_administrator() -> None:
    with pytest.raises(NotAllowed, match="Contact: the administrator"):
        policy(contact="", local=False).check_profile("work", "local")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[policy]\nlocl = false\n", 2, "Did you mean `local`?"),
        ("[policy]\ncontact = 'x'\nbackends = 'local'\n", 3, "backends"),
        ("[policy]\nmax_run_time = 0\n", 2, "greater than 0"),
        ("[policy]\nsource_limit = 'much'\n", 2, "source_limit"),
        ("[policy]\naudit_file = 'log/audit'\n", 2, "audit_file"),
        ("[profiles.x]\nbackend = 'local'\n[policy]\nlocked = ['work']\n", 4, "lock the profile `work`"),
        ("policy = 3\n", 1, "[policy]"),
        ("[policy]\n]\n", 2, "invalid TOML"),
    ],
)
def test_invalid_system_file_refuses_everything_and_names_the_line(
    system: SystemFile, engine: EmbeddedClient, text: str, line: int, words: str
) -> None:
    path = system(text)
    with pytest.raises(SettingsError) as caught:
        submit(engine, "true")
    assert f"{path}, line {line}:" in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("default = 'local'\n\n[policy]\nlocal = true\n", 3),
        ("default = 'local'\npolicy = {local = true}\n", 2),
        ("policy.local = true\n", 1),
        ("[policy]\n", 1),
    ],
)
def test_user_file_may_not_contain_a_policy(system_path: Path, own: Path, text: str, line: int) -> None:
    own.write_text(text)
    with pytest.raises(SettingsError, match=r"A \[policy\] is only allowed in the administrator's file") as caught:
        files.load(MODELS, system=system_path)
    assert str(system_path) in str(caught.value)
    assert (caught.value.details["file"], caught.value.details["line"]) == (str(own), line)


def test_system_file_may_be_selected_as_the_user_file(system: SystemFile, monkeypatch: pytest.MonkeyPatch) -> None:
    path = system(LOCKED)
    monkeypatch.setenv("JUPYTER_PAI_CONFIG", str(path))
    assert files.load(MODELS, system=path).locked == {"work"}


def test_user_file_may_not_change_a_locked_profile(system: SystemFile, own: Path) -> None:
    path = system(LOCKED)
    own.write_text("default = 'work'\n[profiles.work]\ngrace_time = 50\n")
    with pytest.raises(SettingsError, match="`work` is locked") as caught:
        files.load(MODELS, system=path)
    assert caught.value.details["line"] == 2
    assert "Contact: ada@example.com." in caught.value.fix


def test_verbs_may_not_change_a_locked_profile(system: SystemFile, own: Path, engine: EmbeddedClient) -> None:
    system(LOCKED)
    for verb, body in (("set_profile", {"values": {"grace_time": 50}}), ("remove_profile", None)):
        with pytest.raises(NotAllowed, match="`work` is locked") as caught:
            engine.call(verb, profile="work", body=body)
        assert caught.value.details["rule"] == "locked"
        assert not own.exists()
    # To choose it changes nothing of it, and others are the user's own.
    engine.call("set_profile", profile="work", body={"default": True})
    result = engine.call("set_profile", profile="mine", body={"values": {"backend": "local"}})
    assert {profile["name"]: profile["locked"] for profile in result["profiles"]} == {
        "local": False, "work": True, "mine": False,
    }  # fmt: skip
    assert result["default"] == "work"


def test_lock_patterns_match_system_profiles_only(system: SystemFile, own: Path) -> None:
    path = system(LOCKED.replace("'work'", "'*'"))
    own.write_text("[profiles.mine]\nbackend = 'local'\n")
    assert files.load(MODELS, system=path).locked == {"work"}


@pytest.mark.parametrize(
    ("own_limits", "limits"),
    [
        ("", (600, "2.5 CNY")),
        ("max_run_time = 0\n", (600, "2.5 CNY")),
        ("max_run_time = 60\nprice_limit = '1 CNY'\n", (60, "1 CNY")),
        ("max_run_time = 6000\nprice_limit = '100 CNY'\n", (600, "2.5 CNY")),
        ("price_limit = '0 cny'\n", (600, "0 CNY")),
        # In another currency, or in none, it is not known to be lower.
        ("price_limit = '1 USD'\n", (600, "2.5 CNY")),
        ("price_limit = 1\n", (600, "2.5 CNY")),
    ],
)
def test_policy_caps_limits_of_profiles(
    system: SystemFile, own: Path, own_limits: str, limits: tuple[float, str]
) -> None:
    path = system("[policy]\nmax_run_time = 600\nprice_limit = '2.5 CNY'\n")
    own.write_text(f"[profiles.pai]\nregion_id = 'cn-hangzhou'\n{own_limits}")
    result: Any = files.load(MODELS, system=path).profiles["pai"].settings
    assert (result.max_run_time, str(result.price_limit)) == limits


def test_spec_carries_the_run_time_limit_for_other_backends() -> None:
    class Bare(files.ProfileSettings):
        pass

    bare, local = Bare(backend="x"), MODELS["local"](backend="local")
    rules = policy(max_run_time=60)
    assert rules.filled(spec(), bare).max_run_time == 60
    assert rules.filled(spec(max_run_time=5), bare).max_run_time == 5
    assert rules.filled(spec(), local).max_run_time is None
    assert rules.filled(spec(max_run_time=0), bare).max_run_time == 60


# The engine.


def test_policy_is_read_again_at_each_submit(system: SystemFile, engine: EmbeddedClient) -> None:
    submit(engine, "true").wait()
    system("[policy]\nlocal = false\n")
    for verb, body in (
        ("submit", {"spec": {"name": "x", "command": "true", "source": {"files": {"a": ""}}}}),
        ("preview", {"spec": {"name": "x", "command": "true", "source": {"files": {"a": ""}}}}),
        ("bring", {"spec": {"name": "x", "command": "true", "inputs": {"a": "/etc"}}}),
    ):
        with pytest.raises(NotAllowed, match="not allowed on this machine"):
            engine.call(verb, body=body)
    with pytest.raises(NotAllowed, match="not allowed on this machine"):
        engine.call("rerun", job="last", body={})
    assert engine.call("list_jobs")["total"] == 1
    system("")
    submit(engine, "true").wait()


def test_jobs_older_than_a_rule_can_be_stopped_and_deleted(system: SystemFile, engine: EmbeddedClient) -> None:
    job = submit(engine, "sleep 1000")
    system("[policy]\nlocal = false\n")
    job.stop()
    until(lambda: job.status == "stopped")
    engine.call("delete", job=job.id)


def test_job_without_a_run_time_is_stopped_at_the_limit(system: SystemFile, engine: EmbeddedClient) -> None:
    system("[policy]\nmax_run_time = 1\n")
    job = submit(engine, "sleep 1000")
    until(lambda: job.status == "stopped")
    assert "maximum run time" in job.info["reason"]


def test_source_limit_applies_to_submit_and_rerun(system: SystemFile, engine: EmbeddedClient, folder: Path) -> None:
    (folder / "big").write_bytes(bytes(5000))
    submit(engine, "true", folder).wait()
    system("[policy]\nsource_limit = '4kB'\n")
    for call in (
        lambda: submit(engine, "true", folder),
        lambda: engine.rerun("last"),
        lambda: engine.preview({"name": "x", "command": "true", "source": {"folder": str(folder)}}),
    ):
        with pytest.raises(NotAllowed, match="Code too large: 5 kB, at most 4 kB allowed"):
            call()


def test_job_limit_holds_for_concurrent_submits(system: SystemFile, engine: EmbeddedClient) -> None:
    system("[policy]\njobs_at_a_time = 2\n")

    def one(_n: int) -> str:
        try:
            return submit(engine, "sleep 1000").id
        except PaiError as error:
            return f"{error.details['rule']}: {error.message}"

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(one, range(8)))
    refused = [text for text in replies if "jobs_at_a_time: Only 2 active jobs" in text]
    assert len(refused) == 6
    assert engine.call("list_jobs")["total"] == 2
    engine.call("stop", job="last")
    until(lambda: engine.call("show", job="last")["status"] == "stopped")
    submit(engine, "true")


def test_job_limit_is_shared_by_two_engines(system: SystemFile, engine: EmbeddedClient) -> None:
    path = system("[policy]\njobs_at_a_time = 1\n")
    other = EmbeddedClient(system_file=path)
    try:
        submit(engine, "sleep 1000")
        with pytest.raises(NotAllowed, match="Only 1 active job"):
            submit(other, "sleep 1000")
    finally:
        other.close()


def test_lists_contain_allowed_entries_only(system: SystemFile, own: Path, engine: EmbeddedClient) -> None:
    own.write_text("[profiles.mine]\nbackend = 'local'\n")
    everything = engine.call("instances")
    assert everything["left_out"] == 0
    names = [kind["name"] for kind in everything["instances"]]
    path = system(f"[policy]\ncontact = 'ada'\nprofiles = ['local']\ninstance_types = ['{names[0]}']\n")
    result = engine.call("instances")
    assert [kind["name"] for kind in result["instances"]] == names[:1]
    assert result["left_out"] == len(names) - 1
    with pytest.raises(NotAllowed, match="`mine`"):
        engine.call("instances", profile="mine")
    refused = {profile["name"]: profile["refused"] for profile in engine.call("profiles")["profiles"]}
    assert refused["local"] == ""
    assert "The profile `mine` is not allowed here. Allowed: `local`." in refused["mine"]
    findings = engine.call("doctor")["findings"]
    assert [(f["text"], f["fix"]) for f in findings if f["what"] == "policy"] == [
        (f"{path}: profiles = local; instance_types = {names[0]}", "Ask ada.")
    ]
    assert [f["state"] for f in findings if f["what"] == "profile mine"] == ["warn"]


def test_tensorboards_can_be_forbidden(system: SystemFile, engine: EmbeddedClient) -> None:
    from jupyter_pai.api.api import call
    from jupyter_pai.api.endpoint import Context
    from jupyter_pai.engine.tensorboard.tensorboards import TensorBoards

    job = submit(engine, "true").wait()
    system("[policy]\ntensorboards = false\n")

    import asyncio

    context = Context(engine._context.service, boards=TensorBoards("/"))
    with pytest.raises(NotAllowed, match="TensorBoards are not allowed"):
        asyncio.run(call(context, "start_tensorboard", body={"jobs": [job.id]}))
