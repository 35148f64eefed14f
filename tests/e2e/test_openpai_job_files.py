"""A job file of OpenPAI in JupyterLab: opened from its menu, edited into an error, repaired, and submitted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from ..fakes.openpai import OpenPai, openpai
from .accessibility import cut_off, faults
from .conftest import Lab, execute, open_notebook
from .test_launchers import of_context_menu
from .test_openpai_panel import PASSWORD, USER, add_profile
from .test_train import fold, form

TEXT = "Text for the platform"
DOCUMENT = """\
protocolVersion: 2
name: digits
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "python:3.12"}
taskRoles:
  Worker:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 128, gpu: 0}
    commands:
      - echo "worker $PAI_CURRENT_TASK_ROLE_NAME"
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[OpenPai]:
    with openpai(tmp_path / "openpai") as server:
        server.add_user(USER, PASSWORD, vcs=["default"])
        yield server


@pytest.fixture
def lab(cluster: OpenPai, lab: Lab) -> Lab:
    """JupyterLab, which waits for the ends of its jobs before the cluster stops."""
    return lab


def opened(page: Page, lab: Lab, cluster: OpenPai, name: str, text: str) -> Locator:
    """Open a job file from the menu of the file browser, and return its form with the document shown."""
    lab.write("other.ipynb", "1")
    (lab.root / name).write_text(text)
    add_profile(lab, cluster)
    open_notebook(page, lab, "other.ipynb")
    of_context_menu(page, name).click()
    shown = form(page)
    expect(shown.get_by_role("heading", name=name)).to_be_visible()
    expect(shown.get_by_label("Profile", exact=True)).to_have_value("lab")
    fold(shown, TEXT)
    return shown


@pytest.mark.slow("browser")
def test_document_is_edited_into_an_error_and_repaired(lab: Lab, page: Page, cluster: OpenPai) -> None:
    shown = opened(page, lab, cluster, "digits.pai.yaml", DOCUMENT)
    text = shown.get_by_label(TEXT, exact=True)
    expect(text).to_contain_text("name: digits")
    expect(shown).to_contain_text("The document of this job decides")
    # A warning comes with its fix.
    warning = shown.get_by_role("listitem").filter(has_text="The container finds roles by lower-case letters")
    expect(warning).to_contain_text("Line 7: taskRoles.Worker")
    shown.get_by_role("button", name="Apply the fixes").click()
    expect(text).to_contain_text("  worker:")
    expect(warning).to_have_count(0)
    # An edit is checked as it is typed, with the line of each error.
    shown.get_by_role("button", name="Edit the document").click()
    expect(text).to_be_focused()
    written = text.input_value()
    text.fill(written.replace("cpu: 1", "cpu: one").replace("dockerImage: image", "dockerImage: imag"))
    expect(text).to_have_attribute("aria-invalid", "true")
    line = shown.get_by_role("button", name="Line 9", exact=True)
    expect(line).to_be_visible()
    described = page.locator(f"[id='{text.get_attribute('aria-describedby')}']")
    expect(described).to_contain_text("taskRoles.worker.resourcePerInstance.cpu")
    assert faults(page, ".jp-pai-Train") == []
    assert cut_off(shown.element_handle()) == []
    line.click()
    selected = "input => input.value.slice(input.selectionStart, input.selectionEnd)"
    assert "cpu: one" in text.evaluate(selected)
    # It is not submitted so.
    shown.get_by_role("button", name=re.compile("ubmit$")).click()
    expect(shown.locator(".jp-pai-Train-faults")).to_contain_text("needs attention")
    assert cluster.count("rest:submit") == 0
    text.fill(written)
    expect(line).to_have_count(0)
    shown.get_by_role("button", name=re.compile("ubmit$")).click()
    job = page.get_by_role("group", name="Training job digits")
    expect(job.locator(".jp-pai-Status").first).to_have_text("succeeded")
    expect(job).to_contain_text("worker worker")


