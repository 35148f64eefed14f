"""The form in a notebook: messages with its page, with a real kernel and real jobs; the same from Python."""

from __future__ import annotations

import json
import queue
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.uri_completion import continuations
from jupyter_pai.client.widgets.comm import CommServer
from jupyter_pai.core.errors import BadInput, PaiError, SpecError
from jupyter_pai.jobs.state_dir import Home

from ...support.waiting import PATIENCE
from .test_job_widget import WIDGET, Kernel

SCRIPT = """\
import argparse
import os
p = argparse.ArgumentParser()
p.add_argument('--lr', type=float, default=0.5, help='how fast')
p.add_argument('--epochs', type=int, default=3)
p.add_argument('--kind', choices=['small', 'large'], default='small')
p.add_argument('--fast', type=bool, default=False)
p.add_argument('--label')
args = p.parse_args()
print(f'lr={args.lr} epochs={args.epochs} kind={args.kind}')
"""


@pytest.fixture
def script(folder: Path) -> Path:
    path = folder / "train.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def kernel(home: Home, folder: Path, script: Path) -> Iterator[Kernel]:
    started = Kernel(folder)
    started.run("%load_ext jupyter_pai")
    yield started
    started.stop()


class FormPage:
    """The page of a form: its state, its edits, and its calls."""

    def __init__(self, kernel: Kernel, messages: list[dict[str, Any]]) -> None:
        self.kernel = kernel
        opened = {m["content"]["comm_id"]: m["content"]["data"]["state"] for m in messages if is_opening(m)}
        ((self.comm, self.state),) = ((comm, state) for comm, state in opened.items() if "request" in state)
        self.read = len(kernel.heard)

    @property
    def request(self) -> dict[str, Any]:
        """The last request that the kernel sent."""
        for message in self.kernel.heard[self.read :]:
            content = message["content"]
            if message["msg_type"] == "comm_msg" and content["comm_id"] == self.comm:
                self.state.update(content["data"].get("state", {}))
        self.read = len(self.kernel.heard)
        return dict(self.state["request"])

    def edit(self, **fields: Any) -> None:
        """Send the request with changed fields, as a page does, and wait until the kernel has it."""
        request = self.request
        state = {"request": request | {"spec": request["spec"] | fields}}
        data = {"method": "update", "state": state, "buffer_paths": []}
        session = self.kernel.client.session
        message = session.msg("comm_msg", {"comm_id": self.comm, "data": data})
        self.kernel.client.shell_channel.send(message)
        number = message["header"]["msg_id"]
        self.kernel.listen(
            lambda m: (
                m["msg_type"] == "status"
                and m["content"]["execution_state"] == "idle"
                and m["parent_header"].get("msg_id") == number
            )
        )
        self.state.update(state)

    def call(self, verb: str, **parameters: Any) -> dict[str, Any]:
        """Call a verb, with the request if it takes one, and return the reply."""
        self.kernel.tell(self.comm, type="call", page="p", id=verb, verb=verb, parameters=parameters, body=self.request)
        return self.kernel.sent(self.comm, page="p", id=verb)


def is_opening(message: dict[str, Any]) -> bool:
    return bool(message["msg_type"] == "comm_open")


def value(kernel: Kernel, expression: str) -> Any:
    """Return the value of an expression in the kernel, as JSON."""
    messages = kernel.run(f"import json; print(json.dumps({expression}))")
    return json.loads("".join(m["content"]["text"] for m in messages if m["msg_type"] == "stream"))


