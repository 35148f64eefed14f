"""``file://`` URIs. Only this module reads and makes them, so that a URI names the same path in every check and access.

A URI is decoded once. In its canonical form the scheme is in lower case, the host is empty, the path has no empty names
and no ``.``, and other characters than letters, digits and ``/_.-~`` are percent-encoded. A folder ends with a slash.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

from .errors import BadInput
from .i18n import _

__all__ = ["canonical", "is_here", "local_path", "path_of", "scheme_of", "uri_of"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def scheme_of(text: str) -> str:
    """Return the scheme of a URI in lower case; empty for a path."""
    match = _SCHEME.match(text)
    return match[1].lower() if match else ""


def is_here(text: str) -> bool:
    """Return whether a text names a file of this machine: it is a path or a file URI."""
    return scheme_of(text) in ("", "file")


def path_of(uri: str) -> Path | None:
    """Return the path of a file URI, and None for any other text.

    Raises:
        BadInput: if it is invalid.
    """
    return Path(_decoded(uri)) if scheme_of(uri) == "file" else None


def local_path(text: str) -> str:
    """Return the path of a file URI, a path unchanged, and an empty text for any other URI.

    Raises:
        BadInput: if it is an invalid file URI.
    """
    scheme = scheme_of(text)
    return _decoded(text) if scheme == "file" else "" if scheme else text


def canonical(text: str) -> str:
    """Return a file URI in its canonical form, and any other text unchanged.

    Raises:
        BadInput: if it is an invalid file URI.
    """
    return _encoded(_decoded(text)) if scheme_of(text) == "file" else text


def uri_of(path: str | os.PathLike[str], *, folder: bool = False) -> str:
    """Return the canonical URI of an absolute path, whose ``..`` lead upwards. That of a `folder` ends with a slash, as
    that of a path that does.

    Raises:
        BadInput: if the path is relative, or cannot be the path of a file.
    """
    text = _checked(os.fspath(path))
    if not text.startswith("/"):
        raise BadInput(_("`{uri}` is not an absolute path.").format(uri=_shown(text)), fix=_fix())
    return _encoded(_cleaned(os.path.normpath(text) + "/" * (folder or text.endswith("/"))))


def _encoded(path: str) -> str:
    return f"file://{quote(os.fsencode(path))}"


def _decoded(uri: str) -> str:
    """Return the path of a file URI, with a slash at its end if the URI has one."""
    host, _slash, rest = uri.partition("://")[2].partition("/")
    if host.lower() not in ("", "localhost"):
        text = _("`{uri}` names a file of another machine: `{host}`.").format(uri=_shown(uri), host=_shown(host))
        raise BadInput(text, fix=_fix())
    if "?" in rest or "#" in rest:
        raise BadInput(
            _("`{uri}` contains `?` or `#`, which must be percent-encoded in a file URI.").format(uri=_shown(uri)),
            fix=_("Write %3F for `?` and %23 for `#`, or pass a local path."),
        )
    path = _checked(unquote(f"/{rest}", errors="surrogateescape"))
    if ".." in path.split("/"):
        raise BadInput(_("`{uri}` contains `..`.").format(uri=_shown(uri)), fix=_("Pass the path without `..`."))
    return _cleaned(path)


def _checked(path: str) -> str:
    """Return a path as the system names it.

    Raises:
        BadInput: if it cannot be the path of a file.
    """
    with suppress(UnicodeEncodeError):
        if "\0" not in path:
            return os.fsdecode(os.fsencode(path))
    raise BadInput(
        _("`{path}` cannot be the path of a file.").format(path=_shown(path)),
        fix=_("Pass a path without NUL and other characters that no file name has."),
    )


def _cleaned(path: str) -> str:
    """Return a path without empty names and ``.``, with a slash at its end if it names a folder."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    return "/" + "".join(f"{name}/" for name in names)[: None if path.endswith(("/", "/.")) else -1]


def _shown(text: str) -> str:
    return text if text.isprintable() else ascii(text)[1:-1]


def _fix() -> str:
    return _("Pass a local path or a file:// URI.")
