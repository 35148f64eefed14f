"""The command `secret`: list, set and remove secrets."""

from __future__ import annotations

from ..core.errors import UsageError
from ..core.i18n import _
from ..core.secret import is_secret_name
from .console import CommandContext, Commands
from .parser.parser import Options


def _secret(ctx: CommandContext, options: Options) -> None:
    if options.rest or (options.name and not is_secret_name(options.name)):
        # The message omits the argument: it may be the secret's value.
        raise UsageError(
            _("Invalid name of a secret."),
            fix=_("Use a name like HF_TOKEN. You are prompted for the value: %pai secret set NAME"),
        )
    if options.action != "list" and not options.name:
        raise UsageError(_("No secret named."), fix=_("See {prog} --help.").format(prog="secret"))
    if options.action == "set":
        value = ctx.console.prompt_secret(options.name)
        reply = ctx.client.call("set_secret", secret=options.name, body={"value": value.open()})
    elif options.action == "remove":
        reply = ctx.client.call("remove_secret", secret=options.name)
    else:
        reply = ctx.client.call("secrets")
    if not ctx.print_json(options, reply):
        file = _("{file} (readable by you only, not encrypted)").format(file=reply["file"])
        rows = [(one["name"], file if one["place"] == "file" else _("keyring")) for one in reply["secrets"]]
        ctx.console.table((_("secret"), _("stored in")), rows)


COMMANDS: Commands = {"secret": _secret}