def test_form_is_edited_on_a_page_and_from_python(kernel: Kernel, folder: Path, script: Path) -> None:
    notebook = folder / "a.ipynb"
    notebook.write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    messages = kernel.run("f = %pai form train.py\nf")
    bundle = next(m["content"]["data"] for m in messages if m["msg_type"] == "execute_result")
    assert WIDGET in bundle
    assert "form.submit()" in bundle["text/plain"]
    assert "train.py" in bundle["text/html"]
    page = FormPage(kernel, messages)
    assert (page.state["form"]["path"], page.state["form"]["entries"]) == (str(script), ["a.ipynb", "train.py"])

    page.edit(name="mine", hyperparameters={"lr": 0.25, "kind": "large"})
    spec = value(kernel, "f.value")["spec"]
    assert spec["hyperparameters"] == {"lr": 0.25, "kind": "large"}
    assert (spec["name"], spec["entry_point"], spec["source"]) == ("mine", "train.py", {"folder": str(folder)})
    page.edit(instance_type="local")
    assert value(kernel, "f.instance_type") == "local"
    kernel.run("f.hyperparameters['epochs'] = 7; f.hyperparameters['other'] = 'x'; f.labels['team'] = 'a'")
    assert page.request["spec"]["hyperparameters"]["epochs"] == 7
    kernel.run("del f.hyperparameters['other']")

    page.edit(memory="much")
    for verb in ("preview", "submit"):
        refused = page.call(verb)
        assert refused["type"] == "error"
        assert "invalid format" in refused["details"]["faults"]["memory"]
    assert value(kernel, "f.job is None") is True
    kernel.run("f.memory = ''")
    result = page.call("preview")["value"]
    assert result["command"] == "python train.py --lr 0.25 --kind large --epochs 7"
    assert [one["name"] for one in result["hyperparameters"]] == ["lr", "epochs", "kind", "fast", "label"]
    assert page.call("submit")["type"] == "result"
    job = value(kernel, "f.job.id")
    kernel.run("f.job.wait()")
    shown = [m["content"]["data"].get("state", {}).get("outputs") for m in kernel.heard if m["msg_type"] == "comm_msg"]
    assert job in json.dumps(shown)
    assert value(kernel, "f.job.logs()") == "lr=0.25 epochs=7 kind=large\n"
    # The page does not know the kernel's notebook.
    mine = value(kernel, f"f.draft.client.call('list_jobs', notebook={str(notebook)!r})")
    assert [one["id"] for one in mine["jobs"]] == [job]
    # The next one begins where this one ended.
    again = value(kernel, "__import__('jupyter_pai').form('train.py').value")
    assert again["spec"]["hyperparameters"] == {"lr": "0.25", "kind": "large", "epochs": "7"}
    assert again["spec"]["labels"] == {"team": "a"}


@pytest.mark.slow("kernel")
def test_page_may_call_only_verbs_of_a_form(kernel: Kernel, script: Path) -> None:
    page = FormPage(kernel, kernel.run("f = %pai form train.py\nf"))
    for verb in ("backends", "profiles", "secrets", "storages", "instances"):
        assert page.call(verb)["type"] == "result", verb
    assert page.call("choices", name="instance_types")["type"] == "result"
    for verb in ("set_secret", "set_profile", "set_credentials", "remove_data", "prune", "list_jobs", "delete"):
        assert page.call(verb)["status"] == 400, verb


