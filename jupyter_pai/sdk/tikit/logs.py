"""The log of a task by the API of Tikit, read from the engine: from the start of the task, with each line once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ...client.base import Client
from ...client.parameters import offered
from ...client.printing import print_line
from ...core.errors import Unsupported, UsageError
from ...core.i18n import _
from ..target import Target
from .reply import Reply

__all__ = ["Logs", "read"]

# Lines of a page.
_LINES = 100
_COLUMNS = ("Timestamp", "PodName", "Message")


def read(
    target: Target,
    pod_name: str,
    start_time: str | None,
    end_time: str | None,
    limit: int | None,
    order: str | None,
    context: str | None,
    filters: Sequence[Any] | None,
) -> Logs:
    """Return a page of a task's log: see `Client.describe_train_logs`."""
    if filters:
        raise Unsupported(
            _("Filters of logs are not supported."),
            fix=offered(_("Search the log in JupyterLab, or filter the output of: %pai logs JOB")),
        )
    body = {"remote_id": _task_of(pod_name), "profile": target.profile}
    job = target.client.call("adopt", body=body)["id"]
    return Logs(target.client, job, start_time or "", end_time or "", limit or _LINES, order or "DESC", context or "")


def _task_of(pod_name: str) -> str:
    """Return the ID of the task in ``TASK*``.

    Raises:
        Unsupported: for the name of a pod.
    """
    match = re.fullmatch(r"([a-z]+-[0-9]+)-?\*?", pod_name)
    if not match:
        raise Unsupported(
            _("Logs are shown by task, as `train-…*`, and not by pod: {name}.").format(name=pod_name),
            fix=offered(_("For one instance, run: %pai logs JOB --instance worker-1")),
        )
    return match[1]


class Logs(Reply):
    """A page of a log: `Content` has its lines, and `next` fetches the next page."""

    def __init__(
        self, client: Client, job: str, start: str, end: str, limit: int, order: str, context: str = ""
    ) -> None:
        if order not in ("ASC", "DESC"):
            raise UsageError(
                _("Unknown order: `{name}`.").format(name=order),
                fix=_("Known are: {names}.").format(names="ASC, DESC"),
            )
        super().__init__({"Content": [], "Context": context}, "Content", _COLUMNS)
        self._client, self._job, self._limit, self._descends = client, job, limit, order == "DESC"
        self._first = self._read(0, 0, start)["line"] if start else 0
        self._end = self._read(0, 0, end)["line"] if end else None
        self._fetch()

    def next(self) -> Logs | None:
        """Fetch the next page into this object and return it; None after the last page."""
        if not self._fields["Context"]:
            print_line(_("The log has no more lines."))
            return None
        self._fetch()
        return self

    def _fetch(self) -> None:
        context = self._fields["Context"]
        page = self._back(context) if self._descends else self._on(context)
        names = page["instances"] or [""] * len(page["texts"])
        values = zip(page["times"], names, page["texts"], strict=True)
        rows = [{"Timestamp": _moment(time), "PodName": name, "Message": text} for time, name, text in values]
        self._fields["Content"] = rows[::-1] if self._descends else rows
        begin, after = page["line"], page["line"] + len(rows)
        last = page["lines"] if self._end is None else min(self._end, page["lines"])
        more = begin > self._first if self._descends else after < last
        self._fields["Context"] = str(begin if self._descends else after) if more and rows else ""

    def _on(self, context: str) -> dict[str, Any]:
        """Return the page from a line on."""
        line = _number(context) if context else self._first
        count = self._limit if self._end is None else max(min(self._limit, self._end - line), 0)
        return self._read(line, count)

    def _back(self, context: str) -> dict[str, Any]:
        """Return the page before a line."""
        before = _number(context) if context else self._end
        before = self._read(0, 0)["lines"] if before is None else before
        first = max(before - self._limit, self._first)
        return self._read(first, max(before - first, 0))

    def _read(self, line: int, lines: int, at: str = "") -> dict[str, Any]:
        page = self._client.call("lines", job=self._job, merged=True, line=line, lines=lines, at=at, times=True)
        return dict(page)


def _moment(time: float) -> str:
    """Return a time as the platform writes it; empty if it is unknown."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if time else ""


def _number(context: str) -> int:
    if not context.isdecimal():
        raise UsageError(
            _("`{text}` is not the Context of a page.").format(text=context), fix=_("Pass the Context of a reply.")
        )
    return int(context)
