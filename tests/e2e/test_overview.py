"""The header of the job view, the tabs Overview and Events, and the actions of a job."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import Lab, open_notebook
from .test_job_view import STATUS, VIEW, output, status

EVIL = "<img src=x onerror='alert(1)'><script>alert(1)</script>"


def submit(lab: Lab, **spec: Any) -> str:
    reply = lab.rest("POST", "/pai/api/v1/jobs", {"spec": {"name": "digits", "source": {"files": {"a": ""}}} | spec})
    return str(reply["job"]["id"])


def view(page: Page, lab: Lab, job: str, **forged: Any) -> Locator:
    """A job in an untrusted notebook of another user, optionally with a `forged` output."""
    saved = output(job, str(forged))
    saved["data"]["application/vnd.jupyter-pai.job+json"].update(forged)
    lab.write("a.ipynb", "1", outputs=[saved])
    open_notebook(page, lab, "a.ipynb")
    return page.locator(f".jp-OutputArea {VIEW}")


def test_stop_rerun_with_changes_and_delete(lab: Lab, page: Page, tmp_path: Path) -> None:
    command = f"echo go; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    job = submit(lab, command=command, hyperparameters={"zeta": "1", "alpha": "two"})
    evil: dict[str, Any] = {"command": f"touch {tmp_path}/evil", "hyperparameters": {"zeta": "evil"}}
    shown = view(page, lab, job, spec=evil, **evil)
    status(page, "running")
    shown.get_by_role("button", name="Stop").click()
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("unsaved results are lost")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator(STATUS)).to_have_text("running")
    shown.get_by_role("button", name="Stop").click()
    dialog.get_by_role("button", name="Stop").click()
    status(page, "stopped")
    expect(shown.get_by_role("list", name="Timeline").locator(".jp-pai-Status").last).to_have_text("stopped")
    (tmp_path / "go").touch()

    shown.get_by_role("button", name="Edit and rerun").click()
    form = shown.get_by_role("form", name="Edit and rerun")
    expect(form.locator("label[for]")).to_have_text(["zeta", "alpha"])
    form.get_by_label("zeta", exact=True).fill("9")
    form.get_by_role("button", name="Remove alpha").press("Enter")
    expect(form.get_by_role("button", name="Add hyperparameter")).to_be_focused()
    page.keyboard.press("Enter")
    form.get_by_label("Hyperparameter name").fill("a b")
    form.get_by_role("button", name="Run").click()
    expect(form.locator(".jp-pai-EditForm-row").last.get_by_role("alert")).to_contain_text("`a b`")
    form.get_by_label("Hyperparameter name").fill("beta")
    form.get_by_label("Name", exact=True).fill("again")
    page.keyboard.press("Control+Enter")
    expect(shown).to_contain_text("Started as")
    again = lab.rest("GET", "/pai/api/v1/jobs/again")
    assert again["spec"]["hyperparameters"] == {"zeta": "9", "beta": ""}
    assert (again["rerun_of"], again["spec"]["command"]) == (job, command)
    assert not (tmp_path / "evil").exists()

    # The new job opened in its own tab.
    expect(page.get_by_role("group", name="Training job again")).to_be_visible()
    page.locator("#jp-main-dock-panel .lm-TabBar-tab", has_text="a.ipynb").click()
    shown.get_by_role("button", name="Delete").click()
    expect(dialog).to_contain_text("model")
    dialog.get_by_role("button", name="Delete").click()
    expect(shown).to_contain_text("The job was deleted.")
    assert [result["id"] for result in lab.rest("GET", "/pai/api/v1/jobs")["jobs"]] == [again["id"]]


@pytest.mark.slow("browser")
def test_labels_pins_and_events_including_changes_of_others(lab: Lab, page: Page) -> None:
    job = submit(lab, command="true", labels={"team": "x"})
    shown = view(page, lab, job)
    status(page, "succeeded")
    labels = shown.get_by_role("list", name="Labels")
    expect(labels).to_contain_text("team=x")
    shown.get_by_label("New label name").fill("best")
    shown.get_by_label("New label value").fill("yes")
    shown.get_by_role("button", name="Add label").click()
    expect(labels).to_contain_text("best=yes")
    shown.get_by_role("button", name="Remove label team").press("Enter")
    expect(labels).not_to_contain_text("team")
    expect(shown.locator(".jp-pai-Labels :focus")).to_have_count(1)
    assert lab.rest("GET", f"/pai/api/v1/jobs/{job}")["labels"] == {"best": "yes"}
    lab.rest("PUT", f"/pai/api/v1/jobs/{job}/pin", {})
    shown.get_by_role("button", name="Unpin").wait_for()
    shown.get_by_role("button", name="Delete").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Delete").click()
    expect(shown.get_by_role("alert")).to_contain_text("%pai unpin")
    shown.get_by_role("tab", name="Events").click()
    rows = shown.locator("tbody tr td:nth-child(2)")
    expect(rows.first).to_have_text("starting")
    expect(rows.last).to_have_text("pinned")
    expect(shown.locator("tbody")).to_contain_text("best=yes")


@pytest.mark.slow("browser")
def test_command_line_is_copied(lab: Lab, page: Page, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)")
    source = {"folder": str(tmp_path), "include": ["train.py"]}
    job = submit(lab, source=source, entry_point="train.py", name="it's", hyperparameters={"lr": "0.1"})
    shown = view(page, lab, job)
    status(page, "succeeded")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown.get_by_text("Export as code").click()
    shown.get_by_role("button", name="Command line").click()
    shown.get_by_role("button", name="Copy").click()
    expect(shown.get_by_text("Copied", exact=True)).to_be_visible()
    words = shlex.split(page.evaluate("navigator.clipboard.readText()"))
    assert words[:4] == ["jupyter", "pai", "submit", str(tmp_path / "train.py")]
    assert words[words.index("--name") + 1] == "it's"
