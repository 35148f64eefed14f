"""The Train form: two clicks to a running job, and all options before it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .accessibility import faults
from .conftest import Lab, execute, open_notebook

SCRIPT = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01, help="how large a step is")
parser.add_argument("--optimizer", choices=["adam", "sgd"], default="adam")
parser.add_argument("--epochs", type=int, default=3)
options = parser.parse_args()
print("lr", options.lr, options.optimizer, options.epochs)
"""
# The lazily loaded scripts of the extension.
CODE = "**/extensions/jupyter-pai/static/*"
# Count the clicks of the user from now on.
COUNT = "() => { window.clicks = 0; addEventListener('click', e => { window.clicks += e.isTrusted ? 1 : 0; }, true); }"
# Looks like an access key, but is not one.
KEY = "LTAI" + "5tQr8ZbN3mXw7KpL2vYc"


def form(page: Page) -> Locator:
    return page.get_by_role("region", name="Train", exact=True)


def show(page: Page, title: str) -> Locator:
    """Open the form in the side bar and wait until it shows the file `title`."""
    page.locator('.jp-SideBar [data-id="jp-pai-train"]').click()
    expect(form(page).get_by_role("heading", name=title)).to_be_visible()
    return form(page)


def begun(lab: Lab) -> list[dict[str, Any]]:
    """Return all jobs, newest first."""
    return [lab.job(job["id"]) for job in lab.rest("GET", "/pai/api/v1/jobs")["jobs"]]


def fold(shown: Locator, title: str) -> None:
    shown.locator("summary", has_text=title).click()


def walk_to(page: Page, wanted: Locator) -> None:
    """Press Tab until it has the focus."""
    for _ in range(40):
        if wanted.evaluate("node => node === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(wanted).to_be_focused()


def test_two_clicks_to_a_running_job_and_one_to_run_it_again(lab: Lab, page: Page, tmp_path: Path) -> None:
    until = f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.05)"
    wait = f"import os, time\nprint('step 1', flush=True)\n{until}"
    lab.write("work/a.ipynb", wait)
    lab.write("work/b.ipynb", "1")
    open_notebook(page, lab, "work/a.ipynb")
    execute(page, "filebrowser:go-to-path", path="work/b.ipynb")  # The selection of the file browser is irrelevant.
    page.locator(".jp-Notebook .cm-content").first.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("\n# changed")
    page.evaluate(COUNT)
    page.get_by_role("button", name="Train", exact=True).click()
    form(page).get_by_role("button", name="Save and submit").click()
    view = page.get_by_role("group", name="Training job a_")
    expect(view.locator(".jp-pai-Status").first).to_have_text("running")
    expect(view).to_contain_text("step 1")
    assert page.evaluate("window.clicks") == 2
    assert "# changed" in (lab.root / "work/a.ipynb").read_text()
    (job,) = begun(lab)
    assert (job["spec"]["entry_point"], job["backend"]) == ("a.ipynb", "local")
    assert job["notebook"] == str(lab.root / "work/a.ipynb")

    # The job links back to the notebook.
    assert page.evaluate("document.activeElement.closest('.jp-MainAreaWidget') !== null")
    page.keyboard.press("Escape")
    expect(page.locator(".lm-DockPanel-tabBar .lm-mod-current", has_text="a.ipynb")).to_be_visible()
    expect(page.locator(".jp-Notebook")).to_be_visible()

    page.get_by_role("button", name="Train this notebook again with the last settings").click()
    expect(page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="a_")).to_have_count(2)
    assert (len(begun(lab)), page.evaluate("window.clicks")) == (2, 3)
    expect(form(page)).to_contain_text("Using settings from a_")
    (tmp_path / "go").touch()


def retry_failed_loads(page: Page) -> Locator:
    """The panel's script and the form fail to load, and are retried."""
    page.route("**/pai/api/v1/form?*", lambda route: route.fulfill(status=500))
    page.route(CODE, lambda route: route.abort())
    panel = page.locator("#jp-pai-train")
    page.locator('.jp-SideBar [data-id="jp-pai-train"]').click()
    expect(panel.get_by_role("alert")).to_have_text("Failed to load.")
    page.unroute(CODE)
    panel.get_by_role("button", name="Refresh").click()
    shown = form(page)
    expect(shown.get_by_role("heading", name="a.ipynb")).to_be_visible()
    again = shown.get_by_role("button", name="Refresh")
    expect(again).to_be_visible()
    page.unroute("**/pai/api/v1/form?*")
    again.press("Enter")
    expect(entry_point(shown)).to_be_visible()
    expect(shown).to_be_focused()
    return shown


