"""Commands on platforms and settings: instance types, images, jobs submitted elsewhere, terminals, profiles,
secrets, checks and tutorials."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..client.parameters import offered
from ..client.summary import local_time
from ..core.errors import BadInput, Conflict, NotFound, UsageError
from ..core.i18n import _, language, ngettext
from ..core.price import Price
from ..core.secret import is_secret_name
from ..core.text import show_memory
from ..engine import tutorials
from .console import CommandContext, Commands
from .parser.parser import Options

# The verbs of the engine that change a profile, by the action of `profile`.
_CHANGES = {
    "set": "set_profile", "default": "set_profile", "remove": "remove_profile", "logout": "remove_credentials",
}  # fmt: skip


def _instances(ctx: CommandContext, options: Options) -> None:
    reply = ctx.client.call("instances", profile=options.profile, backend=options.backend)
    if ctx.print_json(options, reply["instances"]):
        return
    states = {True: _("free"), False: _("none free"), None: ""}
    rows = [
        (
            kind["name"],
            f"{kind['cpu']:g}",
            show_memory(kind["memory"]),
            _gpus(kind),
            states[kind["available"]],
            str(Price(**kind["price"])) if kind["price"] else "",
            f"{kind['spot_discount']:.0%}" if kind["spot_discount"] else "",
        )
        for kind in reply["instances"]
    ]
    columns = (_("instance type"), _("cores"), _("memory"), "GPU", "", _("price per hour"), _("spot price"))
    # Only the prices that the platform publishes.
    shown = [n for n in range(len(columns)) if n < 5 or any(row[n] for row in rows)]
    ctx.console.table([columns[n] for n in shown], [tuple(row[n] for n in shown) for row in rows])
    _show_forbidden(ctx, reply["left_out"])
    if reply["quotas"]:
        titles = (_("quota"), _("name"), _("free cores"), _("free memory"), _("free GPUs"))
        ctx.console.table(titles, [_quota(quota) for quota in reply["quotas"]])


def _show_forbidden(ctx: CommandContext, count: int) -> None:
    if count:
        text = ngettext(
            "{n} more is not allowed by the administrator.", "{n} more are not allowed by the administrator.", count
        )
        ctx.console.print(text.format(n=count))


def _gpus(kind: dict[str, Any]) -> str:
    if not kind["gpu"]:
        return ""
    memory = f" ({show_memory(kind['gpu_memory'])})" if kind["gpu_memory"] else ""
    return f"{kind['gpu']} × {kind['gpu_name']}{memory}"


def _quota(quota: dict[str, Any]) -> tuple[str, ...]:
    return (
        quota["id"],
        quota["name"],
        _("{free:g} of {all:g}").format(free=quota["free_cpu"], all=quota["cpu"]),
        _("{free} of {all}").format(free=show_memory(quota["free_memory"]), all=show_memory(quota["memory"])),
        _("{free:g} of {all:g}").format(free=quota["free_gpu"], all=quota["gpu"]) + f" {quota['gpu_name']}",
    )


def _images(ctx: CommandContext, options: Options) -> None:
    names = ("framework", "version", "accelerator", "scope", "profile", "backend")
    reply = ctx.client.call("images", **{name: getattr(options, name) for name in names})
    if ctx.print_json(options, reply["images"]):
        return
    columns = {
        "framework": _("framework"), "version": _("version"), "accelerator": "", "python": "Python", "cuda": "CUDA",
        "modes": _("training modes"), "uri": _("image"),
    }  # fmt: skip
    images = [image | {"modes": ", ".join(image["modes"])} for image in reply["images"]]
    # Few platforms have training modes.
    shown = [name for name in columns if name != "modes" or any(image["modes"] for image in images)]
    rows = [tuple(image[name] for name in shown) for image in images]
    ctx.console.table([columns[name] for name in shown], rows)
    _show_forbidden(ctx, reply["left_out"])


def _adopt(ctx: CommandContext, options: Options) -> None:
    platform = {"profile": options.profile, "backend": options.backend}
    if options.remote_id:
        job = ctx.client.call("adopt", body=platform | {"remote_id": options.remote_id})
        if not ctx.print_json(options, job):
            ctx.console.print(_("{name} is now job {id}.").format(**job))
        return
    reply = ctx.client.call("remote_jobs", **platform, before=options.before, limit=options.limit)
    rows = [
        (job["remote_id"], job["name"], job["platform_status"], local_time(job["submitted_at"]), job["job_id"])
        for job in reply["jobs"]
    ]
    columns = (_("platform ID"), _("name"), _("status"), _("submitted"), _("id"))
    ctx.print_table(options, reply, columns, rows)


def _terminal(ctx: CommandContext, options: Options) -> None:
    from . import remote_shell

    reply = ctx.client.call("open_terminal", job=options.job, instance=options.instance, attach=True)
    if ctx.print_json(options, reply):
        return
    console, kind = ctx.console, reply["kind"]
    if console.can_prompt and not options.link and kind != "page":
        console.print(_("Terminal in {instance}. To leave: exit").format(instance=reply["instance"]))
        if kind == "command":
            console.print(reply["command"])
            remote_shell.run(shlex.split(reply["command"]))
        else:
            remote_shell.attach(reply["url"], reply["dialect"])
        return
    console.print(_("Terminal in {instance}:").format(instance=reply["instance"]))
    console.print(reply["command"] or reply["url"])
    if reply["url"]:
        console.print(_("This link expires soon. Anyone who has it can open the terminal."))
    if kind != "page":
        console.print(_("To open it, run in a terminal: jupyter pai terminal {job}").format(job=options.job))


def _profile(ctx: CommandContext, options: Options) -> None:
    name = options.name
    body: dict[str, Any] | None = {"default": True} if options.action == "default" else None
    if options.action != "list" and not name:
        raise UsageError(_("No profile named."), fix=_("See {prog} --help.").format(prog="%pai profile"))
    if options.action == "set":
        if not options.values:
            raise UsageError(_("No keys to set."), fix=_("Name them: %pai profile set NAME KEY=VALUE"))
        body = {"values": dict(map(_setting, options.values))}
    if options.action == "login":
        reply = _log_in(ctx, name)
    elif verb := _CHANGES.get(options.action):
        reply = ctx.client.call(verb, profile=name, body=body)
    else:
        reply = ctx.client.call("profiles")
    _show_profiles(ctx, reply, options)
    if not options.json:
        ctx.console.notes(reply.get("notes", ()))


def _log_in(ctx: CommandContext, profile: str) -> dict[str, Any]:
    """Prompt for the credentials that the profile's platform needs, and store them."""
    settings = {view["name"]: view["settings"] for view in ctx.client.call("profiles")["profiles"]}
    if profile not in settings:
        raise _unknown_profile(profile)
    backends = {backend["name"]: backend for backend in ctx.client.call("backends")["backends"]}
    schema = backends[settings[profile]["backend"]]["credentials"]
    # The engine raises the error for a platform without credentials.
    fields = _prompt_fields(ctx, schema) if schema else {}
    return dict(ctx.client.call("set_credentials", profile=profile, body=fields))


