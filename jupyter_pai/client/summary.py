"""Summaries of a job: one line, plain text, HTML without scripts, and the MIME bundle of a cell's output.

Pure functions from JSON values to text. All texts are without control characters, and escaped in HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from typing import Any

from ..core.errors import JobFailed
from ..core.i18n import _, ngettext
from ..core.text import plain, printable, show_size
from .parameters import offered

MIME_TYPE = "application/vnd.jupyter-pai.job+json"
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 32
# Characters per cell of free text in a table.
_CELL = 60
# Lines of a log in an error.
_TAIL_LINES = 20
# Instances in a summary, and characters of one.
_INSTANCES, _LINE = 20, 200


@dataclass(frozen=True)
class View:
    """The data of a summary: a job as JSON, the end of its log, the reply of `metrics`, instances if there are several,
    and the URIs of the outputs that have files; None if they are unknown."""

    job: Mapping[str, Any]
    tail: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    instances: Sequence[Mapping[str, Any]] = ()
    outputs: Mapping[str, str] | None = None


def status_word(status: str) -> str:
    """Return a status in the user's language."""
    return {
        "queued": _("queued"),
        "starting": _("starting"),
        "running": _("running"),
        "succeeded": _("succeeded"),
        "failed": _("failed"),
        "stopped": _("stopped"),
        "lost": _("lost"),
    }.get(status, status)


def line(job: Mapping[str, Any]) -> str:
    """Return a job in one line."""
    shows_progress = job.get("progress") is not None and job["status"] == "running"
    parts = (
        job["name"],
        status_word(job["status"]),
        job["backend"],
        duration(job),
        f"{job['progress']:.0%}" if shows_progress else "",
        _limit(job),
        job.get("reason"),
    )
    return plain(f"<{job['id']} {', '.join(part for part in parts if part)}>")


def packed(job: Mapping[str, Any]) -> str:
    """Return the line that names the packed folder of a job, with its files, and a script in an inner folder; empty
    without a folder."""
    spec, files = job["spec"], job["source_files"]
    if not (folder := spec["source"]["folder"]):
        return ""
    text = ngettext("Packed {folder}: {n} file, {size}", "Packed {folder}: {n} files, {size}", files)
    line = text.format(folder=folder, n=files, size=show_size(job["source_bytes"]))
    if spec["command"] or "/" not in spec["entry_point"]:
        return line
    return _("{packed} (entry point: {path})").format(packed=line, path=spec["entry_point"])


def _limit(job: Mapping[str, Any]) -> str:
    """Return the run-time limit of an active job, and that it is billed; empty for a free job without a limit."""
    limit, billed = job.get("run_time_limit"), _("billed until it ends") if job.get("paid") else ""
    if limit and not job.get("ended_at"):
        text = _("run-time limit: {time}").format(time=_span(limit))
        return f"{billed}, {text}" if billed else text
    return _("no run-time limit: billed until it ends") if billed and limit == 0 else billed


def still_running(job: Mapping[str, Any], command: str) -> str:
    """Return the message for a user who stopped waiting for a job; `command` stops the job."""
    text = _("Job {job} is still running. To stop it: {command}").format(job=job["id"], command=command)
    return text + "\n" + _("You are billed until it ends.") if job.get("paid") else text


def job_failed(job: Mapping[str, Any], tail: str) -> JobFailed:
    """Return the error for an awaited job that did not succeed: reason, fix and last lines of the log."""
    lines = "\n".join(printable(tail, _TAIL_LINES))
    status = status_word(job["status"])
    reason = job["reason"] or _("The status is {status}.").format(status=status)
    message = _("Job {job} ({name}) {status}: {reason}").format(
        job=job["id"], name=job["name"], status=status, reason=reason
    )
    text = f"{message}\n{lines}\n" if lines else message
    ended = {name: job[name] for name in ("status", "exit_code")}
    return JobFailed(text, job_id=job["id"], reason=reason, tail=tail, fix=offered(job["fix"]), **ended)


def duration(job: Mapping[str, Any], now: float | None = None) -> str:
    """Return the run time of a job: `4.2 s`, `3 min 5 s`, `2 h 4 min`; empty if it never started."""
    start, end = job.get("started_at"), job.get("ended_at")
    if not start or not (end or now):
        return ""
    return _span(max((_seconds(end) if end else now or 0.0) - _seconds(start), 0.0))


def _span(seconds: float) -> str:
    if seconds < 60:
        return _("{seconds} s").format(seconds=f"{seconds:.1f}")
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return _("{minutes} min {seconds} s").format(minutes=minutes, seconds=rest)
    return _("{hours} h {minutes} min").format(hours=minutes // 60, minutes=minutes % 60)


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


def sparkline(values: list[float], width: int = _WIDTH) -> str:
    """Return numbers as a row of bars, with `×` for NaN and infinities."""
    if len(values) > width:
        values = [values[round(n * (len(values) - 1) / (width - 1))] for n in range(width)]
    finite = [value for value in values if abs(value) != float("inf") and value == value]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)

    def bar(value: float) -> str:
        if value not in finite:
            return "×"
        # Halved: the difference of two large numbers can overflow. Half of the smallest number is zero.
        span = high / 2 - low / 2
        share = (value / 2 - low / 2) / span if span else 0.5
        return _BARS[min(int(share * len(_BARS)), len(_BARS) - 1)]

    return "".join(map(bar, values))


