"""Take the pictures of the README and the guide: `python -m tests.e2e.pictures [NAME …]`, into `docs/images`.

JupyterLab runs with real jobs in a home folder that only this process sees, so that no picture shows names of the
machine. Needs Linux, `unshare` of util-linux, and Chinese fonts.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect, sync_playwright

from ..conftest import ROOT, until
from .conftest import LONG, Lab, chromium, execute, open_notebook, run_cells

IMAGES = ROOT / "docs" / "images"
SIZE = (1200, 800)
# The paths shown in the pictures; `HOST` appears in the names of event files.
HOST, HOME = "workstation", Path("/home/ada")

FIRST_JOB = """\
%%pai_train --hp learning_rate=0.3 --hp epochs=2000 --as job
import json, os
from jupyter_pai import report
from two_moons import Net, batches, moons

hp = json.loads(os.environ["PAI_HPS"])
net, points = Net(hidden=16), moons(400, seed=7)
for step, (epoch, batch) in enumerate(batches(points, hp["epochs"], size=20)):
    loss = net.train(batch, hp["learning_rate"])
    report.metric("loss", loss, step=step)
    if step % 20 == 0:
        print(f"epoch {epoch}: loss {loss:.4f}")
        report.progress(epoch / hp["epochs"])
net.save(os.environ["PAI_OUTPUT_MODEL"])"""

# The hyperparameters of each job that differ from the defaults.
JOBS: dict[str, dict[str, str]] = {
    "moons-slow": {"learning_rate": "0.03", "batch_size": "20", "hidden": "16"},
    "moons-base": {"learning_rate": "0.1", "batch_size": "20", "hidden": "16"},
    "moons-diverging": {"learning_rate": "300", "batch_size": "20", "hidden": "16"},
    "moons-wide": {"learning_rate": "0.3", "batch_size": "20", "hidden": "48"},
    "moons-large-batch": {"learning_rate": "1", "batch_size": "100", "hidden": "16"},
    "moons-fast": {"learning_rate": "1", "batch_size": "20", "hidden": "16"},
}


class Look(NamedTuple):
    """An appearance of JupyterLab, and the suffix that it adds to the names of pictures."""

    suffix: str
    scheme: Literal["light", "dark"] = "light"
    locale: str = "default"
    browser: str = "en-GB"


LOOKS = (Look(""), Look("-dark", "dark"), Look(".zh-CN", "light", "zh_CN", "zh-CN"))


class Studio:
    """A JupyterLab with example jobs."""

    def __init__(self, browser: Browser) -> None:
        folder = HOME / "moons"
        shutil.copytree(Path(__file__).with_name("two_moons"), folder, ignore=shutil.ignore_patterns("__*__*"))
        self.browser = browser
        # Callbacks to run after each picture.
        self.after = ExitStack()
        self.lab = Lab(folder)
        self.lab.setting("@jupyterlab/apputils-extension:notification", fetchNews="false", checkForUpdates=False)
        self.ids = {name: self.submit(name, values) for name, values in JOBS.items()}
        until(lambda: all(self.lab.job(job)["ended_at"] for job in self.ids.values()), 300)

    def submit(self, name: str, values: dict[str, str]) -> str:
        source = {"folder": str(self.lab.root), "include": ["*.py"]}
        spec: dict[str, Any] = {"name": name, "source": source, "entry_point": "train.py"}
        spec |= {"hyperparameters": values, "labels": {"data": "moons"}}
        return str(self.lab.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"])

    def take(self, look: Look, wanted: set[str]) -> None:
        """Take all pictures in one appearance."""
        self.lab.setting("@jupyterlab/apputils-extension:themes", theme=f"JupyterLab {look.scheme.title()}")
        self.lab.setting("@jupyterlab/translation-extension:plugin", locale=look.locale)
        if not any(f"{name}{look.suffix}" in wanted for name in SHOTS):
            return
        self.ids["moons-long"] = self.submit("moons-long", {"learning_rate": "0.3", "epochs": "3000"})
        for name, shot in SHOTS.items():
            if f"{name}{look.suffix}" not in wanted:
                continue
            size: ViewportSize = {"width": SIZE[0], "height": SIZE[1]}
            page = self.browser.new_page(viewport=size, locale=look.browser, color_scheme=look.scheme)
            page.set_default_timeout(2 * LONG)
            shot(self, page)
            save(page.screenshot(animations="disabled"), IMAGES / f"{name}{look.suffix}.png")
            page.close()
            self.after.close()
        self.remove(self.ids["moons-long"])

    def remove(self, job: str) -> None:
        """Stop a job, if it is running, and delete it."""
        self.lab.rest("POST", f"/pai/api/v1/jobs/{job}/stop", {})
        until(lambda: self.lab.job(job)["ended_at"])
        self.lab.rest("DELETE", f"/pai/api/v1/jobs/{job}")

    def open(self, page: Page, *names: str) -> Locator:
        """Open the list of jobs and a tab for each job; return the view of the last one."""
        page.goto(f"{self.lab.url}/lab?reset&token={self.lab.token}")
        page.locator('.jp-SideBar [data-id="jp-pai-jobs"]').click()
        for name in names:
            row(page, self.ids[name]).click()
            page.locator(".jp-pai-Job-name", has_text=name).wait_for()
        alone(page)
        return page.locator(".jp-MainAreaWidget:not(.lm-mod-hidden) .jp-pai-Job")


def save(picture: bytes, path: Path) -> None:
    """Save a PNG of 256 colors, which is a third as large and looks the same."""
    with Image.open(io.BytesIO(picture)) as image:
        few = image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
        few.save(path, optimize=True)


def alone(page: Page) -> None:
    """Close the launcher, which JupyterLab closes itself in some cases."""
    launcher = page.locator('.lm-TabBar-tab[data-id^="launcher"]')
    if page.locator("#jp-main-dock-panel .lm-TabBar-tab").count() > 1 and launcher.count():
        launcher.locator(".lm-TabBar-tabCloseIcon").click()


def row(page: Page, job: str) -> Locator:
    return page.locator(f'.jp-pai-JobRow[data-job="{job}"]')


def tab(view: Locator, name: str) -> None:
    view.locator(f'[data-tab="{name}"]').click()


def first_job(studio: Studio, page: Page) -> None:
    studio.lab.write("moons.ipynb", "%load_ext jupyter_pai", FIRST_JOB)
    before = {job["id"] for job in studio.lab.rest("GET", "/pai/api/v1/jobs")["jobs"]}
    studio.after.callback(end_kernels, studio)  # Otherwise the cell numbers of the next picture would not start at 1.
    # A workspace without the tabs of other pictures.
    open_notebook(page, studio.lab, "moons.ipynb", "lab/workspaces/first-job/tree")
    run_cells(page, 2)
    expect(page.locator(".jp-pai-Job-log")).to_contain_text("epoch")
    page.locator(".jp-Notebook .jp-pai-Job-metrics", has_text="loss").wait_for()
    for job in studio.lab.rest("GET", "/pai/api/v1/jobs")["jobs"]:
        if job["id"] not in before:
            studio.after.callback(studio.remove, job["id"])


def end_kernels(studio: Studio) -> None:
    for session in studio.lab.rest("GET", "/api/sessions"):
        studio.lab.rest("DELETE", f"/api/sessions/{session['id']}")


def overview(studio: Studio, page: Page) -> None:
    view = studio.open(page, "moons-long")
    expect(view.locator(".jp-pai-Job-log")).to_contain_text("accuracy")


def logs(studio: Studio, page: Page) -> None:
    view = studio.open(page, "moons-fast")
    tab(view, "logs")
    expect(view.locator(".jp-pai-Log-text")).to_contain_text("the model is in")


def metrics(studio: Studio, page: Page) -> None:
    view = studio.open(page, "moons-fast")
    tab(view, "metrics")
    charts(view, 2)
    over = view.locator(".u-over").first
    box = over.bounding_box() or {"x": 0, "y": 0, "width": 0, "height": 0}
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"])


def charts(view: Locator, count: int) -> None:
    view.locator("figure canvas").nth(count - 1).wait_for(state="attached")


def outputs(studio: Studio, page: Page) -> None:
    view = studio.open(page, "moons-fast")
    tab(view, "outputs")
    view.get_by_text("boundary.png").click()
    view.locator(".jp-pai-Preview-picture").wait_for()


def tensorboard(studio: Studio, page: Page) -> None:
    view = studio.open(page, "moons-fast")
    tab(view, "tensorboard")
    view.locator("button.jp-mod-accept").click()
    board = page.frame_locator("iframe[src*='/pai/tensorboard/']")
    board.locator("scalar-card canvas").first.wait_for()
    page.keyboard.press("Control+b")  # The view needs the space of the list.
    studio.after.callback(end_boards, studio)
    page.wait_for_timeout(5000)  # TensorBoard does not signal the end of drawing.


def end_boards(studio: Studio) -> None:
    for board in studio.lab.rest("GET", "/pai/api/v1/tensorboards")["tensorboards"]:
        studio.lab.rest("DELETE", f"/pai/api/v1/tensorboards/{board['id']}")


def events(studio: Studio, page: Page) -> None:
    view = studio.open(page, "moons-fast")
    tab(view, "events")
    expect(view.locator("tbody tr").nth(2)).to_be_visible()


def failure(studio: Studio, page: Page) -> None:
    view = studio.open(page, "moons-diverging")
    expect(view.locator(".jp-pai-Job-log")).to_contain_text("FloatingPointError")


def compare(studio: Studio, page: Page) -> None:
    studio.open(page)
    for name in ("moons-slow", "moons-base", "moons-fast"):
        row(page, studio.ids[name]).locator(".jp-pai-JobRow-check").click()
    page.locator(".jp-pai-JobSelection > button").nth(1).click()
    charts(page.locator(".jp-pai-Compare"), 2)
    alone(page)


def jobs(studio: Studio, page: Page) -> None:
    view = studio.open(page, "moons-base")
    expect(view.locator(".jp-pai-Job-log")).to_contain_text("accuracy")
    for name in ("moons-wide", "moons-fast"):
        row(page, studio.ids[name]).locator(".jp-pai-JobRow-check").click()
    row(page, studio.ids["moons-long"]).locator("progress").wait_for()


def workflow(studio: Studio, page: Page) -> None:
    """A run in its middle: one branch is skipped, and one step waits."""
    source = {"source": {"folder": str(studio.lab.root), "include": ["*.py"]}}
    values = "mkdir -p /ml/output/output_parameters; printf %s {1} > /ml/output/output_parameters/{0}".format
    steps: list[dict[str, Any]] = [
        {"name": "prepare", "spec": {"command": values("rows", "400")}},
        {"name": "train", "needs": ["prepare"], "spec": {"command": f"sleep 4; {values('accuracy', '0.97')}"}},
        {"name": "publish", "when": "train.accuracy > 0.9", "spec": {"command": "sleep 600"}},
        {"name": "tune", "when": "train.accuracy <= 0.9", "spec": {"command": "true"}},
        {"name": "compare", "needs": ["tune"], "spec": {"command": "true"}},
        {"name": "report", "needs": ["publish"], "spec": {"command": "true"}},
    ]
    body = {"workflow": {"name": "moons", "steps": [step | {"spec": step["spec"] | source} for step in steps]}}
    run = studio.lab.rest("POST", "/pai/api/v1/workflows", body)["run"]["id"]
    studio.after.callback(remove_run, studio, run)
    studio.open(page)
    page.locator(f'.jp-pai-JobRow[data-run="{run}"]').click()
    view = page.locator(".jp-pai-Workflow")
    view.locator('[data-step="publish"][data-status="running"]').wait_for()
    view.locator('[data-step="compare"][data-status="skipped"]').wait_for()
    alone(page)


def remove_run(studio: Studio, run: str) -> None:
    """Stop a run, and delete it and its jobs."""
    address = f"/pai/api/v1/workflows/{run}"
    studio.lab.rest("POST", f"{address}/stop", {})
    until(lambda: studio.lab.rest("GET", address)["run"]["ended_at"])
    for job in studio.lab.rest("GET", f"/pai/api/v1/jobs?workflow={run}")["jobs"]:
        studio.remove(job["id"])
    studio.lab.rest("DELETE", address)


def train(studio: Studio, page: Page) -> None:
    studio.lab.write("moons.ipynb", "%load_ext jupyter_pai", FIRST_JOB)
    open_notebook(page, studio.lab, "moons.ipynb", "lab/workspaces/train/tree")
    execute(page, "jupyter-pai:train", path="train.py")
    panel = page.locator("#jp-pai-train")
    panel.get_by_text("hidden", exact=True).wait_for()
    widen(page, 420)
    panel.locator(".jp-pai-Train-foot button.jp-mod-accept").wait_for()
    studio.after.callback(end_kernels, studio)


def train_narrow(studio: Studio, page: Page) -> None:
    train(studio, page)
    widen(page, 240)


def form(studio: Studio, page: Page) -> None:
    studio.lab.write("form.ipynb", "%load_ext jupyter_pai\n%pai form train.py")
    studio.after.callback(end_kernels, studio)
    open_notebook(page, studio.lab, "form.ipynb", "lab/workspaces/form/tree")
    run_cells(page, 1)
    form = page.locator(".jp-OutputArea .jp-pai-Train")
    form.get_by_text("hidden", exact=True).wait_for()


def explorer(studio: Studio, page: Page) -> None:
    page.goto(f"{studio.lab.url}/lab/workspaces/explorer?reset&token={studio.lab.token}")
    page.locator(".jp-Launcher").wait_for()
    execute(page, "jupyter-pai:show-explorer")
    panel = page.locator("#jp-pai-explorer")
    panel.locator(".jp-pai-Explorer-roots button").first.click()
    panel.get_by_text("train.py").wait_for()
    widen(page, 420)


def widen(page: Page, width: int) -> None:
    """Widen the side panel by dragging its edge."""
    edge = page.locator("#jp-left-stack").bounding_box()
    assert edge
    page.mouse.move(edge["x"] + edge["width"] + 1, SIZE[1] / 2)
    page.mouse.down()
    page.mouse.move(edge["x"] + width, SIZE[1] / 2, steps=4)
    page.mouse.up()


SHOTS: dict[str, Callable[[Studio, Page], None]] = {
    "train": train,
    "train-narrow": train_narrow,
    "explorer": explorer,
    "form": form,
    "first-job": first_job,
    **{
        shot.__name__: shot
        for shot in (overview, jobs, logs, metrics, outputs, tensorboard, events, failure, compare, workflow)
    },
}


def seclude() -> None:
    """Continue in a process with its own `/home` and host name, with this interpreter mounted below it."""
    below = HOME / "venv"
    steps = (
        f"hostname {HOST} && mount -t tmpfs tmpfs /home && mkdir -p {below} && mount --bind {sys.prefix} {below}"
        f' && cd {ROOT} && exec {below}/bin/python -m tests.e2e.pictures "$@"'
    )
    command = ("unshare", "--map-root-user", "--mount", "--uts", "sh", "-c", steps, "pictures", *sys.argv[1:])
    os.execvpe(command[0], command, os.environ | {"HOME": str(HOME)})


def main() -> None:
    if Path(sys.prefix) != HOME / "venv":
        seclude()
    for name in ("data", "config", "runtime"):
        os.environ[f"JUPYTER_{name.upper()}_DIR"] = str(HOME / ".local/share/jupyter" / name)
    os.environ["JUPYTER_PAI_HOME"] = str(HOME / ".local/share/jupyter/pai")
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    IMAGES.mkdir(exist_ok=True)
    known = {f"{name}{look.suffix}" for look in LOOKS for name in SHOTS}
    wanted = set(sys.argv[1:]) or known
    if wanted - known:
        sys.exit(f"No such pictures: {', '.join(sorted(wanted - known))}")
    if not subprocess.run(["fc-list", ":lang=zh"], capture_output=True, check=True).stdout:
        sys.exit("No Chinese fonts: install, for example, fonts-noto-cjk.")
    with sync_playwright() as playwright:
        studio = Studio(chromium(playwright))
        try:
            for look in LOOKS:
                studio.take(look, wanted)
        finally:
            for job in studio.lab.rest("GET", "/pai/api/v1/jobs")["jobs"]:
                if not job["ended_at"]:
                    studio.remove(job["id"])
            studio.lab.stop()


if __name__ == "__main__":
    main()
