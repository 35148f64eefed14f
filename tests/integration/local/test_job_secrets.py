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


def test_secret_is_masked_in_executed_notebook_and_html(
    kept: EmbeddedClient, folder: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    cells = [
        "import base64, os, sys\ntoken = os.environ['HF_TOKEN']\nprint(token[:9], end='', flush=True)",
        "print(token); print(base64.b64encode(b'me:' + token.encode()).decode(), token.encode().hex())",
        "from IPython.display import HTML, display\ndisplay(HTML(f'<i>{token}</i>')); {token: [token]}",
        "sys.stdout.write(token[:7]); sys.stdout.flush(); print(token[7:])",
        "raise ValueError(token)",
    ]
    made = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
    (folder / "a.ipynb").write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    handle = submit(kept, folder=folder, entry_point="a.ipynb", secrets={"HF_TOKEN": "HF_TOKEN"}).wait()
    assert "ValueError: [secret HF_TOKEN]" in handle.reason
    for name in ("a.ipynb", "a.html"):
        text = handle.read_file(name, "notebook").decode()
        assert text.count("[secret HF_TOKEN]") >= 8, name
        for form in (VALUE, VALUE.encode().hex(), base64.b64encode(b"me:" + VALUE.encode()).decode()[8:-4]):
            assert form not in text, name
    assert holders(home.path) == []


PARAMETERS = """
    import base64, os
    token = os.environ["HF_TOKEN"]
    folder = os.environ["PAI_WORKING_DIR"] + "/../output/output_parameters/"
    os.mkdir(folder)
    texts = {"plain": token, "basic": base64.b64encode(b"me:" + token.encode()).decode(), "hex": token.encode().hex(),
             "quoted": "tok-" + "3n%2FZt%2B9q" * 3, "other": "0.9"}
    for name, text in texts.items():
        open(folder + name, "w").write(text)
    os.symlink("/etc/passwd", folder + "link")
    os.symlink("other", folder + "inner")
    os.mkfifo(folder + "pipe")
"""


def test_secret_is_masked_in_output_parameters(kept: EmbeddedClient, folder: Path, home: Home) -> None:
    """The files themselves are an output of the job, and unchanged."""
    script(folder, PARAMETERS)
    handle = submit(kept, folder=folder, entry_point="train.py", secrets={"HF_TOKEN": "HF_TOKEN"}).wait()
    assert handle.logs() == ""
    assert handle.output_parameters == {
        "plain": "[secret HF_TOKEN]",
        "basic": "bWU6[secret HF_TOKEN]",
        "hex": "[secret HF_TOKEN]",
        "quoted": "[secret HF_TOKEN]",
        "other": "0.9",
    }
    assert handle.info["notes"] == [
        "3 output parameters were not stored: more than 100 files, more than 64 kB in a file or 128 kB in all, or not "
        "a regular file."
    ]
    assert sorted(holders(home.path)) == ["basic", "plain"]


def test_output_parameters_behind_a_link_are_not_read(engine: EmbeddedClient, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private/key").write_text("private key")
    command = f"ln -s {tmp_path}/private $PAI_WORKING_DIR/../output/output_parameters"
    handle = submit(engine, command).wait()
    assert (handle.status, handle.logs(), handle.output_parameters) == ("succeeded", "", {})


def test_folder_of_output_parameters_may_be_an_output_of_the_user(engine: EmbeddedClient, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "mine").symlink_to("real")
    for text, stored in (("1", {"a": "1"}), ("", {})):
        command = f'[ -z "{text}" ] || printf {text or 0} > $PAI_WORKING_DIR/../output/output_parameters/a'
        outputs = {"output_parameters": str(tmp_path / "mine")}
        handle = submit(engine, command, outputs=outputs, confirmed=True).wait()
        assert (handle.logs(), handle.output_parameters) == ("", stored)


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
        for name, fix in (("WANDB", "jupyter pai secret set WANDB"), ("HF_TOKNE", "`HF_TOKEN`")):
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
