"""Differences of two jobs: spec, code, provenance and results."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from ..core.i18n import _
from ..jobs.job import Job
from ..jobs.provenance import Provenance
from ..jobs.spec import JobSpec
from ..jobs.state_dir import JobFolder
from ..source import archive, notebook
from ..source.archive import Entry

# Limits of the comparison: bytes of a file, lines of a file, files, lines of a diff.
_LARGEST, _LINES, _FILES, _SHOWN = 200_000, 5_000, 100, 400
_TABLES = ("hyperparameters", "inputs", "outputs", "environment", "labels", "options")
_NOT_ASKED = ("name", "source")


@dataclass(frozen=True)
class Difference:
    """The values of two jobs as JSON; None if a job has none."""

    name: str
    a: Any
    b: Any


@dataclass(frozen=True)
class FileDifference:
    """A file that only the second job has (`added`), only the first (`removed`), or both (`changed`). `lines` is a
    unified diff; if it is empty, `why` is the reason. Notebooks are compared by the code of their cells."""

    path: str
    change: Literal["added", "removed", "changed"]
    lines: tuple[str, ...] = ()
    why: str = ""


def specs(a: JobSpec, b: JobSpec) -> list[Difference]:
    """Return the differing fields of two specs. Tables and metrics are compared by name; code and job names are
    excluded."""
    return _different(_fields(a), _fields(b))


def _fields(spec: JobSpec) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in spec.model_dump(mode="json", exclude=set(_NOT_ASKED)).items():
        if name in _TABLES:
            found |= {f"{name}.{key}": inner for key, inner in value.items()}
        elif name == "metric_definitions":
            found |= {f"{name}.{metric['name']}": metric["regex"] for metric in value}
        else:
            found[name] = None if value in ("", []) else value
    return found


def _different(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    names = [*a, *(name for name in b if name not in a)]
    # Compared as text, since 1, True and 1.0 are equal in Python.
    return [Difference(name, a.get(name), b.get(name)) for name in names if _text(a, name) != _text(b, name)]


def _text(values: Mapping[str, Any], name: str) -> str | None:
    return json.dumps(values[name], sort_keys=True) if name in values else None


def origins(a: Provenance | None, b: Provenance | None) -> tuple[list[Difference], list[Difference]]:
    """Return the differences of two provenances and of their packages."""
    packages = _different(a.packages if a else {}, b.packages if b else {})
    return _different(_origin(a), _origin(b)), packages


def _origin(found: Provenance | None) -> dict[str, Any]:
    if found is None:
        return {}
    git = found.git.model_dump() if found.git else {}
    return found.model_dump(exclude={"git", "packages", "source_digest"}) | {
        f"git.{name}": value for name, value in git.items()
    }


def results(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    """Return the results of two jobs (`JobView`) side by side, equal ones too."""
    one, two = ({**_outcome(job), **{f"metrics.{n}": m["value"] for n, m in job["metrics"].items()}} for job in (a, b))
    names = [*one, *(name for name in two if name not in one)]
    return [Difference(name, one.get(name), two.get(name)) for name in names]


def _outcome(job: Mapping[str, Any]) -> dict[str, Any]:
    times = [datetime.fromisoformat(job[name]) for name in ("started_at", "ended_at") if job[name]]
    seconds = round((times[1] - times[0]).total_seconds(), 3) if len(times) == 2 else None
    return {name: job[name] for name in ("status", "exit_code", "reason")} | {"seconds": seconds}


def sources(a: Job, b: Job, one: JobFolder, two: JobFolder) -> list[FileDifference]:
    """Return the files that differ in the code of two jobs. May block.

    Raises:
        SourceError: if an archive is damaged or gone.
    """
    if a.source_digest == b.source_digest and a.source_digest:
        return []
    first, second = _hashes(one.path), _hashes(two.path)
    both = [path for path in first if path in second and first[path] != second[path]]
    wanted = set(sorted(both)[:_FILES])
    left, right = ({entry.path: entry for entry in _entries(place, wanted)} for place in (one, two))
    return list(_files(left, right, set(both), wanted))


def _hashes(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / "manifest.json").read_text("utf-8")))
    except (OSError, ValueError):
        return {}


def _entries(folder: JobFolder, wanted: set[str]) -> Iterator[Entry]:
    return archive.contents(folder.source, wanted, _LARGEST)


def _files(
    left: Mapping[str, Entry], right: Mapping[str, Entry], changed: set[str], wanted: set[str]
) -> Iterator[FileDifference]:
    for path in sorted(left.keys() | right.keys()):
        if path not in left:
            yield FileDifference(path, "added")
        elif path not in right:
            yield FileDifference(path, "removed")
        elif path in changed:
            if path in wanted:
                yield _file(left[path], right[path])
            else:
                yield FileDifference(path, "changed", why=_("too many files"))
        elif left[path].link != right[path].link:
            yield FileDifference(path, "changed", why=f"-> {left[path].link} | -> {right[path].link}")
        elif left[path].mode != right[path].mode:
            yield FileDifference(path, "changed", why=f"{left[path].mode:o} | {right[path].mode:o}")


def _file(a: Entry, b: Entry) -> FileDifference:
    texts = [_lines(entry) for entry in (a, b)]
    for found in texts:
        if isinstance(found, str):
            return FileDifference(a.path, "changed", why=found)
    lines = difflib.unified_diff(texts[0], texts[1], a.path, b.path, lineterm="")
    shown = tuple(islice(lines, _SHOWN + 1))
    cut = _("more than {n} lines").format(n=_SHOWN) if len(shown) > _SHOWN else ""
    cut = cut if shown else _("the same code")  # A notebook, of which other cells have changed.
    return FileDifference(a.path, "changed", shown[:_SHOWN], cut)


def _lines(entry: Entry) -> list[str] | str:
    """The lines of a text file, or why there are none to compare."""
    if entry.data is None:
        return _("too large")
    code = notebook.as_code(entry.data) if entry.path.endswith(".ipynb") else None
    try:
        text = entry.data.decode("utf-8") if code is None else code
    except UnicodeDecodeError:
        return _("not text")
    lines = text.split("\n")
    if "\0" in text:
        return _("not text")
    return lines if len(lines) <= _LINES else _("too large")