def _unknown_profile(name: str) -> NotFound:
    return NotFound(_("Unknown profile `{name}`.").format(name=name))


def _prompt_fields(ctx: CommandContext, schema: dict[str, Any]) -> dict[str, str]:
    """Prompt for each field. Piped input has one line per field."""
    fields: dict[str, str] = {}
    lines: Iterator[str] | None = None
    for name, field in schema["properties"].items():
        title = field.get("title", name)
        if name not in schema.get("required", ()):
            title = _("{field} (Enter to skip)").format(field=title)
        try:
            value = ctx.console.prompt_secret(title).open() if lines is None else next(lines, "")
        except UsageError as error:
            fix = _("Run it in a terminal, or pipe in one line per field: jupyter pai profile login NAME")
            raise UsageError(error.message, fix=fix) from None
        if "\n" in value:
            lines = iter(value.splitlines())
            value = next(lines)
        if value:
            fields[name] = value
    return fields


def _show_profiles(ctx: CommandContext, reply: dict[str, Any], options: Options) -> None:
    profiles = reply["profiles"]
    if options.action == "show":
        profiles = [profile for profile in profiles if profile["name"] == options.name]
        if not profiles:
            raise _unknown_profile(options.name)
    if ctx.print_json(options, reply | {"profiles": profiles}):
        return
    rows = []
    for profile in profiles:
        settings = {key: value for key, value in profile["settings"].items() if key != "own_credentials"}
        backend = settings.pop("backend")
        keys = ", ".join(f"{key}={value}" for key, value in _flat(settings))
        mark = "*" if profile["name"] == reply["default"] else ""
        rows.append((profile["name"] + mark, backend, keys, profile["file"]))
    ctx.console.table((_("profile"), _("backend"), _("keys"), _("file")), rows)
    for profile in profiles:
        if profile["settings"].get("own_credentials"):
            place = _credentials_place(profile["credentials"], reply["credentials_file"])
            ctx.console.print(f"{profile['name']}: {place}")
        if profile["refused"]:
            ctx.console.print(f"{profile['name']}: {profile['refused']}")