def _facts(view: View) -> list[tuple[str, str]]:
    job = view.job
    facts = (
        (_("job"), f"{job['id']}  {job['name']}"),
        (_("status"), status_word(job["status"])),
        (_("backend"), f"{job['backend']} ({job['profile']})"),
        (_("submitted"), local_time(job["submitted_at"])),
        (_("duration"), duration(job)),
        (_("resumed from"), job.get("resumed_from")),
        (_("rerun of"), "" if job.get("resumed_from") else job.get("rerun_of")),
        (_("code"), commit(job["git"]) if job.get("git") else ""),
        (_("pinned"), _("protected from delete and prune") if job.get("pinned") else ""),
        (_("reason"), job.get("reason")),
        (_("fix"), offered(job.get("fix", ""))),
    )
    parameters = [(name, value[:200]) for name, value in job["output_parameters"].items()]
    outputs = view.outputs
    if outputs is None:
        likely = ("model", "notebook") if job["status"] == "succeeded" else ("notebook",)
        outputs = {name: job["outputs"][name] for name in likely if name in job["outputs"]}
    notes = [(_("note"), offered(note)) for note in job["notes"]]
    shown = [*(fact for fact in facts if fact[1]), *parameters, *outputs.items(), *notes]
    return [(plain(name), plain(value)) for name, value in (*shown, *_instances(view.instances))]


def _instances(instances: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield name and state of the first instances."""
    if len(instances) < 2:
        return
    for one in instances[:_INSTANCES]:
        status, word = status_word(one["status"] or ""), one["platform_status"]
        code, attempt = one["exit_code"], one["attempt"] or 1
        parts = (
            f"{status} ({word})" if status and word else status or word,
            "" if code is None else _("exit code {code}").format(code=code),
            one["node"],
            ":".join([one["address"], ",".join(map(str, one["ports"]))]).strip(":"),
            duration(one),
            _("attempt {n}").format(n=attempt) if attempt > 1 else "",
            one["reason"],
        )
        yield one["name"], _shorten(" ".join(", ".join(filter(None, parts)).split()), _LINE)
    if (omitted := len(instances) - _INSTANCES) > 0:
        text = ngettext("{n} further instance", "{n} further instances", omitted)
        yield _("instances"), text.format(n=omitted)


def commit(git: Mapping[str, Any]) -> str:
    """Return the state of the code in git: `1a2b3c4d5e on main, modified`."""
    words = git["commit"][:10] or _("no commit")
    if git["branch"]:
        words = _("{commit} on {branch}").format(commit=words, branch=git["branch"])
    if git["dirty"] or git["untracked"]:
        words += _(", modified") if git["dirty"] else _(", with untracked files")
    return words


def marked(name: str, metric: Mapping[str, Any]) -> str:
    """Return the name of a metric, marked if it was detected in the log."""
    return _("{name} (detected)").format(name=name) if metric.get("source") == "detected" else name


def _charts(view: View) -> list[tuple[str, str, str]]:
    """Return name, bars and last value of each metric."""
    columns = {
        plain(marked(name, points)): [float(value) for value in points["value"]]
        for name, points in view.metrics.items()
    }
    return [(name, sparkline(values), f"{values[-1]:.6g}") for name, values in columns.items() if values]


def text(view: View) -> str:
    """Return a job as plain text of several lines."""
    facts = [f"{name}: {value}" for name, value in _facts(view)]
    charts = [f"{name}: {bars} {last}" for name, bars, last in _charts(view)]
    return "\n".join([*facts, *charts, *(f"  | {row}" for row in printable(view.tail))])


def html(view: View) -> str:
    """Return a job as HTML without style sheet or script, as GitHub and nbconvert show it."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in _facts(view)
    )
    rows += "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left"><code>{bars}</code> {escape(last)}</td></tr>'
        for name, bars, last in _charts(view)
    )
    log = "\n".join(printable(view.tail))
    tail = f"<pre>{escape(log)}</pre>" if log else ""
    return f"<div><table><tbody>{rows}</tbody></table>{tail}</div>"


def mime_bundle(view: View) -> dict[str, Any]:
    """Return a cell's output: a type that our renderer shows live, and static fallbacks."""
    static = text(view)
    return {
        MIME_TYPE: {"job_id": view.job["id"], "snapshot": static},
        "text/html": html(view),
        "text/plain": static,
    }


def hyperparameter(definition: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a declared hyperparameter as a row: name, type, default, choices, option, source line, help."""
    name, minimum, maximum = (definition[key] or "" for key in ("name", "minimum", "maximum"))
    file, cell, line = (definition[key] for key in ("file", "cell", "line"))
    place = _("{path}, cell {cell}, line {line}").format(path=file, cell=cell, line=line) if cell else f"{file}:{line}"
    number_range = f"{minimum}…{maximum}" if minimum or maximum else ""
    forms = {"option": f"--hp {name}=", "flag": f"--{name}", "argument": name.upper(), "short": f"-{name}"}
    return (
        name,
        definition["type"],
        _("(required)") if definition["required"] else _shorten(definition["default"] or ""),
        _shorten(", ".join(definition["choices"]) or number_range),
        forms.get(definition["form"], ""),
        f"{place} ({definition['origin']})",
        _shorten(definition["help"]),
    )


def _shorten(text: str, longest: int = _CELL) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def local_time(time: str) -> str:
    """Return a UTC time of the JSON API in local time."""
    return datetime.fromisoformat(time.replace("Z", "+00:00")).astimezone().strftime("%Y-%m-%d %H:%M:%S")
