"""`Metrics`: the points of a job's metrics as users get them. Standard library only; copied into jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any, overload

from ...core.errors import NotFound, Unsupported
from ...core.i18n import _
from ..events import MetricPoint

if TYPE_CHECKING:
    import pandas

__all__ = ["Metrics"]

_COLUMNS = MetricPoint._fields
# Points at each end of a long table; those between are omitted.
_SHOWN = 10


class Metrics(Sequence[MetricPoint]):
    """Points of metrics: a sequence of `MetricPoint`, sorted by metric, then in the order of arrival.

    ``metrics["loss"]`` has the points of one metric. The type is the same with and without pandas: `to_pandas` and
    `to_dict` convert it.
    """

    def __init__(self, points: Iterable[MetricPoint] = ()) -> None:
        self._points = tuple(points)

    @property
    def names(self) -> list[str]:
        """The names of the metrics."""
        return list(dict.fromkeys(point.name for point in self._points))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with the columns name, step, value and time (UTC).

        Raises:
            Unsupported: if pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise Unsupported(_("pandas is not installed."), fix=_("Install it: pip install pandas")) from None
        frame = pandas.DataFrame(list(self._points), columns=list(_COLUMNS))
        frame["time"] = pandas.to_datetime(frame["time"], unit="s", utc=True)
        return frame

    def to_dict(self) -> dict[str, dict[str, list[Any]]]:
        """Return the columns of each metric: ``{"loss": {"step": […], "value": […], "time": […]}}``. Times are in
        seconds since 1970.
        """
        table: dict[str, dict[str, list[Any]]] = {}
        for name, *values in self._points:
            columns = table.setdefault(name, {column: [] for column in _COLUMNS[1:]})
            for column, value in zip(_COLUMNS[1:], values, strict=True):
                columns[column].append(value)
        return table

    @overload
    def __getitem__(self, key: int) -> MetricPoint: ...

    @overload
    def __getitem__(self, key: slice | str) -> Metrics: ...

    def __getitem__(self, key: int | slice | str) -> MetricPoint | Metrics:
        """Return a point by its position, or the points of a slice or of a metric.

        Raises:
            NotFound: if no point has the name.
        """
        if isinstance(key, slice):
            return Metrics(self._points[key])
        if not isinstance(key, str):
            return self._points[key]
        points = [point for point in self._points if point.name == key]
        if not points:
            raise NotFound(
                _("No metric `{name}`.").format(name=key),
                fix=_("The metrics are: {names}. For a data frame: .to_pandas()").format(
                    names=", ".join(self.names) or "-"
                ),
            )
        return Metrics(points)

    def __len__(self) -> int:
        return len(self._points)

    def __eq__(self, other: object) -> bool:
        return self._points == other._points if isinstance(other, Metrics) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._points)

    def __getattr__(self, name: str) -> Any:
        # Names of data frames, such as `plot` and `head`. Protocols look up names with underscores.
        fix = "" if name.startswith("_") else " " + _("For a data frame: .to_pandas().{name}").format(name=name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}.{fix}", name=name, obj=self)

    def _rows(self) -> list[tuple[str, ...]]:
        """Return the table of the first and last points as text, with a row of dots between them."""
        points = self._points
        rows: list[tuple[str, ...]] = [
            (point.name, str(point.step), f"{point.value:.6g}", f"{datetime.fromtimestamp(point.time):%F %T}")
            for point in (points if len(points) <= 2 * _SHOWN else (*points[:_SHOWN], *points[-_SHOWN:]))
        ]
        return rows if len(rows) == len(points) else [*rows[:_SHOWN], ("…",) * len(_COLUMNS), *rows[_SHOWN:]]

    def _title(self) -> str:
        return _("points: {n}, metrics: {m}").format(n=len(self), m=len(self.names))

    def __repr__(self) -> str:
        if not self:
            return f"<Metrics: {self._title()}>"
        rows: list[tuple[str, ...]] = [_COLUMNS, *self._rows()]
        name, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = (
            "  ".join([row[0].ljust(name), *(cell.rjust(width) for cell, width in zip(row[1:], widths, strict=True))])
            for row in rows
        )
        return "\n".join([*lines, f"<Metrics: {self._title()}>"])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows())
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if self else ""
        return f"<div>{table}<p>{escape(self._title())}</p></div>"
