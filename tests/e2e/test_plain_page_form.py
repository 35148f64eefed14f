"""The form in a page without JupyterLab's code, like VS Code and Colab. This process is the kernel."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import comm
import comm.base_comm
import pytest
from playwright.sync_api import ElementHandle, Page, expect

from jupyter_pai.client.base import Client
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.widgets.form_view import Form
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.jobs.state_dir import Home

from ..conftest import submit, until
from ..fakes.alibaba import StandIn
from .accessibility import cut_off, faults, moving, unreachable
from .plain_page import PlainPage

SCRIPT = """\
import argparse
p = argparse.ArgumentParser()
p.add_argument('--lr', type=float, default=0.5, help='how fast')
p.add_argument('--epochs', type=int, default=3)
p.add_argument('--kind', choices=['small', 'large'], default='small')
p.add_argument('--fast', type=bool, default=False)
p.add_argument('--label')
args = p.parse_args()
print(f'lr={args.lr} epochs={args.epochs} kind={args.kind}')
"""
MACHINE = {"cpu": 8.0, "gpu": 1, "gpu_name": "V100", "memory": 32 << 30}


class Comm(comm.base_comm.BaseComm):
    """The kernel's side of a comm with the page of a test."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.send_to_page: Callable[[dict[str, Any]], object] = lambda message: None
        super().__init__(*arguments, **named)

    def publish_msg(self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any) -> None:
        method = (data or {}).get("method")
        if method == "update":
            self.send_to_page({"type": "state", "state": data["state"]})
        elif method == "custom":
            self.send_to_page(data["content"])


