"""Signals that ended a command or one of its processes."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from ...core.i18n import _

# The words of shells and launchers for a signal.
_WORDS = {
    "Killed": signal.SIGKILL,
    "Segmentation fault": signal.SIGSEGV,
    "Bus error": signal.SIGBUS,
    "Illegal instruction": signal.SIGILL,
    "Aborted": signal.SIGABRT,
    "Floating point exception": signal.SIGFPE,
}
_NAMED = re.compile(
    rf"(?:died with <Signals\.|terminated with signal |[Ss]ignal \d{{1,2}} \()(?P<name>SIG[A-Z]{{3,6}})"
    rf"|exited on signal (?P<number>\d{{1,2}})\b"
    rf"|(?:^|task \d{{1,6}}: |^\S{{1,200}}: line \d{{1,6}}:\s{{1,9}}\d{{1,9}} )"
    rf"(?P<word>{'|'.join(_WORDS)})(?: \(core dumped\))?(?:\s{{2,}}|$)"
)  # fmt: skip


def find(lines: Sequence[str]) -> int:
    """Return the number of the signal that the last of these lines names; 0 if none does."""
    match = next(filter(None, map(_NAMED.search, reversed(lines))), None)
    if not match:
        return 0
    if match["number"]:
        return int(match["number"])
    return int(_WORDS[match["word"]] if match["word"] else getattr(signal, match["name"], 0))


def ended_by(number: int) -> tuple[str, str]:
    """Return the reason and the fix of a command that a signal ended."""
    names = {one.value: one.name for one in signal.Signals}
    return _("Ended by signal {name}.").format(name=names.get(number, number)), fix(number)


def fix(number: int) -> str:
    """Return the fix of a process that a signal ended; empty if none is known."""
    fixes: dict[int, str] = {
        signal.SIGKILL: _("Often caused by a lack of memory: use a smaller batch or model."),
        signal.SIGSEGV: _("A crash in native code: check the versions of packages with native code."),
        signal.SIGILL: _("A package was built for another processor: install a build for this one."),
        signal.SIGABRT: _("A crash in native code: see the last lines of the log."),
        signal.SIGBUS: _("Often too little shared memory: use fewer data loader workers (num_workers=0)."),
    }
    return fixes.get(number, "")
