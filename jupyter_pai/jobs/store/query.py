"""Filtering, sorting and paging of jobs as SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...core.errors import UsageError
from ...core.i18n import _
from ..job import JobStatus, now
from ..limits import MOST_LABELS
from .database import storable

# The sort keys and their SQL. A running job's duration extends to now.
SORTS = {
    "submitted": "submitted_at",
    "name": "name COLLATE NOCASE",
    "status": "status",
    "took": "coalesce(ended_at, ?) - started_at",
}

_SPEC = "id IN (SELECT job_id FROM job_spec WHERE {} = ?)"
# A damaged spec has no fields.
_FIELDS = "iif(json_valid(spec), spec, '{}')"
_FOLDER = f"json_extract({_FIELDS}, '$.source.folder')"
_SCRIPT = f"{_FOLDER} || '/' || json_extract({_FIELDS}, '$.entry_point')"
_LABEL = "SELECT job_id FROM label WHERE key = ? AND value = ?"

Part = tuple[str, list[object]]


class JobFilter:
    """A selection of jobs, combined with AND: one of `statuses`, a name that contains `name`, all of `labels`, one of
    `backends`, a `notebook` path, a `script` path, a `folder` of code, or the run of a `workflow`. `folded`: of the
    matching jobs of each run only the newest.

    A job is of the script or folder whose form submitted it. It is also of the script that it runs and, if it was
    submitted outside forms and notebooks, of its folder of code.

    `sort` is one of `SORTS`, or ``hp:NAME`` for the value of a hyperparameter, numbers before other texts. Jobs without
    a value come last in both directions. Equal jobs are ordered newest first, or oldest first when descending.

    Raises:
        UsageError: for more labels than a job can have. SQLite limits the depth of a condition.
    """

    def __init__(
        self,
        statuses: Sequence[JobStatus] = (),
        name: str = "",
        labels: dict[str, str] | None = None,
        limit: int = 50,
        offset: int = 0,
        sort: str = "submitted",
        descending: bool = True,
        backends: Sequence[str] = (),
        notebook: str = "",
        script: str = "",
        folder: str = "",
        workflow: str = "",
        *,
        folded: bool = False,
    ) -> None:
        if len(labels or {}) > MOST_LABELS:
            text = _("{n} labels are required, but a job has at most {most}.")
            raise UsageError(text.format(n=len(labels or {}), most=MOST_LABELS))
        self.limit = limit
        self.offset = offset
        self.sort = sort
        self.descending = descending
        conditions: list[tuple[str, Sequence[str]]] = [
            (f"status IN ({', '.join('?' * len(statuses))})", [status.value for status in statuses]),
            (f"backend IN ({', '.join('?' * len(backends))})", backends),
            ("instr(name, ?)", [name] if name else []),
            ("notebook = ?", [notebook] if notebook else []),
            (f"(form = ? OR {_SPEC.format(_SCRIPT)})", [script, script] if script else []),
            (
                f"(form = ? OR form = '' AND notebook = '' AND {_SPEC.format(_FOLDER)})",
                [folder, folder] if folder else [],
            ),
            ("workflow = ?", [workflow] if workflow else []),
        ]
        own = [condition for condition, values in conditions if values]
        texts = [text for _condition, values in conditions for text in values]
        texts += [text for pair in (labels or {}).items() for text in pair]
        self._labels = [_LABEL] * len(labels or {})
        self.arguments: list[object] = [storable(text) for text in texts]
        self.where = " AND ".join(["1", *own, *(f"id IN ({label})" for label in self._labels)])
        if folded:
            newest = f"SELECT max(rowid) FROM job WHERE workflow != '' AND {self.where} GROUP BY workflow"
            self.where += f" AND (workflow = '' OR rowid IN ({newest}))"
            self.arguments *= 2
        # Labels alone have a faster query.
        self._is_labels_only = bool(self._labels) and not own and not folded

    def ids(self) -> str:
        """Return a query for the ids of all matching jobs, in any order."""
        return " INTERSECT ".join(self._labels) if self._is_labels_only else f"SELECT id FROM job WHERE {self.where}"

    def parts(self) -> Iterator[Part]:
        """Return queries whose results, concatenated, are the ids in the requested order. An index covers each
        query."""
        way, back = ("DESC", "ASC") if self.descending else ("ASC", "DESC")
        kind, _colon, name = self.sort.partition(":")
        if kind == "hp" and name:
            yield from self._by_hyperparameter(name, way, back)
        elif self.sort == "submitted":
            yield f"SELECT id FROM job WHERE {self.where} ORDER BY submitted_at {way}, id {back}", self.arguments
        else:
            key = SORTS[self.sort]
            times = [now().timestamp()] * key.count("?")
            order = f"{key} {way}, submitted_at {back}, id {way}"
            for condition in ("IS NOT NULL", "IS NULL"):
                yield (
                    f"SELECT id FROM job WHERE {self.where} AND {key} {condition} ORDER BY {order}",
                    [*self.arguments, *times, *times],
                )

    def _by_hyperparameter(self, name: str, way: str, back: str) -> Iterator[Part]:
        here = f"AND job_id IN ({self.ids()})" if self.where != "1" else ""
        order = f"number {way}, value {way}, submitted_at {back}, job_id {way}"
        for condition in ("IS NOT NULL", "IS NULL"):
            yield (
                f"SELECT job_id FROM hyperparameter WHERE name = ? AND number {condition} {here} ORDER BY {order}",
                [storable(name), *self.arguments],
            )
        yield (
            f"SELECT id FROM job WHERE {self.where} AND id NOT IN (SELECT job_id FROM hyperparameter WHERE name = ?) "
            f"ORDER BY submitted_at {back}, id {way}",
            [*self.arguments, storable(name)],
        )
