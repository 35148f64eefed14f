"""The commands `conda` and `mamba` of a local job, which shares the environment of the user's kernel."""

from __future__ import annotations

import shlex
import shutil

from ...core.i18n import _
from .launcher import write_script

CHANGES = ("install", "remove", "uninstall", "update", "upgrade")


def write_guards(folder: str) -> None:
    """Write the installed `conda` and `mamba` commands into a folder. They refuse to change an environment, which is
    that of the user's kernel."""
    for name in ("conda", "mamba", "micromamba"):
        path = shutil.which(name)
        if path:
            verbs = "|".join('*" %s "*' % verb for verb in CHANGES)
            text = shlex.quote(refusal(name))
            guard = 'case " $* " in %s) echo %s >&2; exit 1;; esac\n' % (verbs, text)
            write_script(folder, name, guard + "exec " + shlex.quote(path))


def refusal(command: str) -> str:
    """Return the message for a command that would change the environment of the user's kernel."""
    return _("pai: `{command}` would change the environment of your kernel. Pass --requirement instead.").format(
        command=command
    )
