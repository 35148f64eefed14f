"""The log of an instance: the lines of its pods, one after another. A pod that fails may be replaced by another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....core.i18n import _
from ...reports import LogPiece
from .api import DlcApi
from .log_position import Position, Reading, advance, cursor_of, parse
from .pods import Pod, Run

__all__ = ["LogRead", "read_log"]

# The begin of the last line of a job script (`report_end.sh`).
_LAST_LINE = '[pai] {"exit_code": '
# Seconds after the end of a pod in which a line may have its time, and after which no line of it is expected.
_MARGIN, _SETTLED = 5, 10
# Lines of a time so many seconds ago were not written just now.
_OLD = 60


class LogRead(NamedTuple):
    """A part of a log. `is_complete`: the job script has written its last line. `has_next`: another pod of the instance
    follows, when the lines of this one are settled."""

    piece: LogPiece
    is_complete: bool
    has_next: bool


async def read_log(api: DlcApi, job_id: str, pod: Pod, cursor: str, now: int) -> LogRead:
    """Return the next part of the log of an instance. `now`: Unix time.

    Raises:
        PaiError: like `DlcApi.logs`.
    """
    position = parse(cursor) or _first(pod.runs, 0)
    number = next((n for n, run in enumerate(pod.runs) if run.uid == position.uid), -1)
    if number < 0:  # The platform no longer lists it.
        number = min(position.attempt, len(pod.runs)) - 1
        position = _first(pod.runs, number)._replace(attempt=position.attempt)
    run, last = pod.runs[number], len(pod.runs) - 1
    piece, after = await _read(api, job_id, run, position, now)
    is_settled = after.is_complete or now > run.ended_at + _SETTLED
    if number < last and is_settled and not piece.data and not piece.more:
        number += 1
        position = _first(pod.runs, number)._replace(attempt=position.attempt + 1)
        piece, after = await _read(api, job_id, pod.runs[number], position, now)
    return LogRead(piece, after.is_complete and number == last, number < last)


def _first(runs: Sequence[Run], number: int) -> Position:
    return Position(runs[number].uid, number + 1, runs[number].created_at - 1)


async def _read(api: DlcApi, job_id: str, run: Run, position: Position, now: int) -> tuple[LogPiece, Position]:
    last = min(now, run.ended_at + _MARGIN) if run.ended_at else now
    is_over = bool(run.ended_at) and now > run.ended_at + _SETTLED

    async def fetch(start: int, end: int) -> list[str]:
        return await api.logs(job_id, run.pod_id, run.uid, start, end)

    reading = await advance(position, fetch, last, is_over=is_over)
    after = reading.after
    if any(line.startswith(_LAST_LINE) for line in reading.lines):
        after = after._replace(is_complete=True)
    data = _data(reading)
    times = [(0, float(reading.start))] if data and after.next < now - _OLD else []
    return LogPiece(data, cursor_of(after), reading.more, times, position.attempt), after


def _data(reading: Reading) -> bytes:
    lines = [line.removesuffix("\n") for line in reading.lines]
    if reading.is_cut:
        text = _("Here lines may be missing: the platform does not return more lines of one second.")
        lines.append(f"[jupyter-pai] {text}")
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
