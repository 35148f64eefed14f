"""The paths that the code names and a job does not have, outside of the packed folder or of this machine only: the
questions about them, and the folder in which a script runs so that its paths are those of the user.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path

from ...core import contract
from ...core.file_uri import local_path
from ...core.i18n import _, join
from ...jobs.spec import JobSpec
from .. import import_paths, script
from ..entry_point import is_home, project_root
from ..hyperparameters.syntax import Module
from . import named_paths
from .fixes import channel_name
from .named_paths import NamedPath

# Paths that are asked about, and that are found.
_MOST_NAMED, _MOST_FOUND = 3, 100
_CHANGES_FOLDER = re.compile(r"(?:^|[;&|(\n])\s*cd\s+([^\s;&|()]+)")
# Paths that each machine has of its own, and that of the training contract.
_OF_SYSTEM = re.compile(r"/(dev|proc|sys|usr|s?bin|lib[^/]*|etc|opt|tmp|var|run|ml)(/|$)")
# Calls that test a path: the code does without it.
_TESTS = frozenset("exists isdir isfile is_dir is_file".split())


@dataclass(frozen=True)
class _Outside:
    """A path or a module outside of the packed folder, with the absolute path."""

    name: NamedPath
    path: str
    is_module: bool = False

    @property
    def is_absolute(self) -> bool:
        """True if the code names it from the root or the home folder of this machine."""
        return _is_absolute(self.name)


def working_folder(spec: JobSpec) -> str:
    """Return the folder of the code in which a job runs. Empty for the folder of the code."""
    return posixpath.dirname(spec.entry_point) if _runs_in_own(spec) else spec.script_folder


def _runs_in_own(spec: JobSpec) -> bool:
    """Return whether a notebook, or the script that was made of one, changes to its own folder."""
    return spec.runs_notebook or script.changes_folder(spec.source.files.get(spec.entry_point, ""))


def script_folder(spec: JobSpec, modules: Iterable[Module], own: str) -> str:
    """Return the folder of the code in which a script is started: `own`, that of the user's file, if its paths are
    valid from there and not from the folder of the code. Paths that it certainly reads decide. Empty for the folder of
    the code. May block."""
    if not own or not spec.source.folder or _runs_in_own(spec):
        return ""
    named: set[str] = set()
    read: set[str] = set()
    names = [name for name in named_paths.in_code(spec, modules) if name.base is None and _is_relative(name)]
    for text, is_read in {(_plain(name.text), name.is_read) for name in names}:
        valid = [place for place in ("", own) if _is_valid(spec.source.folder, place, text)]
        if len(valid) == 1 and posixpath.join(own, text) != spec.entry_point:
            named |= {*valid}
            read |= {*valid} if is_read else set()
    return own if (read or named) == {own} else ""


def _is_valid(folder: str, place: str, text: str) -> bool:
    """Return whether a path from a folder of the code is in the code, or is created there by the job."""
    path = posixpath.normpath(posixpath.join(place, text))
    is_inside = not _leaves(path) and path != (place or ".")
    return is_inside and (text.startswith("../") or text == ".." or os.path.exists(os.path.join(folder, path)))


def _is_relative(name: NamedPath) -> bool:
    return name.is_path and not name.is_part and not os.path.isabs(name.text)


def _is_absolute(name: NamedPath) -> bool:
    return name.text.startswith(("/", "~/"))


def _leaves(path: str) -> bool:
    return path == ".." or path.startswith("../")


def questions(
    spec: JobSpec,
    modules: Sequence[Module],
    names: Sequence[NamedPath],
    taken: set[str],
    *,
    keeps: bool = True,
    sees: Callable[[str], bool] = lambda path: True,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the questions about paths outside of the packed folder that the code reads, and notes on the ones that it
    writes and on the ones that an input has. `names` are the paths of the job: `in_job`. `taken` has the names of
    inputs, and gets the ones of the questions. `keeps`: files beside the code become outputs. `sees` returns whether
    the job sees an absolute path of this machine. May block."""
    folder = spec.source.folder
    if not folder:
        return (), ()
    found: dict[str, _Outside] = {}
    notes: dict[str, str] = {}
    reads = cache(partial(_reads, spec, modules))
    for one in chain(_outside(spec, names), _modules(spec, modules), _of_machine(names, sees)):
        above = os.path.relpath(one.path, folder)
        if len(found) + len(notes) == _MOST_FOUND:
            break
        is_written = one.name.is_written and not one.name.is_read and not one.is_module
        if is_written and above.startswith("../"):
            is_kept = keeps and contract.FILES in spec.channels and not above.startswith("../..")
            notes.setdefault(one.path, _note(one, above, keeps=is_kept))
        elif (given := _input_of(spec, one.path)) and os.path.exists(one.path):
            if not (one.is_module or reads(given[0])):
                notes.setdefault(one.path, join(" ", [_sentence(spec, one), _given(*given)]))
        elif os.path.exists(one.path):
            found.setdefault(one.path, one)
    # A folder is not named for itself if other paths begin with it.
    known = [*found, *notes]
    last = {path for path in known if not any(more.startswith(f"{path}/") for more in known)}
    read = [one for path, one in found.items() if path not in notes and (path in last or one.name.is_used)]
    parent = _parent(folder, [one.path for one in read if not one.is_absolute])
    asked = [_question(spec, one, parent, taken) for one in read[:_MOST_NAMED]]
    noted = [text for path, text in notes.items() if path in last][:_MOST_NAMED]
    return tuple(asked), (*noted, *filter(None, [_requirements(spec)]))


