"""Clusters of OpenPAI in the panels: added by their address, with a login; their resources, storages and jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from ..fakes.openpai import OpenPai, openpai
from ..fakes.openpai_client import Client
from .accessibility import cut_off, faults, unreachable
from .conftest import Lab, execute
from .test_platforms import VIEW, expanded, row, shown

USER, PASSWORD = "admin", "password"
SKUS = {"K80": {"cpu": 4, "memory": 8192, "gpu": 1}, "CPU": {"cpu": 2, "memory": 4096, "gpu": 0}}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[OpenPai]:
    """A cluster with a user, who may use two of its three virtual clusters, and one of its storages."""
    clusters = {"default": 4, "vision": 2, "other": 8}
    folders = {"nfs": str(tmp_path / "nfs"), "theirs": str(tmp_path / "theirs")}
    (tmp_path / "nfs").mkdir()
    (tmp_path / "theirs").mkdir()
    with openpai(tmp_path / "openpai", virtual_clusters=clusters, storages=folders, skus=SKUS) as server:
        server.add_user(USER, PASSWORD, vcs=["default", "vision"], storages=["nfs"])
        yield server


@pytest.fixture
def lab(cluster: OpenPai, lab: Lab) -> Lab:
    """JupyterLab, which waits for the ends of its jobs before the cluster stops."""
    return lab


def opened(page: Page, lab: Lab) -> None:
    page.goto(f"{lab.url}/lab?reset&token={lab.token}")
    page.wait_for_selector(".jp-Launcher")
    expect(page.locator("#jupyterlab-splash")).to_have_count(0)  # It takes the focus at its end.


def add_profile(lab: Lab, server: OpenPai, name: str = "lab", **values: Any) -> None:
    """Add a profile with a login."""
    values = {"backend": "openpai", "endpoint": server.url, "allow_http": True} | values
    lab.rest("PUT", f"/pai/api/v1/profiles/{name}", {"values": values})
    lab.rest("PUT", f"/pai/api/v1/profiles/{name}/credentials", {"username": USER, "password": PASSWORD})


@pytest.mark.slow("browser")
def test_cluster_is_added_by_its_address(lab: Lab, page: Page, cluster: OpenPai) -> None:
    cluster.add_user("me", "secret-of-mine")
    opened(page, lab)
    execute(page, "apputils:activate-command-palette")
    page.locator(".lm-CommandPalette-input").fill("Add Platform")
    page.locator('.lm-CommandPalette-item[data-command="jupyter-pai:add-platform"]').click()
    view = page.locator(".jp-pai-Profiles")
    view.get_by_role("group", name="Select a platform").get_by_role("button", name="OpenPAI", exact=True).click()
    form = view.get_by_role("form", name="New profile: OpenPAI")
    form.get_by_label("Name", exact=True).fill("lab")
    form.get_by_label(re.compile("^Address")).fill(cluster.url)
    form.get_by_label("Name", exact=True).press("Enter")

    # What was found out is shown, and the login follows.
    form = view.get_by_role("form", name="Profile lab")
    notes = form.locator(".jp-pai-ProfileForm-notes")
    expect(notes).to_contain_text("Profile lab saved.")
    expect(notes).to_contain_text("OpenPAI 1.8.1 responds at")
    link = notes.get_by_role("link").first
    assert (link.get_attribute("href") or "").startswith(cluster.url)
    assert (link.get_attribute("target"), link.get_attribute("rel")) == ("_blank", "noopener noreferrer")
    login = form.get_by_role("group", name="Profile credentials")
    expect(login.get_by_label("User", exact=True)).to_be_focused()
    assert faults(page, ".jp-pai-Profiles") == []

    # Nothing is sent over HTTP before the user has agreed. The switch is shown with the error, and the password stays.
    login.get_by_label("User", exact=True).fill("me")
    login.get_by_label("Password", exact=True).fill("pass-of-somebody")
    login.get_by_label("Password", exact=True).press("Enter")
    agree = form.get_by_role("checkbox", name="Allow HTTP")
    expect(agree).to_be_focused()
    expect(agree).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_role("alert")).to_contain_text("responds over http:// only")
    assert cluster.count("rest:login") == 0
    assert faults(page, ".jp-pai-Profiles") == []
    agree.check()
    form.get_by_role("button", name="Save").click()

    # A wrong password is an error of its field.
    password = login.get_by_label("Password", exact=True)
    expect(password).to_be_focused()
    expect(password).to_have_attribute("aria-invalid", "true")
    expect(login.get_by_role("alert")).to_contain_text("The password is wrong.")
    password.fill("secret-of-mine")
    form.get_by_role("button", name="Save").click()
    expect(view.get_by_role("status").first).to_contain_text("Profile lab saved. Credentials")
    expect(view.locator("li[data-profile=lab]")).to_contain_text(cluster.url.removeprefix("http://"))
    assert "secret-of-mine" not in page.content()


@pytest.mark.slow("browser")
def test_command_opens_the_form_of_a_backend(lab: Lab, page: Page) -> None:
    opened(page, lab)
    execute(page, "jupyter-pai:add-platform", backend="openpai")
    form = page.get_by_role("form", name="New profile: OpenPAI")
    expect(form.get_by_label("Name", exact=True)).to_be_focused()
    # A folder for each mounted storage.
    form.locator("summary", has_text="More settings").click()
    mounts = form.get_by_label(re.compile("^Mounted storages"))
    mounts.fill("nfs=relative/folder")
    form.get_by_label(re.compile("^Address")).fill("127.0.0.1")
    form.get_by_role("button", name="Save").click()
    expect(mounts).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_role("alert")).to_contain_text("is not an absolute path")
    # Unsaved changes are kept.
    execute(page, "jupyter-pai:add-platform")
    expect(mounts).to_have_value("nfs=relative/folder")


@pytest.mark.slow("browser")
def test_form_keeps_the_focus_when_the_browser_is_busy(lab: Lab, page: Page) -> None:
    opened(page, lab)
    # JupyterLab says that a view is rendered when the browser is idle. The form may have the focus by then.
    page.evaluate("() => { window.held = []; window.requestIdleCallback = callback => window.held.push(callback); }")
    execute(page, "jupyter-pai:add-platform", backend="openpai")
    name = page.get_by_role("form", name="New profile: OpenPAI").get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    assert page.evaluate("window.held.splice(0).map(callback => callback()).length")
    page.evaluate("() => new Promise(resolve => setTimeout(resolve))")
    expect(name).to_be_focused()


@pytest.mark.slow("browser")
def test_panel_shows_what_the_user_has_of_a_cluster(lab: Lab, page: Page, cluster: OpenPai) -> None:
    add_profile(lab, cluster)
    with Client(cluster) as client:
        assert client.submit("digits", "sleep 1000").status_code == 202
        profile = expanded(shown(page, lab), "lab")
        resources = profile.get_by_role("region", name="Resources")
        expect(resources.locator("[data-quota]")).to_have_count(2)
        expect(resources.locator("[data-quota=vision]")).to_contain_text("2 of 2 GPUs free")
        storages = profile.get_by_role("region", name="Storages on the platform")
        expect(storages.locator("[data-storage]")).to_have_text(re.compile("^nfs"))
        assert not [request for request in cluster.requests if request["path"].endswith("/storages/nfs")]
        # The instance types are fetched when they are shown.
        assert cluster.count("rest:sku_types") == 0
        profile.locator("summary", has_text="Instance types").click()
        types = profile.locator("[data-type]")
        expect(types).to_have_count(2)
        expect(types.last).to_contain_text("K80")
        expect(types.last).to_contain_text("4 cores · 8 GiB · 1 × GPU")
        expect(profile.get_by_role("link", name="Portal", exact=True)).to_have_attribute(
            "href", re.compile(re.escape(cluster.url))
        )
        jobs = profile.get_by_role("region", name="Jobs on the platform")
        expect(jobs.locator("[data-remote]")).to_contain_text("digits")
        assert faults(page, VIEW) == []
        client.stop("digits")


@pytest.mark.slow("browser")
def test_job_of_a_cluster_is_adopted(lab: Lab, page: Page, cluster: OpenPai) -> None:
    add_profile(lab, cluster)
    with Client(cluster) as client:
        client.submit("digits", "echo done")
        client.wait("digits")
    job = row(expanded(shown(page, lab), "lab"), f"{USER}~digits")
    job.get_by_role("button", name="Adopt digits").click()
    job.get_by_role("button", name="Open digits").click()
    view = page.locator(".jp-MainAreaWidget .jp-pai-Job")
    expect(view).to_contain_text("digits")
    # Its end must be stored before the cluster is gone: nothing ends the job later.
    expect(view.locator(".jp-pai-Status").first).to_have_attribute("data-status", "succeeded")


@pytest.mark.slow("browser")
def test_expired_login_is_one_message_that_leads_to_the_login(lab: Lab, page: Page, cluster: OpenPai) -> None:
    add_profile(lab, cluster)
    add_profile(lab, cluster, "second")
    view = shown(page, lab)
    profile = expanded(view, "lab")
    quota = profile.locator("[data-quota=default]")
    quota.wait_for()
    cluster.revoke_tokens(USER)
    profile.get_by_role("button", name="Refresh lab").click()
    trouble = profile.get_by_role("alert")
    expect(trouble).to_have_count(1)
    expect(trouble).to_contain_text("does not accept the token")
    expect(quota).to_be_visible()  # The last values stay.
    # A part that was never loaded says so. Both clusters are shown, each with its own state.
    other = expanded(view, "second")
    expect(other.get_by_role("alert")).to_have_count(1)
    expect(other.get_by_role("region", name="Resources")).to_contain_text("Not loaded.")
    assert faults(page, VIEW) == []
    profile.get_by_role("button", name="Log in to lab").click()
    login = page.get_by_role("form", name="Profile lab").get_by_role("group", name="Profile credentials")
    expect(login.get_by_label("User", exact=True)).to_be_focused()
    login.get_by_label("User", exact=True).fill(USER)
    login.get_by_label("Password", exact=True).fill(PASSWORD)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".jp-pai-Profiles").get_by_role("status").first).to_contain_text("saved")
    execute(page, "jupyter-pai:show-platforms")
    profile.get_by_role("button", name=re.compile("^Try again")).click()
    expect(profile.get_by_role("alert")).to_have_count(0)


@pytest.mark.slow("browser")
def test_part_that_fails_can_be_tried_again(lab: Lab, page: Page, cluster: OpenPai) -> None:
    add_profile(lab, cluster)
    cluster.faults.add("refused", "rest:virtual_clusters", status=403)
    profile = expanded(shown(page, lab), "lab")
    resources = profile.get_by_role("region", name="Resources")
    again = resources.get_by_role("button", name="Try again Resources lab")
    again.wait_for()
    expect(profile.get_by_role("alert")).to_have_count(1)
    cluster.faults.clear()
    again.press("Enter")
    expect(resources.locator("[data-quota]")).to_have_count(2)
    expect(profile.get_by_role("alert")).to_have_count(0)


@pytest.mark.slow("browser")
def test_panels_are_accessible(lab: Lab, page: Page, cluster: OpenPai) -> None:
    """All parts of a cluster are reached by the keyboard, and fit into a narrow panel."""
    add_profile(lab, cluster)
    view = shown(page, lab)
    profile = expanded(view, "lab")
    profile.locator("[data-quota=default]").wait_for()
    profile.locator("summary", has_text="Instance types").click()
    profile.locator("[data-type]").first.wait_for()
    assert unreachable(page, handle(view)) == []
    assert cut_off(handle(view)) == []


def handle(view: Locator) -> Any:
    found = view.element_handle()
    assert found
    return found