@pytest.mark.slow("browser")
def test_command_of_the_palette_submits_the_open_job_file(lab: Lab, page: Page, cluster: OpenPai) -> None:
    lab.write("other.ipynb", "1")
    (lab.root / "digits.pai.yaml").write_text(DOCUMENT.replace("Worker", "worker"))
    add_profile(lab, cluster)
    open_notebook(page, lab, "other.ipynb")
    execute(page, "docmanager:open", path="digits.pai.yaml")
    expect(page.get_by_role("tab", name="digits.pai.yaml")).to_have_attribute("aria-selected", "true")
    execute(page, "apputils:activate-command-palette")
    page.locator(".lm-CommandPalette-input").fill("Train…")
    page.locator('.lm-CommandPalette-item[data-command="jupyter-pai:train"]').click()
    shown = form(page)
    expect(shown.get_by_role("heading", name="digits.pai.yaml")).to_be_visible()
    expect(shown.get_by_label("Profile", exact=True)).to_have_value("lab")
    shown.get_by_role("button", name=re.compile("ubmit$")).click()
    job = page.get_by_role("group", name="Training job digits")
    expect(job.locator(".jp-pai-Status").first).to_have_text("succeeded")
    assert cluster.count("rest:submit") == 1


@pytest.mark.slow("browser")
def test_edits_are_dropped_and_the_file_runs_on_this_machine(lab: Lab, page: Page, cluster: OpenPai) -> None:
    lab.rest("PUT", "/pai/api/v1/profiles/local", {"values": {"backend": "local", "container": "none"}})
    shown = opened(page, lab, cluster, "digits.pai.yaml", DOCUMENT)
    text = shown.get_by_label(TEXT, exact=True)
    shown.get_by_role("button", name="Edit the document").click()
    text.fill(DOCUMENT.replace("digits", "other"))
    shown.get_by_role("button", name="Use the document of the file again").click()
    expect(text).to_contain_text("name: digits")
    # With another profile, the file is read again: its roles run here.
    shown.get_by_label("Profile", exact=True).select_option("local")
    expect(text).to_have_count(0)
    shown.get_by_role("button", name=re.compile("ubmit$")).click()
    job = page.get_by_role("group", name="Training job digits")
    expect(job.locator(".jp-pai-Status").first).to_have_text("succeeded")
    expect(job).to_contain_text("worker worker")


@pytest.mark.slow("browser")
def test_generated_document_is_edited_and_generated_again(lab: Lab, page: Page, cluster: OpenPai) -> None:
    lab.write("other.ipynb", "1")
    (lab.root / "train.py").write_text("print('trained')")
    add_profile(lab, cluster, default_image="python:3.12")
    open_notebook(page, lab, "other.ipynb")
    execute(page, "jupyter-pai:train", path="train.py")
    shown = form(page)
    shown.get_by_label("Profile", exact=True).select_option("lab")
    fold(shown, TEXT)
    text = shown.get_by_label(TEXT, exact=True)
    # It follows the form until it is edited.
    expect(text).to_contain_text("name: train")
    expect(shown).not_to_contain_text("The document of this job decides")
    shown.get_by_role("button", name="Edit the document").click()
    expect(shown).to_contain_text("The document of this job decides")
    text.fill(text.input_value().replace("type: job", "type: job\ndescription: edited"))
    shown.get_by_role("button", name="Use the generated document again").click()
    expect(text).not_to_contain_text("edited")
    shown.get_by_role("button", name="Edit the document").click()
    text.fill(text.input_value().replace("type: job", "type: job\ndescription: edited"))
    shown.get_by_role("button", name=re.compile("ubmit$")).click()
    page.get_by_role("dialog").get_by_role("button", name="Submit").click()
    job = page.get_by_role("group", name="Training job train")
    expect(job.locator(".jp-pai-Status").first).to_have_text("succeeded")
    expect(job).to_contain_text("trained")
    (there,) = lab.rest("GET", "/pai/api/v1/jobs")["jobs"]
    assert cluster.job(there["remote_id"]).document["description"] == "edited"
    # The document that was sent is in the view of the job.
    fold(job, "Export as code")
    job.get_by_role("button", name="Document", exact=True).click()
    expect(job.locator("pre[aria-label=Document]")).to_contain_text("description: edited")
