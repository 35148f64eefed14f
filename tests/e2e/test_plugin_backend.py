"""A backend of another package in the panel: its profile, options, files and jobs, without code for it here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ..support import example_plugin
from .conftest import Lab, execute, open_notebook
from .test_train import begun, fold, form

LONG = 60_000
TITLE = "A neighbour"
SCRIPT = """
import os
from pathlib import Path
print("nice", os.nice(0), "with", Path(os.environ["PAI_INPUT_TRAIN"]).read_text())
"""
# A plug-in with the required members only.
PLAIN = """
from jupyter_pai.backends.local.backend import LocalBackend

class Plain(LocalBackend):
    name, title, options_model = "plain", "", None
"""


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder for both plug-ins. Processes started from now on, such as the server, have the example plug-in installed
    and a minimal one."""
    about = tmp_path / "site/plain-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plain\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[jupyter_pai.backends]\nplain = plain:Plain\n")
    (tmp_path / "site/plain.py").write_text(PLAIN)
    monkeypatch.setenv("PYTHONPATH", f"{example_plugin.site()}:{tmp_path / 'site'}")
    with example_plugin.running_daemon(tmp_path / "shared") as folder:
        yield folder


def see_platforms(page: Page, job: str) -> None:
    """The platforms show its machine, its files and its jobs."""
    execute(page, "jupyter-pai:show-platforms")
    den = page.locator(".jp-pai-Platforms li[data-profile=den]")
    den.get_by_role("button", name="den", exact=True).click(timeout=LONG)
    expect(den.get_by_role("region", name="Resources")).to_contain_text(re.compile("cores free"), timeout=LONG)
    expect(den.get_by_role("button", name="data", exact=True)).to_be_visible(timeout=LONG)
    opener = den.locator(f'[data-remote="{job}"]').get_by_role("button", name="Open train_")
    expect(opener).to_be_visible(timeout=LONG)
    execute(page, "jupyter-pai:show-jobs")


def test_panel_offers_a_plugin_backend(shared: Path, lab: Lab, page: Page) -> None:
    lab.write("work/a.ipynb", "1")
    (lab.root / "work/train.py").write_text(SCRIPT)
    (shared / "shelves/data").mkdir(parents=True)
    (shared / "shelves/data/seven.txt").write_text("seven")
    lab.rest("PUT", "/pai/api/v1/profiles/bare", {"values": {"backend": "plain"}})
    open_notebook(page, lab, "work/a.ipynb")

    # Add a profile with the fields of the plug-in's settings, and test it.
    execute(page, "jupyter-pai:profiles")
    view = page.locator(".jp-pai-Profiles")
    view.get_by_role("button", name="Add…").click(timeout=LONG)
    view.get_by_role("button", name=TITLE).click()
    profile = view.get_by_role("form", name=f"New profile: {TITLE}")
    profile.get_by_label("Name", exact=True).fill("den")
    folder = profile.get_by_label(re.compile("^Shared folder"))
    folder.fill("here")
    profile.get_by_role("button", name="Save").click()
    expect(folder).to_have_accessible_description(re.compile("`here` is not an absolute path"))
    folder.fill(str(shared))
    profile.get_by_role("button", name="Save").click()
    row = view.locator("li[data-profile=den]")
    expect(row).to_contain_text(f"{TITLE} · {shared}")
    row.get_by_role("button", name="Test profile den").click()
    expect(row.get_by_role("status")).to_have_text("Jobs can run with this profile.", timeout=LONG)
    expect(row.locator("[data-state=ok]", has_text="neighbour")).to_contain_text(f"works in {shared}")

    # The Explorer shows its files.
    execute(page, "jupyter-pai:show-explorer")
    page.locator(".jp-pai-Explorer-roots").get_by_role("button", name="data").click(timeout=LONG)
    expect(page.locator('.jp-pai-Explorer-row[data-path="seven.txt"]')).to_be_visible(timeout=LONG)

    # The form shows its profile and its options, with their validation.
    execute(page, "jupyter-pai:train", path="work/train.py")
    shown = form(page)
    where = shown.get_by_label("Profile", exact=True)
    expect(where.locator("option", has_text=f"den – {TITLE}")).to_have_count(1, timeout=LONG)
    fold(shown, "This machine options")
    shown.get_by_label("Container engine").select_option("none")
    where.select_option("bare")
    options = shown.get_by_label("Options · JSON", exact=True)
    options.fill('{"container": ')
    expect(options).to_have_accessible_description(re.compile("Must be JSON"))
    options.fill('{"container": "none"}')
    expect(options).to_have_attribute("aria-invalid", "false", timeout=LONG)
    expect(shown.locator("summary", has_text="plain options")).to_contain_text("container")
    where.select_option("den")  # Options of another backend are not sent to this one.
    expect(shown.locator("summary", has_text=f"{TITLE} options")).to_be_visible()
    expect(shown.get_by_label("Container engine")).to_have_count(0)
    nice = shown.get_by_label("Niceness", exact=True)
    expect(nice).to_have_accessible_description(re.compile("stands back for all else"))
    nice.fill("20")
    expect(nice).to_have_accessible_description(re.compile("Must be at most 19"), timeout=LONG)
    nice.fill("7")
    expect(nice).to_have_attribute("aria-invalid", "false", timeout=LONG)
    fold(shown, "Data")
    shown.get_by_role("button", name="Add input").click()
    page.keyboard.type("train")
    shown.get_by_placeholder("path or URI").fill("neighbour://data/seven.txt")
    page.keyboard.press("Escape")

    # The job opens and is in the list.
    shown.get_by_role("button", name=re.compile("ubmit$")).click()
    job = page.get_by_role("group", name="Training job train_")
    expect(job.locator(".jp-pai-Status").first).to_have_text("succeeded", timeout=LONG)
    expect(job).to_contain_text(f"nice {os.nice(0) + 7} with seven")
    (record,) = begun(lab)
    assert (record["backend"], record["profile"]) == ("neighbour", "den")
    assert record["spec"]["options"] == {"nice": 7}
    execute(page, "jupyter-pai:show-jobs")
    expect(page.locator(".jp-pai-JobRow")).to_contain_text(re.compile("train_.*succeeded"), timeout=LONG)

    see_platforms(page, record["id"])

    # The platform cannot delete it.
    job.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".jp-Dialog")).to_contain_text("Its platform cannot delete jobs, and keeps it.")
    page.locator(".jp-Dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".jp-pai-JobRow")).to_have_count(0, timeout=LONG)
    assert (shared / "home/jobs" / record["id"]).exists()