def test_form_works_without_a_page(home: Home, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a console nothing is displayed, and everything works."""
    import jupyter_pai

    monkeypatch.chdir(script.parent)
    form = jupyter_pai.form("train.py", backend="local")
    assert "train.py" in repr(form)
    assert form.value["backend"] == "local"
    form.hyperparameters["lr"] = 0.1
    form.options["container"] = "none"
    form.cpu = 1
    assert form.preview()["command"] == "python train.py --lr 0.1"
    form.inputs["train"] = "/none/at/all"
    with pytest.raises(BadInput) as caught:
        form.submit()
    assert caught.value.details["faults"].keys() == {"inputs.train"}  # type: ignore[attr-defined]  # JSON
    del form.inputs["train"]
    job = form.submit().wait()
    assert (job.status, form.job) == ("succeeded", job)
    with pytest.raises(AttributeError):
        form.nonsense  # noqa: B018
    # As nbconvert and GitHub show it.
    bundle = form._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", "text/html"}
    assert "hyperparameters: {&#x27;lr&#x27;: 0.1}" in bundle["text/html"]


def test_attributes_set_from_python_apply_or_are_rejected(
    home: Home, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import jupyter_pai

    monkeypatch.chdir(script.parent)
    form = jupyter_pai.form("train.py")
    for name, value, reply in (
        ("comand", "x", "Did you mean `command`?"),
        ("backend", "locl", "Did you mean `local`?"),
        ("job", None, "cannot be set"),
        ("submit", None, "cannot be set"),
        ("source", "folder", "a table of names and values"),
        ("value", {"sepc": {}}, "Did you mean `spec`?"),
        ("value", {"spec": {"comand": "x"}}, "Did you mean `command`?"),
        ("value", {"spec": {"inputs": ["a"]}}, "inputs: a table of names and values"),
        ("value", "x", "value: a table of names and values"),
    ):
        before = form.value
        with pytest.raises(SpecError, match=re.escape(reply)):
            setattr(form, name, value)
        assert form.value == before
    with pytest.raises(AttributeError, match="no field `comand`"):
        form.comand  # noqa: B018
    assert {"command", "hyperparameters", "value", "submit"} <= {*dir(form)}

    form.source["exclude"] = ["*.csv"]
    form.source["exclude"] = [*form.source["exclude"], "*.txt"]
    form.options = {"spot": {"strategy": "a"}}
    form.options["spot"]["strategy"] = "b"
    form.requirements = ["numpy"]
    form.labels = form.options["spot"]
    spec = form.value["spec"]
    assert spec["source"] == {"folder": str(script.parent), "exclude": ["*.csv", "*.txt"]}
    assert (spec["options"], spec["labels"]) == ({"spot": {"strategy": "b"}}, {"strategy": "b"})
    # Nothing that is given out can be changed without effect.
    for values in (form.source["exclude"], form.requirements):
        with pytest.raises(AttributeError):
            values.append("x")

    form.profile = "local"
    form.backend = "local"
    assert (form.value["backend"], form.backend) == ("local", "local")
    assert "profile" not in form.value["spec"]
    form.profile = "local"
    assert (form.value["backend"], form.backend) == ("", "")
    notebook = form.value["notebook"]
    form.value = {"spec": {"command": "echo 1", "name": "mine"}}
    assert (form.command, form.name, form.value["notebook"]) == ("echo 1", "mine", notebook)
    assert "profile" not in form.value["spec"]
    assert form._widget.request["spec"]["command"] == "echo 1"
    form.value = form.value | {"backend": "local"}
    assert (form.command, form.backend) == ("echo 1", "local")


def test_typed_uris_are_completed(home: Home, folder: Path) -> None:
    for name in ("data/a b.csv", "data/b.csv", "data/.hidden", "data/below/c.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    client = EmbeddedClient()
    try:
        for text, names in (
            ("data/", ["data/a b.csv", "data/b.csv", "data/below/"]),
            ("da", ["data/"]),
            ("data/b", ["data/b.csv", "data/below/"]),
            ("data/.", ["data/.hidden"]),
            (f"{folder}/data/below/", [f"{folder}/data/below/c.csv"]),
            (f"file://{folder}/data/a", [f"file://{folder}/data/a%20b.csv"]),
            ("dataset://d", []),
            ("x://", []),
        ):
            assert sorted(continuations(client, text, home=str(folder))) == names, text
        # Of a folder with more than is asked for at once, what has been begun is found.
        for number in range(1100):
            (folder / "data" / f"n{number:04}").touch()
        assert continuations(client, "data/n109", home=str(folder)) == [f"data/n109{digit}" for digit in range(10)]
        assert len(continuations(client, "data/n", home=str(folder))) == 200
        with pytest.raises(PaiError):
            continuations(client, "none/", home=str(folder))
    finally:
        client.close()


def test_slow_kernel_sends_heartbeats(home: Home) -> None:
    class Slow(EmbeddedClient):
        def call(self, verb: str, *, body: object = None, **arguments: Any) -> Any:
            assert may_answer.wait(60)
            return super().call(verb, body=body, **arguments)

    may_answer, client, messages = threading.Event(), Slow(), queue.Queue[dict[str, Any]]()
    try:
        CommServer(client, messages.put).receive({"type": "call", "page": "p", "id": 1, "verb": "about"})
        assert messages.get(timeout=PATIENCE) == {"type": "heartbeat", "page": "p"}
        may_answer.set()
        assert messages.get(timeout=PATIENCE)["type"] == "result"
    finally:
        may_answer.set()
        client.close()