def entry_point(shown: Locator) -> Locator:
    return shown.get_by_label("Run", exact=True)


def undo_changes(shown: Locator) -> None:
    """One button restores the form of the notebook."""
    entry_point(shown).select_option("train.py")
    shown.get_by_role("button", name="Undo all changes").click()
    expect(entry_point(shown)).to_have_value("a.ipynb")


def exclude_files(shown: Locator) -> None:
    """A detected key blocks the submission until its file is excluded."""
    leaks = shown.get_by_role("alert", name="Secrets found")
    expect(leaks).to_contain_text("local.ini:1")
    shown.get_by_role("button", name="1 field needs attention").click()
    expect(leaks).to_be_focused()
    leaks.get_by_role("button", name="Exclude local.ini").click()
    expect(leaks).to_have_count(0)
    sent = shown.get_by_role("region", name="Files to upload")
    expect(sent.get_by_role("status")).to_contain_text("5 files, ")
    fold(sent, "Largest files")
    sent.get_by_role("button", name="Exclude data/", exact=True).click()
    expect(sent.get_by_role("status")).to_contain_text("4 files, ")
    sent.get_by_role("button", name="Exclude old.bin").click()
    expect(sent.get_by_role("status")).to_contain_text("3 files, ")
    sent.get_by_role("button", name="Include /old.bin again").click()
    expect(sent.get_by_role("status")).to_contain_text("4 files, ")
    fold(sent, "Excluded")
    expect(sent.get_by_role("listitem").filter(has_text="a.log")).to_contain_text(".gitignore")


def change_upload_rules(page: Page, shown: Locator) -> None:
    """Include patterns and allowed files are listed and can be removed."""
    leaks = shown.get_by_role("alert", name="Secrets found")
    sent = shown.get_by_role("region", name="Files to upload")
    fold(sent, "More rules")
    sent.get_by_label("Include pattern").fill("*.py")
    page.keyboard.press("Enter")
    expect(sent.get_by_role("status")).to_contain_text("1 file, ")
    sent.get_by_role("button", name="Remove *.py").click()
    expect(sent.get_by_role("status")).to_contain_text("4 files, ")
    sent.get_by_role("button", name="Include /local.ini again").click()
    leaks.get_by_role("button", name="Send anyway: local.ini").click()
    expect(sent.get_by_role("status")).to_contain_text("5 files, ")
    sent.get_by_role("list", name="Allowed files").get_by_role("button", name="Remove local.ini").click()
    leaks.get_by_role("button", name="Exclude local.ini").click()
    expect(sent.get_by_role("status")).to_contain_text("4 files, ")
    sent.get_by_label("Respect .gitignore").uncheck()
    expect(sent.get_by_role("status")).to_contain_text("5 files, ")


def set_hyperparameters(shown: Locator) -> None:
    """Another entry point has other hyperparameters."""
    entry_point(shown).select_option("train.py")
    expect(shown.get_by_label("lr", exact=True)).to_have_attribute("placeholder", "0.01")
    expect(shown.get_by_label("lr", exact=True)).to_have_accessible_description("how large a step is")
    shown.get_by_label("optimizer", exact=True).select_option("sgd")
    epochs = shown.get_by_label("epochs", exact=True)
    epochs.fill("many")
    expect(epochs).to_have_accessible_description("`epochs`: `many` is not a valid int (train.py, line 7).")
    epochs.fill("5")
    expect(epochs).not_to_have_accessible_description("many")
    shown.get_by_label("lr", exact=True).fill("0.01")
    shown.get_by_label("lr", exact=True).blur()
    expect(shown.get_by_label("lr", exact=True)).to_have_value("")