class PlainForm:
    """A form and a page with its widget."""

    def __init__(self, page: Page, client: Client, path: Path, profile: str = "") -> None:
        self.page, self.form = page, Form(client, str(path), profile)
        self.widget = self.form._widget
        self.plain_page = PlainPage(page, "form")
        self.plain_page.receive = self.receive
        self.widget.comm.send_to_page = self.plain_page.news.append
        self.root = page.locator(".jp-pai-Page")

    def receive(self, message: dict[str, Any]) -> None:
        """Process a message of the page as a kernel does."""
        is_state = message["type"] == "state"
        data = {"method": "update", "state": message["state"], "buffer_paths": []} if is_state else None
        data = data or {"method": "custom", "content": message}
        self.widget._handle_msg({"content": {"data": data}, "buffers": []})

    def open(self, scheme: str = "light", code: bool = False) -> ElementHandle:
        """Show the widget, and wait until its form is complete."""
        state = self.widget.get_state(["form", "request", "bundle", "snapshot"])
        root = self.plain_page.open(state, scheme, code)
        self.root.get_by_label("lr", exact=True).wait_for()
        expect(self.root.get_by_label("Profile", exact=True)).not_to_have_value("")
        return root

    def close(self) -> None:
        """Leave the page, and wait for the calls in progress."""
        self.page.goto("about:blank")
        self.widget._comm_server._executor.shutdown(wait=True)

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition while the page keeps running."""

        def look() -> bool:
            self.page.wait_for_timeout(20)
            return condition()

        until(look)

    def unfold(self, title: str) -> None:
        self.root.locator("summary").filter(has_text=re.compile(f"^{title}")).click()


@pytest.fixture
def script(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(comm, "create_comm", Comm)
    path = folder / "train.py"
    path.write_text(SCRIPT)
    return path


@pytest.mark.slow("browser")
def test_form_passes_accessibility_checks(page: Page, engine: EmbeddedClient, script: Path) -> None:
    wrong = {}
    with closing(PlainForm(page, engine, script)) as shown:
        root = shown.open()
        shown.form.environment["WHERE"] = "here"

        def unfold() -> None:
            closed = shown.root.locator("details:not([open]) > summary")
            while closed.count():
                closed.first.click()
            page.get_by_role("table", name="Instance types").wait_for()
            shown.root.locator(".jp-pai-Code-text").first.wait_for()

        unfold()
        shown.root.get_by_role("button", name="Add input").click()
        wrong["light"] = faults(page, ".jp-pai-Page")
        wrong["moves"], wrong["cut off"] = moving(root), cut_off(root)
        wrong["keyboard"] = unreachable(page, root)
        for scheme, code in (("light", False), ("dark", False), ("light", True), ("dark", True)):
            name = f"{scheme}, of VS Code" if code else scheme
            root = shown.open(scheme, code)
            unfold()
            shown.form.memory = "much"
            expect(shown.root).to_contain_text("invalid format")
            wrong[f"{name}: form"] = faults(page, ".jp-pai-Page", "color-contrast")
            wrong[f"{name}: variables"] = shown.plain_page.undefined(root)
            shown.form.memory = ""
            expect(shown.root).not_to_contain_text("invalid format")
    assert {kind: result for kind, result in wrong.items() if result} == {}


@pytest.mark.slow("browser")
def test_python_and_the_page_edit_the_same_request(page: Page, engine: EmbeddedClient, script: Path) -> None:
    with closing(PlainForm(page, engine, script)) as shown:
        form, root = shown.form, shown.root
        form.labels["team"] = 1
        shown.open()
        rate, epochs = root.get_by_label("lr", exact=True), root.get_by_label("epochs", exact=True)
        expect(rate).to_have_attribute("placeholder", "0.5")
        expect(rate).to_have_attribute("inputmode", "decimal")
        expect(epochs).to_have_attribute("placeholder", "3")
        expect(epochs).to_have_attribute("inputmode", "numeric")
        expect(root).to_contain_text("how fast")
        kind = root.get_by_label("kind", exact=True)
        assert kind.locator("option").all_inner_texts() == ["small (default)", "large"]
        expect(root.get_by_label("fast", exact=True)).to_have_attribute("type", "checkbox")
        expect(root.get_by_label("Container engine")).to_have_count(0)

        # Edits in the page have the types that the code declares.
        rate.fill("0.25")
        kind.select_option("large")
        root.get_by_label("fast", exact=True).check()
        root.get_by_label("label", exact=True).fill("1.5")
        changed = {"lr": 0.25, "kind": "large", "fast": True, "label": "1.5"}
        shown.wait(lambda: form.value["spec"]["hyperparameters"] == changed)
        assert form.labels == {"team": 1}
        # An incomplete number is kept as typed.
        rate.press("End")
        rate.press_sequentially("e")
        shown.wait(lambda: form.hyperparameters["lr"] == "0.25e")
        rate.press_sequentially("-1")
        shown.wait(lambda: form.hyperparameters["lr"] == 0.025)
        expect(rate).to_have_value("0.25e-1")
        shown.unfold("Machine")
        machines = root.get_by_role("table", name="Instance types")
        machines.get_by_role("radio", name="local", exact=True).check()
        expect(machines.locator('[data-type="local"]')).to_have_text(re.compile(r"local.*\d+.*GiB"))
        shown.wait(lambda: form.instance_type == "local")

        # Edits from Python.
        form.hyperparameters["epochs"] = 7
        expect(epochs).to_have_value("7")
        form.hyperparameters["other"] = "x"
        expect(root.get_by_label("Other hyperparameters: other: value")).to_have_value("x")
        del form.hyperparameters["other"]
        expect(root.get_by_label("Other hyperparameters: other: value")).to_have_count(0)
        form.command = "echo 1"
        expect(root.get_by_label("Command", exact=True)).to_have_value("echo 1")
        form.command = ""
        form.memory = "much"
        expect(root.get_by_label("Memory", exact=True)).to_have_attribute("aria-invalid", "true")
        expect(root).to_contain_text("invalid format")
        form.memory = ""
        expect(root).not_to_contain_text("invalid format")
        assert form.value["spec"]["hyperparameters"]["epochs"] == 7


class Regions(EmbeddedClient):
    """An engine with two profiles of a remote platform, which responds when the test allows it."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = {"one": threading.Event(), "two": threading.Event()}

    def call(self, verb: str, *, body: object = None, **arguments: Any) -> Any:
        event = self.may_answer.get(arguments.get("profile", ""))
        if verb not in ("instances", "images") or not event:
            return super().call(verb, body=body, **arguments)
        assert event.wait(60)
        if verb == "images":
            raise ValueError(f"nobody expects {arguments['profile']}")
        return {verb: [{"name": f"ecs.{arguments['profile']}", **MACHINE}]}


