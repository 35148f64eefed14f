"""The verbs on data in storages: ``ls put get mv rm mkdir``."""

from __future__ import annotations

from ...core.i18n import N_
from .arguments import JSON, YES, Argument, Verb

_PROFILE = Argument(
    "--profile", N_("the profile whose account is used; default: the first match"), metavar="NAME", default=""
)
_OVERWRITE = Argument("--overwrite", N_("replace existing files"), action="store_true")
_COPIED = N_("a file, or a folder (recursively)")
_CHANGED = N_("a file, or a folder (recursively) if it ends with a slash")


def _uri(text: str) -> Argument:
    return Argument("uri", text, metavar="URI")


VERBS: dict[str, Verb] = {
    "ls": (
        N_("List files and folders of a storage."),
        _uri(N_("a folder or file: a URI or a path")),
        Argument("--recursive", N_("list all files below it"), action="store_true"),
        Argument("--limit", N_("maximum number of entries (at most 10000)"), metavar="N", type=int, default=1000),
        _PROFILE,
        JSON,
    ),
    "put": (
        N_("Copy a local file or folder to a storage."),
        Argument("path", _COPIED, metavar="PATH"),
        _uri(N_("the target; a folder if it ends with a slash")),
        _OVERWRITE,
        _PROFILE,
        JSON,
    ),
    "get": (
        N_("Copy a file or folder from a storage to this machine."),
        _uri(_COPIED),
        Argument(
            "folder", N_("the target folder; default: the current folder"), metavar="DEST", nargs="?", default="."
        ),
        _OVERWRITE,
        _PROFILE,
        JSON,
    ),
    "mv": (
        N_("Move or rename a file or folder of a storage."),
        _uri(_CHANGED),
        Argument("to", N_("the new URI; for a file, its new folder if it ends with a slash"), metavar="TO"),
        _PROFILE,
        JSON,
    ),
    "rm": (N_("Remove a file or folder from a storage."), _uri(_CHANGED), YES, _PROFILE, JSON),
    "mkdir": (N_("Create a folder in a storage."), _uri(N_("the folder")), _PROFILE, JSON),
}
