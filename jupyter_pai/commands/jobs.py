"""What the verbs of the grammar do with jobs, for command line and notebook alike. How it looks is the `Screen`'s."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..client import summary
from ..client.job import JobHandle
from ..core.errors import Conflict, NotFound, Unconfirmed, UsageError
from ..core.i18n import _, ngettext
from ..core.sizes import show_size
from . import difference
from .console import as_json
from .data import moment
from .parser.parser import Options
from .platforms import Reach
from .spec_from_options import changes_of, spec_of

__all__ = ["Commands"]


class Commands(Reach):
    """One method for each verb; each gives the job it was about, if there is one."""

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
        if not self._agreed(spec, options):
            self.screen.say(_("Nothing was submitted."))
            return None
        # A script that is made of a notebook does not show which one that was.
        target = options.target if getattr(options, "as_script", False) and not self.place.notebook else ""
        notebook = str(self.place.path(target)) if target else ""
        attach = attach and not options.again
        backend = options.backend or ""
        reply = self._confirmed(
            options,
            lambda yes: self.client.submit(
                spec,
                backend=backend,
                attach=attach,
                notebook=notebook,
                confirmed=yes,
                progress=None if options.json else self.progress(),
            ),
        )
        if not reply:
            return None
        handle = JobHandle(reply["job"], self.client)
        if reply["attached"]:
            self._say_attached(handle, reply["changed"])
        return handle

    def _confirmed(self, options: Options, ask: Callable[[bool], dict[str, Any]]) -> dict[str, Any]:
        """The engine's answer; empty if the user is asked whether to go on, for what it costs, and does not want to."""
        try:
            return ask(options.yes)
        except Unconfirmed as error:
            if options.json or not self.screen.can_ask:
                raise
            if self.screen.ask(_("{why} Go on?").format(why=error.message)):
                return ask(True)
        self.screen.say(_("Nothing was submitted."))
        return {}

    def _agreed(self, spec: dict[str, Any], options: Options) -> bool:
        """Whether a person who can be asked wants to submit, if the code will refuse hyperparameters. Where nobody can,
        the job has the same as notes."""
        if not spec.get("hyperparameters") or options.json or not self.screen.can_ask:
            return True
        notes = self.client.inspect(spec)["notes"]
        for note in notes:
            self.screen.say(note)
        return not notes or self.screen.ask(_("Submit it all the same?"))

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
        for entry in preview["biggest"][:5]:
            say(f"  {entry['bytes']:>12,}  {entry['path']}")
        for left in preview["left_out"]:
            say(_("left out: {path} ({why})").format(**left))
        self._show_hyperparameters(preview["hyperparameters"])
        for note in preview["notes"]:
            say(_("note: {note}").format(note=note))
        if preview["cost"] and preview["cost"] not in preview["questions"]:
            say(_("cost: {cost}").format(**preview))
        for question in preview["questions"]:
            say(_("to be confirmed: {question}").format(question=question))
        say(_("Nothing was submitted."))

    def inspect(self, options: Options) -> None:
        found = self.client.inspect(spec_of(options, self.place, target=options.target))
        if options.json:
            self.screen.say(json.dumps(found, ensure_ascii=False, indent=1))
            return
        self._show_hyperparameters(found["hyperparameters"])
        for file in found["files"]:
            if file["problem"]:
                self.screen.say(_("not read: {path} ({problem})").format(**file))
        if not found["hyperparameters"]:
            names = ", ".join(file["path"] for file in found["files"]) or "-"
            self.screen.say(_("No hyperparameters were found. Looked at: {files}").format(files=names))
        for note in found["notes"]:
            self.screen.say(_("note: {note}").format(note=note))

    def _show_hyperparameters(self, found: list[dict[str, Any]]) -> None:
        if found:
            columns = (
                _("hyperparameter"),
                _("type"),
                _("default"),
                _("choices"),
                _("given as"),
                _("found in"),
                _("help"),
            )
            self.screen.table(columns, [summary.hyperparameter(one) for one in found])

    def list(self, options: Options) -> None:
        names = ("status", "name", "label", "backend", "limit", "sort", "order")
        wanted = {name: getattr(options, name) for name in names}
        found = self.client.call("list_jobs", **wanted, notebook=self._notebook(options.notebook))
        if options.json:
            self.screen.say(json.dumps([as_json(job) for job in found["jobs"]], ensure_ascii=False, indent=1))
            return
        rows = [
            (
                job["id"],
                job["name"],
                summary.status_word(job["status"]) + (_(", pinned") if job["pinned"] else ""),
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

    def _notebook(self, given: str | None) -> str:
        """The notebook whose jobs are meant; empty for those of all."""
        if given is None:
            return ""
        if not given and self.place.notebook is None:
            raise UsageError(_("It is not known which notebook this is."), fix=_("Name it: --notebook FILE"))
        return str(self.place.path(given) if given else self.place.notebook)

    def show(self, options: Options) -> JobHandle:
        handle = self._job(options.job)
        if options.json:
            provenance = self.client.call("provenance", job=handle.id)
            found = as_json(handle.info, spec=True) | {"provenance": provenance}
            self.screen.say(json.dumps(found, ensure_ascii=False, indent=1))
        else:
            self.screen.job(handle)
        return handle

    def logs(self, options: Options) -> None:
        line = options.from_line and options.from_line - 1
        if options.follow and not line:
            pieces = self.client.follow_log(options.job, instance=options.instance)
        else:
            wanted = {"instance": options.instance, "tail": options.tail, "line": line, "follow": options.follow}
            pieces = self.client.read_log(options.job, **wanted)
        self.screen.log(pieces, options.job, follow=options.follow)

    def metrics(self, options: Options) -> None:
        wanted = {"name": options.name, "points": options.points, "system": options.system}
        found = self.client.call("metrics", job=options.job, **wanted)["metrics"]
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

    def rerun(self, options: Options) -> JobHandle | None:
        changes = changes_of(options, self.place)
        backend = options.backend or ""
        reply = self._confirmed(
            options,
            lambda yes: self.client.rerun(options.job, changes, backend=backend, resume=options.resume, confirmed=yes),
        )
        return JobHandle(reply["job"], self.client) if reply else None

    def diff(self, options: Options) -> None:
        found = self.client.call("diff", job=options.job, other=options.other)
        if options.json:
            self.screen.say(json.dumps(found, ensure_ascii=False, indent=1))
        else:
            difference.show(found, (options.job, options.other), self.screen)

    def delete(self, options: Options) -> None:
        jobs = [self._job(word) for word in options.jobs]
        if running := [job for job in jobs if not job.ended and not options.force]:
            raise Conflict(
                _("{job} has not ended.").format(job=running[0]),
                fix=_("Stop it first: %pai stop {job}").format(job=running[0].id),
            )
        names = ", ".join(f"{job.id} ({job.name})" for job in jobs)
        if options.yes or self.screen.ask(_("Delete {jobs}, with logs, metrics and outputs?").format(jobs=names)):
            for job in jobs:
                job.delete(force=options.force)
                self.screen.say(_("Deleted {job}.").format(job=job.id))

    def outputs(self, options: Options) -> JobHandle:
        handle = self._job(options.job)
        found = self.client.call("outputs", job=handle.id, channel=options.channel, limit=500)["channels"]
        if options.json:
            files = {one["name"]: handle.files(one["name"]) for one in found}
            self.screen.say(json.dumps([one | {"files": files[one["name"]]} for one in found]))
            return handle
        for one in found:
            rows = [
                (_shown(file["path"]), file["problem"] or show_size(file["bytes"]), moment(file["modified"]))
                for file in one["files"]
            ]
            if rows:
                self.screen.table((one["name"], _("size"), _("written")), rows)
            more = one["count"] - len(rows)
            if more:
                self.screen.say(_("… and {n} more; --json prints all.").format(n=more))
            if not rows:
                self.screen.say(_("{channel}: nothing is there.").format(channel=one["name"]))
        return handle

    def download(self, options: Options) -> JobHandle:
        handle = self._job(options.job)
        if len(options.place) > 2:
            raise UsageError(
                _("download takes an id, a channel and a folder."), fix=_("See {prog} --help.").format(prog="download")
            )
        channel = options.place[0] if len(options.place) == 2 else "model"
        folder = self.place.path(options.place[-1])
        files = options.file or None
        handle.download(channel, folder, files=files, overwrite=options.overwrite, progress=self.progress())
        self.screen.say(_("{channel} of {job} is in {folder}").format(channel=channel, job=handle.id, folder=folder))
        return handle

    def _job(self, word: str) -> JobHandle:
        return JobHandle(self.client.call("show", job=word), self.client)


def _shown(path: str) -> str:
    """A path as a terminal may have it: any byte may be in a file's name."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in path)
