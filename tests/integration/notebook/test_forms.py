"""The form in a notebook: what a page shows of it and sends, with a real kernel and real jobs; the same from Python."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.uri_completion import continuations
from jupyter_pai.core.errors import BadInput, PaiError, SpecError
from jupyter_pai.jobs.state_dir import Home

from .test_widgets import WIDGET, Kernel

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
    """The widgets of a form, as a page has them: by what their labels say."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.models: dict[str, dict[str, Any]] = {}
        self.read = 0

    def look(self) -> None:
        """Take in what was heard since."""
        for message in self.kernel.heard[self.read :]:
            content = message["content"]
            if message["msg_type"] == "comm_open":
                self.models[content["comm_id"]] = dict(content["data"]["state"])
            elif message["msg_type"] == "comm_msg" and content["data"].get("method") == "update":
                self.models.setdefault(content["comm_id"], {}).update(content["data"]["state"])
        self.read = len(self.kernel.heard)

    def find(self, description: str) -> str:
        self.look()
        (found,) = (name for name, state in self.models.items() if state.get("description") == description)
        return found

    def state(self, description: str) -> dict[str, Any]:
        return self.models[self.find(description)]

    def send(self, description: str, method: str, **values: Any) -> None:
        """What a page sends when its user types, or presses a button; and wait for what comes of it."""
        data: dict[str, Any] = {"method": method, **values}
        comm = self.find(description)
        session, channel = self.kernel.client.session, self.kernel.client.shell_channel
        sent = session.msg("comm_msg", {"comm_id": comm, "data": data})
        channel.send(sent)
        number = sent["header"]["msg_id"]
        self.kernel.listen(
            lambda m: (
                m["msg_type"] == "status"
                and m["content"]["execution_state"] == "idle"
                and m["parent_header"].get("msg_id") == number
            )
        )
        self.look()

    def type(self, description: str, value: object) -> None:
        self.send(description, "update", state={"value": value}, buffer_paths=[])

    def press(self, description: str) -> None:
        self.send(description, "custom", content={"event": "click"})

    def texts(self) -> str:
        """All that is said."""
        self.look()
        return "\n".join(str(state.get("value", "")) for state in self.models.values())


def value(kernel: Kernel, expression: str) -> Any:
    """What an expression is in the kernel, as JSON."""
    messages = kernel.run(f"import json; print(json.dumps({expression}))")
    return json.loads("".join(m["content"]["text"] for m in messages if m["msg_type"] == "stream"))


def test_a_form_is_filled_in_on_a_page_and_from_python(kernel: Kernel, folder: Path, script: Path) -> None:
    messages = kernel.run("f = %pai form train.py\nf")
    bundle = next(m["content"]["data"] for m in messages if m["msg_type"] == "execute_result")
    assert WIDGET in bundle
    assert "form.submit()" in bundle["text/plain"]
    page = FormPage(kernel)
    assert (page.state("lr")["value"], page.state("epochs")["value"]) == (0.5, 3)
    assert page.state("lr")["_model_name"] == "FloatTextModel"
    assert page.state("epochs")["_model_name"] == "IntTextModel"
    assert page.state("kind")["_options_labels"] == ["small", "large"]
    assert page.state("fast")["_model_name"] == "CheckboxModel"
    assert "how fast" in page.state("lr")["tooltip"]
    machine = page.state("Instance type")["options"][0]
    assert re.fullmatch(r"local · \d+ CPU( · \d+ × .+)? · [\d.]+ GiB", machine)
    assert page.state("Container engine")["_model_name"] == "DropdownModel"

    page.type("lr", 0.25)
    page.type("Name", "mine")
    page.send("kind", "update", state={"index": 1}, buffer_paths=[])
    spec = value(kernel, "f.value")["spec"]
    assert spec["hyperparameters"] == {"lr": 0.25, "kind": "large"}
    assert (spec["name"], spec["entry_point"], spec["source"]) == ("mine", "train.py", {"folder": str(folder)})
    # What is chosen with all that is known of it is its name.
    page.type("Instance type", machine)
    assert page.state("Instance type")["value"] == value(kernel, "f.instance_type") == "local"
    kernel.run("f.hyperparameters['epochs'] = 7; f.hyperparameters['other'] = 'x'; f.labels['team'] = 'a'")
    assert page.state("epochs")["value"] == 7
    kernel.run("del f.hyperparameters['other']")

    page.type("Memory", "much")
    assert "this has not the form" in page.texts()
    page.press("Submit")
    assert value(kernel, "f.job is None") is True
    kernel.run("f.memory = ''")
    assert "this has not the form" not in page.texts()
    page.press("Dry run")
    assert "Nothing was submitted." in page.texts()
    page.press("Submit")
    job = value(kernel, "f.job.id")
    kernel.run("f.job.wait()")
    outputs = [state["outputs"] for state in page.models.values() if state.get("_model_name") == "OutputModel"]
    assert job in json.dumps(outputs)
    assert value(kernel, "f.job.logs()") == "lr=0.25 epochs=7 kind=large\n"
    # The next one begins where this one ended.
    again = value(kernel, "__import__('jupyter_pai').form('train.py').value")
    assert again["spec"]["hyperparameters"] == {"lr": "0.25", "kind": "large", "epochs": "7"}
    assert again["spec"]["labels"] == {"team": "a"}


