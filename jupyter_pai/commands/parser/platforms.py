"""The arguments of the verbs on platforms and settings."""

from __future__ import annotations

import argparse

from ...core.i18n import N_, _
from .arguments import add_job, add_json, add_profile

__all__ = ["VERBS"]

_ACTIONS = ["list", "show", "set", "default", "remove", "login", "logout"]


def _add_profile_command(command: argparse.ArgumentParser) -> None:
    command.add_argument("action", choices=_ACTIONS, help=_("the action"))
    command.add_argument("name", nargs="?", default="", help=_("the profile"))
    command.add_argument(
        "values", metavar="KEY=VALUE", nargs="*", help=_("with set: the keys; an empty value removes a key")
    )
    add_json(command)


def _add_listed(command: argparse.ArgumentParser) -> None:
    add_profile(command, _("list for this backend's default profile"), _("list for this profile"))
    add_json(command, _("print a JSON array"))


def _add_adopt(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("remote_id", metavar="NAME", nargs="?", default="", help=_("the job's ID on the platform; default: list jobs"))
    add_profile(command, _("on this backend's default profile"), _("with this profile"))
    add("--before", metavar="TIME", default="", help=_("list jobs submitted before this ISO time"))
    add("--limit", metavar="N", type=int, default=20, help=_("maximum number of jobs (at most 500)"))
    add_json(command)


def _add_images(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("framework", nargs="?", default="", help=_("only images of this framework, such as PyTorch"))
    add("--version", metavar="VERSION", default="", help=_("only this version; `latest` for the newest"))
    group = command.add_mutually_exclusive_group()
    for name, kind, text in (("--cpu", "CPU", _("only CPU images")), ("--gpu", "GPU", _("only GPU images"))):
        group.add_argument(name, dest="accelerator", action="store_const", const=kind, default="", help=text)
    add(
        "--scope",
        metavar="USE",
        default="",
        help=_("the purpose: training, develop, inference; `own` for images of the workspace"),
    )
    _add_listed(command)


def _add_models(command: argparse.ArgumentParser) -> None:
    add_job(command)
    add_json(command, _("print a JSON array"))


def _add_terminal(command: argparse.ArgumentParser) -> None:
    add_job(command)
    command.add_argument("--instance", metavar="NAME", default="", help=_("the instance; default: the first"))
    command.add_argument("--link", action="store_true", help=_("print the link without opening it"))
    add_json(command)


def _add_doctor(command: argparse.ArgumentParser) -> None:
    group = command.add_mutually_exclusive_group()
    add = group.add_argument
    add("--backend", metavar="NAME", default="", help=_("check only this backend's default profile"))
    add("--profile", metavar="NAME", default="", help=_("check only this profile"))
    add("--live", action="store_true", help=_("list the manual checks that need an account"))
    add_json(command, _("print a JSON array"))


def _add_secret(command: argparse.ArgumentParser) -> None:
    command.add_argument("action", choices=["list", "set", "remove"], help=_("the action"))
    command.add_argument("name", nargs="?", default="", help=_("the secret's name; you are prompted for its value"))
    # A further argument may be the value, passed by mistake: no message may repeat it.
    command.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    add_json(command)


def _add_tutorial(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "folder", metavar="DEST", nargs="?", default="", help=_("the target folder; default: the notebook's folder")
    )


VERBS = {
    "profile": (N_("List and change the profiles of the settings."), _add_profile_command),
    "instances": (N_("List the instance types and quotas that jobs can request."), _add_listed),
    "images": (N_("List the images that jobs can run in."), _add_images),
    "adopt": (N_("Import a job that was submitted elsewhere, or list a platform's jobs."), _add_adopt),
    "models": (N_("List the models that a job produced, as recorded by its platform."), _add_models),
    "terminal": (N_("Open a terminal in a job that runs on a platform."), _add_terminal),
    "doctor": (N_("Check everything that a job needs."), _add_doctor),
    "secret": (N_("Store secrets for jobs. Stored values are never shown."), _add_secret),
    "tutorial": (N_("Copy the tutorial notebooks into a folder."), _add_tutorial),
}
