"""A backend of another package in the panel: its profile, options, files and jobs, without code for it here."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from jupyter_pai.jobs.state_dir import Home

from ..support import example_plugin
from .accessibility import faults
from .conftest import Lab, execute, open_notebook, run_cells
from .test_job_view import VIEW, status
from .test_train import begun, fold, form

TITLE = "A neighbour"
SCRIPT = """
import os
from pathlib import Path
print("nice", os.nice(0), "with", Path(os.environ["PAI_INPUT_TRAIN"]).read_text())
"""
# Ends when a terminal in it writes `go`.
WAITING = """%%pai_train --profile den --name waiting
import os, time, pathlib
while not os.path.exists('go') or not os.path.getsize('go'): time.sleep(0.02)
print(pathlib.Path('go').read_text())
"""
# A plug-in with the required members only.
PLAIN = """
from jupyter_pai.backends.local.backend import LocalBackend

class Plain(LocalBackend):
    name, title, options_model = "plain", "", None
"""


PASSWORD = "it rains " + "in the den"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Processes started from now on, such as the server, have the example plug-in installed
    and a minimal one."""
    about = tmp_path / "site/plain-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plain\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[jupyter_pai.backends]\nplain = plain:Plain\n")
    (tmp_path / "site/plain.py").write_text(PLAIN)
    monkeypatch.setenv("PYTHONPATH", f"{example_plugin.site()}:{tmp_path / 'site'}")


@pytest.fixture
def shared(installed: None, tmp_path: Path) -> Iterator[Path]:
    """A folder with a running daemon of the example plug-in."""
    with example_plugin.running_daemon(tmp_path / "shared") as folder:
        yield folder


@pytest.fixture
def locked(installed: None, tmp_path: Path) -> Iterator[Path]:
    """The same with a daemon that asks for a login."""
    with example_plugin.running_daemon(tmp_path / "locked", "--user", "ada", NEIGHBOUR_PASSWORD=PASSWORD) as folder:
        yield folder


def expect_platform(page: Page, job: str) -> None:
    """The platforms show the machine, the job and the files of the plug-in."""
    execute(page, "jupyter-pai:show-platforms")
    den = page.locator(".jp-pai-Platforms li[data-profile=den]")
    den.get_by_role("button", name="den", exact=True).click()
    expect(den.get_by_role("region", name="Resources")).to_contain_text(re.compile("cores free"))
    expect(den.locator(f'[data-remote="{job}"]').get_by_role("button", name="Open train_")).to_be_visible()
    expect(den.get_by_role("button", name="data", exact=True)).to_be_visible()
    execute(page, "jupyter-pai:show-jobs")


