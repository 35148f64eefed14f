"""The platforms in the side panel: free resources, jobs of the account, storages and links, each on its own."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from ..conftest import until
from ..fakes.alibaba import StandIn
from .accessibility import faults
from .conftest import Lab, execute

VIEW = ".jp-pai-Platforms"
AGE = re.compile(r"As of \d.*, \d+ (s|min \d+ s) ago\.")


@pytest.fixture
def lab(pai: StandIn, lab: Lab) -> Lab:
    """JupyterLab with a profile of the stand-in."""
    for job in pai.jobs:
        pai.remove_job(job["id"])
    return lab


def shown(page: Page, lab: Lab) -> Locator:
    """Open JupyterLab with the view."""
    page.goto(f"{lab.url}/lab?reset&token={lab.token}")
    page.wait_for_selector(".jp-Launcher")
    execute(page, "jupyter-pai:show-platforms")
    view = page.locator(VIEW)
    toggle(view, "local").wait_for()
    return view


def toggle(view: Locator, profile: str) -> Locator:
    return view.locator(f"li[data-profile={profile}] .jp-pai-Platforms-toggle")


def expanded(view: Locator, profile: str = "pai") -> Locator:
    """Expand a profile."""
    if toggle(view, profile).get_attribute("aria-expanded") == "false":
        toggle(view, profile).click()
    return view.locator(f"li[data-profile={profile}]")


def row(profile: Locator, remote_id: str) -> Locator:
    return profile.locator(f'[data-remote="{remote_id}"]')


def test_platform_shows_resources_jobs_storages_and_links(lab: Lab, pai: StandIn, page: Page) -> None:
    (digits,) = pai.add_jobs(1, "Succeed", TrainingJobName="digits")
    share = {"ResourceId": "quota1stand", "InstanceCount": 1, "InstanceSpec": {"CPU": "4", "Memory": "8"}}
    (letters,) = pai.add_jobs(1, "Running", TrainingJobName="letters", ComputeResource=share)
    view = shown(page, lab)
    pai.forget_requests()
    # Keys: arrows move between the profiles, Enter expands one.
    expect(toggle(view, "local")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(toggle(view, "pai")).to_be_focused()
    expect(toggle(view, "pai")).to_have_attribute("aria-expanded", "false")
    assert pai.requests == []  # The platform is requested only when its profile is expanded.
    page.keyboard.press("Enter")
    expect(toggle(view, "pai")).to_have_attribute("aria-expanded", "true")
    profile = view.locator("li[data-profile=pai]")
    expect(profile).to_contain_text(f"Alibaba Cloud PAI · {pai.region}")
    resources = profile.get_by_role("region", name="Resources")
    expect(resources.locator("[data-quota=quota1stand]")).to_contain_text("60 of 64 cores free")
    expect(resources.locator("[data-quota=quota1stand]")).to_contain_text("4 of 4 GPUs free (V100)")
    expect(resources.locator("[data-quota=quota1stand]")).to_contain_text(re.compile(r"Jobs of \d+: 1 running"))
    expect(resources.locator("[data-quota=quota2empty]")).to_contain_text("No resources.")
    jobs = profile.get_by_role("region", name="Jobs on the platform")
    expect(jobs.locator("[data-remote]")).to_have_count(2)
    expect(row(profile, digits)).to_contain_text("succeeded")
    link = profile.get_by_role("link", name="PAI console")
    assert (link.get_attribute("target"), link.get_attribute("rel")) == ("_blank", "noopener noreferrer")
    assert (link.get_attribute("href") or "").startswith("https://pai.console.aliyun.com/?regionId=")
    assert pai.count("paistudio", "ListQuotas") == pai.count("paistudio", "ListTrainingJobs") == 1
    assert pai.count("dlc") == 0

    # The filter.
    jobs.get_by_label("Status", exact=True).select_option("running")
    expect(jobs.locator("[data-remote]")).to_have_count(1)
    jobs.get_by_label("Search by name").fill("dig")
    expect(jobs).to_contain_text("None of the 2 loaded jobs matches.")
    jobs.get_by_label("Status", exact=True).select_option("")
    expect(row(profile, digits)).to_be_visible()
    expect(row(profile, letters)).to_have_count(0)
    assert faults(page, VIEW) == []

    # The storage opens in the Explorer, with the account.
    profile.get_by_role("region", name="Storages").get_by_role("button", name=pai.bucket).click()
    explorer = page.locator(".jp-pai-Explorer")
    expect(explorer.locator(".jp-pai-Explorer-crumbs [aria-current]")).to_have_text(pai.bucket)

    # The profile opens in its form.
    execute(page, "jupyter-pai:show-platforms")
    profile.get_by_role("button", name="Edit profile pai").click()
    expect(page.get_by_role("form", name="Profile pai")).to_be_visible()


@pytest.mark.slow("browser")
def test_job_is_adopted(lab: Lab, pai: StandIn, page: Page) -> None:
    (remote_id,) = pai.add_jobs(1, "Succeed", TrainingJobName="digits")
    view = shown(page, lab)
    job = row(expanded(view), remote_id)
    adopt = job.get_by_role("button", name="Adopt digits")
    adopt.wait_for()
    # An error is shown in place, with its fix.
    pai.faults.add("refused", "paistudio:GetTrainingJob", status=403)
    adopt.click()
    expect(job.get_by_role("alert")).to_contain_text("Ask an administrator of the account")
    pai.faults.clear()
    adopt.press("Enter")
    opener = job.get_by_role("button", name="Open digits")
    expect(opener).to_be_focused()
    expect(job.get_by_role("alert")).to_have_count(0)
    (adopted,) = lab.rest("GET", "/pai/api/v1/jobs")["jobs"]
    jobs = view.get_by_role("region", name="Jobs on the platform")
    news = f"digits is in the list of training jobs now, as {adopted['id']}."
    expect(jobs.get_by_role("status")).to_have_text(news)
    opener.click()
    expect(page.locator(".jp-MainAreaWidget .jp-pai-Job")).to_contain_text("digits")
    execute(page, "jupyter-pai:show-jobs")
    expect(page.locator(".jp-pai-JobRow")).to_contain_text("digits")


@pytest.mark.slow("browser")
def test_older_jobs_are_loaded_on_demand(lab: Lab, pai: StandIn, page: Page) -> None:
    for number, remote_id in enumerate(pai.add_jobs(23, "Succeed")):
        pai.age_job(remote_id, 60 * number)
    rows = expanded(shown(page, lab)).locator("[data-remote]")
    expect(rows).to_have_count(20)
    older = page.get_by_role("button", name="Load older jobs")
    older.click()
    expect(rows).to_have_count(23)
    expect(older).to_have_count(0)
    # They stay when the view is refreshed.
    page.get_by_role("button", name="Refresh pai").click()
    expect(page.get_by_role("status").filter(has_text="Refreshed at")).to_be_visible()
    expect(rows).to_have_count(23)


@pytest.mark.slow("browser")
def test_values_are_kept_with_their_age_while_the_platform_fails(lab: Lab, pai: StandIn, page: Page) -> None:
    pai.add_jobs(1, "Running", TrainingJobName="digits")
    view = shown(page, lab)
    profile = expanded(view)
    quota = profile.locator("[data-quota=quota1stand]")
    quota.wait_for()
    profile.locator("[data-remote]").wait_for()
    # One part fails, and the others do not.
    pai.faults.add("refused", "paistudio:ListQuotas", status=403)
    refresh = profile.get_by_role("button", name="Refresh pai")
    refresh.click()
    resources = profile.get_by_role("region", name="Resources")
    expect(resources.get_by_role("alert")).to_contain_text("refused by the test")
    expect(resources).to_contain_text(AGE)
    expect(quota).to_contain_text("64 of 64 cores free")
    expect(profile.get_by_role("alert")).to_have_count(1)
    expect(profile.get_by_text(AGE)).to_have_count(1)
    # The other platform works.
    here = expanded(view, "local")
    expect(here.get_by_role("region", name="Resources")).to_contain_text(re.compile(r"[\d.]+ of [\d.]+ cores free"))
    expect(here).to_contain_text("All of them are in the list of training jobs.")
    expect(here.get_by_role("button", name="Files of JupyterLab")).to_be_visible()
    assert faults(page, VIEW) == []
    pai.faults.clear()
    refresh.click()
    expect(profile.get_by_role("alert")).to_have_count(0)
    expect(profile.get_by_text(AGE)).to_have_count(0)


@pytest.mark.slow("browser")
def test_nothing_is_requested_while_hidden(lab: Lab, pai: StandIn, page: Page) -> None:
    page.clock.install()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if "profile=pai" in request.url else None)
    view = shown(page, lab)
    profile = expanded(view)
    profile.locator("[data-quota=quota1stand]").wait_for()
    expect(profile.get_by_text("The account has no jobs")).to_be_visible()
    pai.forget_requests()
    page.clock.run_for(31_000)

    def is_refreshed() -> bool:
        actions = ("ListQuotas", "ListTrainingJobs", "ListQuotaWorkloads")
        return all(pai.count("paistudio", action) == 1 for action in actions)

    until(is_refreshed)

    def assert_quiet() -> None:
        pai.forget_requests()
        sent.clear()
        page.clock.run_for(120_000)
        page.evaluate("1")  # Events of requests arrive before its reply.
        assert sent == []
        assert pai.requests == []

    toggle(view, "pai").click()
    expect(profile.get_by_role("region", name="Resources")).to_be_hidden()
    assert_quiet()
    toggle(view, "pai").click()
    until(is_refreshed)
    execute(page, "jupyter-pai:show-jobs")
    expect(view).to_be_hidden()
    assert_quiet()
    execute(page, "jupyter-pai:show-platforms")
    until(is_refreshed)
