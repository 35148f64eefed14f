"""The verbs on platforms and settings."""

from __future__ import annotations

import argparse

from ...core.i18n import N_
from .arguments import JOB, JSON, Argument, OneOf, Verb, json_option, profile_options

_ARRAY = json_option(N_("print a JSON array"))
_ACTION = N_("the action")
_LISTED = profile_options(N_("list for this backend's default profile"), N_("list for this profile"))

VERBS: dict[str, Verb] = {
    "profile": (
        N_("List and change the profiles of the settings."),
        Argument("action", _ACTION, choices=["list", "show", "set", "default", "remove", "login", "logout"]),
        Argument("name", N_("the profile"), nargs="?", default=""),
        Argument("values", N_("with set: the keys; an empty value removes a key"), metavar="KEY=VALUE", nargs="*"),
        JSON,
    ),
    "instances": (N_("List the instance types and quotas that jobs can request."), _LISTED, _ARRAY),
    "images": (
        N_("List the images that jobs can run in."),
        Argument("framework", N_("only images of this framework, such as PyTorch"), nargs="?", default=""),
        Argument("--version", N_("only this version; `latest` for the newest"), metavar="VERSION", default=""),
        OneOf(
            Argument("--cpu", N_("only CPU images"), dest="accelerator", action="store_const", const="CPU", default=""),
            Argument("--gpu", N_("only GPU images"), dest="accelerator", action="store_const", const="GPU", default=""),
        ),
        Argument(
            "--scope",
            N_("the purpose: training, develop, inference; `own` for images of the workspace"),
            metavar="USE",
            default="",
        ),
        _LISTED,
        _ARRAY,
    ),
    "adopt": (
        N_("Import a job that was submitted elsewhere, or list a platform's jobs."),
        Argument(
            "remote_id", N_("the job's ID on the platform; default: list jobs"), metavar="NAME", nargs="?", default=""
        ),
        profile_options(N_("on this backend's default profile"), N_("with this profile")),
        Argument("--before", N_("list jobs submitted before this ISO time"), metavar="TIME", default=""),
        Argument("--limit", N_("maximum number of jobs (at most 500)"), metavar="N", type=int, default=20),
        JSON,
    ),
    "models": (N_("List the models that a job produced, as recorded by its platform."), JOB, _ARRAY),
    "terminal": (
        N_("Open a terminal in a job that runs on a platform."),
        JOB,
        Argument("--instance", N_("the instance; default: the first"), metavar="NAME", default=""),
        Argument("--link", N_("print the link or command without opening it"), action="store_true"),
        JSON,
    ),
    "doctor": (
        N_("Check everything that a job needs."),
        OneOf(
            Argument("--backend", N_("check only this backend's default profile"), metavar="NAME", default=""),
            Argument("--profile", N_("check only this profile"), metavar="NAME", default=""),
            Argument("--live", N_("list the manual checks that need an account"), action="store_true"),
        ),
        _ARRAY,
    ),
    "secret": (
        N_("Store secrets for jobs. Stored values are never shown."),
        Argument("action", _ACTION, choices=["list", "set", "remove"]),
        Argument("name", N_("the secret's name; you are prompted for its value"), nargs="?", default=""),
        # A further argument may be the value, passed by mistake: no message may repeat it.
        Argument("rest", argparse.SUPPRESS, nargs="*"),
        JSON,
    ),
    "tutorial": (
        N_("Copy the tutorial notebooks into a folder."),
        Argument(
            "folder",
            N_("the target folder; default: the notebook's folder"),
            metavar="DEST",
            nargs="?",
            default="",
        ),
    ),
}
