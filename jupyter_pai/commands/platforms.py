"""What the verbs of the grammar do that ask a job's platform itself: for the models that it notes, for a terminal."""

from __future__ import annotations

import json

from ..core.errors import UsageError
from ..core.i18n import _
from ..core.text import plain
from . import remote_shell as terminal_client
from .parser.parser import Options
from .tensorboard import Boards

__all__ = ["Reach"]


class Reach(Boards):
    """One method for each verb."""

    def form(self, options: Options) -> None:
        raise UsageError(_("A form is shown in a notebook."), fix=_("There: %pai form"))

    def models(self, options: Options) -> None:
        found = self.client.call("output_models", job=options.job)["models"]
        if options.json:
            self.screen.say(json.dumps(found, ensure_ascii=False, indent=1))
            return
        rows = [
            (plain(model["channel"]), plain(model["uri"]), ", ".join(f"{k}={v}" for k, v in model["labels"].items()))
            for model in found
        ]
        if rows:
            self.screen.table((_("channel"), _("model"), _("labels")), rows)
        else:
            self.screen.say(_("The platform notes no model of this job."))

    def terminal(self, options: Options) -> None:
        found = self.client.call("open_terminal", job=options.job, instance=options.instance)
        if options.json:
            self.screen.say(json.dumps(found, ensure_ascii=False, indent=1))
        elif self.screen.can_ask and not options.link and terminal_client.is_attachable(found["url"]):
            self.screen.say(_("This is {instance}. It ends with: exit").format(instance=plain(found["instance"])))
            terminal_client.attach(found["url"])
        else:
            self.screen.say(_("Terminal in {instance}:").format(instance=plain(found["instance"])))
            self.screen.say(plain(found["url"]))
            self.screen.say(_("The address is good for a moment, and lets in whoever has it."))
            if terminal_client.is_attachable(found["url"]):
                self.screen.say(
                    _("To sit at it, say in a terminal: jupyter pai terminal {job}").format(job=options.job)
                )
