"""What the verbs of the grammar do about room on the disk: show what takes it, keep jobs, remove many at once."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from typing import Any

from ..client import summary
from ..core.errors import UsageError
from ..core.i18n import _, ngettext
from ..core.sizes import parse_size, show_size
from ..core.text import plain
from .parser.parser import Options
from .profiles import Upkeep

__all__ = ["Room"]

# Jobs that are removed in one call, which must be answered in time.
_AT_A_TIME = 20


class Room(Upkeep):
    """One method for each verb."""

    def pin(self, options: Options) -> None:
        self._pin(options.jobs, "pin", _("{job} is pinned: neither deleted nor pruned."))

    def unpin(self, options: Options) -> None:
        self._pin(options.jobs, "unpin", _("{job} is no longer pinned."))

    def _pin(self, jobs: Sequence[str], verb: str, said: str) -> None:
        for word in jobs:
            self.screen.say(said.format(job=self.client.call(verb, job=word)["id"]))

    def label(self, options: Options) -> None:
        changes: dict[str, str | None] = dict(map(_label, options.labels))
        if twice := [name for name in options.remove if name in changes]:
            raise UsageError(_("`{name}` is given and taken away.").format(name=twice[0]))
        changes |= dict.fromkeys(options.remove)
        verb, body = ("label", changes) if changes else ("show", None)
        labels = self.client.call(verb, job=options.job, body=body)["labels"]
        if options.json:
            self.screen.say(json.dumps(labels, ensure_ascii=False, indent=1))
        elif labels:
            self.screen.table((_("label"), _("value")), [tuple(map(plain, pair)) for pair in labels.items()])
        else:
            self.screen.say(_("It has no labels."))

    def disk(self, options: Options) -> None:
        found = self.client.call("disk")
        if options.json:
            self.screen.say(json.dumps(found, ensure_ascii=False, indent=1))
            return
        words = {
            "jobs": _("jobs that have ended"),
            "running": _("jobs that have not"),
            "environments": _("environments"),
            "inputs": _("inputs that were brought here"),
            "sources": _("packed code"),
            "database": _("database"),
        }
        rows = [(words[part["what"]], str(part["count"]), show_size(part["bytes"])) for part in found["parts"]]
        self.screen.table((_("what"), _("number"), _("takes")), rows)
        if found["largest"]:
            jobs = [(job["id"], job["name"], _state(job), show_size(job["bytes"])) for job in found["largest"]]
            self.screen.table((_("largest"), _("name"), _("status"), _("takes")), jobs)
        sizes = {name: show_size(found[name]) for name in ("bytes", "limit", "free")}
        text = _("{bytes} in {path}; the limit is {limit}; {free} are free.")
        self.screen.say(text.format(path=found["path"], **sizes))

    def prune(self, options: Options) -> None:
        body = {
            "older_than": _age(options.older_than),
            "larger_than": _size(options.larger_than),
            "keep": options.keep,
            "status": options.status,
            "labels": dict(map(_label, options.label)),
            "environments": options.environments,
        }
        found = self.client.call("prune", body=body | {"dry_run": True})
        if not options.json:
            self._show(found)
        done = found
        if not options.dry_run and (found["jobs"] or found["environments"] or found["bytes"]):
            if not options.yes and not self.screen.ask(_question(found)):
                return
            done = self._prune(body, found)
        if options.json:
            self.screen.say(json.dumps(done, ensure_ascii=False, indent=1))
            return
        for name, why in done["kept"].items():
            self.screen.say(_("kept {job}: {why}").format(job=name, why=why))
        said = _("{size} would be freed.") if options.dry_run else _("{size} freed.")
        self.screen.say(said.format(size=show_size(done["bytes"])))
        if not any(value not in (None, [], {}) for name, value in body.items() if name != "environments"):
            self.screen.say(_("No job was meant: say which, like --older-than 30d or --status failed."))

    def _prune(self, body: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
        """Remove what was shown and nothing else, some of it at a time."""
        done: dict[str, Any] = {"jobs": [], "environments": [], "sources": 0, "bytes": 0, "kept": {}}
        jobs, environments = ([one["id"] for one in found[name]] for name in ("jobs", "environments"))
        some: list[tuple[list[str], list[str]]] = [([], [key]) for key in environments]
        some += [(jobs[n : n + _AT_A_TIME], []) for n in range(0, len(jobs), _AT_A_TIME)]
        for only_jobs, only_environments in some or [([], [])]:
            only = {"only_jobs": only_jobs, "only_environments": only_environments}
            said = self.client.call("prune", body=body | only)
            for name in ("jobs", "environments", "sources", "bytes"):
                done[name] += said[name]
            done["kept"] |= said["kept"]
        return done

    def _show(self, found: dict[str, Any]) -> None:
        rows = [(job["id"], job["name"], _state(job), *_day_and_size(job)) for job in found["jobs"]]
        for one in found["environments"]:
            rows.append((one["id"][:8], one["name"] or _("environment"), "", *_day_and_size(one)))
        if rows:
            self.screen.table((_("id"), _("name"), _("status"), _("ended, last used"), _("takes")), rows)


def _question(found: dict[str, Any]) -> str:
    question = _("Remove these, and free {size}?").format(size=show_size(found["bytes"]))
    if models := sum(job["has_model"] for job in found["jobs"]):
        said = ngettext("{n} job has a trained model.", "{n} jobs have trained models.", models)
        question = f"{said.format(n=models)} {question}"
    return question


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(_("`{text}` is no label.").format(text=text), fix=_("Write it KEY=VALUE."))
    return key, value


def _age(text: str | None) -> float | None:
    """Seconds in `12h`, `30d`, `8w`."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([mhdw])", text.strip())
    if not found:
        raise UsageError(_("--older-than: `{text}` is no age; write it like 12h, 30d or 8w.").format(text=text))
    return float(found[1]) * {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}[found[2]]


def _size(text: str | None) -> int | None:
    try:
        return None if text is None else parse_size(text)
    except ValueError as error:
        raise UsageError(f"--larger-than: {error}") from None


def _state(job: dict[str, Any]) -> str:
    """How a job ended, and what should be known before it goes."""
    words = [summary.status_word(job["status"])]
    words += [_("pinned")] * bool(job.get("pinned")) + [_("has a model")] * bool(job.get("has_model"))
    return ", ".join(words)


def _day_and_size(one: dict[str, Any]) -> tuple[str, str]:
    day = time.strftime("%Y-%m-%d", time.localtime(one["used_at"])) if one["used_at"] else "-"
    return day, show_size(one["bytes"])
