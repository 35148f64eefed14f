"""The excluded paths of a folder: a summary for users, and the ones that the code names."""

from __future__ import annotations

import ast
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property

from ..core.i18n import _
from ..core.text import show_size
from ..jobs.state_dir import ExcludedPath
from .fixes import fixes
from .hyperparameters.syntax import Module, dotted
from .pack import Manifest

# Entries of excluded folders that are measured for the summary.
_MOST_MEASURED = 5_000
# Paths that one question names.
_MOST_NAMED = 3
_LONGEST = 300
_DECLARATIONS = ("add_argument", "option", "Option", "argument", "Argument")
# Names around a text that is the path of a result, and folders of results: the job creates them.
_WRITES = re.compile(
    r"sav|writ|dump|log|out|mkdir|makedirs|ckpt|checkpoint|result|export|cache|tmp|temp|to_|unlink|remove|rmtree|"
    r"tensorboard|figure|plot|artifact|record|exist_ok",
    re.IGNORECASE,
)
_RESULTS = re.compile(
    r"(?i)(^|/)(out|outputs?|logs?|results?|runs?|checkpoints?|ckpts?|figures?|plots?|tmp|cache|wandb|mlruns|"
    r"lightning_logs|artifacts?|build|dist)(/|$)"
)
# Names around a word that may be the name of a folder.
_READS = re.compile(r"path|dir|folder|root|file|open|join|glob|walk|load|read|exists|dataset", re.IGNORECASE)


@dataclass(frozen=True)
class _Text:
    """A text of the code, with the names around it, innermost last: functions, parameters, variables and keys."""

    text: str
    place: str
    names: tuple[str, ...]


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


def questions(manifest: Manifest, modules: Iterable[Module], hyperparameters: Mapping[str, str]) -> tuple[str, ...]:
    """Return a question for each of the first excluded paths that the code reads: by a text in `modules`, or as the
    value of a hyperparameter."""
    search = _Search(manifest)
    if not search.excluded:
        return ()
    found: dict[str, str] = {}
    given = [_Text(value, "", (name,)) for name, value in hyperparameters.items()]
    texts = (text for module in modules for text in _texts(module, hyperparameters))
    for text in (*given, *texts):
        if len(found) < _MOST_NAMED and (path := search.find(text)) and path.path not in found:
            place = text.place or _("hyperparameter `{name}`").format(name=text.names[-1])
            question = _("The code names `{path}` ({place}), which is excluded ({why}).")
            found[path.path] = question.format(path=text.text, place=place, why=path.why)
            found[path.path] += " " + fixes(path, manifest.folder, search.relative(text.text))
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

    def __init__(self, manifest: Manifest) -> None:
        self.folder = manifest.folder
        self.excluded = [one for one in manifest.excluded if not one.expected]
        self._entries = manifest.entries

    @cached_property
    def packed(self) -> set[str]:
        """The packed paths, with their folders."""
        paths = {entry.path.rstrip("/") for entry in self._entries}
        return paths.union(*map(_parents, paths))

    def find(self, text: _Text) -> ExcludedPath | None:
        path = text.text
        if not path.strip() or len(path) > _LONGEST or "\n" in path or "://" in path:
            return None
        if any(map(_WRITES.search, text.names)) or _RESULTS.search(path):
            return None
        path = self.relative(path)
        is_word = "/" not in text.text and "." not in text.text
        if path.startswith("..") or path == "." or (is_word and not any(map(_READS.search, text.names[-2:]))):
            return None
        return find(path, self.excluded) or self._find_below(path)

    def relative(self, path: str) -> str:
        """Return a path from the folder of the code."""
        return os.path.relpath(path, self.folder) if path.startswith("/") else posixpath.normpath(path)

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


def _parents(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path


def _texts(module: Module, given: Mapping[str, str]) -> Iterator[_Text]:
    """Yield the texts of a module that may be paths. Defaults of options in `given` are skipped: they are not used."""
    waiting: list[tuple[ast.AST, tuple[str, ...]]] = [(module.tree, ())]
    while waiting:
        node, names = waiting.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield _Text(node.value, _("{file}, line {line}").format(file=module.file, line=node.lineno), names)
        waiting += [(child, (*names, *more)) for child, more in _children(node, given)]


def _children(node: ast.AST, given: Mapping[str, str]) -> Iterator[tuple[ast.AST, Sequence[str]]]:
    """Yield the parts of a node that may contain paths, with the names around each."""
    match node:
        case ast.Expr(ast.Constant()) | ast.Compare():
            return  # A docstring; a text that another one is compared with.
        case ast.Call(function, arguments, keywords):
            name = _last(function)
            flags = [word for word in map(_text_of, arguments) if word]
            if name in _DECLARATIONS and any(_is_given(flag, given) for flag in flags):
                return
            around = [name, *(flags if name in _DECLARATIONS else [])]
            if name == "open" and any(map(_is_writing, [*arguments[:2], *(keyword.value for keyword in keywords)])):
                around.append("write")
            if isinstance(function, ast.Attribute):
                yield function.value, [name]
            yield from ((argument, around) for argument in arguments)
            yield from ((keyword.value, [*around, keyword.arg or ""]) for keyword in keywords)
        case ast.Assign(targets, value):
            yield value, [_last(target) for target in targets]
        case ast.AnnAssign(target, _, ast.expr() as value):
            yield value, [_last(target)]
        case ast.Dict(keys, values):
            yield from ((value, [_text_of(key)]) for key, value in zip(keys, values, strict=True))
        case ast.arguments(posonlyargs=first, args=args, kwonlyargs=named, defaults=defaults, kw_defaults=own):
            pairs = [*zip(reversed([*first, *args]), reversed(defaults), strict=False), *zip(named, own, strict=True)]
            yield from ((default, [argument.arg]) for argument, default in pairs if default)
        case ast.JoinedStr(values):
            yield from ((value, []) for value in values[:1])
        case ast.Subscript(value):
            yield value, []
        case _:
            yield from ((child, []) for child in ast.iter_child_nodes(node))


def _last(node: ast.expr) -> str:
    """Return the last part of a name, attribute or key; empty for other expressions."""
    if isinstance(node, ast.Subscript):
        return _text_of(node.slice)
    return node.attr if isinstance(node, ast.Attribute) else dotted(node)


def _text_of(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_given(flag: str, given: Mapping[str, str]) -> bool:
    name = flag.lstrip("-")
    return flag.startswith("-") and (name in given or name.replace("-", "_") in given)


def _is_writing(mode: ast.expr) -> bool:
    return _text_of(mode) in ("w", "wb", "wt", "a", "ab", "at", "x", "xb", "xt")
