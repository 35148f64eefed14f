"""The rows of a form for channels of data. While its user types where one is, what is there is offered."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

import ipywidgets

from ...core.errors import PaiError
from .widget_fields import Pairs

__all__ = ["Channels"]

# Seconds after the last letter.
_PAUSE = 0.3


class Channels(Pairs):
    """`keep` is told of each letter, so that nothing is lost; `tell` when its user pauses, which is then looked into.
    `complete` gives what a text may become; it may take its time."""

    def __init__(
        self,
        title: str,
        tell: Callable[[object], None],
        keep: Callable[[object], None],
        complete: Callable[[str], list[str]],
    ) -> None:
        super().__init__(title, tell)
        self._keep, self._complete = keep, complete
        self._timer: asyncio.TimerHandle | None = None

    def _value_field(self, text: str) -> Any:
        made = ipywidgets.Combobox(value=text, placeholder="oss://…, /…", layout={"width": "28em"})
        made.observe(lambda _change: self._typed(made), "value")
        if not text:  # Where it may begin. Of a form that is only looked at nobody is asked.
            self._offer(made)
        return made

    def _typed(self, field: Any) -> None:
        self._keep(self._read())
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # Outside of a kernel nobody types.
            self._tell(self._read())
            return
        if self._timer:
            self._timer.cancel()
        self._timer = loop.call_later(_PAUSE, self._paused, field)

    def _paused(self, field: Any) -> None:
        self._offer(field)
        self._tell(self._read())

    def _offer(self, field: Any) -> None:
        text = field.value

        def look() -> None:
            with contextlib.suppress(PaiError):  # It is only an offer; what is wrong is said by who looks at it all.
                found = self._complete(text)
                if field.value == text:
                    field.options = tuple(found)

        threading.Thread(target=look, name="jupyter-pai data", daemon=True).start()
