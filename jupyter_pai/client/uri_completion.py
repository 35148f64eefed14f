"""What a URI of a storage or a path that has been begun may become, by what its storage has."""

from __future__ import annotations

from urllib.parse import quote

from .base import Client

__all__ = ["continuations"]

# How many names are asked for at once, and given.
_MOST_ASKED, _MOST = 1000, 200
# What a platform knows by its id has no files to be seen.
_CLOSED = "dataset://"


def continuations(client: Client, text: str, *, home: str = "", profile: str = "") -> list[str]:
    """Texts that begin with `text`: what is in the folder in which it ends, or where storages begin. Relative paths are
    below `home`, an absolute path. Hidden files are for those who have typed the dot. May take its time.

    Raises:
        PaiError: as the storage refuses or fails.
    """
    before = text[: text.rfind("/") + 1]
    is_uri = "://" in text
    if text.startswith(_CLOSED):
        return []
    if not before or before.endswith("://"):
        found = [root["uri"] for root in client.call("storages")["storages"] if profile in ("", root["profile"])]
        # Paths of this machine are written without a scheme.
        begun = [uri for uri in dict.fromkeys(found) if uri.startswith(text) and not uri.startswith("file:")]
        if is_uri or not home or begun:
            return begun
    folder = before if is_uri or before.startswith("/") else f"{home.rstrip('/')}/{before}"
    uri = folder if is_uri else f"file://{quote(folder)}"

    def look(after: str) -> tuple[list[str], bool]:
        reply = client.call("list_data", uri=uri, after=after, limit=_MOST_ASKED, profile=profile)
        names = [entry["uri"] if is_uri else before + entry["path"] for entry in reply["entries"]]
        return [name for name in names if name.startswith(text) and not _is_hidden(name, text)], reply["more"]

    found, more = look("")
    if more and not found:
        found, more = look(text[len(before) :])
    return found[:_MOST]


def _is_hidden(name: str, text: str) -> bool:
    return text.endswith("/") and name[len(text) :].startswith(".")
