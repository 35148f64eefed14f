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
from ..fakes.alibaba import AccessKey, StandIn
from ..support.system_file import command
from .conftest import Lab, execute


@pytest.fixture
def pai_without_keys(pai: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The stand-in, without credentials on this machine and without a settings file."""
    from jupyter_pai.config.toml_file import user_file

    user_file().unlink()
    for name in pai.environment():
        monkeypatch.delenv(name)
    return pai


def files_with(folder: Path, word: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


class ProfilesView:
    """The list of profiles in the panel, its form, and the profile `mine`."""

    def __init__(self, page: Page, key: AccessKey) -> None:
        self.page = page
        self.view = page.locator(".jp-pai-Profiles")
        self.form = self.view.get_by_role("form")
        self.row = self.view.locator("li[data-profile=mine]")
        self.key = key
        self.hint = f"{key.id[:4]}…{key.id[-4:]}"
        self.secrets = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "jupyter_pai_secrets.json"


def fill_in_by_keyboard(profiles: ProfilesView, pai_without_keys: StandIn) -> None:
    """Select the platform, the name and the region by keyboard, and save."""
    profiles.view.get_by_role("button", name="Add…").focus()
    profiles.page.keyboard.press("Enter")
    expect(profiles.view.get_by_role("group", name="Select a platform").get_by_role("button").first).to_be_focused()
    profiles.view.get_by_role("button", name="Alibaba Cloud PAI", exact=True).focus()
    profiles.page.keyboard.press("Enter")
    expect(profiles.form.get_by_label("Name", exact=True)).to_be_focused()
    profiles.page.keyboard.press("Control+A")
    profiles.page.keyboard.type("local")
    profiles.page.keyboard.press("Control+Enter")
    expect(profiles.form.get_by_text("A profile with this name already exists.")).to_be_visible()
    expect(profiles.form.get_by_label("Name", exact=True)).to_be_focused()
    profiles.form.get_by_label("Name", exact=True).fill("mine")
    for name, value in pai_without_keys.settings().items():
        if name in ("region_id", "workspace_id", "oss_bucket_name"):
            profiles.form.locator(f'input[id$="-{name}"]').fill(value)
    profiles.form.locator("summary", has_text="More settings").click()
    profiles.form.locator('input[id$="-oss_endpoint"]').fill(pai_without_keys.oss_endpoint)
    profiles.form.locator('input[id$="-endpoint"]:not([id$="oss_endpoint"])').fill("no address")
    profiles.form.get_by_label("AccessKey ID").fill(profiles.key.id)
    profiles.form.get_by_label("AccessKey secret").fill("two words")
    profiles.form.get_by_role("button", name="Save").click()


def correct_errors_and_save(profiles: ProfilesView, pai_without_keys: StandIn) -> None:
    """Errors appear beside their fields, of the settings first, then of the key."""
    wrong = profiles.form.locator('[aria-invalid="true"]')
    expect(wrong).to_have_value("no address")
    expect(wrong).to_be_focused()
    wrong.fill(pai_without_keys.url)
    profiles.form.get_by_role("button", name="Save").click()
    expect(profiles.form.locator('[aria-invalid="true"]')).to_have_attribute("type", "password")
    profiles.form.get_by_label("AccessKey secret").fill(profiles.key.secret)
    profiles.form.get_by_role("button", name="Save").click()
    expect(profiles.view.get_by_role("status").first).to_contain_text(
        f"Profile mine saved. Credentials {profiles.hint}, stored in {profiles.secrets}, readable only by you."
    )
    assert stat.S_IMODE(profiles.secrets.stat().st_mode) == 0o600
    expect(profiles.row).to_contain_text(pai_without_keys.region)
    expect(profiles.row.get_by_role("button").first).to_be_focused()


def keep_typed_text(profiles: ProfilesView) -> None:
    """Switching views keeps the typed text, and Escape does not discard it without a confirmation."""
    profiles.row.get_by_role("button", name="Edit profile mine").click()
    profiles.form.get_by_label("AccessKey ID").fill("half")
    execute(profiles.page, "jupyter-pai:train")
    expect(profiles.form).to_have_count(0)
    execute(profiles.page, "jupyter-pai:profiles")
    expect(profiles.form.get_by_label("AccessKey ID")).to_have_value("half")
    profiles.form.get_by_label("AccessKey ID").press("Escape")
    profiles.page.locator(".jp-Dialog").get_by_role("button", name="Cancel").click()
    expect(profiles.form.get_by_label("AccessKey ID")).to_have_value("half")
    profiles.form.get_by_label("AccessKey ID").press("Escape")
    profiles.page.locator(".jp-Dialog").get_by_role("button", name="Discard").click()
    expect(profiles.form).to_have_count(0)


def check_and_use_profile(profiles: ProfilesView, pai_without_keys: StandIn, lab: Lab) -> None:
    """The profile is tested, and jobs can run with it."""
    profiles.row.get_by_role("button", name="Test profile mine").click()
    expect(profiles.row.get_by_role("status")).to_have_text("Jobs can run with this profile.")
    expect(profiles.row.locator("[data-state=ok]", has_text="credentials")).to_contain_text(profiles.hint)
    assert {request["key"] for request in pai_without_keys.requests if request["status"] == 200} == {profiles.key.id}
    result = lab.rest("GET", "/pai/api/v1/instances?profile=mine")
    assert result["instances"]
    profiles.row.get_by_role("button", name="Make default: mine").click()
    expect(profiles.row.get_by_text("default", exact=True)).to_be_visible()


def check_that_the_key_is_hidden(profiles: ProfilesView, lab: Lab, bodies: list[str]) -> None:
    """The form does not show the key when it is opened again, and the key is in no reply, page or file."""
    profiles.row.get_by_role("button", name="Edit profile mine").click()
    expect(profiles.form.get_by_label("AccessKey secret")).to_have_value("")
    expect(profiles.form.get_by_label("AccessKey ID")).to_have_value("")
    profiles.page.keyboard.press("Escape")
    expect(profiles.form).to_have_count(0)
    until(lambda: len(bodies) > 5)
    for word in (profiles.key.secret, profiles.key.id):
        assert word not in "".join(bodies)
        assert word not in profiles.page.content()
        assert word not in profiles.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        assert word not in lab.log.read_text("utf-8", "replace")
        assert files_with(lab.root.parent, word) == [profiles.secrets.name]


def remove_profile(profiles: ProfilesView, lab: Lab) -> None:
    """Removing the profile removes its credentials."""
    profiles.row.get_by_role("button", name="Remove profile mine").click()
    dialog = profiles.page.locator(".jp-Dialog")
    expect(dialog).to_contain_text(f"Its credentials {profiles.hint} are removed from {profiles.secrets}.")
    dialog.get_by_role("button", name="Remove").click()
    expect(profiles.row).to_have_count(0)
    assert json.loads(profiles.secrets.read_text()) == {"keyring": [], "file": {}}
    assert files_with(lab.root.parent, profiles.key.secret) == []
    profiles.page.keyboard.press("Escape")


def test_profile_is_added_tested_used_and_removed(
    pai_without_keys: StandIn, lab: Lab, page: Page, tmp_path: Path
) -> None:
    bodies: list[str] = []

    def note(response: Response) -> None:
        if "/pai/api/" in response.url:
            bodies.append(response.url + response.text())

    page.on("response", note)
    page.goto(f"{lab.url}/lab?token={lab.token}")
    page.wait_for_selector(".jp-Launcher")
    execute(page, "jupyter-pai:profiles")
    profiles = ProfilesView(page, pai_without_keys.key)
    expect(profiles.view.locator("li", has_text="local").first).to_be_visible()
    fill_in_by_keyboard(profiles, pai_without_keys)
    correct_errors_and_save(profiles, pai_without_keys)
    keep_typed_text(profiles)
    check_and_use_profile(profiles, pai_without_keys, lab)
    check_that_the_key_is_hidden(profiles, lab, bodies)
    remove_profile(profiles, lab)


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
    started.prepare()
    yield started
    started.stop()


@pytest.mark.slow("browser")
def test_profile_refused_by_the_administrator_is_explained(managed: Lab, page: Page, tmp_path: Path) -> None:
    why = "The profile `own` is not allowed here. Allowed: `team`. Rule `profiles` in "
    settings = tmp_path / "system" / "jupyter_pai.toml"
    profiles = "default = 'team'\n[profiles.team]\nbackend = 'local'\n[profiles.own]\nbackend = 'local'\n"
    settings.write_text(profiles)
    (managed.root / "train.py").write_text("print(1)")
    spec = {"entry_point": "train.py", "source": {"folder": str(managed.root)}, "profile": "own", "name": "mine"}
    managed.rest("POST", "/pai/api/v1/jobs", {"spec": spec})
    settings.write_text(f"{profiles}[policy]\nprofiles = ['team']\ncontact = 'ml-ops@example.com'\n")

    page.goto(f"{managed.url}/lab?reset&token={managed.token}")
    page.wait_for_selector(".jp-Launcher")
    execute(page, "jupyter-pai:train", path="train.py")
    form = page.locator(".jp-pai-Train")
    profile = form.get_by_label("Profile", exact=True)
    # The last job used the refused profile: the refusal is shown before the submission.
    expect(profile).to_have_value("own")
    expect(profile).to_have_attribute("aria-invalid", "true")
    trouble = form.locator(".jp-pai-Trouble").filter(has_text=why)
    expect(trouble).to_contain_text("Contact: ml-ops@example.com.")
    profile.select_option("team")
    expect(trouble).to_have_count(0)
    expect(profile).not_to_have_attribute("aria-invalid", "true")
    expect(profile.locator("option[value=own]")).to_be_disabled()
    expect(form.get_by_text(f"own: {why}")).to_be_visible()
    execute(page, "jupyter-pai:profiles")
    view = page.locator(".jp-pai-Profiles")
    row = view.locator("li[data-profile=own]")
    expect(row).to_contain_text(why)
    expect(row.get_by_role("button", name="Use profile own")).to_have_count(0)
    expect(view.locator("li[data-profile=team]")).not_to_contain_text("not allowed")