@pytest.mark.slow("browser")
def test_choices_follow_the_selected_profile(home: Home, page: Page, script: Path) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("".join(f"[profiles.{name}]\nbackend = 'pai'\nregion_id = 'x'\n" for name in ("one", "two")))
    with closing(Regions()) as client, closing(PlainForm(page, client, script, "local")) as shown:
        shown.open()
        shown.unfold("Machine")
        machines = shown.root.locator(".jp-pai-Instances")
        expect(machines.locator('[data-type="local"]')).to_be_visible()
        shown.form.profile = "one"
        expect(machines.locator("[data-type]")).to_have_count(0)
        shown.form.profile = "two"
        expect(shown.root.get_by_label("Profile", exact=True)).to_have_value("two")
        client.may_answer["two"].set()
        expect(machines.locator('[data-type="ecs.two"]')).to_contain_text("1 × V100")
        client.may_answer["one"].set()
        page.wait_for_timeout(300)
        expect(machines.locator('[data-type="ecs.one"]')).to_have_count(0)
        # Every error is shown.
        shown.root.get_by_role("button", name="Select image…").click()
        expect(shown.root).to_contain_text("ValueError: nobody expects two")
        shown.form.profile = "one"
        expect(machines.locator('[data-type="ecs.one"]')).to_contain_text("32 GiB")
        shown.form.profile = "local"
        expect(shown.root).not_to_contain_text("nobody expects")


@pytest.mark.slow("browser")
def test_profile_refused_by_the_administrator_is_explained(
    home: Home, page: Page, script: Path, system: Callable[[str], Path]
) -> None:
    profiles = "".join(f"[profiles.{name}]\nbackend = 'local'\n" for name in ("team", "own"))
    path = system(f"default = 'team'\n{profiles}[policy]\nprofiles = ['team']\ncontact = 'ml-ops@example.com'\n")
    with closing(EmbeddedClient(system_file=path)) as client, closing(PlainForm(page, client, script)) as shown:
        shown.open()
        profile = shown.root.get_by_label("Profile", exact=True)
        expect(profile).to_have_value("team")
        fault = shown.root.locator(".jp-pai-Field", has=page.get_by_label("Profile", exact=True)).locator(
            ".jp-pai-Trouble"
        )
        expect(profile.locator("option[value=own]")).to_be_disabled()
        expect(profile).to_have_attribute("aria-invalid", "false")
        shown.form.profile = "own"
        expect(profile).to_have_value("own")
        expect(profile).to_have_attribute("aria-invalid", "true")
        expect(fault).to_contain_text("`own` is not allowed here")
        expect(fault).to_contain_text("ml-ops@example.com")
        shown.form.backend = "local"
        expect(profile).to_have_attribute("aria-invalid", "false")
        expect(profile).to_have_value("team")


def test_submit_from_the_page_gives_its_job_to_python(page: Page, engine: EmbeddedClient, script: Path) -> None:
    with closing(PlainForm(page, engine, script)) as shown:
        shown.open()
        shown.root.get_by_label("lr", exact=True).fill("0.25")
        shown.root.get_by_label("lr", exact=True).press("Control+Enter")
        expect(shown.root.locator(".jp-pai-Notice")).to_contain_text("Submitted: ")
        job = shown.form.job
        assert job is not None
        assert job.wait().logs() == "lr=0.25 epochs=3 kind=small\n"
        # The form keeps the submitted request, in Python types.
        expect(shown.root.get_by_label("lr", exact=True)).to_have_value("0.25")
        assert shown.form.hyperparameters == {"lr": 0.25}


