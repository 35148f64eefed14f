"""The fields of forms, in the Train panel: instance types and images of a platform, fields of a schema, and completion
of URIs; by keyboard, and checked with axe."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from ..conftest import ROOT, until
from ..fakes.alibaba import StandIn
from .conftest import Lab, execute

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
GPUS = ["ecs.gn6i-c4g1.xlarge", "ecs.gn6v-c8g1.2xlarge"]


@pytest.fixture
def lab(pai: StandIn, lab: Lab) -> Lab:
    """JupyterLab with a profile of the stand-in."""
    return lab


def opened(page: Page, lab: Lab, *parts: str) -> Locator:
    """Open the form of a script with the profile of the platform and these sections expanded."""
    (lab.root / "train.py").write_text("print(1)")
    page.goto(f"{lab.url}/lab?reset&token={lab.token}")
    page.locator('.jp-SideBar [data-id="jp-pai-train"]').wait_for()
    page.locator(".jp-Launcher").wait_for()  # It takes the focus when it opens.
    execute(page, "jupyter-pai:train", path="train.py")
    form = page.locator(".jp-pai-Train")
    form.get_by_label("Profile", exact=True).select_option("pai")
    for part in parts:
        form.locator("summary", has_text=part).click()
    return form


def faults(page: Page) -> list[str]:
    """Return axe's violations in the form."""
    page.add_script_tag(path=AXE)
    # JupyterLab's body has no height of its own; axe would treat its content as invisible.
    page.evaluate("document.body.style.height = '100vh'")
    result = page.evaluate("async () => await axe.run('.jp-pai-Train')")
    assert "color-contrast" in [rule["id"] for rule in result["passes"] + result["violations"]]
    return [json.dumps(fault, indent=1) for fault in result["violations"]]


def names(table: Locator) -> list[str]:
    return [row.get_attribute("data-type") or "" for row in table.locator("tr[data-type]").all()]


@pytest.mark.slow("browser")
def test_instance_type_and_image_of_the_platform_are_selected(
    lab: Lab,
    page: Page,
    pai: StandIn,
) -> None:
    pai.faults.add("refused", "dlc:ListEcsSpecs", count=1, status=403)
    form = opened(page, lab, "Machine")
    box = form.locator(".jp-pai-Instances")
    expect(box.get_by_role("alert")).to_contain_text("refused by the test")
    box.get_by_role("button", name="Refresh").click()
    table = box.get_by_role("table", name="Instance types")
    row = table.locator('[data-type="ecs.gn6v-c8g1.2xlarge"]')
    expect(row).to_contain_text("1 × V100 (16 GiB)")
    expect(row).to_contain_text("spot: 40 % of the price")
    expect(box).to_contain_text("Pricing unavailable")
    expect(box.get_by_role("region", name="Quotas")).to_contain_text("64 cores")
    # In a side panel a row has two lines, all visible.
    assert box.locator(".jp-pai-Instances-rows").evaluate("box => box.scrollWidth <= box.clientWidth")
    head = table.get_by_role("columnheader", name="Memory")
    head.get_by_role("button").press("Enter")
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    assert names(table)[0] == "ecs.gn7e-c16g1.16xlarge"
    box.get_by_role("searchbox").fill("gn6")
    expect(table.locator("tr[data-type]")).to_have_count(2)
    # By keyboard: arrows select a row, and Tab reaches the star of the selected row.
    table.get_by_label("Profile default").press("ArrowDown")
    expect(table.get_by_label(GPUS[1], exact=True)).to_be_checked()
    page.keyboard.press("ArrowDown")
    expect(table.get_by_label(GPUS[0], exact=True)).to_be_checked()
    page.keyboard.press("Tab")
    expect(table.get_by_role("button", name=f"Favorite: {GPUS[0]}")).to_be_focused()
    page.keyboard.press("Space")
    expect(table.locator("tr[data-type]").first).to_have_attribute("data-type", GPUS[0])
    assert names(table) == GPUS
    # Refreshing the availability keeps the typed text.
    count = len(pai.requests)
    box.get_by_role("button", name="Refresh").press("Enter")
    until(lambda: len(pai.requests) > count)
    expect(box.get_by_role("searchbox")).to_have_value("gn6")
    expect(box.get_by_role("button", name="Refresh")).to_be_focused()
    picker = form.locator(".jp-pai-Images")
    picker.get_by_role("button", name="Select image…").press("Enter")
    picker.get_by_label("Framework").select_option("PyTorch")
    picker.get_by_label("Accelerator").select_option("GPU")
    images = picker.get_by_role("radiogroup", name="Images")
    expect(images).not_to_contain_text("CPU")
    images.get_by_role("radio").nth(1).check()
    uri = picker.get_by_label("Image", exact=True)
    assert "pytorch" in uri.input_value()
    assert faults(page) == []
    images.get_by_role("radio").nth(1).press("Escape")
    expect(picker.get_by_role("button")).to_be_focused()
    expect(images).to_have_count(0)
    uri.fill("example.com/mine:1")
    expect(uri).to_have_value("example.com/mine:1")
    # The local backend lists no images; a name can be typed.
    form.get_by_label("Profile", exact=True).select_option("local")
    expect(picker.get_by_role("button")).to_have_count(0)
    expect(uri).to_have_value("example.com/mine:1")
    # Favorites are stored.
    form = opened(page, lab, "Machine")
    star = form.get_by_role("button", name=f"Favorite: {GPUS[0]}")
    expect(star).to_have_attribute("aria-pressed", "true")


