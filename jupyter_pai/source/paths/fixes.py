"""The ways to give a path that is not packed to a job. Each one works as written, from every folder."""

from __future__ import annotations

import os
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import chain, count

from ...core.i18n import _, join
from ...jobs.state_dir import ExcludedPath
from .. import ignore


def fixes(excluded: ExcludedPath, folder: str, named: str, taken: set[str]) -> str:
    """Return the ways to give an excluded path of `folder` to a job. `named` is the path that the code names, if known:
    the excluded one or one below. `taken`: see `channel_name`. Empty if the path cannot be read."""
    include = _include(excluded, folder, posixpath.normpath(named) if named else "")
    path = os.path.join(folder, excluded.path.rstrip("/"))
    if not os.access(path, os.R_OK):
        return include
    word = shlex.quote(f"{channel_name(path, taken)}={path}")
    given = _("To pass it as an input: --input {word}.").format(word=word)
    return join(" ", [include, given]) if include else given


def link_options(paths: Iterable[str], folder: str) -> str:
    """Return the options that pass the targets of links of `folder` as inputs, and exclude broken links."""
    options: list[str] = []
    taken: set[str] = set()
    for path in paths:
        file = os.path.join(folder, path)
        is_target = os.path.exists(file)
        name, word = ("input", f"{channel_name(path, taken)}={file}") if is_target else ("exclude", f"/{escaped(path)}")
        options.append(f"--{name} {shlex.quote(word)}")
    return " ".join(options)


def channel_name(path: str, taken: set[str]) -> str:
    """Return the name of an input channel for a path, which has a short variable. `taken` has the names of other
    inputs, and gets this one."""
    word = re.sub(r"[^A-Za-z0-9_]+", "_", os.path.basename(path).partition(".")[0]).strip("_")
    name = word if word[:1].isalpha() else f"data_{word}".rstrip("_")
    names = chain([name], (f"{name}_{n}" for n in count(2)))
    channel = next(one for one in names if one not in taken)
    taken.add(channel)
    return channel


def _include(excluded: ExcludedPath, folder: str, named: str) -> str:
    path, (_title, _colon, pattern) = excluded.path, str(excluded.why).partition(": ")
    if excluded.rule.endswith("ignore"):
        # The deepest `.paiignore` decides. One of them precedes each `.gitignore`.
        file = excluded.rule if excluded.rule.endswith(".paiignore") else ".paiignore"
        lines = _lines(path, folder, named, posixpath.dirname(file))
        text = (
            _("To include it, add the line {lines} to {file}.")
            if len(lines) == 1
            else _("To include it, add the lines {lines} to {file}.")
        )
        return text.format(lines=", ".join(f"`{line}`" for line in lines), file=os.path.join(folder, file))
    if excluded.rule == "--exclude":
        return _("To include it, omit --exclude {pattern}.").format(pattern=shlex.quote(pattern))
    if excluded.rule == "--include":
        return _("To include it, add --include {pattern}.").format(pattern=shlex.quote(escaped(path)))
    # Only single files are allowed despite their names.
    file = named if path.endswith("/") and os.path.isfile(os.path.join(folder, named)) else path
    if ignore.is_excluded(posixpath.basename(path.rstrip("/"))) and not file.endswith("/"):
        return _("To include it, pass --allow-secret {path}.").format(path=shlex.quote(file))
    return ""


def _lines(path: str, folder: str, named: str, base: str) -> list[str]:
    """Return the lines of an ignore file in the folder `base` that include a path: a folder itself if it is excluded,
    and its content if a rule excludes that too."""
    line = "!" + escaped(posixpath.relpath(path, base or "."))
    if not path.endswith("/"):
        return [line]
    rules = ignore.Rules(folder, (), (), gitignore=True)
    file = named if named.startswith(path) else next(_files(folder, path), "")
    is_out = rules.why_out(path.rstrip("/"), posixpath.basename(path.rstrip("/")), is_folder=True)
    is_content_out = file and rules.why_out(file, posixpath.basename(file), is_folder=False)
    return [f"{line}/"] * bool(is_out or not is_content_out) + [f"{line}/**"] * bool(is_content_out)


def _files(folder: str, path: str) -> Iterator[str]:
    for top, _folders, names in os.walk(os.path.join(folder, path)):
        yield from (os.path.relpath(os.path.join(top, name), folder) for name in names)


def escaped(path: str) -> str:
    """Return the pattern of an ignore file for a path."""
    return re.sub(r"([\\*?\[])", r"\\\1", path)
