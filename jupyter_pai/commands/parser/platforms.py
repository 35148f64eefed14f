"""The verbs on platforms and settings."""

from __future__ import annotations

import argparse

from ...core.i18n import N_
from .arguments import JOB, JSON, YES, Argument, OneOf, Verb, json_option, profile_options, repeatable

_ARRAY = json_option(N_("print a JSON array"))
_ACTION = N_("the action")
_LISTED = profile_options(N_("list for this backend's default profile"), N_("list for this profile"))

VERBS: dict[str, Verb] = {
    "profile": (
        N_("List and change the profiles of the settings."),
        Argument("action", _ACTION, choices=["list", "show", "set", "default", "remove", "login", "logout"]),
        Argument("name", N_("the profile"), nargs="?", default=""),
        Argument(
            "values", N_("with set: the keys; an empty value removes a key"), metavar="KEY=VALUE", nargs="*", default=[]
        ),
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
    "models": (
        N_("List, register and delete models in the registry of a platform."),
        Argument("action", _ACTION, choices=["list", "versions", "register", "delete"]),
        Argument("model", N_("the model: its name or ID; a new name registers a new model"), nargs="?", default=""),
        Argument("--job", N_("with list and register: the job that wrote the model"), metavar="ID", default=""),
        Argument("--channel", N_("with register: the output channel; default: model"), metavar="NAME", default="model"),
        Argument("--uri", N_("with register: the folder of a model that no job wrote"), metavar="URI", default=""),
        Argument("--version", N_("the version to register or to delete"), metavar="VERSION", default=""),
        Argument("--format", N_("with register: the format, as the platform names it"), metavar="NAME", default=""),
        Argument("--image", N_("with register: the image that serves the model"), metavar="NAME", default=""),
        Argument("--approval", N_("with register: the state of its approval"), metavar="STATE", default=""),
        Argument("--description", N_("with register: a description of the version"), metavar="TEXT", default=""),
        repeatable("--label", "KEY=VALUE", N_("with register: a label of the version (repeatable)")),
        repeatable("--metric", "NAME=VALUE", N_("with register: a metric; those of the job are added (repeatable)")),
        Argument("--with-files", N_("with delete: delete the files in storage, too"), action="store_true"),
        profile_options(N_("use this backend's default profile"), N_("use this profile")),
        YES,
        json_option(N_("print JSON")),
    ),
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
        ),
        Argument(
            "--live",
            N_("run a short job on each part of the platform of a profile, else list the manual checks"),
            action="store_true",
        ),
        _ARRAY,
    ),
    "secret": (
        N_("Store secrets for jobs. Stored values are never shown."),
        Argument("action", _ACTION, choices=["list", "set", "remove"]),
        Argument("name", N_("the secret's name; you are prompted for its value"), nargs="?", default=""),
        # A further argument may be the value, passed by mistake: no message may repeat it.
        Argument("rest", argparse.SUPPRESS, nargs="*", default=[]),
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
