"""The registry of commands: every verb of `jupyter pai` and `%pai`, and the function that runs it.

A module of this folder implements a group of verbs and lists them in its `COMMANDS`. How a verb's options are parsed
is defined in `parser`.
"""

from __future__ import annotations

from . import data, disk, jobs, models, platforms, tensorboard, workflows
from .console import Commands

COMMANDS: Commands = {
    **jobs.COMMANDS,
    **disk.COMMANDS,
    **data.COMMANDS,
    **tensorboard.COMMANDS,
    **platforms.COMMANDS,
    **models.COMMANDS,
    **workflows.COMMANDS,
}