def correct_errors(page: Page, shown: Locator) -> None:
    """An error appears beside its field."""
    fold(shown, "Name, time limit, labels")
    limit = shown.get_by_label("Time limit in seconds")
    limit.fill("soon")
    expect(limit).to_have_attribute("aria-invalid", "true")
    expect(limit).to_have_accessible_description("must be an integer")
    # A section with an error cannot be collapsed, and the button moves to the next error.
    fold(shown, "Name, time limit, labels")
    expect(limit).to_be_visible()
    wrong = shown.get_by_role("button", name="1 field needs attention")
    wrong.click()
    expect(limit).to_be_focused()
    limit.fill("60")
    fold(shown, "Interpreter, packages, variables")
    shown.get_by_role("button", name="Add secret").click()
    page.keyboard.type("a b")
    message = shown.get_by_text("Invalid variable for a secret")
    expect(message).to_be_visible()
    wrong.click()
    expect(message).to_be_focused()
    shown.get_by_role("button", name="Remove a b").click()
    expect(message).to_have_count(0)
    expect(limit).to_have_attribute("aria-invalid", "false")


def export_as_code(page: Page, shown: Locator) -> None:
    """The exported code matches the form."""
    fold(shown, "Export as code")
    code = shown.locator(".jp-pai-Code-text")
    expect(code).to_contain_text("--hp optimizer=sgd")
    shown.get_by_role("button", name="Insert as cell below").click()
    expect(page.locator(".jp-Notebook .jp-CodeCell").nth(1)).to_contain_text("%pai submit")


@pytest.mark.slow("browser")
def test_train_form_submits_entry_point_hyperparameters_and_files(lab: Lab, page: Page) -> None:
    lab.write("work/a.ipynb", "1")
    folder = lab.root / "work"
    (folder / "train.py").write_text(SCRIPT)
    (folder / "data").mkdir()
    (folder / "data/big.bin").write_bytes(b"\0" * 300_000)
    (folder / "old.bin").write_bytes(b"\0" * 200_000)
    (folder / "local.ini").write_text(f"key = {KEY}\n")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "a.log").write_text("x")
    open_notebook(page, lab, "work/a.ipynb")
    shown = retry_failed_loads(page)
    undo_changes(shown)
    exclude_files(shown)
    change_upload_rules(page, shown)
    set_hyperparameters(shown)
    correct_errors(page, shown)
    export_as_code(page, shown)
    shown.get_by_role("button", name="Submit", exact=True).or_(
        shown.get_by_role("button", name="Save and submit")
    ).click()
    expect(page.get_by_role("group", name="Training job").first).to_contain_text("lr 0.01 sgd 5")
    spec = begun(lab)[0]["spec"]
    assert spec["hyperparameters"] == {"optimizer": "sgd", "epochs": "5"}
    assert spec["max_run_time"] == 60
    assert sorted(spec["source"]["exclude"]) == ["/data/", "/local.ini"]
    assert not spec["source"].get("allow_secret")


@pytest.mark.slow("browser")
def test_train_form_works_by_keyboard(lab: Lab, page: Page) -> None:
    lab.write("work/a.ipynb", "print('done')")
    (lab.root / "work/local.ini").write_text(f"key = {KEY}\n")
    open_notebook(page, lab, "work/a.ipynb")
    execute(page, "jupyter-pai:train")
    shown = form(page)
    expect(shown).to_be_focused()
    leaks = shown.get_by_role("alert", name="Secrets found")
    expect(leaks).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".jp-Notebook:focus-within")).to_be_visible()

    execute(page, "jupyter-pai:train")
    add = shown.get_by_role("button", name="Add hyperparameter")
    walk_to(page, add)
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # The row is removed, with the button that had the focus.
    expect(add).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("lr")
    page.keyboard.press("Tab")
    page.keyboard.type("0.1")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.type("lr")
    names = shown.get_by_label("Hyperparameters: name")
    expect(names.last).to_have_accessible_description("Duplicate name.")
    page.keyboard.press("Control+Enter")  # Nothing is sent; the focus moves to the first error.
    expect(names.first).to_be_focused()
    assert begun(lab) == []
    page.keyboard.press("Control+a")
    page.keyboard.type("momentum")
    walk_to(page, leaks.get_by_role("button", name="Exclude local.ini"))
    page.keyboard.press("Enter")
    expect(leaks).to_have_count(0)
    expect(shown.get_by_role("button", name="Include /local.ini again")).to_be_focused()
    page.keyboard.press("Control+Enter")
    view = page.get_by_role("group", name="Training job a_")
    expect(view.locator(".jp-pai-Status").first).to_have_text("succeeded")
    assert begun(lab)[0]["spec"]["hyperparameters"] == {"momentum": "0.1", "lr": ""}
    edit = view.get_by_role("button", name="Edit and rerun")
    edit.press("Enter")
    expect(view.get_by_role("form").get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.press("Escape")  # The first Escape closes the open list.
    expect(view.get_by_role("form", name="Edit and rerun")).to_have_count(0)
    expect(edit).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".jp-Notebook:focus-within")).to_be_visible()


