"""Jobs with secrets through the engine: values reach the job, and are in no other place."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.secret_store import SecretStore
from jupyter_pai.core.errors import BadInput, NotFound, SpecError, StateError
from jupyter_pai.core.secret import Secret
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, submit
from ...support.fake_keys import CERTAIN

VALUE = "tok-" + "3n/Zt+9q" * 3
PRINTS = """
    import base64, os, sys
    token = os.environ["HF_TOKEN"]
    print(f"loss=0.5 {token}", flush=True)
    sys.stdout.write(token[:7])
    sys.stdout.flush()
    print(token[7:], base64.b64encode(token.encode()).decode(), dict(os.environ))
    raise ValueError(token)
"""


@pytest.fixture
def kept(engine: EmbeddedClient) -> EmbeddedClient:
    """An engine with a stored secret."""
    engine.call("set_secret", secret="HF_TOKEN", body={"value": VALUE})
    return engine


def holders(folder: Path) -> list[str]:
    """Return the files that contain the value, plain or in base64."""
    forms = [VALUE.encode(), base64.b64encode(VALUE.encode())[:16]]
    return [p.name for p in folder.rglob("*") if p.is_file() and any(form in p.read_bytes() for form in forms)]


def test_secret_is_masked_in_log_metrics_reason_and_files(kept: EmbeddedClient, folder: Path, home: Home) -> None:
    script(folder, PRINTS)
    metric = {"name": "loss", "regex": r"loss=(\S+)"}
    handle = submit(
        kept, folder=folder, entry_point="train.py", secrets={"HF_TOKEN": "HF_TOKEN"}, metric_definitions=[metric]
    ).wait()
    assert handle.status == "failed"
    log = handle.logs()
    assert log.count("[secret HF_TOKEN]") >= 4
    assert "ValueError: [secret HF_TOKEN]" in log
    shown = json.dumps(
        [handle.info, kept.call("events"), kept.call("metrics", job=handle.id), handle._repr_mimebundle_()]
    )
    assert VALUE not in log + shown
    assert holders(home.path) == []
    assert kept.call("metrics", job=handle.id)["metrics"]["loss"]["value"] == [0.5]
    assert json.loads((home.job(handle.id).spec).read_text())["secrets"] == {"HF_TOKEN": "HF_TOKEN"}


def test_secret_may_have_another_name_in_the_job(kept: EmbeddedClient) -> None:
    handle = submit(kept, 'test "$A" = "$B"; echo $? $A', secrets={"A": "HF_TOKEN", "B": "HF_TOKEN"}).wait()
    assert handle.logs() == "0 [secret A]\n"


def test_job_without_secrets_is_not_masked(kept: EmbeddedClient) -> None:
    assert submit(kept, f"echo {VALUE}").wait().logs() == VALUE + "\n"


def test_rerun_reads_the_secret_again(kept: EmbeddedClient) -> None:
    command = 'printf %s "$HF_TOKEN" | wc -c'
    first = submit(kept, command, secrets={"HF_TOKEN": "HF_TOKEN"}).wait()
    kept.call("set_secret", secret="HF_TOKEN", body={"value": "another"})
    assert (first.logs(), first.rerun().wait().logs()) == ("28\n", "7\n")
    kept.call("remove_secret", secret="HF_TOKEN")
    with pytest.raises(BadInput, match="Unknown secret `HF_TOKEN`"):
        first.rerun()


def test_secret_values_are_never_returned(kept: EmbeddedClient) -> None:
    reply = kept.call("secrets")
    assert reply["secrets"] == [{"name": "HF_TOKEN", "place": "file"}]
    assert VALUE not in json.dumps(reply)
    spec = {"name": "x", "command": "true", "source": {"files": {"a": ""}}, "secrets": {"HF_TOKEN": "HF_TOKEN"}}
    assert VALUE not in json.dumps(kept.preview(spec))


def test_unknown_secret_is_rejected_with_a_fix(kept: EmbeddedClient, home: Home) -> None:
    for call in (kept.submit, kept.preview):
        for name, fix in (("WANDB", "%pai secret set WANDB"), ("HF_TOKNE", "`HF_TOKEN`")):
            with pytest.raises(BadInput, match=f"Unknown secret `{name}`") as caught:
                call({"name": "x", "command": "true", "source": {"files": {"a": ""}}, "secrets": {name: name}})
            assert (caught.value.status, fix in caught.value.fix) == (400, True)
    assert list(home.jobs.iterdir()) == []


@pytest.mark.parametrize("value", [keys[0] for keys in CERTAIN.values()] + ["a+b/" + VALUE])
def test_value_given_as_a_name_is_not_quoted(kept: EmbeddedClient, value: str) -> None:
    spec: dict[str, Any] = {"name": "x", "command": "true", "source": {"files": {"a": ""}}}
    for secrets in ({"HF_TOKEN": value}, {value: value}):
        with pytest.raises(BadInput) as caught:
            kept.submit(spec | {"secrets": secrets})
        assert value not in json.dumps(caught.value.as_json())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"secrets": {"a-b": "HF_TOKEN"}}, "Invalid variable for a secret"),
        ({"secrets": {"A": "x y"}}, "secret of `A`"),
        ({"secrets": {"A": "HF_TOKEN"}, "environment": {"A": "1"}}, "`A` is both a secret and"),
    ],
)
def test_invalid_secret_fields_are_rejected(kept: EmbeddedClient, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        submit(kept, "true", **fields)


# The secret store.


@pytest.fixture
def store(tmp_path: Path, home: Home) -> SecretStore:
    return SecretStore(tmp_path / "config" / "secrets.json")


def test_secrets_file_is_private(store: SecretStore) -> None:
    store.keep("B", Secret(VALUE))
    store.keep("A", Secret("second"))
    assert store.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in store.path.parent.iterdir()] == ["secrets.json"]
    assert store.places() == {"A": "file", "B": "file"}
    assert store.open({"X": "B"})["X"].open() == VALUE
    store.forget("B")
    assert store.places() == {"A": "file"}
    with pytest.raises(NotFound, match="`B`"):
        store.forget("B")


def test_secrets_file_readable_by_others_is_rejected(store: SecretStore) -> None:
    store.keep("A", Secret(VALUE))
    store.path.chmod(0o644)
    with pytest.raises(StateError, match="readable by other users") as caught:
        store.open({"A": "A"})
    assert caught.value.fix == f"Restrict its permissions: chmod 600 {store.path}"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"keyring": 1, "file": {}}'])
def test_damaged_secrets_file_is_named(store: SecretStore, text: str) -> None:
    store.path.parent.mkdir()
    store.path.write_text(text)
    with pytest.raises(StateError, match=str(store.path)):
        store.places()


@pytest.mark.parametrize("value", ["", "abc", "   a   ", "a" * 70_000, "nul\0inside", "half \ud800 pair"])
def test_unsuitable_values_are_not_stored(store: SecretStore, value: str) -> None:
    with pytest.raises(BadInput) as caught:
        store.keep("A", Secret(value))
    assert caught.value.fix
    assert not store.path.exists()


@pytest.mark.parametrize("name", ["HF_TOKEN", "a", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", "wandb-api.key", "AWS2"])
def test_valid_secret_names_are_accepted(store: SecretStore, name: str) -> None:
    store.keep(name, Secret(VALUE))
    assert store.places() == {name: "file"}


@pytest.mark.parametrize("name", ["", "a b", "a/b", "../a", "a=b", "密", "x" * 101, *(k[0] for k in CERTAIN.values())])
def test_invalid_secret_names_are_rejected(store: SecretStore, name: str) -> None:
    with pytest.raises(BadInput, match="Invalid name of a secret"):
        store.keep(name, Secret(VALUE))


def test_secret_is_not_shown_or_serialized() -> None:
    secret = Secret(VALUE)
    assert VALUE not in f"{secret} {secret!r} {[secret]} {vars(type(secret))}"
    assert secret.open() == VALUE
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        json.dumps(secret)