def _flat(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the keys of a profile as `profile set` takes them: those of a table with its name."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{name}", entry) for name, entry in value.items())
        else:
            yield key, value


def _credentials_place(stored: dict[str, str], file: str) -> str:
    """Return the sentence that says where a profile's own credentials are stored."""
    if not stored["place"]:
        return _("its own credentials are not stored yet: profile login NAME")
    text = _("its own credentials ({hint}) are stored in the keyring")
    if stored["place"] == "file":
        text = _("its own credentials ({hint}) are stored in {file} (readable by you only, not encrypted)")
    return text.format(hint=stored["hint"], file=file)


def _setting(text: str) -> tuple[str, Any]:
    """Return the key and value of `KEY=VALUE`. As in TOML, 3600 is a number and true a boolean; an empty value, None,
    removes the key."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(_("`{text}` is not of the form KEY=VALUE.").format(text=text))
    if value == "":
        return key, None
    if value in ("true", "false"):
        return key, value == "true"
    for kind in (int, float):
        with suppress(ValueError):
            return key, kind(value)
    return key, value


def _secret(ctx: CommandContext, options: Options) -> None:
    if options.rest or (options.name and not is_secret_name(options.name)):
        # The message omits the argument: it may be the secret's value.
        raise UsageError(
            _("Invalid name of a secret."),
            fix=_("Use a name like HF_TOKEN. You are prompted for the value: %pai secret set NAME"),
        )
    if options.action != "list" and not options.name:
        raise UsageError(_("No secret named."), fix=_("See {prog} --help.").format(prog="%pai secret"))
    if options.action == "set":
        value = ctx.console.prompt_secret(options.name)
        reply = ctx.client.call("set_secret", secret=options.name, body={"value": value.open()})
    elif options.action == "remove":
        reply = ctx.client.call("remove_secret", secret=options.name)
    else:
        reply = ctx.client.call("secrets")
    file = _("{file} (readable by you only, not encrypted)").format(file=reply["file"])
    rows = [(secret["name"], file if secret["place"] == "file" else _("keyring")) for secret in reply["secrets"]]
    ctx.print_table(options, reply, (_("secret"), _("stored in")), rows)


def _doctor(ctx: CommandContext, options: Options) -> None:
    place = {"profile": options.profile, "backend": options.backend}
    if not options.live:
        _print_findings(ctx, options, ctx.client.call("doctor", **place)["findings"])
    elif any(place.values()) and (tried := ctx.client.call("try_jobs", **place)["findings"]):
        _print_findings(ctx, options, tried)
    else:
        trials = ctx.client.call("trials")["trials"]
        plans = [(f"{trial['backend']} {trial['name']}", trial["what"], offered(trial["how"])) for trial in trials]
        ctx.print_table(options, trials, (_("trial"), _("expected result"), _("how")), plans)


def _print_findings(ctx: CommandContext, options: Options, checks: Sequence[Mapping[str, str]]) -> None:
    """Print findings. Raises a BadInput if jobs cannot run."""
    marks = {"ok": "✓", "warn": "!", "bad": "✗"}
    rows = [(marks[check["state"]], check["what"], offered(check["text"]), offered(check["fix"])) for check in checks]
    ctx.print_table(options, checks, ("", _("check"), _("result"), _("fix")), rows)
    if any(check["state"] == "bad" for check in checks):
        raise BadInput(_("Jobs cannot run until these problems are fixed."))


def _tutorial(ctx: CommandContext, options: Options) -> Path:
    folder = ctx.caller.path(options.folder or ".")
    notebooks = tutorials.notebooks()
    if existing := sorted(path.name for path in notebooks if (folder / path.name).exists()):
        raise Conflict(
            _("{folder} already contains {names}.").format(folder=folder, names=", ".join(existing)),
            fix=_("Choose another folder: %pai tutorial DEST"),
        )
    folder.mkdir(parents=True, exist_ok=True)
    for path in notebooks:
        shutil.copyfile(path, folder / path.name)
    ctx.console.print(_("Open {path}").format(path=folder / tutorials.FIRST[language()]))
    return folder


COMMANDS: Commands = {
    "instances": _instances,
    "images": _images,
    "adopt": _adopt,
    "terminal": _terminal,
    "profile": _profile,
    "secret": _secret,
    "doctor": _doctor,
    "tutorial": _tutorial,
}