@pytest.mark.slow("browser")
@pytest.mark.parametrize("page", [{"viewport": {"width": 480, "height": 800}}], indirect=True)
def test_train_form_of_a_folder_is_dark_narrow_and_chinese(lab: Lab, page: Page) -> None:
    lab.setting("@jupyterlab/apputils-extension:themes", theme="JupyterLab Dark")
    lab.setting("@jupyterlab/translation-extension:plugin", locale="zh_CN")
    (lab.root / "work").mkdir()
    (lab.root / "work/main.py").write_text(SCRIPT)
    page.goto(f"{lab.url}/lab/tree/work?reset&token={lab.token}")
    page.locator('.jp-SideBar [data-id="jp-pai-train"]').click()
    shown = page.get_by_role("region", name="训练", exact=True)
    expect(shown.get_by_role("heading", name="work")).to_be_visible()
    expect(shown.get_by_label("lr", exact=True)).to_be_visible()
    for folded in shown.locator("summary").all():
        folded.click()
    shown.evaluate("node => { node.style.width = '240px'; }")
    sizes = shown.evaluate("node => [...node.querySelectorAll('*')].filter(one => one.scrollWidth > 240).length")
    assert sizes == 0
    shown.get_by_role("button", name="提交", exact=True).click()
    expect(page.locator(".jp-pai-Job")).to_contain_text("lr 0.01 adam 3")


@pytest.mark.slow("browser")
def test_train_form_works_in_notebook_7(lab: Lab, page: Page) -> None:
    lab.write("work/a.ipynb", "print('done')")
    open_notebook(page, lab, "work/a.ipynb", "notebooks")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(form(page).get_by_role("heading", name="a.ipynb")).to_be_visible()
    with page.expect_popup() as opened:
        form(page).get_by_role("button", name=re.compile("ubmit$")).click()
    expect(opened.value.locator(".jp-pai-Job")).to_contain_text("done")
    assert opened.value.evaluate("window.opener") is None
    # A command replaces the notebook. A browser that blocks a delayed pop-up allows one after another click.
    entry_point(form(page)).select_option(label="Command…")
    form(page).get_by_label("Command", exact=True).fill("echo by a command")
    page.evaluate("() => { window.allowed = window.open; window.open = () => null; }")
    form(page).get_by_role("button", name=re.compile("ubmit$")).click()
    toast = page.locator(".Toastify__toast", has_text="The browser blocked the new page.")
    expect(toast).to_be_visible()
    page.evaluate("() => { window.open = window.allowed; }")
    with page.expect_popup() as opened:
        toast.get_by_role("button", name="Open").click()
    expect(opened.value.locator(".jp-pai-Job-log")).to_have_text("by a command")
    assert begun(lab)[0]["spec"]["command"] == "echo by a command"
    page.goto(f"{lab.url}/tree/work?token={lab.token}")
    page.locator(".lm-TabBar-tab", has_text=re.compile("^Train$")).click()
    expect(form(page).get_by_role("heading", name="work")).to_be_visible()
    assert faults(page, ".jp-pai-Train") == []


@pytest.mark.slow("browser")
def test_path_outside_of_the_folder_is_packed_by_a_button(lab: Lab, page: Page) -> None:
    lab.write("work/explore.ipynb", "print(open('../data/x.csv').read())")
    (lab.root / "data").mkdir()
    (lab.root / "data/x.csv").write_text("rows")
    open_notebook(page, lab, "work/explore.ipynb")
    shown = show(page, "explore.ipynb")
    question = shown.locator(".jp-pai-Train-cost", has_text="The code names `../data/x.csv`")
    expect(question).to_be_visible()
    expect(question).not_to_contain_text("--")
    assert faults(page, "#jp-pai-train") == []
    question.get_by_role("button", name=re.compile("^Folder: ")).click()
    expect(question).to_have_count(0)
    expect(shown).to_contain_text(str(lab.root))
    shown.get_by_role("button", name="Submit", exact=True).click()
    view = page.get_by_role("group", name="Training job explore_")
    expect(view.locator(".jp-pai-Status").first).to_have_text("succeeded")
    assert begun(lab)[0]["spec"]["entry_point"] == "work/explore.ipynb"


