"""What the verbs about platforms can be told; a part of `grammar`."""

from __future__ import annotations

import argparse

from ...core.i18n import N_, _

__all__ = ["VERBS", "add_json"]

_ACTIONS = ["list", "show", "set", "default", "remove", "login", "logout"]


def add_json(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--json", action="store_true", help=text)


def _add_profile(command: argparse.ArgumentParser) -> None:
    command.add_argument("action", choices=_ACTIONS, help=_("what to do"))
    command.add_argument("name", nargs="?", default="", help=_("the profile"))
    command.add_argument("values", metavar="KEY=VALUE", nargs="*", help=_("with set: keys; an empty value removes one"))
    add_json(command, _("print one JSON object"))


def _add_instances(command: argparse.ArgumentParser) -> None:
    where = command.add_mutually_exclusive_group()
    where.add_argument("--backend", metavar="NAME", default="", help=_("those of this backend's default profile"))
    where.add_argument("--profile", metavar="NAME", default="", help=_("those of this profile"))
    add_json(command, _("print a JSON array"))


def _add_adopt(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("remote_id", metavar="NAME", nargs="?", default="", help=_("what the platform calls it; without, list them"))
    where = command.add_mutually_exclusive_group()
    where.add_argument("--backend", metavar="NAME", default="", help=_("on this backend's default profile"))
    where.add_argument("--profile", metavar="NAME", default="", help=_("with this profile"))
    add("--before", metavar="TIME", default="", help=_("list older ones: an ISO time"))
    add("--limit", metavar="N", type=int, default=20, help=_("how many jobs, at most 500"))
    add_json(command, _("print one JSON object"))


def _add_images(command: argparse.ArgumentParser) -> None:
    command.add_argument("framework", nargs="?", default="", help=_("only those of this framework, like PyTorch"))
    command.add_argument(
        "--version", metavar="VERSION", default="", help=_("only this version; `latest` for the newest alone")
    )
    which = command.add_mutually_exclusive_group()
    which.add_argument(
        "--cpu", dest="accelerator", action="store_const", const="CPU", default="", help=_("only those for CPUs")
    )
    which.add_argument("--gpu", dest="accelerator", action="store_const", const="GPU", help=_("only those for GPUs"))
    command.add_argument(
        "--scope",
        metavar="USE",
        default="",
        help=_("what they are for: training, develop, inference; own for those of the workspace"),
    )
    where = command.add_mutually_exclusive_group()
    where.add_argument("--backend", metavar="NAME", default="", help=_("those of this backend's default profile"))
    where.add_argument("--profile", metavar="NAME", default="", help=_("those of this profile"))
    add_json(command, _("print a JSON array"))


def _add_models(command: argparse.ArgumentParser) -> None:
    command.add_argument("job", metavar="ID", help=_("an id, the beginning of one, a name, or `last`"))
    add_json(command, _("print a JSON array"))


def _add_terminal(command: argparse.ArgumentParser) -> None:
    command.add_argument("job", metavar="ID", help=_("an id, the beginning of one, a name, or `last`"))
    command.add_argument("--instance", metavar="NAME", default="", help=_("in this instance; else the first"))
    command.add_argument("--link", action="store_true", help=_("print its address, and do not open it"))
    add_json(command, _("print one JSON object"))


def _add_doctor(command: argparse.ArgumentParser) -> None:
    where = command.add_mutually_exclusive_group()
    where.add_argument(
        "--backend", metavar="NAME", default="", help=_("only what this backend's default profile needs")
    )
    where.add_argument("--profile", metavar="NAME", default="", help=_("only what this profile needs"))
    where.add_argument("--live", action="store_true", help=_("list what a person with an account should try once"))
    add_json(command, _("print a JSON array"))


VERBS = {
    "profile": (N_("Look at the settings' profiles, and change them."), _add_profile),
    "instances": (N_("List the instance types that jobs can ask for, and quotas."), _add_instances),
    "images": (N_("List the images that jobs can run in."), _add_images),
    "adopt": (N_("Follow a job that was submitted elsewhere, or list those of a platform."), _add_adopt),
    "models": (N_("List the models that a job has made, as its platform notes them."), _add_models),
    "terminal": (N_("Open a terminal in a job that runs on a platform."), _add_terminal),
    "doctor": (N_("Check everything that a job needs."), _add_doctor),
}
