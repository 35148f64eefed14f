"""Profiles in the Train panel: add one with its key, test it, use it, remove it; the key is never shown."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Response, expect

from jupyter_pai.jobs.state_dir import Home

from ..conftest import until
from ..fakes.alibaba import StandIn
from ..integration.pai.conftest import pai, platform  # noqa: F401  fixtures
from ..support.system_file import command
from .conftest import Lab, execute

LONG = 60_000


@pytest.fixture
def bare(pai: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:  # noqa: F811  a fixture
    """The stand-in, without credentials on this machine and without a settings file."""
    from jupyter_pai.config.settings import user_file

    user_file().unlink()
    for name in pai.environment():
        monkeypatch.delenv(name)
    return pai


def files_with(folder: Path, word: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def test_a_profile_is_added_tested_used_and_removed(bare: StandIn, lab: Lab, page: Page, tmp_path: Path) -> None:
    key = bare.key
    bodies: list[str] = []

    def note(response: Response) -> None:
        if "/pai/api/" in response.url:
            bodies.append(response.url + response.text())

    page.on("response", note)
    page.goto(f"{lab.url}/lab?token={lab.token}")
    page.wait_for_selector(".jp-Launcher", timeout=LONG)
    execute(page, "jupyter-pai:profiles")
    view = page.locator(".jp-pai-Profiles")
    expect(view.locator("li", has_text="local").first).to_be_visible(timeout=LONG)

    # By keyboard: the platform, the name and the region.
    view.get_by_role("button", name="Add…").focus()
    page.keyboard.press("Enter")
    expect(view.get_by_role("group", name="Select a platform").get_by_role("button").first).to_be_focused()
    view.get_by_role("button", name="Alibaba Cloud PAI").focus()
    page.keyboard.press("Enter")
    form = view.get_by_role("form")
    expect(form.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("local")
    page.keyboard.press("Control+Enter")
    expect(form.get_by_text("A profile with this name already exists.")).to_be_visible()
    expect(form.get_by_label("Name", exact=True)).to_be_focused()
    form.get_by_label("Name", exact=True).fill("mine")
    for name, value in bare.settings().items():
        if name in ("region_id", "workspace_id", "oss_bucket_name"):
            form.locator(f'input[id$="-{name}"]').fill(value)
    form.locator("summary", has_text="More settings").click()
    form.locator('input[id$="-oss_endpoint"]').fill(bare.oss_endpoint)
    form.locator('input[id$="-endpoint"]:not([id$="oss_endpoint"])').fill("no address")
    form.get_by_label("AccessKey ID").fill(key.id)
    form.get_by_label("AccessKey secret").fill("two words")
    form.get_by_role("button", name="Save").click()

    # Errors appear beside their fields, of the settings first, then of the key.
    wrong = form.locator('[aria-invalid="true"]')
    expect(wrong).to_have_value("no address")
    expect(wrong).to_be_focused()
    wrong.fill(bare.url)
    form.get_by_role("button", name="Save").click()
    expect(form.locator('[aria-invalid="true"]')).to_have_attribute("type", "password")
    form.get_by_label("AccessKey secret").fill(key.secret)
    form.get_by_role("button", name="Save").click()
    hint = f"{key.id[:4]}…{key.id[-4:]}"
    secrets = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "jupyter_pai_secrets.json"
    expect(view.get_by_role("status").first).to_contain_text(
        f"Profile mine saved. Credentials {hint}, stored in {secrets}, readable only by you."
    )
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    row = view.locator("li[data-profile=mine]")
    expect(row).to_contain_text(bare.region)
    expect(row.get_by_role("button").first).to_be_focused()

    # Switching views keeps the typed text, and Escape does not discard it without a confirmation.
    row.get_by_role("button", name="Edit profile mine").click()
    form.get_by_label("AccessKey ID").fill("half")
    execute(page, "jupyter-pai:train")
    expect(form).to_have_count(0)
    execute(page, "jupyter-pai:profiles")
    expect(form.get_by_label("AccessKey ID")).to_have_value("half")
    form.get_by_label("AccessKey ID").press("Escape")
    page.locator(".jp-Dialog").get_by_role("button", name="Cancel").click()
    expect(form.get_by_label("AccessKey ID")).to_have_value("half")
    form.get_by_label("AccessKey ID").press("Escape")
    page.locator(".jp-Dialog").get_by_role("button", name="Discard").click()
    expect(form).to_have_count(0)

    # The profile is tested, and jobs can run with it.
    row.get_by_role("button", name="Test profile mine").click()
    expect(row.get_by_role("status")).to_have_text("Jobs can run with this profile.", timeout=LONG)
    expect(row.locator("[data-state=ok]", has_text="credentials")).to_contain_text(hint)
    assert {request["key"] for request in bare.requests if request["status"] == 200} == {key.id}
    found = lab.rest("GET", "/pai/api/v1/instances?profile=mine")
    assert found["instances"]
    row.get_by_role("button", name="Make default: mine").click()
    expect(row.get_by_text("default", exact=True)).to_be_visible()

    # The form does not show the key when it is opened again.
    row.get_by_role("button", name="Edit profile mine").click()
    expect(form.get_by_label("AccessKey secret")).to_have_value("")
    expect(form.get_by_label("AccessKey ID")).to_have_value("")
    page.keyboard.press("Escape")
    expect(form).to_have_count(0)
    until(lambda: len(bodies) > 5)
    for word in (key.secret, key.id):
        assert word not in "".join(bodies)
        assert word not in page.content()
        assert word not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        assert word not in lab.log.read_text("utf-8", "replace")
        assert files_with(lab.root.parent, word) == [secrets.name]

    row.get_by_role("button", name="Remove profile mine").click()
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text(f"Its credentials {hint} are removed from {secrets}.")
    dialog.get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)
    assert json.loads(secrets.read_text()) == {"keyring": [], "file": {}}
    assert files_with(lab.root.parent, key.secret) == []
    page.keyboard.press("Escape")


@pytest.fixture
def managed(home: Home, tmp_path: Path) -> Iterator[Lab]:
    """JupyterLab where the administrator allows one of two profiles."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a file system")
    system, root = tmp_path / "system", tmp_path / "notebooks"
    for folder in (system, root):
        folder.mkdir()

    class Managed(Lab):
        program = (*command(system)[1:], "-m", "jupyterlab")

    started = Managed(root)
    started.setting("@jupyterlab/apputils-extension:notification", fetchNews="false", checkForUpdates=False)
    yield started
    started.stop()


