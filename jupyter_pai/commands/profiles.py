"""What the verbs of the grammar do that are about no single job: settings, checks, room on the disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..client.base import Client
from ..client.context import Place
from ..client.summary import local_time
from ..core.errors import BadInput, Conflict, NotFound, UsageError
from ..core.i18n import _, language, ngettext
from ..core.secret import is_secret_name
from ..core.sizes import show_memory
from ..engine import tutorials
from .console import Screen
from .parser.parser import Options

__all__ = ["Upkeep"]


class Upkeep:
    """One method for each verb."""

    def __init__(self, client: Client, place: Place, screen: Screen) -> None:
        self.client = client
        self.place = place
        self.screen = screen

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
        elif options.action == "login":
            found = self._log_in(options.name)
        elif options.action == "logout":
            found = self.client.call("remove_credentials", profile=options.name)
        else:
            found = self.client.call("profiles")
        self._show_profiles(found, options)

    def _log_in(self, profile: str) -> dict[str, Any]:
        """Ask for what the profile's platform wants, as passwords are asked for."""
        known = {view["name"]: view["settings"]["backend"] for view in self.client.call("profiles")["profiles"]}
        if profile not in known:
            raise NotFound(_("There is no profile `{name}`.").format(name=profile))
        backends = {backend["name"]: backend for backend in self.client.call("backends")["backends"]}
        schema = backends[known[profile]]["credentials"]
        given = self._ask_fields(schema) if schema else {}  # The engine says that there is nothing to give.
        return dict(self.client.call("set_credentials", profile=profile, body=given))

    def _ask_fields(self, schema: dict[str, Any]) -> dict[str, str]:
        """What the user types, or pipes in: a line a field."""
        given: dict[str, str] = {}
        lines: Iterator[str] | None = None
        for name, field in schema["properties"].items():
            title = field.get("title", name)
            if name not in schema.get("required", ()):
                title = _("{field} (Enter for none)").format(field=title)
            value = self._ask_field(title) if lines is None else next(lines, "")
            if "\n" in value:
                lines = iter(value.splitlines())
                value = next(lines)
            if value:
                given[name] = value
        return given

    def _ask_field(self, title: str) -> str:
        try:
            return self.screen.ask_secret(title).open()
        except UsageError as error:
            fix = _("In a terminal, or piped in, a line for each field: jupyter pai profile login NAME")
            raise UsageError(error.message, fix=fix) from None

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
            settings.pop("own_credentials", None)
            keys = ", ".join(f"{key}={value}" for key, value in settings.items())
            mark = "*" if profile["name"] == found["default"] else ""
            rows.append((profile["name"] + mark, backend, keys, profile["file"]))
        self.screen.table((_("profile"), _("backend"), _("keys"), _("file")), rows)
        for profile in profiles:
            if profile["settings"].get("own_credentials"):
                self.screen.say(f"{profile['name']}: {_credentials(profile['credentials'], found['credentials_file'])}")
            if profile["refused"]:
                self.screen.say(f"{profile['name']}: {profile['refused']}")

    def instances(self, options: Options) -> None:
        found = self.client.call("instances", profile=options.profile, backend=options.backend)
        if options.json:
            self.screen.say(json.dumps(found["instances"], ensure_ascii=False, indent=1))
            return
        self._show_instances(found["instances"])
        self._say_left_out(found["left_out"])
        if found["quotas"]:
            self._show_quotas(found["quotas"])

    def _say_left_out(self, count: int) -> None:
        if count:
            text = ngettext(
                "{n} more is not allowed by the administrator.", "{n} more are not allowed by the administrator.", count
            )
            self.screen.say(text.format(n=count))

    def _show_instances(self, kinds: list[dict[str, Any]]) -> None:
        words = {True: _("free"), False: _("in use"), None: ""}
        spot = any(kind["spot_discount"] for kind in kinds)
        rows = []
        for kind in kinds:
            share = f"{kind['spot_discount']:.0%}" if kind["spot_discount"] else ""
            row = (kind["name"], f"{kind['cpu']:g}", show_memory(kind["memory"]), _gpus(kind), words[kind["available"]])
            rows.append((*row, share) if spot else row)
        heads = (_("instance type"), _("cores"), _("memory"), "GPU", "")
        self.screen.table((*heads, _("spot price")) if spot else heads, rows)

    def _show_quotas(self, quotas: list[dict[str, Any]]) -> None:
        rows = [
            (
                quota["id"],
                quota["name"],
                _("{free:g} of {all:g}").format(free=quota["free_cpu"], all=quota["cpu"]),
                _("{free} of {all}").format(free=show_memory(quota["free_memory"]), all=show_memory(quota["memory"])),
                _("{free:g} of {all:g}").format(free=quota["free_gpu"], all=quota["gpu"]) + f" {quota['gpu_name']}",
            )
            for quota in quotas
        ]
        self.screen.table((_("quota"), _("name"), _("free cores"), _("free memory"), _("free GPUs")), rows)

    def images(self, options: Options) -> None:
        words = ("framework", "version", "accelerator", "scope", "profile", "backend")
        reply = self.client.call("images", **{word: getattr(options, word) for word in words})
        found = reply["images"]
        if options.json:
            self.screen.say(json.dumps(found, ensure_ascii=False, indent=1))
            return
        rows = [
            (image["framework"], image["version"], image["accelerator"], image["python"], image["cuda"], image["uri"])
            for image in found
        ]
        self.screen.table((_("framework"), _("version"), "", "Python", "CUDA", _("image")), rows)
        self._say_left_out(reply["left_out"])

    def adopt(self, options: Options) -> None:
        where = {"profile": options.profile, "backend": options.backend}
        if options.remote_id:
            found = self.client.call("adopt", body=where | {"remote_id": options.remote_id})
        else:
            found = self.client.call("remote_jobs", **where, before=options.before, limit=options.limit)
        if options.json:
            self.screen.say(json.dumps(found, ensure_ascii=False, indent=1))
        elif options.remote_id:
            self.screen.say(_("{name} is the job {id} here.").format(**found))
        else:
            rows = [
                (job["remote_id"], job["name"], job["platform_status"], local_time(job["submitted_at"]), job["job_id"])
                for job in found["jobs"]
            ]
            self.screen.table((_("platform's name"), _("name"), _("status"), _("submitted"), _("id")), rows)

    def secret(self, options: Options) -> None:
        if options.rest or (options.name and not is_secret_name(options.name)):
            # Said without what was given, which may be the value.
            raise UsageError(
                _("This is no name for a secret."),
                fix=_("A name is like HF_TOKEN; the value is asked for: %pai secret set NAME"),
            )
        if options.action != "list" and not options.name:
            raise UsageError(_("Which secret?"), fix=_("See {prog} --help.").format(prog="secret"))
        if options.action == "set":
            value = self.screen.ask_secret(options.name)
            found = self.client.call("set_secret", secret=options.name, body={"value": value.open()})
        elif options.action == "remove":
            found = self.client.call("remove_secret", secret=options.name)
        else:
            found = self.client.call("secrets")
        self._show_secrets(found, options)

    def _show_secrets(self, found: dict[str, Any], options: Options) -> None:
        if options.json:
            self.screen.say(json.dumps(found, ensure_ascii=False, indent=1))
            return
        rows = []
        for secret in found["secrets"]:
            in_file = secret["place"] == "file"
            place = (
                _("{file} (readable by you only, not encrypted)").format(file=found["file"])
                if in_file
                else _("keyring")
            )
            rows.append((secret["name"], place))
        self.screen.table((_("secret"), _("kept in")), rows)

    def doctor(self, options: Options) -> None:
        if options.live:
            self._show_trials(options)
            return
        findings = self.client.call("doctor", profile=options.profile, backend=options.backend)["findings"]
        if options.json:
            self.screen.say(json.dumps(findings, ensure_ascii=False, indent=1))
        else:
            marks = {"ok": "✓", "warn": "!", "bad": "✗"}
            rows = [(marks[f["state"]], f["what"], f["text"], f["fix"]) for f in findings]
            self.screen.table(("", _("what"), _("found"), _("what to do")), rows)
        if any(finding["state"] == "bad" for finding in findings):
            raise BadInput(_("Jobs cannot run until this is mended."))

    def _show_trials(self, options: Options) -> None:
        trials = self.client.call("trials")["trials"]
        if options.json:
            self.screen.say(json.dumps(trials, ensure_ascii=False, indent=1))
            return
        rows = [(f"{trial['backend']} {trial['name']}", trial["what"], trial["how"]) for trial in trials]
        self.screen.table((_("trial"), _("what is to be seen"), _("how")), rows)

    def tutorial(self, options: Options) -> Path:
        folder = self.place.path(options.folder or ".")
        found = tutorials.notebooks()
        there = sorted(path.name for path in found if (folder / path.name).exists())
        if there:
            raise Conflict(
                _("{folder} has {names} already.").format(folder=folder, names=", ".join(there)),
                fix=_("Choose another folder: tutorial DEST"),
            )
        folder.mkdir(parents=True, exist_ok=True)
        for path in found:
            shutil.copyfile(path, folder / path.name)
        self.screen.say(_("Open {path}").format(path=folder / tutorials.FIRST[language()]))
        return folder


def _credentials(kept: dict[str, str], file: str) -> str:
    """Where a profile's own credentials are."""
    if not kept["place"]:
        return _("its own credentials are not kept here: profile login NAME")
    text = _("its own credentials ({hint}) are kept in the keyring")
    if kept["place"] == "file":
        text = _("its own credentials ({hint}) are kept in {file} (readable by you only, not encrypted)")
    return text.format(hint=kept["hint"], file=file)


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


def _gpus(kind: dict[str, Any]) -> str:
    if not kind["gpu"]:
        return ""
    memory = f" ({show_memory(kind['gpu_memory'])})" if kind["gpu_memory"] else ""
    return f"{kind['gpu']} × {kind['gpu_name']}{memory}"
