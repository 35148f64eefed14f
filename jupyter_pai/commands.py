"""What the verbs of the grammar do, for command line and notebook alike. How it looks is the `Screen`'s."""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import summary
from .client import Client
from .errors import BadInput, Conflict, NotFound, UsageError
from .grammar import Options
from .handle import JobHandle
from .i18n import _, language, ngettext
from .place import Place
from .submission import spec_of

__all__ = ["Commands", "Screen", "as_json"]

_FIELDS = (
    "id name backend profile status exit_code reason remote_id submitted_at started_at ended_at "
    "outputs metrics console_url"
).split()


class Screen(ABC):
    """Where results are shown."""

    @abstractmethod
    def say(self, text: str = "") -> None:
        """A line for people."""

    @abstractmethod
    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows of cells."""

    @abstractmethod
    def bytes(self, data: bytes) -> None:
        """A piece of a log, as it is."""

    @abstractmethod
    def job(self, handle: JobHandle) -> None:
        """A job."""

    @abstractmethod
    def ask(self, question: str) -> bool:
        """Whether the user says yes.

        Raises:
            UsageError: if nobody can be asked.
        """


def as_json(info: dict[str, Any], *, spec: bool = False) -> dict[str, Any]:
    """A job as `--json` prints it."""
    found = {name: info[name] for name in _FIELDS}
    return found | {"spec": info["spec"]} if spec else found


class Commands:
    """One method for each verb; each gives the job it was about, if there is one."""

    def __init__(self, client: Client, place: Place, screen: Screen) -> None:
        self.client = client
        self.place = place
        self.screen = screen

    def run(self, options: Options) -> object:
        """Do what the options say.

        Raises:
            PaiError: as the engine raised it, or for what the options ask and cannot be.
        """
        return getattr(self, options.verb)(options)

    def submit(self, options: Options, *, cell: str = "", attach: bool = False) -> JobHandle | None:
        """Submit what the options say; None after a dry run."""
        spec = spec_of(options, self.place, target=getattr(options, "target", ""), cell=cell)
        if options.dry_run:
            self._dry_run(self.client.preview(spec, backend=options.backend or ""), options.json)
            return None
        reply = self.client.submit(spec, backend=options.backend or "", attach=attach and not options.again)
        handle = JobHandle(reply["job"], self.client)
        if reply["attached"]:
            self._say_attached(handle, reply["changed"])
        return handle

    def _say_attached(self, handle: JobHandle, changed: list[str]) -> None:
        self.screen.say(
            _("This cell is unchanged: attached to its job {job}, {status}. A new one: --again").format(
                job=handle.id, status=summary.status_word(handle.status)
            )
        )
        if changed:
            names = ", ".join(changed[:5])
            self.screen.say(_("Changed since then, and not in that job: {files}").format(files=names))

    def _dry_run(self, preview: dict[str, Any], json_wanted: bool) -> None:
        say = self.screen.say
        if json_wanted:
            say(json.dumps(preview, ensure_ascii=False, indent=1))
            return
        given = {name: value for name, value in preview["spec"].items() if value not in ("", None, [], {}, False)}
        say(json.dumps(given, ensure_ascii=False, indent=1))
        say(_("backend: {backend} (profile {profile})").format(**preview))
        say(_("command: {command}").format(**preview))
        if preview["python"]:
            say(_("interpreter: {python}").format(**preview))
        packed = ngettext(
            "packed: {files} file, {bytes:,} bytes", "packed: {files} files, {bytes:,} bytes", preview["files"]
        )
        say(packed.format(**preview))
        for entry in preview["biggest"]:
            say(f"  {entry['bytes']:>12,}  {entry['path']}")
        for left in preview["left_out"]:
            say(_("left out: {path} ({why})").format(**left))
        for note in preview["notes"]:
            say(_("note: {note}").format(note=note))
        say(_("Nothing was submitted."))

    def list(self, options: Options) -> None:
        wanted = {name: getattr(options, name) for name in ("status", "name", "label", "limit")}
        found = self.client.call("list_jobs", **wanted)
        if options.json:
            self.screen.say(json.dumps([as_json(job) for job in found["jobs"]], ensure_ascii=False, indent=1))
            return
        rows = [
            (
                job["id"],
                job["name"],
                summary.status_word(job["status"]),
                job["profile"],
                summary.local_time(job["submitted_at"]),
                summary.duration(job),
                ", ".join(f"{name}={float(m['value']):.4g}" for name, m in list(job["metrics"].items())[:3]),
            )
            for job in found["jobs"]
        ]
        columns = (_("id"), _("name"), _("status"), _("profile"), _("submitted"), _("took"), _("metrics"))
        self.screen.table(columns, rows)
        if found["total"] > len(rows):
            self.screen.say(
                _("{shown} of {total} jobs; more with --limit.").format(shown=len(rows), total=found["total"])
            )

    def show(self, options: Options) -> JobHandle:
        handle = self._job(options.job)
        if options.json:
            self.screen.say(json.dumps(as_json(handle.info, spec=True), ensure_ascii=False, indent=1))
        else:
            self.screen.job(handle)
        return handle

    def logs(self, options: Options) -> None:
        if options.follow:
            pieces = self.client.follow_log(options.job, instance=options.instance)
        else:
            pieces = self.client.read_log(options.job, instance=options.instance, tail=options.tail)
        for data in pieces:
            self.screen.bytes(data)

    def metrics(self, options: Options) -> None:
        found = self.client.call("metrics", job=options.job, name=options.name)["metrics"]
        if missing := [name for name in options.name if name not in found]:
            raise NotFound(_("The job has no metric `{name}`.").format(name=missing[0]))
        if options.json:
            self.screen.say(json.dumps(found, ensure_ascii=False))
            return
        rows = [
            (name, str(step), f"{float(value):.6g}")
            for name, points in found.items()
            for step, value in zip(points["step"], points["value"], strict=False)
        ]
        self.screen.table((_("metric"), _("step"), _("value")), rows)

    def stop(self, options: Options) -> None:
        for word in options.jobs:
            info = self.client.call("stop", job=word)
            handle = JobHandle(info, self.client)
            if handle.ended:
                self.screen.say(_("{job} has ended already.").format(job=handle))
            else:
                handle.wait()
                self.screen.say(repr(handle))

    def rerun(self, options: Options) -> JobHandle:
        return JobHandle(self.client.rerun(options.job)["job"], self.client)

    def delete(self, options: Options) -> None:
        jobs = [self._job(word) for word in options.jobs]
        if running := [job for job in jobs if not job.ended]:
            raise Conflict(
                _("{job} has not ended.").format(job=running[0]),
                fix=_("Stop it first: %pai stop {job}").format(job=running[0].id),
            )
        names = ", ".join(f"{job.id} ({job.name})" for job in jobs)
        if options.yes or self.screen.ask(_("Delete {jobs}, with logs, metrics and outputs?").format(jobs=names)):
            for job in jobs:
                job.delete()
                self.screen.say(_("Deleted {job}.").format(job=job.id))

    def download(self, options: Options) -> JobHandle:
        handle = self._job(options.job)
        if len(options.place) > 2:
            raise UsageError(
                _("download takes an id, a channel and a folder."), fix=_("See {prog} --help.").format(prog="download")
            )
        channel = options.place[0] if len(options.place) == 2 else "model"
        folder = self.place.path(options.place[-1])
        handle.download(channel, folder, overwrite=options.overwrite)
        self.screen.say(_("{channel} of {job} is in {folder}").format(channel=channel, job=handle.id, folder=folder))
        return handle

    def profile(self, options: Options) -> None:
        if options.action != "list" and not options.name:
            raise UsageError(_("Which profile?"), fix=_("See {prog} --help.").format(prog="profile"))
        if options.action == "set":
            if not options.values:
                raise UsageError(_("Set what?"), fix="profile set NAME KEY=VALUE")
            values = dict(_setting(text) for text in options.values)
            found = self.client.call("set_profile", profile=options.name, body={"values": values})
        elif options.action == "default":
            found = self.client.call("set_profile", profile=options.name, body={"default": True})
        elif options.action == "remove":
            found = self.client.call("remove_profile", profile=options.name)
        else:
            found = self.client.call("profiles")
        self._show_profiles(found, options)

    def _show_profiles(self, found: dict[str, Any], options: Options) -> None:
        profiles = found["profiles"]
        if options.action == "show":
            profiles = [profile for profile in profiles if profile["name"] == options.name]
            if not profiles:
                raise NotFound(_("There is no profile `{name}`.").format(name=options.name))
        if options.json:
            self.screen.say(json.dumps(found | {"profiles": profiles}, ensure_ascii=False, indent=1))
            return
        rows = []
        for profile in profiles:
            settings = dict(profile["settings"])
            backend = settings.pop("backend")
            keys = ", ".join(f"{key}={value}" for key, value in settings.items())
            mark = "*" if profile["name"] == found["default"] else ""
            rows.append((profile["name"] + mark, backend, keys, profile["file"]))
        self.screen.table((_("profile"), _("backend"), _("keys"), _("file")), rows)

    def doctor(self, options: Options) -> None:
        findings = self.client.call("doctor")["findings"]
        if options.json:
            self.screen.say(json.dumps(findings, ensure_ascii=False, indent=1))
        else:
            marks = {"ok": "✓", "warn": "!", "bad": "✗"}
            rows = [(marks[f["state"]], f["what"], f["text"], f["fix"]) for f in findings]
            self.screen.table(("", _("what"), _("found"), _("what to do")), rows)
        if any(finding["state"] == "bad" for finding in findings):
            raise BadInput(_("Jobs cannot run until this is mended."))

    def tutorial(self, options: Options) -> Path:
        source = _tutorial_folder()
        folder = self.place.path(options.folder or ".")
        names = sorted(path.name for path in source.glob("*.ipynb"))
        there = [name for name in names if (folder / name).exists()]
        if there:
            raise Conflict(
                _("{folder} has {names} already.").format(folder=folder, names=", ".join(there)),
                fix=_("Choose another folder: tutorial DEST"),
            )
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            shutil.copyfile(source / name, folder / name)
        first = "tutorial.zh-CN.ipynb" if language() == "zh-CN" else "tutorial.ipynb"
        self.screen.say(_("Open {path}").format(path=folder / first))
        return folder

    def _job(self, word: str) -> JobHandle:
        return JobHandle(self.client.call("show", job=word), self.client)


def _setting(text: str) -> tuple[str, Any]:
    """A key and its value as TOML has it: 3600 is a number, true a truth value; an empty one removes the key."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(_("`{text}` is not of the form KEY=VALUE.").format(text=text))
    if value == "":
        return key, None
    if value in ("true", "false"):
        return key, value == "true"
    for kind in (int, float):
        try:
            return key, kind(value)
        except ValueError:
            pass
    return key, value


def _tutorial_folder() -> Path:
    """The notebooks: in the installed package, or in the repository that it runs from."""
    here = Path(__file__).parent
    for folder in (here / "_tutorial", here.parent / "binder"):
        if (folder / "tutorial.ipynb").exists():
            return folder
    raise NotFound(_("The tutorial is not installed."), fix="pip install --force-reinstall --no-deps jupyter-pai")
