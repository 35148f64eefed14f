"""Sample projects are trained on the first try from the Train panel."""

from __future__ import annotations

import shlex

import pytest
from playwright.sync_api import Page, expect

from ..support.projects import PROJECTS, Project, copy
from .conftest import Lab
from .test_train import begun, fold, show


@pytest.mark.slow("browser")
@pytest.mark.parametrize("project", PROJECTS, ids=[project.name for project in PROJECTS])
def test_project_is_trained_from_the_panel(lab: Lab, page: Page, project: Project) -> None:
    copy(project, lab.root)
    page.goto(f"{lab.url}/lab?token={lab.token}")
    shown = show(page, "Root folder")
    run = shown.get_by_label("Run", exact=True)
    expect(run).to_be_visible()
    if run.input_value() != project.target:
        run.select_option(project.target)
    for name, value in project.fields.get("hyperparameters", {}).items():
        shown.get_by_label(name, exact=True).fill(str(value))
    for name, path in project.fields.get("inputs", {}).items():
        fold(shown, "Data")
        shown.get_by_role("button", name="Add input").click()
        shown.get_by_label("Input name").fill(name)
        shown.get_by_role("combobox", name=f"Location of {name}").fill(path)
    if arguments := project.fields.get("args"):
        shown.get_by_label("Arguments", exact=True).fill(shlex.join(arguments))
    shown.get_by_role("button", name="Submit", exact=True).click()
    view = page.get_by_role("group", name="Training job")
    expect(view.locator(".jp-pai-Status").first).to_have_text("succeeded")
    (job,) = begun(lab)
    view.locator('[data-tab="outputs"]').click()
    for _channel, path in project.results:
        expect(view).to_contain_text(path.rpartition("/")[2])
    assert job["status"] == "succeeded"
