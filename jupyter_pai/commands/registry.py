"""The registry of commands: every verb of `jupyter pai` and `%pai`, and the function that runs it.

A module of this folder implements a group of verbs and lists them in its `COMMANDS`. How a verb's options are parsed
is defined in `parser`.
"""

from __future__ import annotations

from . import data, disk, doctor, jobs, outputs, platforms, profiles, secrets, tensorboard
from .console import CommandContext, Commands
from .parser.parser import Options

COMMANDS: Commands = {
    **jobs.COMMANDS,
    **outputs.COMMANDS,
    **disk.COMMANDS,
    **data.COMMANDS,
    **tensorboard.COMMANDS,
    **platforms.COMMANDS,
    **profiles.COMMANDS,
    **secrets.COMMANDS,
    **doctor.COMMANDS,
}


def run(ctx: CommandContext, options: Options) -> object:
    """Run the verb of a parsed line. Return the job that it submitted or shows, if any.

    Raises:
        PaiError: as the engine raised it, or for options that contradict each other.
    """
    return COMMANDS[options.verb](ctx, options)
