"""TI-ONE in the panels: a profile with its keys, prices in yuan, the Train form, a job with its outputs in COS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import ElementHandle, Locator, Page, Response, expect

from ..fakes.tione import TiOne, tione as running_tione
from .accessibility import cut_off, faults
from .conftest import Lab, execute
from .test_explorer import panel, row as entry
from .test_platforms import VIEW as PLATFORMS, expanded, shown
from .test_train import begun, fold, form

IMAGE = "torch1.9-py3.8-cuda11.1-gpu"
SMALL, V100, SOLD_OUT = "TI.S.MEDIUM.POST", "TI.GN10.2XLARGE40.POST", "TI.GN8.6XLARGE56.POST"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TiOne]:
    with running_tione(tmp_path_factory.mktemp("tione"), calls_a_window=1000) as started:
        yield started


@pytest.fixture
def profile(lab: Lab, server: TiOne) -> None:
    """The profile `tione`, with a key of its own."""
    values = {"backend": "tione", **server.profile(), "default_image": IMAGE, "default_instance_type": SMALL}
    key = {"secret_id": server.key.id, "secret_key": server.key.secret}
    lab.rest("PUT", "/pai/api/v1/profiles/tione", {"values": values})
    lab.rest("PUT", "/pai/api/v1/profiles/tione/credentials", key)


def opened(page: Page, lab: Lab) -> None:
    page.goto(f"{lab.url}/lab?reset&token={lab.token}")
    page.wait_for_selector(".jp-Launcher")
    expect(page.locator("#jupyterlab-splash")).to_have_count(0)  # It takes the focus at its end.


def handle(view: Locator) -> ElementHandle:
    found = view.element_handle()
    assert found
    return found


def replies(page: Page) -> list[str]:
    """Return the list that gets all replies of the engine from now on."""
    bodies: list[str] = []

    def note(response: Response) -> None:
        if "/pai/api/" in response.url:
            bodies.append(response.url + response.text())

    page.on("response", note)
    return bodies


@pytest.mark.slow("browser")
def test_profile_is_added_with_its_keys(lab: Lab, page: Page, server: TiOne) -> None:
    server.objects.write("data/train.csv", b"1,2")
    bodies = replies(page)
    opened(page, lab)
    execute(page, "jupyter-pai:add-platform")
    view = page.locator(".jp-pai-Profiles")
    choices = view.get_by_role("group", name="Select a platform")
    choices.get_by_role("button", name="Tencent Cloud TI-ONE", exact=True).click()
    new = view.get_by_role("form", name="New profile: Tencent Cloud TI-ONE")
    new.get_by_label("Name", exact=True).fill("team")
    new.get_by_label("Region", exact=True).fill(server.region)
    new.get_by_label("COS bucket", exact=True).fill("demo")
    new.get_by_label("SecretId").fill(server.key.id)
    new.get_by_label("SecretKey").fill(server.key.secret)
    fold(new, "More settings")
    new.get_by_label("Endpoint", exact=True).fill(server.url)
    new.get_by_label("COS endpoint", exact=True).fill(server.url)
    new.get_by_role("button", name="Save").click()
    bucket = new.get_by_label("COS bucket", exact=True)
    expect(bucket).to_be_focused()
    expect(bucket).to_have_accessible_description(re.compile("expected the name with the APPID"))
    assert faults(page, ".jp-pai-Profiles") == []
    bucket.fill(server.bucket)
    new.get_by_role("button", name="Save").click()
    expect(view.get_by_role("status").first).to_contain_text("Profile team saved. Credentials AKID")
    row = view.locator("li[data-profile=team]")
    expect(row).to_contain_text(server.region)
    row.get_by_role("button", name="Test profile team").click()
    expect(row.get_by_role("status")).to_have_text("Jobs can run with this profile.")
    assert faults(page, ".jp-pai-Profiles") == []
    row.get_by_role("button", name="Edit profile team").click()
    edit = view.get_by_role("form", name="Profile team")
    group = edit.get_by_label("Resource group", exact=True)
    fold(edit, "More settings")
    group.click()
    expect(edit.get_by_role("listbox").get_by_role("option")).to_have_count(2)
    page.keyboard.press("Escape")

    execute(page, "jupyter-pai:show-platforms")
    team = expanded(page.locator(PLATFORMS), "team")
    pool = team.get_by_role("region", name="Resources").locator("[data-quota=trsg-standin1]")
    expect(pool).to_contain_text("4 of 4 GPUs free (V100)")
    fold(team, "Instance types")
    expect(team.locator("[data-type]")).to_have_count(5)
    expect(team.locator(f"[data-type='{V100}']")).to_contain_text("CN¥13.28 per hour · free")
    expect(team.locator(f"[data-type='{SOLD_OUT}']")).to_contain_text("CN¥12.00 per hour · none free")
    assert faults(page, PLATFORMS) == []

    execute(page, "jupyter-pai:show-explorer")
    panel(page).get_by_role("button", name=server.bucket).click()
    entry(page, "data/").dblclick()
    expect(panel(page)).to_contain_text("train.csv")
    assert len(bodies) > 5
    for word in (server.key.id, server.key.secret):
        assert word not in "".join(bodies)
        assert word not in page.content()
        assert word not in lab.log.read_text("utf-8", "replace")


SCRIPT = """
import os, pathlib, time
print('epoch 0 loss=0.5', flush=True)
while not os.path.exists('{folder}/go'): time.sleep(0.02)
print('epoch 1 loss=0.25')
pathlib.Path(os.environ['PAI_OUTPUT_MODEL'], 'weights.txt').write_text('0.1 0.2')
"""


def pick(field: Locator, option: str) -> None:
    """Select a value from the list of a field."""
    field.click()
    field.locator("xpath=..").get_by_role("option").filter(has_text=option).click()
    expect(field).to_have_value(option)


@pytest.mark.slow("browser")
def test_job_asks_for_its_price_and_has_all_its_parts(
    lab: Lab, page: Page, server: TiOne, profile: None, tmp_path: Path
) -> None:
    (lab.root / "work").mkdir()
    (lab.root / "work/train.py").write_text(SCRIPT.format(folder=tmp_path))
    opened(page, lab)
    execute(page, "jupyter-pai:train", path="work/train.py")
    train = form(page)
    train.get_by_label("Profile", exact=True).select_option("tione")
    fold(train, "Machine")
    types = train.get_by_role("table", name="Instance types")
    expect(types.locator(f'tr[data-type="{SOLD_OUT}"]')).to_contain_text("none free")
    expect(types.locator(f'tr[data-type="{V100}"]')).to_contain_text("CN¥13.28")
    types.get_by_label(V100, exact=True).check()
    train.get_by_label("Instances", exact=True).fill("2")
    fold(train, " options")
    train.get_by_label("Training mode", exact=True).select_option("DDP")
    pick(train.get_by_label("VPC", exact=True), "vpc-standin1")
    subnet = train.get_by_label("Subnet", exact=True)
    expect(subnet).to_have_accessible_description(re.compile("must be set together"))
    foot = train.get_by_role("region", name="Submit")
    expect(foot).not_to_contain_text("CNY")  # It would be the price of other instances.
    pick(subnet, "subnet-standin")
    train.get_by_label("Remark", exact=True).fill("digits")
    assert faults(page, ".jp-pai-Train") == []
    expect(foot).to_contain_text("2 × 13.28 CNY = 26.56 CNY per hour")
    train.get_by_role("button", name="Submit", exact=True).click()
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("2 × 13.28 CNY = 26.56 CNY per hour")
    expect(dialog).to_contain_text("It costs at most 637.44 CNY.")
    assert server.count("CreateTrainingTask") == 0
    dialog.get_by_role("button", name="Submit").click()
    view = page.get_by_role("group", name="Training job train_")
    expect(view.locator(".jp-pai-Status").first).to_have_text("running")
    expect(view).to_contain_text("epoch 0 loss=0.5")
    (tmp_path / "go").touch()
    expect(view.locator(".jp-pai-Status").first).to_have_text("succeeded")
    table = view.locator(".jp-pai-InstanceTable tbody tr[data-row]")
    expect(table).to_have_count(2)
    expect(table.nth(1)).to_contain_text(re.compile("worker-1.*succeeded"))
    view.get_by_role("tab", name="Logs").click()
    expect(page.locator(".jp-pai-Log-text")).to_contain_text("worker-1 epoch 1 loss=0.25")
    view.get_by_role("tab", name="Events").click()
    expect(view.get_by_role("cell", name="platform (worker-0)").first).to_be_visible()
    view.get_by_role("tab", name="Outputs").click()
    view.get_by_role("button", name="weights.txt", exact=True).click()
    expect(view.locator('pre[aria-label="weights.txt"]')).to_have_text("0.1 0.2")
    view.get_by_role("button", name="Register model…").click()
    registration = view.get_by_role("form", name="Register model")
    registration.get_by_label("Model", exact=True).fill("digits")
    registration.get_by_label("Format").select_option("PYTORCH")
    image = registration.get_by_label("Serving image")
    expect(registration.locator("datalist option")).to_have_count(2)
    assert faults(page, ".jp-pai-Job") == []
    image.fill("torch1.9.0-py38-cu111")
    registration.get_by_role("button", name="Register", exact=True).click()
    models = view.get_by_role("list", name="Registered models")
    expect(models.get_by_text(re.compile("^digits v1"))).to_be_visible()
    (job,) = begun(lab)
    task = server.task(job["remote_id"])
    assert task.request["VpcId"] == "vpc-standin1"
    assert task.request["Remark"] == "digits"


@pytest.mark.slow("browser")
@pytest.mark.parametrize("page", [{"viewport": {"width": 800, "height": 1200}}], indirect=True)
def test_panels_are_dark_narrow_and_chinese(lab: Lab, page: Page, profile: None) -> None:
    lab.setting("@jupyterlab/apputils-extension:themes", theme="JupyterLab Dark")
    lab.setting("@jupyterlab/translation-extension:plugin", locale="zh_CN")
    (lab.root / "train.py").write_text("print('trained')")
    view = shown(page, lab)
    tione = expanded(view, "tione")
    expect(tione.locator("[data-quota=trsg-standin1]")).to_contain_text("核")
    fold(tione, "实例类型")
    expect(tione.locator(f'[data-type="{SOLD_OUT}"]')).to_contain_text("¥12.00")
    assert cut_off(handle(view)) == []
    assert faults(page, PLATFORMS) == []
    execute(page, "jupyter-pai:train", path="train.py")
    train = page.get_by_role("region", name="训练", exact=True)
    train.get_by_label("配置档", exact=True).select_option("tione")
    fold(train, "机器")
    expect(train.locator(f'tr[data-type="{V100}"]')).to_contain_text("¥13.28")
    fold(train, "TI-ONE")
    assert cut_off(handle(train)) == []
    assert faults(page, ".jp-pai-Train") == []
    train.get_by_role("button", name="提交", exact=True).click()
    job = page.locator(".jp-pai-Job")
    expect(job).to_contain_text("trained")
    expect(job.locator(".jp-pai-Status").first).to_have_text("已成功")
    with page.expect_response(re.compile("/jobs/.*/models")):
        job.get_by_role("tab", name="输出").click()
    expect(job.get_by_role("button", name="注册模型…")).to_be_disabled()