@pytest.mark.slow("browser")
def test_options_follow_their_schema_and_uris_are_completed(
    lab: Lab,
    page: Page,
    pai: StandIn,
) -> None:
    bucket = f"oss://{pai.settings()['oss_bucket_name']}/"
    for key in ("fields/train/a.csv", "fields/train/b.csv", "fields/trial.csv"):
        pai.objects.write(key, b"1")
    (lab.root / "here").mkdir()
    form = opened(page, lab, " options", "Data")
    form.locator("summary", has_text="Spot").click()
    spot = form.get_by_role("group", name="Spot")
    spot.get_by_label("Set this").check()
    limit = spot.get_by_label("Maximum price")
    # An incomplete value is kept as typed.
    limit.fill("0.")
    expect(limit).to_have_value("0.")
    limit.fill("1e")
    expect(limit).to_have_accessible_description("Must be a number. " + LIMIT)
    limit.fill("1e-1")
    expect(limit).to_have_value("1e-1")
    # The engine checks combinations of fields; its error appears at the field.
    expect(limit).to_have_accessible_description(re.compile("^discount_limit requires the strategy"))
    spot.get_by_label("Strategy").select_option("SpotWithPriceLimit")
    expect(limit).to_have_accessible_description(LIMIT)
    settings = form.get_by_label("Platform settings")
    settings.fill('{"EnableRDMA": ')
    expect(settings).to_have_accessible_description(re.compile("^Must be JSON"))
    settings.fill("")
    inputs = form.get_by_role("group", name="Inputs", exact=True)
    inputs.get_by_role("button", name="Add input").press("Enter")
    expect(inputs.get_by_label("Input name")).to_be_focused()
    page.keyboard.type("train")
    field = inputs.get_by_role("combobox", name="Location of train")
    result = inputs.get_by_role("option")
    field.fill("os")
    expect(result).to_have_text([bucket])
    field.fill(f"{bucket}fields/t")
    expect(result).to_have_text(["train/", "trial.csv"])
    assert faults(page) == []
    field.press("Tab")
    expect(field).to_have_value(f"{bucket}fields/tr")
    expect(result).to_have_count(2)
    field.press("ArrowDown")
    expect(result.first).to_have_attribute("aria-selected", "true")
    field.press("Enter")
    expect(field).to_have_value(f"{bucket}fields/train/")
    expect(result).to_have_text(["a.csv", "b.csv"])
    field.press("Escape")
    expect(result).to_have_count(0)
    # An incomplete value is kept when its section is collapsed and expanded.
    name = inputs.get_by_label("Input name")
    name.fill("")
    form.locator("summary", has_text="Data").click()
    expect(name).to_be_hidden()
    form.locator("summary", has_text="Data").click()
    expect(inputs.get_by_placeholder("path or URI")).to_have_value(f"{bucket}fields/train/")
    name.fill("train")
    field.fill("her")
    expect(result).to_have_text(["here/"])
    result.first.click()
    expect(field).to_have_value("here/")
    field.fill("nowhere://x/")
    expect(field).to_have_accessible_description(
        re.compile("^PAI does not support nowhere://[^:]*Known are: (?!.*Known)")
    )
    field.fill("oss://another-bucket/")
    expect(field).to_have_accessible_description(re.compile("another-bucket"))
    expect(result).to_have_count(0)
    inputs.get_by_role("button", name="Remove train").click()
    expect(inputs.get_by_role("button", name="Add input")).to_be_focused()
    expect(inputs.get_by_role("combobox")).to_have_count(0)
    expect(form.get_by_text(re.compile("needs? attention"))).to_have_count(0)
    assert faults(page) == []


LIMIT = "Maximum price as a share of the regular price; 0.5 is half of it."
