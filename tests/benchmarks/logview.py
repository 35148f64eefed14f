"""A long log in a real browser."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial

from playwright.sync_api import Browser

from .measure import Row, ms, pairs
from .pages import browsers, lab, tab_opened, view
from .rows import COUNT
from .scale import finished, printing, proportional_set

__all__ = ["ALL"]

MANY, FEW, MORE = 1_000_000, 1_000, 150
# In the terminal's rows, not only on the way there.
SHOWN = r"/step\s{last}\s/.test(document.querySelector('.jp-pai-Log .xterm-rows')?.textContent ?? '') ? 1 : 0"


def long_log() -> Iterator[Row]:
    """The tab Logs with a log of 1,000,000 lines, against one of 1,000: its time and its memory."""
    with lab() as running, browsers(2) as both:
        opening = []
        for count, browser in zip((MANY, FEW), both, strict=True):
            job = finished(running, "python print.py", source={"files": {"print.py": printing(count)}})
            page = view(running, browser, job)
            opening.append(partial(tab_opened, page, "logs", SHOWN.format(last=count - 1)))
        ours, baseline = pairs(COUNT, *opening)
        # After as many openings, the last of which is still on the screen.
        much, little = map(renderers, both)
    times = statistics.median(ours) / statistics.median(baseline)
    title = f"a finished log of {MANY:,} lines: click to last lines shown, against {FEW:,}"
    yield Row(title, ms(ours), ms(baseline), f"{times:.2f} ×", "2 × its time", times < 2)
    more = much - little
    title = "memory of the renderer's processes then"
    yield Row(title, f"{much:.1f} MB", f"{little:.1f} MB", f"{more:+.1f} MB", f"under {MORE} MB more", more < MORE)


def renderers(browser: Browser) -> float:
    """The memory in MB of all processes that render a browser's pages; what they share counts in part."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return sum(proportional_set(int(one["id"])) for one in processes if one["type"] == "renderer")


ALL: list[Callable[[], Iterator[Row]]] = [long_log]
