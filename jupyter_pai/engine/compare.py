"""Differences of two jobs: spec, code, provenance and results."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from ..core.i18n import _
from ..jobs.job import Job
from ..jobs.provenance import Provenance
from ..jobs.spec import JobSpec
from ..jobs.state_dir import JobFolder, read_manifest

if TYPE_CHECKING:
    from ..source.archive import Entry

# Limits of the comparison: bytes of a file, lines of a file, files, lines of a diff.
_LARGEST, _LINES, _FILES, _SHOWN = 200_000, 5_000, 100, 400
_TABLES = ("hyperparameters", "inputs", "outputs", "environment", "labels", "options")


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
    fields: dict[str, Any] = {}
    for name, value in spec.model_dump(mode="json", exclude={"name", "source"}).items():
        if name in _TABLES:
            fields |= {f"{name}.{key}": inner for key, inner in value.items()}
        elif name == "metric_definitions":
            fields |= {f"{name}.{metric['name']}": metric["regex"] for metric in value}
        else:
            fields[name] = None if value in ("", []) else value
    return fields


def _different(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    # Compared as text, since 1, True and 1.0 are equal in Python.
    one, two = ({name: json.dumps(value, sort_keys=True) for name, value in values.items()} for values in (a, b))
    return [difference for difference in _pairs(a, b) if one.get(difference.name) != two.get(difference.name)]


def _pairs(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    return [Difference(name, a.get(name), b.get(name)) for name in dict.fromkeys([*a, *b])]


def origins(a: Provenance, b: Provenance) -> tuple[list[Difference], list[Difference]]:
    """Return the differences of two provenances and of their packages."""
    return _different(_origin(a), _origin(b)), _different(a.packages, b.packages)


def _origin(provenance: Provenance) -> dict[str, Any]:
    git = provenance.git.model_dump() if provenance.git else {}
    fields = provenance.model_dump(exclude={"git", "packages", "source_digest"})
    return fields | {f"git.{name}": value for name, value in git.items()}


def results(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    """Return the results of two jobs (`JobView`) side by side, equal ones too."""
    return _pairs(_outcome(a), _outcome(b))


def _outcome(job: Mapping[str, Any]) -> dict[str, Any]:
    times = [datetime.fromisoformat(job[name]) for name in ("started_at", "ended_at") if job[name]]
    seconds = round((times[1] - times[0]).total_seconds(), 3) if len(times) == 2 else None
    outcome = {name: job[name] for name in ("status", "exit_code", "reason")} | {"seconds": seconds}
    return outcome | {f"metrics.{name}": metric["value"] for name, metric in job["metrics"].items()}


def sources(a: Job, b: Job, one: JobFolder, two: JobFolder) -> list[FileDifference]:
    """Return the files that differ in the code of two jobs. May block.

    Raises:
        SourceError: if an archive is damaged or gone.
    """
    from ..source import archive  # Imported on first use, with tarfile: it takes 300 kB of memory.

    if a.source_digest == b.source_digest and a.source_digest:
        return []
    first, second = hashes(one), hashes(two)
    changed = {path for path in first.keys() & second.keys() if first[path] != second[path]}
    compared = set(sorted(changed)[:_FILES])
    left, right = (
        {entry.path: entry for entry in archive.contents(folder.source, compared, _LARGEST)} for folder in (one, two)
    )
    return list(_files(left, right, changed, compared))


def hashes(folder: JobFolder) -> dict[str, str]:
    """Return the SHA-256 of each file of a job's code; empty if they cannot be read."""
    try:
        return read_manifest(folder)
    except (OSError, ValueError):
        return {}


def _files(
    left: Mapping[str, Entry], right: Mapping[str, Entry], changed: set[str], compared: set[str]
) -> Iterator[FileDifference]:
    for path in sorted(left.keys() | right.keys()):
        if path not in left:
            yield FileDifference(path, "added")
        elif path not in right:
            yield FileDifference(path, "removed")
        elif path in compared:
            yield _file(left[path], right[path])
        elif path in changed:
            yield FileDifference(path, "changed", why=_("too many files"))
        elif left[path].link != right[path].link:
            yield FileDifference(path, "changed", why=f"-> {left[path].link} | -> {right[path].link}")
        elif left[path].mode != right[path].mode:
            yield FileDifference(path, "changed", why=f"{left[path].mode:o} | {right[path].mode:o}")


def _file(a: Entry, b: Entry) -> FileDifference:
    try:
        lines = difflib.unified_diff(_lines(a), _lines(b), a.path, b.path, lineterm="")
    except ValueError as error:
        return FileDifference(a.path, "changed", why=str(error))
    shown = tuple(islice(lines, _SHOWN + 1))
    why = _("more than {n} lines").format(n=_SHOWN) if len(shown) > _SHOWN else ""
    why = why if shown else _("the same code")  # Other cells of a notebook have changed.
    return FileDifference(a.path, "changed", shown[:_SHOWN], why)


def _lines(entry: Entry) -> list[str]:
    """Return the lines of a text file.

    Raises:
        ValueError: with the reason, if the file cannot be compared.
    """
    from ..source import notebook

    if entry.data is None:
        raise ValueError(_("too large"))
    code = notebook.as_code(entry.data) if entry.path.endswith(".ipynb") else None
    try:
        text = entry.data.decode("utf-8") if code is None else code
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ValueError(_("not text"))
    lines = text.split("\n")
    if len(lines) > _LINES:
        raise ValueError(_("too large"))
    return lines
