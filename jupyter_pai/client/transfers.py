"""Waiting for transfers between storage and this machine, and reporting their progress."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from ..core.errors import PaiError
from ..core.i18n import _
from ..core.sizes import show_size

# Seconds between two polls of a transfer.
_POLL_INTERVAL = 0.2
# Seconds between two lines of progress.
_PRINT_INTERVAL = 3.0


def finish_copy(
    call: Callable[[str, str], dict[str, Any]],
    copy: dict[str, Any],
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Wait for a transfer and return its final state. `call` calls a verb of the engine with a transfer's id;
    `progress` receives the bytes copied so far and in total. An interrupt cancels the transfer.

    Raises:
        PaiError: the error with which the transfer ended.
    """
    number, pause = copy["id"], 0.02
    try:
        while copy["status"] in ("waiting", "running"):
            time.sleep(pause)
            pause = min(pause * 1.5, _POLL_INTERVAL)
            copy = call("copy", number)
            if progress:
                progress(copy["done"], copy["bytes"])
    except BaseException:
        with contextlib.suppress(PaiError):
            call("cancel_copy", number)
        raise
    if copy["status"] == "done":
        return copy
    raise PaiError.from_json(copy["error"] or {"message": _("The copy was ended."), "code": "Conflict"})


def progress_printer(write: Callable[[str], object]) -> Callable[[int, int], None]:
    """Return a progress callback that writes a line every few seconds."""
    written = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal written
        if time.monotonic() - written >= _PRINT_INTERVAL:
            written = time.monotonic()
            values = {"done": show_size(done), "whole": show_size(total), "percent": 100 * done // max(total, 1)}
            write(_("{done} of {whole} copied, {percent} %").format(**values))

    return progress