@pytest.mark.slow("browser")
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
    view.get_by_role("button", name="Add…").click()
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
    expect(row.get_by_role("status")).to_have_text("Jobs can run with this profile.")
    expect(row.locator("[data-state=ok]", has_text="instance types")).to_be_visible()

    # The Explorer shows its files.
    execute(page, "jupyter-pai:show-explorer")
    page.locator(".jp-pai-Explorer-roots").get_by_role("button", name="data").click()
    expect(page.locator('.jp-pai-Explorer-row[data-path="seven.txt"]')).to_be_visible()

    # The form shows its profile and its options, with their validation.
    execute(page, "jupyter-pai:train", path="work/train.py")
    shown = form(page)
    where = shown.get_by_label("Profile", exact=True)
    expect(where.locator("option", has_text=f"den – {TITLE}")).to_have_count(1)
    fold(shown, "This machine options")
    shown.get_by_label("Container engine").select_option("none")
    where.select_option("bare")
    options = shown.get_by_label("Options · JSON", exact=True)
    options.fill('{"container": ')
    expect(options).to_have_accessible_description(re.compile("Must be JSON"))
    options.fill('{"container": "none"}')
    expect(options).to_have_attribute("aria-invalid", "false")
    expect(shown.locator("summary", has_text="plain options")).to_contain_text("container")
    where.select_option("den")  # Options of another backend are not sent to this one.
    expect(shown.locator("summary", has_text=f"{TITLE} options")).to_be_visible()
    expect(shown.get_by_label("Container engine")).to_have_count(0)
    nice = shown.get_by_label("Niceness", exact=True)
    expect(nice).to_have_accessible_description(re.compile("stands back for all else"))
    nice.fill("20")
    expect(nice).to_have_accessible_description(re.compile("Must be at most 19"))
    nice.fill("7")
    expect(nice).to_have_attribute("aria-invalid", "false")
    fold(shown, "Data")
    shown.get_by_role("button", name="Add input").click()
    page.keyboard.type("train")
    shown.get_by_placeholder("path or URI").fill("neighbour://data/seven.txt")
    page.keyboard.press("Escape")

    # The job opens and is in the list.
    shown.get_by_role("button", name=re.compile("ubmit$")).click()
    job = page.get_by_role("group", name="Training job train_")
    expect(job.locator(".jp-pai-Status").first).to_have_text("succeeded")
    expect(job).to_contain_text(f"nice {os.nice(0) + 7} with seven")
    (record,) = begun(lab)
    assert (record["backend"], record["profile"]) == ("neighbour", "den")
    assert record["spec"]["options"] == {"nice": 7}
    execute(page, "jupyter-pai:show-jobs")
    expect(page.locator(".jp-pai-JobRow")).to_contain_text(re.compile("train_.*succeeded"))

    expect_platform(page, record["id"])

    # The platform cannot delete it.
    job.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".jp-Dialog")).to_contain_text("Its platform cannot delete jobs, and keeps it.")
    page.locator(".jp-Dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".jp-pai-JobRow")).to_have_count(0)
    assert (shared / "home/jobs" / record["id"]).exists()


@pytest.mark.slow("browser")
def test_login_exchanges_the_password_and_shows_its_error_at_the_field(locked: Path, lab: Lab, page: Page) -> None:
    lab.rest("PUT", "/pai/api/v1/profiles/den", {"values": {"backend": "neighbour", "folder": str(locked)}})
    lab.write("work/a.ipynb", "1")
    open_notebook(page, lab, "work/a.ipynb")
    execute(page, "jupyter-pai:profiles")
    view = page.locator(".jp-pai-Profiles")
    row = view.locator("li[data-profile=den]")
    row.get_by_role("button", name="Edit profile den").click()
    profile = view.get_by_role("form", name="Profile den")
    user, password = profile.get_by_label("User", exact=True), profile.get_by_label("Password", exact=True)
    user.fill("ada")
    password.fill("it snows")
    profile.get_by_role("button", name="Save").click()
    expect(password).to_have_accessible_description(re.compile("^This is not the user's password."))
    expect(password).to_be_focused()
    expect(user).to_have_attribute("aria-invalid", "false")
    (stored,) = [one for one in lab.rest("GET", "/pai/api/v1/profiles")["profiles"] if one["name"] == "den"]
    assert stored["credentials"]["place"] == ""
    password.fill(PASSWORD)
    profile.get_by_role("button", name="Save").click()
    expect(view.get_by_role("status").first).to_contain_text("Profile den saved. Credentials ad…")
    secrets = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "jupyter_pai_secrets.json"
    assert PASSWORD not in secrets.read_text()
    row.get_by_role("button", name="Test profile den").click()
    expect(row.get_by_role("status")).to_have_text("Jobs can run with this profile.")


@pytest.mark.slow("browser")
def test_option_is_picked_from_a_list_of_the_platform(installed: None, lab: Lab, page: Page, tmp_path: Path) -> None:
    (lab.root / "train.py").write_text("print(1)")
    processors = [str(number) for number in sorted(os.sched_getaffinity(0))]
    keys = {"backend": "neighbour", "folder": str(tmp_path / "shared")}
    lab.rest("PUT", "/pai/api/v1/profiles/den", {"values": keys})
    page.goto(f"{lab.url}/lab?reset&token={lab.token}")
    page.locator(".jp-Launcher").wait_for()
    execute(page, "jupyter-pai:train", path="train.py")
    shown = form(page)
    shown.get_by_label("Profile", exact=True).select_option("den")
    fold(shown, f"{TITLE} options")
    field = shown.get_by_role("combobox", name="Processor")
    refresh = shown.get_by_role("button", name="Refresh the list: Processor")
    result = shown.get_by_role("listbox", name="Suggestions").get_by_role("option")
    expect(refresh).to_have_count(0)  # Nothing is requested before the field is used.

    # Without an answer, the reason is shown, and any value can be typed.
    field.click()
    reason = re.compile("The list is not available: Nobody is working in .* You can type a value.$")
    expect(field).to_have_accessible_description(reason)
    field.fill("7")
    expect(field).to_have_attribute("aria-invalid", "false")
    with example_plugin.running_daemon(tmp_path / "shared"):
        refresh.click()
        expect(field).to_have_accessible_description(re.compile(f"{len(processors)} values?,$"))
        expect(shown.get_by_text("just now", exact=True)).to_be_visible()
        field.fill("")
        expect(result).to_have_count(len(processors))
        expect(result.first).to_contain_text(f"{processors[0]} of ")
        assert faults(page, ".jp-pai-Train") == []
        field.press("ArrowDown")
        expect(result.first).to_have_attribute("aria-selected", "true")
        field.press("Enter")
        expect(field).to_have_value(processors[0])
        expect(result).to_have_count(0)
        field.press("ArrowDown")
        result.last.click()
        expect(field).to_have_value(processors[-1])

    # The last list remains, with its age.
    age_list()
    refresh.click()
    reason = re.compile(rf"The list is not current: Nobody is .* Last list: {len(processors)} values?,$")
    expect(field).to_have_accessible_description(reason)
    expect(shown.get_by_text("3 min ago", exact=True)).to_be_visible()
    field.press("ArrowDown")
    expect(result).to_have_count(len(processors))
    field.press("Escape")
    expect(result).to_have_count(0)
    assert faults(page, ".jp-pai-Train") == []


def age_list() -> None:
    """Make the stored list of the profile three minutes older."""
    (path,) = Home().choices.glob("den.json")
    stored = json.loads(path.read_text())
    stored["lists"]["processors"]["time"] -= 200
    path.write_text(json.dumps(stored))


@pytest.mark.slow("browser")
def test_command_of_a_terminal_is_copied_and_runs_in_jupyterlab(shared: Path, lab: Lab, page: Page) -> None:
    lab.write("a.ipynb", "%load_ext jupyter_pai", WAITING)
    lab.rest("PUT", "/pai/api/v1/profiles/den", {"values": {"backend": "neighbour", "folder": str(shared)}})
    open_notebook(page, lab, "a.ipynb")
    run_cells(page, 2)
    status(page, "running")
    view = page.locator(VIEW)
    opener = view.get_by_role("button", name="Terminal", exact=True)
    expect(opener).to_have_attribute("aria-expanded", "false")
    opener.click()
    part = view.get_by_role("region", name="Terminal in worker-0")
    (job,) = begun(lab)
    command = ("sh", "-c", 'cd "$0" && exec "${SHELL:-sh}"', str(shared / "home/jobs" / job["id"] / "ml/usercode"))
    expect(part.get_by_label("Command line")).to_have_text(shlex.join(command))
    # Nothing runs before the user asks for it.
    expect(page.locator(".jp-Terminal")).to_have_count(0)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    part.get_by_role("button", name="Copy").click()
    expect(part.get_by_role("status")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == shlex.join(command)
    part.get_by_role("button", name="Run in a terminal").click()
    expect(page.locator(".jp-Terminal")).to_be_visible()
    page.locator(".jp-Terminal").click()
    page.keyboard.type("pwd > go\n")
    page.get_by_role("tab", name="a.ipynb").click()
    status(page, "succeeded")
    expect(page.locator(f"{VIEW}-log")).to_contain_text(command[-1])
    expect(opener).to_have_count(0)
    expect(part).to_have_count(0)