@pytest.mark.slow("browser")
def test_errors_of_the_launch_line_and_excluded_data_are_found_before_the_submit(lab: Lab, page: Page) -> None:
    parser = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, required=True)\n"
    flag = "p.add_argument('--amp', action='store_true')\nprint(p.parse_args(), open('data/train.csv').read())"
    for name, text in {"train.py": parser + flag, "data/train.csv": "1,2", ".gitignore": "data/\n"}.items():
        (lab.root / name).parent.mkdir(exist_ok=True)
        (lab.root / name).write_text(text)
    page.goto(f"{lab.url}/lab/tree/train.py?token={lab.token}")
    shown = show(page, "train.py")
    rate = shown.get_by_label("lr", exact=True)
    rate.fill("fast")
    arguments = shown.get_by_label("Arguments", exact=True)
    expect(arguments).to_have_accessible_description(re.compile("Declared: --amp"))
    arguments.fill("--ampp")
    expect(shown).to_contain_text("Did you mean `amp`?")
    shown.get_by_role("button", name="Submit", exact=True).click()
    expect(rate).to_have_attribute("aria-invalid", "true")
    expect(arguments).to_have_attribute("aria-invalid", "true")
    expect(shown.get_by_role("button", name="Submit anyway")).to_be_visible()
    assert begun(lab) == []
    assert faults(page, "#jp-pai-train") == []

    rate.fill("0.5")
    arguments.fill("--amp")
    expect(shown.get_by_role("button", name="Submit anyway")).to_have_count(0)
    expect(shown).to_contain_text("names `data/train.csv` (train.py, line 5)")
    expect(shown).not_to_contain_text("--input")
    shown.get_by_role("button", name=f"Inputs: data=…/{lab.root.name}/data ({lab.root}/data)").click()
    expect(shown).not_to_contain_text("names `data/train.csv`")
    shown.get_by_role("button", name="Submit", exact=True).click()
    view = page.get_by_role("group", name="Training job train_")
    expect(view.locator(".jp-pai-Status").first).to_have_text("succeeded")
    expect(view).to_contain_text("Namespace(lr=0.5, amp=True) 1,2")
    expect(shown.get_by_label("Arguments", exact=True)).to_have_value("--amp")


@pytest.mark.slow("browser")
def test_roles_are_edited_and_submitted(lab: Lab, page: Page) -> None:
    lab.write("roles.ipynb", "import os\nprint('works as', os.environ['JUPYTER_PAI_ROLE'])")
    open_notebook(page, lab, "roles.ipynb")
    shown = show(page, "roles.ipynb")
    shown.locator("summary", has_text=re.compile("^Machine")).click()
    shown.get_by_role("button", name="Add role").click()
    worker = shown.get_by_role("group", name="worker", exact=True)
    expect(worker.get_by_label("Role", exact=True)).to_be_focused()
    expect(shown.get_by_role("group", name="Roles", exact=True)).to_be_visible()
    worker.get_by_label("Instances").fill("2")
    shown.get_by_role("button", name="Add role").click()
    added = shown.get_by_role("group", name="New role")
    added.get_by_label("Role", exact=True).fill("1 bad")
    added = shown.get_by_role("group", name="1 bad")
    added.get_by_label("Command").fill("echo serves as $JUPYTER_PAI_ROLE")
    expect(added.get_by_label("Role", exact=True)).to_have_attribute("aria-invalid", "true")
    added.get_by_label("Role", exact=True).fill("ps")
    assert faults(page, ".jp-pai-Train") == []
    shown.get_by_role("button", name=re.compile("^(Save and s|S)ubmit")).click()
    view = page.get_by_role("group", name="Training job roles_")
    expect(view.locator(".jp-pai-Status").first).to_have_text("succeeded")
    (job,) = begun(lab)
    assert job["spec"]["roles"] == [
        job["spec"]["roles"][0] | {"name": "worker", "count": 2, "command": ""},
        job["spec"]["roles"][1] | {"name": "ps", "count": 1, "command": "echo serves as $JUPYTER_PAI_ROLE"},
    ]
    assert job["instances"] == ["worker-0", "worker-1", "ps-0"]
    shown.get_by_role("button", name="Remove role ps").click()
    expect(shown.get_by_role("button", name="Add role")).to_be_focused()
    expect(shown.get_by_role("button", name="Remove role worker")).to_be_visible()
