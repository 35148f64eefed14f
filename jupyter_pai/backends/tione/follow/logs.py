"""The log of an instance: the lines of its pod. A task that is started again has new pods.

Source: DescribeLogs in Tencent Cloud's reference of TI-ONE.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from ....cloud.tencent.reading import nanoseconds_of, nanoseconds_text, rows_of, text_of
from ....core.errors import BackendError, Conflict, NotFound, PaiError, Refused, Throttled, Unreachable
from ....core.i18n import _
from ...reports import LogPiece
from ..api import TioneApi
from .log_position import Line, Position, Window, accept, begin, cursor_of, parse, restart

__all__ = ["read_log"]

# Lines of a page; the platform sends no more.
_PAGE = 1000
# The begin of the last line of a job script (`report_end.sh`).
_LAST_LINE = '[pai] {"exit_code": '


async def read_log(api: TioneApi, pod: str, since: int, cursor: str) -> tuple[LogPiece, bool]:
    """Return the next page of the log of a pod, and whether the job script has written its last line. `since`: a time
    before the first line, in nanoseconds since 1970.

    Raises:
        PaiError: like `TioneApi.call`.
    """
    position = parse(cursor) or Position(pod, floor=since)
    data, times, after = await _read(api, position)
    if after.pod != pod and not data and not after.window:
        # The task was started again.
        position = Position(pod, position.attempt + 1, since)
        data, times, after = await _read(api, position)
    text = cursor if after == parse(cursor) else cursor_of(after)
    return LogPiece(data, text, after.window is not None, times, after.attempt), after.is_complete


async def _read(api: TioneApi, position: Position) -> tuple[bytes, list[tuple[int, float]], Position]:
    """Return the bytes and the times of a page, and the position after it."""
    window = begin(position)
    try:
        reply = await api.call("DescribeLogs", _request(position.pod, window))
    except (BackendError, Conflict, NotFound, Refused) as error:
        if isinstance(error, Throttled | Unreachable) or not (window.context or window.offset):
            raise
        return _restarted(position, window, error)
    lines = _lines(rows_of(reply, "Content"), position.tip.time)
    new, after = accept(position, window, lines, text_of(reply.get("Context")))
    if any(line.text.startswith(_LAST_LINE) for line in new):
        after = after._replace(is_complete=True)
    return *_data(new), after


def _restarted(position: Position, window: Window, error: PaiError) -> tuple[bytes, list[tuple[int, float]], Position]:
    """Return what follows a context that the platform does not continue, as after too many lines."""
    is_limit = str(error.details.get("code")).endswith("ContextLimitError")
    after = restart(position, window, is_limit=is_limit)
    after = after if after.window else after._replace(window=begin(after))
    if after.floor <= position.floor:
        return b"", [], after
    text = _("Here lines may be missing: the platform does not return more lines of one moment.")
    return f"[jupyter-pai] {text}\n".encode(), [(0, position.tip.time / 1e9)], after


def _request(pod: str, window: Window) -> dict[str, Any]:
    return {
        "Service": "TRAIN",
        "PodName": pod,
        "StartTime": nanoseconds_text(window.start),
        "Order": "ASC",
        "OrderField": "Timestamp",
        "Limit": _PAGE,
        "Offset": window.offset or None,
        "Context": window.context or None,
    }


def _lines(rows: Sequence[dict[str, Any]], time: int) -> list[Line]:
    """Return the lines of a page. `time`: that of the line before them, which one without a time gets too."""
    lines = []
    for row in rows:
        time = nanoseconds_of(row.get("Timestamp")) or time
        text = text_of(row.get("Message")).removesuffix("\n")
        place = f"{text_of(row.get('PkgId'))} {text_of(row.get('PkgLogId'))}".strip() or text_of(row.get("Id"))
        key = blake2b((place or f"{time} {text}").encode("utf-8", "replace"), digest_size=6).hexdigest()
        lines.append(Line(time, key, text))
    return lines


def _data(lines: Sequence[Line]) -> tuple[bytes, list[tuple[int, float]]]:
    """Return the bytes of lines, and the offsets at which a line with another time begins."""
    parts, times, offset, last = list[bytes](), list[tuple[int, float]](), 0, None
    for line in lines:
        if line.time != last:
            times.append((offset, line.time / 1e9))
            last = line.time
        parts.append(f"{line.text}\n".encode("utf-8", "replace"))
        offset += len(parts[-1])
    return b"".join(parts), times