# The widths of a message at which a Chinese full stop behind a button begins a line.
LONE_STOPS = """message => {
  const buttons = [...message.querySelectorAll('button')];
  const stops = buttons.map(button => button.nextSibling ?? button.parentElement.nextSibling);
  stops.forEach(stop => { stop.data = stop.data.replace(/^[.]/, '。'); });
  const isLone = (stop, n) => {
    const range = document.createRange();
    range.setStart(stop, 0);
    range.setEnd(stop, 1);
    return range.getBoundingClientRect().left < buttons[n].getBoundingClientRect().right - 1;
  };
  const widths = [...Array(200).keys()].map(n => 180 + n);
  return widths.filter(width => { message.style.width = `${width}px`; return stops.some(isLone); });
}"""


@pytest.mark.slow("browser")
def test_defaults_and_fixes_take_one_click_each(page: Page, engine: EmbeddedClient, script: Path) -> None:
    inner, data = script.parent / "scripts", script.parent / "data"
    inner.mkdir()
    data.mkdir()
    (data / "x.csv").write_text("1")
    script = script.rename(inner / script.name)
    submit(engine, folder=inner, entry_point=script.name, hyperparameters={"lr": "0.25"})
    script.write_text(f"{SCRIPT}print(open('../data/x.csv').read())\n")
    with closing(PlainForm(page, engine, script)) as shown:
        root, rate = shown.open(), shown.root.get_by_label("lr", exact=True)
        expect(rate).to_have_value("0.25")
        shown.root.get_by_role("button", name="Reset to defaults").click()
        expect(rate).to_have_value("")
        question = shown.root.locator(".jp-pai-Train-cost")
        expect(question).to_contain_text("outside of the packed folder")
        # A long path is cut in the text of its button only.
        text = f"Folder: …/{script.parents[2].name}/code"
        fix = question.get_by_role("button", name=f"{text} ({inner.parent})", exact=True)
        expect(fix).to_have_text(text)
        expect(fix).to_have_attribute("title", f"Change the form: Folder: {inner.parent}")
        expect(fix).to_have_accessible_description("Change the form")
        assert (cut_off(root), faults(page, ".jp-pai-Train-foot")) == ([], [])
        assert question.evaluate(LONE_STOPS) == []
        fix.press("Enter")
        expect(question).to_have_count(0)
        shown.wait(lambda: shown.form.entry_point == f"scripts/{script.name}")
        assert shown.form.source["folder"] == str(inner.parent)


@pytest.mark.slow("browser")
def test_submit_that_costs_money_asks_in_a_dialog_of_the_page(page: Page, pai: StandIn, script: Path) -> None:
    with closing(EmbeddedClient()) as client, closing(PlainForm(page, client, script, "pai")) as shown:
        shown.form.instance_type = "ecs.gn6i-c4g1.xlarge"
        earlier = client.call("list_jobs")["total"]  # The tests of a file have one state folder.
        shown.open()
        expect(shown.root.locator(".jp-pai-Train-cost").first).to_contain_text("until the job ends")
        submit, dialog = shown.root.get_by_role("button", name="Submit", exact=True), page.get_by_role("dialog")
        submit.first.click()
        expect(dialog).to_contain_text("until the job ends")
        assert faults(page, ".jp-pai-Dialog") == []
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
        assert client.call("list_jobs")["total"] == earlier
        submit.first.click()
        dialog.get_by_role("button", name="Submit").click()
        expect(shown.root.locator(".jp-pai-Notice")).to_contain_text("Submitted: ")
        assert shown.form.job is not None
        assert shown.form.job.info["backend"] == "pai"
        assert client.call("list_jobs")["total"] == earlier + 1
