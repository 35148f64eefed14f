"""The arguments of the verbs on data in storages: ``ls put get mv rm mkdir``."""

from __future__ import annotations

import argparse

from ...core.i18n import N_, _
from .arguments import add_json

__all__ = ["VERBS"]


def _add_uri(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("uri", metavar="URI", help=text)


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--profile", metavar="NAME", default="", help=_("the profile whose account is used; default: the first match")
    )
    add_json(command)


def _add_ls(command: argparse.ArgumentParser) -> None:
    _add_uri(command, _("a folder or file: oss://bucket/key, or a path"))
    command.add_argument("--recursive", action="store_true", help=_("list all files below it"))
    command.add_argument(
        "--limit", metavar="N", type=int, default=1000, help=_("maximum number of entries (at most 10000)")
    )
    _add_common(command)


def _add_overwrite(command: argparse.ArgumentParser) -> None:
    command.add_argument("--overwrite", action="store_true", help=_("replace existing files"))
    _add_common(command)


def _add_put(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", metavar="PATH", help=_("a file, or a folder (recursively)"))
    _add_uri(command, _("the target; a folder if it ends with a slash"))
    _add_overwrite(command)


def _add_get(command: argparse.ArgumentParser) -> None:
    _add_uri(command, _("a file, or a folder (recursively)"))
    command.add_argument(
        "folder", metavar="DEST", nargs="?", default=".", help=_("the target folder; default: the current folder")
    )
    _add_overwrite(command)


def _add_mv(command: argparse.ArgumentParser) -> None:
    _add_uri(command, _("a file, or a folder (recursively) if it ends with a slash"))
    command.add_argument("to", metavar="TO", help=_("the new URI; for a file, its new folder if it ends with a slash"))
    _add_common(command)


def _add_rm(command: argparse.ArgumentParser) -> None:
    _add_uri(command, _("a file, or a folder (recursively) if it ends with a slash"))
    command.add_argument("--yes", action="store_true", help=_("do not prompt"))
    _add_common(command)


def _add_mkdir(command: argparse.ArgumentParser) -> None:
    _add_uri(command, _("the folder"))
    _add_common(command)


VERBS = {
    "ls": (N_("List files and folders of a storage."), _add_ls),
    "put": (N_("Copy a local file or folder to a storage."), _add_put),
    "get": (N_("Copy a file or folder from a storage to this machine."), _add_get),
    "mv": (N_("Move or rename a file or folder of a storage."), _add_mv),
    "rm": (N_("Remove a file or folder from a storage."), _add_rm),
    "mkdir": (N_("Create a folder in a storage."), _add_mkdir),
}