def test_a_profile_refused_by_the_administrator_is_explained(managed: Lab, page: Page, tmp_path: Path) -> None:
    why = "The profile `own` is not allowed here. Allowed: `team`. Rule `profiles` in "
    settings = tmp_path / "system" / "jupyter_pai.toml"
    profiles = "default = 'team'\n[profiles.team]\nbackend = 'local'\n[profiles.own]\nbackend = 'local'\n"
    settings.write_text(profiles)
    (managed.root / "train.py").write_text("print(1)")
    spec = {"entry_point": "train.py", "source": {"folder": str(managed.root)}, "profile": "own", "name": "mine"}
    managed.rest("POST", "/pai/api/v1/jobs", {"spec": spec})
    settings.write_text(f"{profiles}[policy]\nprofiles = ['team']\ncontact = 'ml-ops@example.com'\n")

    page.goto(f"{managed.url}/lab?reset&token={managed.token}")
    page.wait_for_selector(".jp-Launcher", timeout=LONG)
    execute(page, "jupyter-pai:train", path="train.py")
    form = page.locator(".jp-pai-Train")
    profile = form.get_by_label("Profile", exact=True)
    # The last job used the refused profile: the refusal is shown before the submission.
    expect(profile).to_have_value("own", timeout=LONG)
    expect(profile).to_have_attribute("aria-invalid", "true", timeout=LONG)
    trouble = form.locator(".jp-pai-Trouble").filter(has_text=why)
    expect(trouble).to_contain_text("Contact: ml-ops@example.com.", timeout=LONG)
    profile.select_option("team")
    expect(trouble).to_have_count(0, timeout=LONG)
    expect(profile).not_to_have_attribute("aria-invalid", "true")
    expect(profile.locator("option[value=own]")).to_be_disabled()
    expect(form.get_by_text(f"own: {why}")).to_be_visible()
    execute(page, "jupyter-pai:profiles")
    view = page.locator(".jp-pai-Profiles")
    row = view.locator("li[data-profile=own]")
    expect(row).to_contain_text(why, timeout=LONG)
    expect(row.get_by_role("button", name="Use profile own")).to_have_count(0)
    expect(view.locator("li[data-profile=team]")).not_to_contain_text("not allowed")
