"""Texts of a job are shown as text everywhere, under a content security policy that forbids injected HTML and whose
report stays empty."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from playwright.sync_api import Dialog, Locator, Page, expect

from .conftest import Lab, execute
from .test_job_view import VIEW, status
from .test_overview import EVIL, view

# A policy that a site may set for JupyterLab, which needs `eval` and inline styles.
POLICY = """
window.reports = [];
addEventListener('securitypolicyviolation', event => window.reports.push([event.violatedDirective, event.blockedURI]));
addEventListener('DOMContentLoaded', () => {
  const meta = document.createElement('meta');
  meta.httpEquiv = 'Content-Security-Policy';
  meta.content = "script-src 'self' 'unsafe-eval'; script-src-attr 'none'; img-src 'self' data: blob:; "
    + "object-src 'none'; frame-src 'none'; base-uri 'self'; form-action 'none'; connect-src 'self' ws://127.0.0.1:*";
  document.head.append(meta);
});
"""
# Without slashes, so that each text is a valid file name.
CORPUS = (
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "<iframe srcdoc='&lt;img src=x onerror=parent.alert(1)&gt;'>",
    "<a href=javascript:alert(1)>click",
    "[click](javascript:alert(1)) ![x](x)",
    "{{constructor.constructor('alert(1)')()}} ${alert(1)} %1 %s",
    "&lt;img src=x onerror=alert(1)&gt;",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<base href=javascript:alert(1)>'-alert(1)-'",
)
SCRIPT = f"""
import os
from jupyter_pai import report
for text in {CORPUS!r}:
    print(text, flush=True)
    report.metric(text, 1.5, step=1)
    open(os.environ["PAI_OUTPUT_MODEL"] + text, "w").write(text)
raise SystemExit(3)
"""


def submit(lab: Lab, **spec: Any) -> str:
    source = {"files": {"train.py": SCRIPT}}
    reply = lab.rest("POST", "/pai/api/v1/jobs", {"spec": {"entry_point": "train.py", "source": source} | spec})
    return str(reply["job"]["id"])


def figure(metric: str) -> str:
    return f"figure[aria-label^={json.dumps(metric + ': ')}]"


def test_texts_of_a_job_are_not_interpreted(lab: Lab, page: Page, tmp_path: Path) -> None:
    trouble: list[str] = []

    def refuse(dialog: Dialog) -> None:
        trouble.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    page.add_init_script(POLICY)
    names = [text.replace("=", ":") for text in CORPUS]
    evil: dict[str, Any] = {
        "hyperparameters": {text.replace(" ", "-").replace("=", ":"): text for text in CORPUS},
        "labels": dict(zip(names, CORPUS, strict=True)),
        "environment": {"A": EVIL},
        "metric_definitions": [{"name": EVIL, "regex": "m=(.)"}],
    }
    command = f"printf '%s\\n' {shlex.quote('m=1 ' + EVIL)}; python train.py"
    job = submit(lab, name=EVIL, command=command, **evil)
    other = submit(lab, name=CORPUS[1], hyperparameters={names[2].replace(" ", "-"): "1"})
    shown = view(page, lab, job)
    status(page, "failed")

    def nothing_has_run() -> None:
        assert (
            page.locator(
                ":is(.jp-pai-Job, .jp-pai-Jobs, .jp-pai-Compare, .jp-pai-Log) :is(img, script, iframe, math)"
            ).count()
            == 0
        )
        assert (trouble, page.evaluate("window.reports")) == ([], [])

    _overview(shown)
    nothing_has_run()
    shown.get_by_role("tab", name="Logs").click()
    for text in CORPUS:
        expect(shown.locator(".jp-pai-Log-text")).to_contain_text(text)
    shown.get_by_role("tab", name="Metrics").click()
    for text in (EVIL, *CORPUS):
        expect(shown.locator(figure(text))).to_have_count(1)
    nothing_has_run()
    shown.get_by_role("tab", name="Outputs").click()
    files = shown.locator('.jp-pai-Channel[data-channel="model"] .jp-pai-Files-path button')
    expect(files).to_have_count(len(CORPUS))
    for text in CORPUS:
        button = files.filter(has_text=re.compile(f"^{re.escape(text)}$"))
        button.click()
        expect(shown.get_by_label(text, exact=True).last).to_have_text(text)
    shown.get_by_role("tab", name="Events").click()
    expect(shown.locator("tbody")).to_contain_text("failed")
    nothing_has_run()

    # The list, a comparison, a tab's title, and the notification at the end of a job.
    execute(page, "jupyter-pai:show-jobs")
    rows = page.locator(".jp-pai-JobRow-name")
    expect(rows.filter(has_text=EVIL)).to_have_count(1)
    page.get_by_role("listbox", name="Jobs").focus()
    page.keyboard.press("Control+a")
    page.get_by_role("button", name="Compare").click()
    compare = page.get_by_role("group", name="Job comparison")
    for text in (EVIL, CORPUS[1], CORPUS[2]):
        expect(compare).to_contain_text(text)
    # One chart for both jobs, with both jobs named for each metric.
    expect(compare.locator(figure(CORPUS[0]))).to_have_count(1)
    metrics = compare.get_by_role("region", name="Metrics").locator("tbody tr", has_text=CORPUS[0]).first
    expect(metrics.locator("td")).to_contain_text(["1.5", "1.5"])
    nothing_has_run()
    compare.get_by_role("button", name=CORPUS[1], exact=True).first.click()
    expect(page.locator("#jp-main-dock-panel .lm-TabBar-tab", has_text=CORPUS[1])).to_be_visible()
    late = submit(lab, name=CORPUS[7], command="exit 4")
    expect(page.locator(".jp-toast-message", has_text=CORPUS[7][:30])).to_be_visible()
    nothing_has_run()
    assert len({job, other, late}) == 3
    # The policy is active: injected HTML is reported.
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=/static/x onerror=alert(1)>')")
    page.wait_for_function("window.reports.length > 0")


def _overview(shown: Locator) -> None:
    expect(shown.locator(f"{VIEW}-log")).to_contain_text(CORPUS[-1])
    expect(shown.locator(f"{VIEW}-name")).to_have_text(EVIL)
    expect(shown.locator(f"{VIEW}-metrics")).to_contain_text(f"{EVIL} 1")
    for section in ("Hyperparameters", "Inputs and outputs", "Job", "Provenance", "Export as code"):
        shown.locator("summary", has_text=section).click()
    expect(shown.locator(".jp-pai-Code-text")).to_contain_text("<script>")
    expect(shown.get_by_role("list", name="Labels")).to_contain_text(CORPUS[4])
    expect(shown.get_by_text("Code digest")).to_be_visible()
    shown.get_by_role("button", name="Edit and rerun").click()
    expect(shown.get_by_role("form").locator("label[for]", has_text="ontoggle")).to_have_count(1)
    shown.get_by_role("button", name="Edit and rerun").click()
