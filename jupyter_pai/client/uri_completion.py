"""Completion of storage URIs and paths."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

from ..core.errors import Unsupported
from ..core.file_uri import scheme_of, uri_of
from .base import Client

# Maximum number of entries fetched, and of completions returned.
_FETCHED, _RETURNED = 1000, 200
# The scheme of data sets that have an ID and no list of files.
_OPAQUE = "dataset://"
# The scheme of registered models, which have versions.
_MODEL = "model://"


def continuations(client: Client, text: str, *, home: str = "", profile: str = "") -> list[str]:
    """Return the completions of `text`: the entries of its folder, the roots of the storages, or registered models.
    Relative paths are resolved against `home`, an absolute path. Hidden files are included once the dot is typed. Lists
    the folder, so it may be slow.

    Raises:
        PaiError: as the storage raised it.
    """
    parent = text[: text.rfind("/") + 1]
    is_uri = bool(scheme_of(text))
    if text.startswith(_OPAQUE):
        return []
    if text.startswith(_MODEL):
        return _models(client, text, profile)[:_RETURNED]
    if not parent or parent.endswith("://"):
        roots = [root["uri"] for root in client.call("storages")["storages"] if profile in ("", root["profile"])]
        # Local paths are written without a scheme.
        matches = [uri for uri in dict.fromkeys(roots) if uri.startswith(text) and not uri.startswith("file:")]
        if is_uri or not home or matches:
            return matches
    folder = parent if is_uri or parent.startswith("/") else f"{home.rstrip('/')}/{parent}"
    uri = folder if is_uri else uri_of(folder)

    def fetch(after: str) -> tuple[list[str], bool]:
        reply = client.call("list_data", uri=uri, after=after, limit=_FETCHED, profile=profile)
        top = reply["uri"]  # The folder in its canonical form, for the one that was typed.
        paths = [entry["uri"].removeprefix(top) if is_uri else entry["path"] for entry in reply["entries"]]
        names = [path if scheme_of(path) else parent + path for path in paths]
        # Hidden files are completed from their dot on.
        hidden = f"{text}." if text.endswith("/") else "\0"
        return [name for name in names if name.startswith(text) and not name.startswith(hidden)], reply["more"]

    names, more = fetch("")
    if more and not names:
        names, more = fetch(text[len(parent) :])
    return names[:_RETURNED]


def _models(client: Client, text: str, profile: str) -> list[str]:
    """Return the models of a registry, or the versions of a model once the `?` is typed."""
    name, mark, _query = text.partition("?")

    def call(verb: str, **parameters: str) -> Any:
        with suppress(Unsupported):  # A job on this machine reads from the registries of other profiles.
            return client.call(verb, **parameters, profile=profile)
        return client.call(verb, **parameters)

    if mark:
        versions = call("model_versions", model=unquote(name.removeprefix(_MODEL)))["versions"]
        words = [f"?version={quote(one['version'] or one['id'], safe='')}" for one in versions]
    else:
        words, name = [quote(one["name"], safe="") for one in call("models")["models"]], _MODEL
    return [uri for word in words if (uri := name + word).startswith(text)]
