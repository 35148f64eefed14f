"""The excluded paths of a folder: a summary for users, and the ones that the code names."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property

from ...core.i18n import _, join
from ...core.text import show_size
from ...jobs.spec import JobSpec
from ...jobs.state_dir import ExcludedPath
from .. import ignore
from ..pack import Manifest
from .beside import working_folder
from .fixes import fixes
from .named_paths import NamedPath

# Entries of excluded folders that are measured for the summary.
_MOST_MEASURED = 5_000
# Paths that one question names.
_MOST_NAMED = 3


def summary(manifest: Manifest) -> str:
    """Return the line that names the excluded paths: the largest with size and rule, and the number of the others.

    Caches, environments, inputs, outputs and empty files are not counted; empty without others. May block.
    """
    paths = [one for one in manifest.excluded if not one.expected]
    budget = _MOST_MEASURED
    sizes: list[tuple[int, bool, ExcludedPath]] = []
    for one in paths[:_MOST_MEASURED]:
        size, count = _measure(os.path.join(manifest.folder, one.path), budget)
        sizes += [(size, count < budget, one)] * bool(size)
        budget = max(budget - count, 1)
    if not sizes:
        return ""
    size, is_whole, largest = max(sizes, key=lambda measured: measured[0])
    shown = show_size(size) if is_whole else _("over {size}").format(size=show_size(size))
    rule = largest.rule or largest.why
    others = len(sizes) + len(paths[_MOST_MEASURED:]) - 1
    line = _("Excluded: {path} ({size}, {rule}) and {n} more") if others else _("Excluded: {path} ({size}, {rule})")
    return line.format(path=largest.path, size=shown, rule=rule, n=others)


def _measure(path: str, budget: int) -> tuple[int, int]:
    """Return the bytes of a file or folder, and the number of entries read, at most `budget`."""
    size, count, waiting = 0, 0, [path]
    while waiting and count < budget:
        place = waiting.pop()
        try:
            if os.path.isdir(place) and not os.path.islink(place):
                with os.scandir(place) as entries:
                    waiting += [entry.path for entry in entries]
            else:
                size += os.lstat(place).st_size
        except OSError:
            pass  # It counts as empty.
        count += 1
    return size, count


def questions(manifest: Manifest, spec: JobSpec, names: Iterable[NamedPath], taken: set[str]) -> tuple[str, ...]:
    """Return a question for each of the first excluded paths that a job reads. `names` are its paths: `in_job`. `taken`
    has the names of inputs, and gets the ones of the questions. May block."""
    search = _Search(manifest, working_folder(spec))
    if not search.excluded:
        return ()
    found: dict[str, str] = {}
    for text in names:
        if len(found) < _MOST_NAMED and (path := search.find(text)) and path.path not in found:
            question = _("The code names `{path}` ({place}), which is excluded ({why}).")
            asked = question.format(path=text.text, place=text.shown_place, why=path.why)
            found[path.path] = join(" ", [asked, fixes(path, manifest.folder, search.relative(text), taken)])
    return tuple(found.values())


def find(path: str, excluded: Iterable[ExcludedPath]) -> ExcludedPath | None:
    """Return the excluded path that is, or contains, a path below the code folder."""
    name = posixpath.normpath(path)
    return next(
        (
            one
            for one in excluded
            if name == one.path.rstrip("/") or (one.path.endswith("/") and name.startswith(one.path))
        ),
        None,
    )


class _Search:
    """Finds the excluded path that a text names."""

    def __init__(self, manifest: Manifest, working: str) -> None:
        self.folder = manifest.folder
        self.working = working
        self.excluded = [one for one in manifest.excluded if not one.expected]
        self._entries = manifest.entries

    @cached_property
    def packed(self) -> set[str]:
        """The packed paths, with their folders."""
        paths = {entry.path.rstrip("/") for entry in self._entries}
        return paths.union(*map(ignore.parents, paths))

    def find(self, text: NamedPath) -> ExcludedPath | None:
        path = text.text
        if not text.is_path or text.is_written:
            return None
        path = self.relative(text)
        if path.startswith("..") or path == ".":
            return None
        return find(path, self.excluded) or self._find_below(path)

    def relative(self, text: NamedPath) -> str:
        """Return a path from the folder of the code."""
        if text.text.startswith("/"):
            return os.path.relpath(text.text, self.folder)
        return posixpath.normpath(posixpath.join(self.working if text.base is None else text.base, text.text))

    def _find_below(self, path: str) -> ExcludedPath | None:
        """Return the folder of the excluded paths that match a glob, or a folder of which nothing is packed."""
        is_glob = re.search(r"[*?\[]", path)
        if not is_glob and path in self.packed:
            return None
        one = next((o for o in self.excluded if fnmatchcase(o.path, path) or o.path.startswith(f"{path}/")), None)
        folder = posixpath.dirname(path) if is_glob else path
        if one is None or not folder or re.search(r"[*?\[]", folder):
            return one
        return replace(one, path=f"{folder}/")
