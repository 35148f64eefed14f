"""A Slurm cluster in JupyterLab: its profile, its form with the values of the cluster, and its jobs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ..support.slurm import SlurmCluster
from .accessibility import faults
from .conftest import Lab, execute, open_notebook
from .test_launchers import of_context_menu
from .test_train import fold, form

SCRIPT = """
import os, time

print("on", os.environ["SLURMD_NODENAME"], flush=True)
while not os.path.exists("{go}"):
    time.sleep(0.1)
"""


@pytest.fixture
def slurm_environment(cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server finds the cluster."""
    monkeypatch.setenv("SLURM_CONF", str(cluster.config))


@pytest.fixture
def lab(slurm_environment: None, lab: Lab) -> Lab:
    """JupyterLab on a machine with the commands of the cluster."""
    return lab


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return tmp_path / "shared"


@pytest.mark.slow("browser")
def test_cluster_is_used_from_profile_to_job(lab: Lab, page: Page, shared: Path, cluster: SlurmCluster) -> None:
    lab.write("work/a.ipynb", "1")
    (lab.root / "work/train.py").write_text(SCRIPT.format(go=shared / "go"))
    open_notebook(page, lab, "work/a.ipynb")

    # A new profile needs the shared folder only. Its partition is picked from those of the cluster.
    execute(page, "jupyter-pai:profiles")
    view = page.locator(".jp-pai-Profiles")
    view.get_by_role("button", name="Add…").click()
    view.get_by_role("button", name="Slurm", exact=True).click()
    profile = view.get_by_role("form", name="New profile: Slurm")
    profile.get_by_label("Name", exact=True).fill("cluster")
    profile.get_by_label(re.compile("^Shared folder")).fill(str(shared))
    profile.get_by_role("button", name="Save").click()
    row = view.locator("li[data-profile=cluster]")
    expect(row).to_contain_text(f"Slurm · {shared}")
    row.get_by_role("button", name="Test profile cluster").click()
    expect(row.get_by_role("status")).to_have_text(re.compile("Jobs can run with this profile"))
    assert faults(page, ".jp-pai-Profiles") == []

    # The form offers partitions and instance types of the cluster.
    execute(page, "jupyter-pai:train", path="work/train.py")
    shown = form(page)
    shown.get_by_label("Profile", exact=True).select_option("cluster")
    fold(shown, "Slurm options")
    partition = shown.get_by_label("Partition", exact=True)
    partition.click()
    offered = shown.get_by_role("listbox", name="Suggestions").get_by_role("option")
    expect(offered).to_have_text([re.compile("^debug"), re.compile("^short"), re.compile("^urgent")])
    offered.nth(1).click()
    expect(partition).to_have_value("short")
    assert faults(page, ".jp-pai-Train") == []

    # Another job has the whole partition: the view says why this one waits, then shows its log.
    words = ("--parsable", "--partition=short", "--cpus-per-task=8", "--output=/dev/null", "--wrap=sleep 600")
    other = cluster.run("sbatch", *words).strip()
    shown.get_by_role("button", name=re.compile("ubmit$")).click()
    job = page.get_by_role("group", name="Training job train_")
    expect(job).to_contain_text("It waits: no node has enough free resources")
    assert faults(page, ".jp-pai-Job") == []
    # The styles of the job's page leave the list of instance types as it is.
    fold(shown, "Machine")
    list_of_types = shown.locator(".jp-pai-Instances-rows")
    expect(list_of_types).to_contain_text("urgent")
    assert list_of_types.evaluate("box => box.clientHeight") > 100
    cluster.run("scancel", other)
    expect(job).to_contain_text("on n2")
    (shared / "go").touch()
    expect(job.locator(".jp-pai-Status").first).to_have_text("succeeded")


@pytest.mark.slow("browser")
def test_batch_script_is_submitted_from_the_menu(lab: Lab, page: Page, shared: Path) -> None:
    lab.write("other.ipynb", "1")
    lines = ["#!/bin/sh", "#SBATCH -J count", "#SBATCH -c 2 --time=5", "#SBATCH --output=%j.out"]
    (lab.root / "count.sbatch").write_text("\n".join([*lines, "echo cores $SLURM_CPUS_PER_TASK", ""]))
    settings = {"backend": "slurm", "folder": str(shared)}
    lab.rest("PUT", "/pai/api/v1/profiles/cluster", {"values": settings})
    open_notebook(page, lab, "other.ipynb")
    entry = of_context_menu(page, "count.sbatch")
    expect(entry).to_be_visible()
    entry.click()
    shown = form(page)
    expect(shown.get_by_role("heading", name="count.sbatch")).to_be_visible()
    # The file was read: its directives are values of the form, and what does not apply is named.
    expect(shown.get_by_label("Profile", exact=True)).to_have_value("cluster")
    expect(shown).to_contain_text("--output")
    shown.locator("summary", has_text=re.compile("^Machine")).click()
    expect(shown.get_by_label("Cores", exact=True)).to_have_value("2")
    fold(shown, "Text for the platform")
    text = shown.get_by_label("Text for the platform")
    expect(text).to_contain_text("--cpus-per-task=2")
    # It follows the form.
    shown.get_by_label("Cores", exact=True).fill("3")
    expect(text).to_contain_text("--cpus-per-task=3")
    assert faults(page, ".jp-pai-Train") == []
    shown.get_by_role("button", name=re.compile("ubmit$")).click()
    job = page.get_by_role("group", name="Training job count")
    expect(job.locator(".jp-pai-Status").first).to_have_text("succeeded")
    expect(job).to_contain_text("cores 3")