def test_without_a_page_it_is_words_and_python(home: Home, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a console: nothing is shown, all can be done."""
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


def test_what_is_set_from_python_has_its_effect_or_is_refused(
    home: Home, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import jupyter_pai

    monkeypatch.chdir(script.parent)
    form = jupyter_pai.form("train.py")
    for name, value, said in (
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
        with pytest.raises(SpecError, match=re.escape(said)):
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
    for given in (form.source["exclude"], form.requirements):
        with pytest.raises(AttributeError):
            given.append("x")

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
    assert form._fields["command"].widget.value == "echo 1"
    form.value = form.value | {"backend": "local"}
    assert (form.command, form.backend) == ("echo 1", "local")


class Regions(EmbeddedClient):
    """An engine with two profiles of one platform far away, which answers when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = {"one": threading.Event(), "two": threading.Event()}

    def call(self, verb: str, *, body: object = None, **arguments: Any) -> Any:
        if verb not in ("instances", "images"):
            return super().call(verb, body=body, **arguments)
        profile = arguments["profile"]
        if not (event := self.may_answer.get(profile)):
            return super().call(verb, body=body, **arguments)
        assert event.wait(60)
        if verb == "images":
            raise ValueError(f"nobody expects {profile}")
        return {verb: [{"name": f"ecs.{profile}", "cpu": 8.0, "gpu": 1, "gpu_name": "V100", "memory": 32 << 30}]}


def test_what_is_offered_is_of_the_profile_that_is_chosen(home: Home, script: Path) -> None:
    from jupyter_pai.client.widgets.widget_form import Form
    from jupyter_pai.config.settings import user_file

    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("".join(f"[profiles.{name}]\nbackend = 'pai'\nregion_id = 'x'\n" for name in ("one", "two")))
    client = Regions()
    machine = "ecs.{} · 8 CPU · 1 × V100 · 32 GiB"

    def looking() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "jupyter-pai form"]

    try:
        form = Form(client, str(script), profile="local")
        kinds, images = form._fields["instance_type"], form._fields["image"]
        assert kinds.widget.options[0].startswith("local · ")
        form.profile = "one"
        assert kinds.widget.options == ()
        (overtaken,) = looking()
        form.profile = "two"
        (other,) = {*looking()} - {overtaken}
        client.may_answer["two"].set()
        other.join(60)
        assert kinds.widget.options == (machine.format("two"),)
        # Whatever goes wrong is said.
        assert images.box.children[-1].value.count("ValueError: nobody expects two") == 1
        client.may_answer["one"].set()
        overtaken.join(60)
        assert kinds.widget.options == (machine.format("two"),)
        form.profile = "one"
        for thread in looking():
            thread.join(60)
        assert kinds.widget.options == (machine.format("one"),)
        form.profile = "local"
        assert "nobody" not in images.box.children[-1].value
    finally:
        client.close()


def test_what_storages_have_is_offered_for_what_is_typed(home: Home, folder: Path) -> None:
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


def test_a_profile_that_the_administrator_refuses_says_so(
    home: Home, script: Path, system: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import jupyter_pai

    monkeypatch.chdir(script.parent)
    profiles = "".join(f"[profiles.{name}]\nbackend = 'local'\n" for name in ("team", "own"))
    system(f"default = 'team'\n{profiles}[policy]\nprofiles = ['team']\ncontact = 'ml-ops@example.com'\n")
    form = jupyter_pai.form("train.py")
    field = form._fields["profile"]
    fault = field.box.children[1]
    assert ("own (not allowed)", "own") in field.widget.options
    assert fault.layout.display == "none"
    form.profile = "own"
    assert field.widget.value == "own"
    assert fault.layout.display == ""
    assert "`own` is not allowed here" in fault.value
    assert "ml-ops@example.com" in fault.value
    form.backend = "local"
    assert fault.layout.display == "none"
    assert "`local`" in field.box.children[2].value
