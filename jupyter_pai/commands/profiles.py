"""The command `profile`: list, change and remove the profiles of the settings, and log in to their platforms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core.errors import NotFound, UsageError
from ..core.i18n import _
from .console import CommandContext, Commands
from .parser.parser import Options


def _profile(ctx: CommandContext, options: Options) -> None:
    name, call = options.name, ctx.client.call
    if options.action != "list" and not name:
        raise UsageError(_("No profile named."), fix=_("See {prog} --help.").format(prog="profile"))
    if options.action == "set":
        if not options.values:
            raise UsageError(_("No keys to set."), fix="profile set NAME KEY=VALUE")
        values = dict(_setting(text) for text in options.values)
        reply = call("set_profile", profile=name, body={"values": values})
    elif options.action == "default":
        reply = call("set_profile", profile=name, body={"default": True})
    elif options.action == "remove":
        reply = call("remove_profile", profile=name)
    elif options.action == "login":
        reply = _log_in(ctx, name)
    elif options.action == "logout":
        reply = call("remove_credentials", profile=name)
    else:
        reply = call("profiles")
    _show_profiles(ctx, reply, options)


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
        value = _prompt_field(ctx, title) if lines is None else next(lines, "")
        if "\n" in value:
            lines = iter(value.splitlines())
            value = next(lines)
        if value:
            fields[name] = value
    return fields


def _prompt_field(ctx: CommandContext, title: str) -> str:
    try:
        return ctx.console.prompt_secret(title).open()
    except UsageError as error:
        fix = _("Run it in a terminal, or pipe in one line per field: jupyter pai profile login NAME")
        raise UsageError(error.message, fix=fix) from None


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
        keys = ", ".join(f"{key}={value}" for key, value in settings.items())
        mark = "*" if profile["name"] == reply["default"] else ""
        rows.append((profile["name"] + mark, backend, keys, profile["file"]))
    ctx.console.table((_("profile"), _("backend"), _("keys"), _("file")), rows)
    for profile in profiles:
        if profile["settings"].get("own_credentials"):
            place = _credentials_place(profile["credentials"], reply["credentials_file"])
            ctx.console.print(f"{profile['name']}: {place}")
        if profile["refused"]:
            ctx.console.print(f"{profile['name']}: {profile['refused']}")


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
        try:
            return key, kind(value)
        except ValueError:
            pass
    return key, value


COMMANDS: Commands = {"profile": _profile}
