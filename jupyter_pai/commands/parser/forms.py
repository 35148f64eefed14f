"""What the verb that shows a form can be told; a part of `grammar`."""

from __future__ import annotations

import argparse

from ...core.i18n import N_, _

__all__ = ["VERBS"]


def _add_form(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("target", nargs="?", default="", help=_("a folder, .py, .sh or .ipynb; else the notebook itself"))
    where = command.add_mutually_exclusive_group()
    where.add_argument("--backend", metavar="NAME", default="", help=_("run on this backend's default profile"))
    where.add_argument("--profile", metavar="NAME", default="", help=_("run with this profile of the settings"))


VERBS = {"form": (N_("Show a form that submits a job, in a notebook."), _add_form)}