def _requirements(spec: JobSpec) -> str:
    """Return the note that the requirements beside the script are not those of the packed folder; otherwise empty."""
    own = posixpath.join(posixpath.dirname(spec.entry_point), "requirements.txt")
    files = [os.path.isfile(os.path.join(spec.source.folder, path)) for path in ("requirements.txt", own)]
    if files != [False, True]:
        return ""
    text = _("`{path}` is not installed: only the file requirements.txt in the packed folder {folder} is.")
    return text.format(path=own, folder=spec.source.folder)


def _note(one: _Outside, above: str, *, keeps: bool) -> str:
    kept = _(
        "The code writes `{path}` ({place}), beside the packed folder. It becomes `{name}` in the channel `files`."
    )
    lost = _("The code writes `{path}` ({place}), beside the packed folder. It is not kept: write to PAI_OUTPUT_MODEL.")
    name = above.removeprefix("../")
    return (kept if keeps else lost).format(path=one.name.text, place=one.name.shown_place, name=name)


def _sentence(spec: JobSpec, one: _Outside) -> str:
    if one.is_module:
        text = _("The code imports `{path}` ({place}), which is outside of the packed folder {folder}.")
    elif one.is_absolute:
        text = _("The code names `{path}` ({place}), a path of this machine that the job does not have.")
    else:
        text = _("The code names `{path}` ({place}), which is outside of the packed folder {folder}.")
    return text.format(path=one.name.text, place=one.name.shown_place, folder=spec.source.folder)


def _question(spec: JobSpec, one: _Outside, parent: str, taken: set[str]) -> str:
    packing = _packing(spec, parent) if parent and not one.is_absolute else ""
    passing = "" if one.is_module or _is_in(spec.source.folder, one.path) else _passing(one.path, taken)
    return join(" ", filter(None, [_sentence(spec, one), packing, passing]))


def fixes(spec: JobSpec, path: str) -> str:
    """Return the ways to give a path outside of the packed folder to a job, or the place where the job has it already.
    Empty if this machine does not have it. May block."""
    if given := _input_of(spec, path):
        return _given(*given)
    if not spec.source.folder or not os.path.exists(path):
        return ""
    parent = _parent(spec.source.folder, [path])
    return join(" ", filter(None, [_packing(spec, parent) if parent else "", _passing(path, {*spec.inputs})]))


def _packing(spec: JobSpec, parent: str) -> str:
    text = _("To pack it too: --source {folder}.").format(folder=shlex.quote(parent))
    if not named_paths.commands(spec):
        return text
    inner = shlex.quote(os.path.relpath(spec.source.folder, parent))
    return join(" ", [text, _("Begin the command with `cd {folder} &&`.").format(folder=inner)])


def _passing(path: str, taken: set[str]) -> str:
    channel = channel_name(path, taken)
    (variable,) = contract.variables("PAI_INPUT_", [channel])[0].values()
    text = _("To pass it as an input: --input {word}. The code finds it at ${variable}.")
    return text.format(word=shlex.quote(f"{channel}={path}"), variable=variable)


def _input_of(spec: JobSpec, path: str) -> tuple[str, str] | None:
    """Return the input that has a path of this machine, and the place of the path in the job. None without one."""
    places = {channel: local_path(uri).rstrip("/") for channel, uri in spec.inputs.items()}
    given = [channel for channel, place in places.items() if place and _is_in(path, place)]
    if not given:
        return None
    channel = max(given, key=lambda channel: len(places[channel]))
    variable = _variable(spec, channel)
    start = f"${variable}" if variable else contract.Layout().input(channel).rstrip("/")
    return channel, start + path[len(places[channel]) :]


def _variable(spec: JobSpec, channel: str) -> str:
    """Return the variable of an input; empty if its name has none."""
    return contract.variables("PAI_INPUT_", spec.inputs)[0].get(channel, "")


def _given(channel: str, place: str) -> str:
    text = _("The job has it as the input `{name}`. The code finds it at {place}.")
    return text.format(name=channel, place=place)


