"""The summary of a job as text and HTML, with all of its output escaped."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from jupyter_pai.client import summary
from jupyter_pai.client.summary import View
from jupyter_pai.core.text import printable

from ...support.fuzz import MANY

JOB: dict[str, Any] = {
    "id": "k3f9x2ab",
    "name": "digits",
    "status": "succeeded",
    "backend": "local",
    "profile": "local",
    "submitted_at": "2026-01-02T03:04:05Z",
    "started_at": "2026-01-02T03:04:06Z",
    "ended_at": "2026-01-02T03:07:11Z",
    "reason": "",
    "fix": "",
    "notes": [],
    "outputs": {"model": "file:///m/"},
    "output_parameters": {"test-accuracy": "0.97"},
}


def test_summary_line_names_the_job_and_its_duration() -> None:
    assert summary.line(JOB) == "<k3f9x2ab digits, succeeded, local, 3 min 5 s>"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"run_time_limit": 86400, "paid": True}, ", billed until it ends, run-time limit: 24 h 0 min>"),
        ({"run_time_limit": 90}, ", local, run-time limit: 1 min 30 s>"),
        ({"run_time_limit": 0, "paid": True}, ", no run-time limit: billed until it ends>"),
        ({"run_time_limit": 0}, ", local>"),
        ({"paid": True}, ", local, billed until it ends>"),
    ],
)
def test_line_of_an_active_job_has_its_limit(fields: dict[str, Any], words: str) -> None:
    active = JOB | {"status": "running", "ended_at": None} | fields
    assert summary.line(active).endswith(words)
    assert "run-time limit" not in summary.line(JOB | fields | {"paid": False})


def test_line_on_the_packed_folder_has_files_and_size() -> None:
    spec = {"source": {"folder": "/home/me/a"}, "entry_point": "b.py", "command": ""}

    def line(**fields: Any) -> str:
        return summary.packed({"spec": spec | fields, "source_files": 2, "source_bytes": 3_400_000})

    assert line() == line(entry_point="b/c.py", command="make") == "Packed /home/me/a: 2 files, 3.4 MB"
    assert line(entry_point="b/c.py") == "Packed /home/me/a: 2 files, 3.4 MB (entry point: b/c.py)"
    assert line(source={"folder": ""}) == ""


def test_summary_text_has_status_metrics_and_log() -> None:
    metrics = {"loss": {"step": [0, 1, 2], "value": [1.0, "NaN", 0.25]}}
    text = summary.text(View(JOB, "line 1\nline 2\n", metrics))
    for words in (
        "k3f9x2ab",
        "digits",
        "succeeded",
        "3 min 5 s",
        "test-accuracy: 0.97",
        "file:///m/",
        "loss: █×▁ 0.25",
    ):
        assert words in text
    assert text.endswith("  | line 1\n  | line 2")


INSTANCE: dict[str, Any] = {
    "name": "worker-0", "status": None, "platform_status": "", "exit_code": None, "node": "", "address": "",
    "ports": [], "reason": "", "started_at": None, "ended_at": None, "attempt": None,
}  # fmt: skip


def test_summary_has_a_line_for_each_of_several_instances() -> None:
    times = {"started_at": "2026-01-02T03:04:06Z", "ended_at": "2026-01-02T03:04:16Z"}
    failed = {"name": "ps-0", "status": "failed", "platform_status": "Evicted", "exit_code": 137, "node": "n7"}
    failed |= {"address": "10.0.0.7", "ports": [22, 80], "attempt": 2, "reason": "no\nmemory"}
    text = summary.text(View(JOB, instances=[INSTANCE | {"status": "running"}, INSTANCE | failed | times]))
    assert "\nworker-0: running\n" in text
    line = "ps-0: failed (Evicted), exit code 137, n7, 10.0.0.7:22,80, 10.0 s, attempt 2, no memory"
    assert line in text.splitlines()
    assert "worker-0" not in summary.text(View(JOB, instances=[INSTANCE]))


def test_instances_of_a_summary_are_limited() -> None:
    many = [INSTANCE | {"name": f"w-{n}", "reason": "r" * 1000} for n in range(1000)]
    lines = [line for line in summary.text(View(JOB, instances=many)).splitlines() if line.startswith("w-")]
    assert len(lines) == 20
    assert all(len(line) < 220 for line in lines)
    assert "instances: 980 further instances" in summary.text(View(JOB, instances=many))


def test_summary_has_no_control_characters() -> None:
    """Names, reasons and notes of jobs may be those of other users and platforms."""
    evil = "\x1b]0;title\x07\x9b2J\r"
    texts = {name: f"{JOB[name]}{evil}" for name in ("name", "backend", "profile", "reason", "fix")}
    job = JOB | texts | {"notes": [evil], "outputs": {"model": evil}, "output_parameters": {evil: evil}}
    words = dict.fromkeys(("name", "platform_status", "node", "address", "reason"), evil)
    view = View(job, f"log{evil}\n", {f"loss{evil}": {"step": [0], "value": [1.0]}}, [INSTANCE | words] * 2)
    for text in (summary.line(job), summary.text(view), summary.html(view)):
        assert not set(text) & {"\x1b", "\x07", "\x9b", "\r"}
        assert "digits" in text


@pytest.mark.parametrize(
    ("end", "words"),
    [("03:04:10.25Z", "4.2 s"), ("03:05:06.2Z", "1 min 0 s"), ("05:08:06Z", "2 h 4 min"), ("03:04:05Z", "0.0 s")],
)
def test_duration_has_two_units(end: str, words: str) -> None:
    assert summary.duration(JOB | {"ended_at": f"2026-01-02T{end}"}) == words


def test_job_that_never_started_has_no_duration() -> None:
    assert summary.duration(JOB | {"started_at": None}) == ""


def test_log_is_shown_as_in_a_terminal_without_colours_and_reports() -> None:
    log = '\x1b[31mred\x1b[0m\n\r10%\r 99%\r100%\n[pai] {"metric": "x", "value": 1}\n\x1b]0;title\x07done\x00\n\n'
    assert printable(log) == ["red", "100%", "done�"]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert {name for name, _value in attrs} <= {"style"}


@MANY
@given(st.text(max_size=30) | st.sampled_from(["<script>x</script>", '"><img src=x onerror=y>', "</pre><b>"]))
def test_job_texts_are_escaped_in_html(text: str) -> None:
    job = JOB | {"name": text, "reason": text, "fix": text, "notes": [text], "output_parameters": {text: text}}
    seen = Tags()
    seen.feed(summary.html(View(job, text, {text: {"step": [0], "value": [1.0]}})))
    assert seen.tags <= {"div", "table", "tbody", "tr", "th", "td", "code", "pre"}


@MANY
@given(st.lists(st.floats(), min_size=1, max_size=80))
@example([0.0, 5e-324])
def test_sparkline_accepts_any_numbers(values: list[float]) -> None:
    bars = summary.sparkline(values)
    assert len(bars) == min(len(values), 32)
    assert set(bars) <= set("▁▂▃▄▅▆▇█×")


def test_mime_bundle_has_widget_html_and_plain_text() -> None:
    bundle = summary.mime_bundle(View(JOB))
    assert set(bundle) == {summary.MIME_TYPE, "text/html", "text/plain"}
    assert bundle[summary.MIME_TYPE]["job_id"] == "k3f9x2ab"
