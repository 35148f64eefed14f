"""Waiting for a copy that the engine makes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from ..core.errors import PaiError
from ..core.i18n import _

__all__ = ["finish_copy"]

_ASK_EVERY = 0.2


def finish_copy(
    ask: Callable[[str, str], dict[str, Any]],
    copy: dict[str, Any],
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """A copy when it is done. `ask` calls a verb of the engine with a copy's id; `progress` is told bytes done and in
    all. Interrupting ends the copy.

    Raises:
        PaiError: as the copy ended.
    """
    number, pause = copy["id"], 0.02
    try:
        while copy["status"] in ("waiting", "running"):
            time.sleep(pause)
            pause = min(pause * 1.5, _ASK_EVERY)
            copy = ask("copy", number)
            if progress:
                progress(copy["done"], copy["bytes"])
    except BaseException:
        with contextlib.suppress(PaiError):
            ask("cancel_copy", number)
        raise
    if copy["status"] == "done":
        return copy
    raise PaiError.from_json(copy["error"] or {"message": _("The copy was ended."), "code": "Conflict"})
