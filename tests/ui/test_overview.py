"""The head of the job view, Overview and Events: what is told of a job, and what can be done with it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from playwright.sync_api import Dialog, Locator, Page, expect

from .conftest import Lab, open_notebook
from .test_view import LONG, STATUS, VIEW, output, status

EVIL = "<img src=x onerror='alert(1)'><script>alert(1)</script>"

POLICY = """
window.reports = [];
addEventListener('securitypolicyviolation', event => window.reports.push(event.violatedDirective));
addEventListener('DOMContentLoaded', () => {
  const meta = document.createElement('meta');
  meta.httpEquiv = 'Content-Security-Policy';
  meta.content = "script-src-attr 'none'; img-src 'self' data: blob:; object-src 'none'; frame-src 'none'";
  document.head.append(meta);
});
"""


def submit(lab: Lab, **spec: Any) -> str:
    reply = lab.rest("POST", "/pai/api/v1/jobs", {"spec": {"name": "digits", "source": {"files": {"a": ""}}} | spec})
    return str(reply["job"]["id"])


def view(page: Page, lab: Lab, job: str) -> Locator:
    """A job in a notebook that somebody else has made: it is not trusted."""
    lab.write("a.ipynb", "1", outputs=[output(job, "")])
    open_notebook(page, lab, "a.ipynb")
    return page.locator(f".jp-OutputArea {VIEW}")


def test_a_job_is_stopped_run_again_with_changes_and_deleted(lab: Lab, page: Page, tmp_path: Path) -> None:
    command = f"echo go; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    job = submit(lab, command=command, hyperparameters={"zeta": "1", "alpha": "two"})
    shown = view(page, lab, job)
    status(page, "running")
    shown.get_by_role("button", name="Stop").click()
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("what it has not written is lost")
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
    form.get_by_role("button", name="Remove alpha").click()
    form.get_by_role("button", name="Add a hyperparameter").click()
    form.get_by_label("Name of the hyperparameter").fill("a b")
    form.get_by_role("button", name="Run").click()
    expect(form.locator(".jp-pai-EditForm-row").last.get_by_role("alert")).to_contain_text("`a b`", timeout=LONG)
    form.get_by_label("Name of the hyperparameter").fill("beta")
    form.get_by_label("Name", exact=True).fill("again")
    form.get_by_role("button", name="Run").click()
    expect(shown).to_contain_text("Started as", timeout=LONG)
    again = lab.rest("GET", "/pai/api/v1/jobs/again")
    assert again["spec"]["hyperparameters"] == {"zeta": "9", "beta": ""}
    assert again["rerun_of"] == job

    # The new job has opened in a tab of its own.
    expect(page.get_by_role("group", name="Training job again")).to_be_visible(timeout=LONG)
    page.locator("#jp-main-dock-panel .lm-TabBar-tab", has_text="a.ipynb").click()
    shown.get_by_role("button", name="Delete").click()
    expect(dialog).to_contain_text("model")
    dialog.get_by_role("button", name="Delete").click()
    expect(shown).to_contain_text("The job was deleted.", timeout=LONG)
    assert [found["id"] for found in lab.rest("GET", "/pai/api/v1/jobs")["jobs"]] == [again["id"]]


def test_labels_pins_and_events_also_of_others(lab: Lab, page: Page) -> None:
    job = submit(lab, command="true", labels={"team": "x"})
    shown = view(page, lab, job)
    status(page, "succeeded")
    labels = shown.get_by_role("list", name="Labels")
    expect(labels).to_contain_text("team=x")
    shown.get_by_label("Name of the new label").fill("best")
    shown.get_by_label("Value of the new label").fill("yes")
    shown.get_by_role("button", name="Add label").click()
    expect(labels).to_contain_text("best=yes", timeout=LONG)
    shown.get_by_role("button", name="Remove the label team").click()
    expect(labels).not_to_contain_text("team", timeout=LONG)
    assert lab.rest("GET", f"/pai/api/v1/jobs/{job}")["labels"] == {"best": "yes"}
    lab.rest("PUT", f"/pai/api/v1/jobs/{job}/pin", {})
    shown.get_by_role("button", name="Unpin").wait_for(timeout=LONG)
    shown.get_by_role("button", name="Delete").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Delete").click()
    expect(shown.get_by_role("alert")).to_contain_text("%pai unpin", timeout=LONG)
    shown.get_by_role("tab", name="Events").click()
    rows = shown.locator("tbody tr td:nth-child(2)")
    expect(rows.first).to_have_text("starting", timeout=LONG)
    expect(rows.last).to_have_text("pinned")
    expect(shown.locator("tbody")).to_contain_text("best=yes")


def test_the_command_line_is_copied(lab: Lab, page: Page, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)")
    source = {"folder": str(tmp_path), "include": ["train.py"]}
    job = submit(lab, source=source, entry_point="train.py", name="it's", hyperparameters={"lr": "0.1"})
    shown = view(page, lab, job)
    status(page, "succeeded")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown.get_by_text("As code").click()
    shown.get_by_role("button", name="Command line").click()
    shown.get_by_role("button", name="Copy").click()
    expect(shown.get_by_text("Copied")).to_be_visible(timeout=LONG)
    words = shlex.split(page.evaluate("navigator.clipboard.readText()"))
    assert words[:4] == ["jupyter", "pai", "submit", str(tmp_path / "train.py")]
    assert words[words.index("--name") + 1] == "it's"


def test_what_a_job_says_is_text(lab: Lab, page: Page) -> None:
    """Under a policy that forbids what HTML in a text could do, whose report stays empty."""
    trouble: list[str] = []

    def refuse(dialog: Dialog) -> None:
        trouble.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    page.add_init_script(POLICY)
    job = submit(
        lab,
        name=EVIL,
        command=f"printf '%s\\n' {shlex.quote('m=1 ' + EVIL)}; exit 3",
        hyperparameters={f"{EVIL.replace(' ', '-').replace('=', ':')}": EVIL},
        labels={EVIL.replace("=", ":"): EVIL},
        environment={"A": EVIL},
        metric_definitions=[{"name": EVIL, "regex": "m=(.)"}],
        inputs={},
    )
    lab.rest("PATCH", f"/pai/api/v1/jobs/{job}/labels", {"new": EVIL})
    shown = view(page, lab, job)
    status(page, "failed")
    expect(shown.locator(f"{VIEW}-log")).to_contain_text("<script>", timeout=LONG)
    expect(shown.locator(f"{VIEW}-name")).to_have_text(EVIL)
    expect(shown.locator(f"{VIEW}-metrics")).to_have_text(f"{EVIL} 1")
    for section in ("Hyperparameters", "Inputs and outputs", "Job", "Provenance", "As code"):
        shown.locator("summary", has_text=section).click()
    expect(shown.locator(".jp-pai-Code-text")).to_contain_text("<script>", timeout=LONG)
    expect(shown.get_by_role("list", name="Labels")).to_contain_text("onerror")
    expect(shown.get_by_text("Digest of the code")).to_be_visible(timeout=LONG)
    shown.get_by_role("button", name="Edit and rerun").click()
    expect(shown.get_by_role("form").locator("label[for]")).to_contain_text("<script>", timeout=LONG)
    shown.get_by_role("tab", name="Events").click()
    expect(shown.locator("tbody")).to_contain_text("onerror", timeout=LONG)
    assert shown.locator("img, script").count() == 0
    assert (trouble, page.evaluate("window.reports")) == ([], [])
    # And the policy is there: what would have been HTML is reported.
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=/static/x onerror=alert(1)>')")
    page.wait_for_function("window.reports.length > 0")