def _reads(spec: JobSpec, modules: Iterable[Module], channel: str) -> bool:
    """Return whether the code reads an input where the job has it, by its variable or in its folder. The path of this
    machine is a default then."""
    names = rf"\b(PAI_INPUT_|{_variable(spec, channel) or 'PAI_INPUT_'})\b"
    known = re.compile(rf"{names}|/input/data/{re.escape(channel)}\b")
    texts = (named_paths.script_text(spec), *named_paths.commands(spec), *(module.text for module in modules))
    return any(map(known.search, texts))


def _outside(spec: JobSpec, names: Iterable[NamedPath]) -> Iterator[_Outside]:
    """Yield the paths that leave the folder from each folder in which the code may run."""
    changed = [place for command in named_paths.commands(spec) for place in _CHANGES_FOLDER.findall(command)]
    places = [posixpath.normpath(place.strip("'\"")) for place in changed] or [working_folder(spec)]
    for name in names:
        if not _is_relative(name):
            continue
        text = _plain(name.text)
        starts = places if name.base is None else [name.base]
        paths = [posixpath.normpath(posixpath.join(place, text)) for place in starts]
        if all(map(_leaves, paths)):
            by_script = not changed and name.base is None
            yield _Outside(name, path_outside(spec, paths[0], text if by_script else ""))


def path_outside(spec: JobSpec, path: str, text: str) -> str:
    """Return the absolute path of one that leaves the folder of the code. If it does not exist, a relative `text`
    may name one from the folder of the script instead."""
    paths = [path, posixpath.join(posixpath.dirname(spec.entry_point), text)]
    found = [os.path.normpath(os.path.join(spec.source.folder, one)) for one in paths]
    is_own = (
        text and not os.path.exists(found[0]) and os.path.exists(found[1]) and _leaves(posixpath.normpath(paths[1]))
    )
    return found[1] if is_own else found[0]


def _of_machine(names: Iterable[NamedPath], sees: Callable[[str], bool]) -> Iterator[_Outside]:
    """Yield the absolute paths that the code reads and the job does not see."""
    for name in names:
        is_text = name.is_path and not name.is_part and _TESTS.isdisjoint(name.names[-1:])
        if not (_is_absolute(name) and is_text) or (name.is_written and not name.is_read):
            continue
        path = os.path.normpath(os.path.expanduser(_plain(name.text)))
        if is_of_machine(path) and not sees(path):
            yield _Outside(name, path)


def is_of_machine(path: str) -> bool:
    """Return whether an absolute path exists on this machine, and not on each: it is none of the system or of Python,
    and not the home folder or one of its parents, which are not data."""
    is_own = _OF_SYSTEM.match(path) or any(_is_in(path, one) for one in (sys.prefix, sys.base_prefix))
    return not (is_own or _is_in(os.path.expanduser("~"), path) or path == "/") and os.path.exists(path)


def _plain(path: str) -> str:
    """Return a path up to its first wildcard."""
    match = re.search(r"[*?\[]", path)
    return path[: match.start()].rpartition("/")[0] if match else path


def _modules(spec: JobSpec, modules: Iterable[Module]) -> Iterator[_Outside]:
    """Yield the imported modules of the project around the folder, which the folder does not have."""
    folder = Path(spec.source.folder)
    root = project_root(folder)
    if root is None or root == folder:
        return
    pyproject = ""
    try:
        with open(root / "pyproject.toml", encoding="utf-8", errors="replace") as file:
            pyproject = file.read(import_paths.LARGEST)
    except OSError:
        pass
    roots = [root / place for place in import_paths.roots(pyproject)]
    for module in modules:
        heads = {name.split(".")[0]: line for name, line in module.imported.items() if not name.startswith(".")}
        for head in sorted(heads.keys() - {name.split(".")[0] for name in module.paths}):
            places = (place / f"{head}{end}" for place in roots for end in ("/__init__.py", ".py"))
            if path := next((place for place in places if place.is_file() and not place.is_relative_to(folder)), None):
                yield _Outside(NamedPath(head, module.place(heads[head]), ()), str(path), is_module=True)


def _parent(folder: str, paths: Sequence[str]) -> str:
    """Return the folder to pack instead, with all these paths: the project around it, otherwise the nearest one. Empty
    if only a home folder has them."""
    if not paths:
        return ""
    # A path may lead into the folder again, which has another name in the job.
    parent = Path(os.path.commonpath([os.path.dirname(folder) if _is_in(path, folder) else path for path in paths]))
    parent = Path(os.path.commonpath([folder, parent]))
    root = project_root(parent)
    home = Path(os.path.realpath(os.path.expanduser("~")))
    if root is None and (is_home(parent) or home.is_relative_to(os.path.realpath(parent))):
        return ""
    return str(root or parent)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
