"""Search in logs of any length. Results are cached, and each call has a time limit."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable
from functools import lru_cache, partial

from ...core.errors import UsageError
from ...core.i18n import _
from .file import LogFile

# Takes a chunk of log. Returns a function from a position to the position of the next match, or -1.
Finder = Callable[[bytes], Callable[[int], int]]

# Lines that indicate an error: the formats of Python, loggers, shells, CUDA and C programs.
ERRORS = (
    r"Traceback \(most recent call last\)"
    r"|(?:\b|\x1b\[[0-9;]*m)[A-Z]\w*(?:Error|Exception)(?:\x1b\[[0-9;]*m)?(?::|\s*$)"
    r"|(?:\b|\x1b\[[0-9;]*m)(?:CRITICAL|FATAL|ERROR|FAILED)\b"
    r"|^\W*(?:[Ee]rror|[Ff]atal|fatal error|panic): "
    r"|: (?:command not found|not found|No such file or directory|Permission denied|No space left on device)\s*$"
    r"|\b(?:CUDA|NCCL|cuDNN|cuBLAS)\w* [Ee]rror\b"
    r"|Segmentation fault|core dumped|terminate called after|[Oo]ut of memory|\bKilled\s*$"
    r"|^[EF]\d{4} \d\d:\d\d:"
)
_LONGEST = 1_000
# RE2 never backtracks. The cost of a large pattern is bounded by its memory limit and by the chunk size.
_MEMORY = 1 << 18
_PIECE, _LITERAL_PIECE = 1 << 16, 1 << 20
# A line longer than a chunk is searched in overlapping chunks.
_OVERLAP = 1 << 12
_MOST = 2_000_000


@lru_cache(maxsize=16)
def compile_finder(text: str, *, regex: bool = False, case: bool = False) -> tuple[Finder, int]:
    """Compile a search for a text or pattern within a line. Returns the finder and the chunk size for it.

    Raises:
        UsageError: if it is empty, too long or invalid.
    """
    if not 0 < len(text) <= _LONGEST:
        raise UsageError(_("Enter a search text of 1 to {n} characters.").format(n=_LONGEST))
    if "\n" in text:
        raise UsageError(_("A search text cannot contain line ends."), fix=_("Search for a part of one line."))
    if regex or not (case or text.isascii()):
        return _pattern(text, regex, case), _PIECE
    needle = text.encode("utf-8", "surrogatepass")
    if case:
        return lambda data: partial(data.find, needle), _LITERAL_PIECE
    return lambda data: partial(data.lower().find, needle.lower()), _LITERAL_PIECE


def _pattern(text: str, regex: bool, case: bool) -> Finder:
    import re2

    options = re2.Options()
    options.never_nl = True  # Match within a line: `\s` does not match its end.
    options.case_sensitive = case
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        pattern = re2.compile(f"(?m){text if regex else re2.escape(text)}", options)
    except (re2.error, UnicodeEncodeError) as error:
        message = error.args[0] if error.args else ""
        reason = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
        raise UsageError(
            _("Invalid pattern `{pattern}`: {reason}").format(pattern=text, reason=reason),
            fix=_(
                "The syntax is that of RE2, without backreferences and look-around. Alternatively, search for "
                "plain text."
            ),
        ) from None

    def find(data: bytes, begin: int) -> int:
        match = pattern.search(data, begin)
        return match.start() if match else -1

    return lambda data: partial(find, data)


class LogMatches:
    """The matching lines of one log."""

    def __init__(self, log: LogFile, finder: tuple[Finder, int]) -> None:
        self.log = log
        self.lock = threading.Lock()
        # Byte offsets of the first match in each matching line.
        self.offsets = array("q")
        self._finder, self._piece = finder
        self._place = 0
        # True if the line at `_place` began earlier and already has a match.
        self._is_hit = False

    def advance(self, until: float) -> bool:
        """Search the rest of the log. Returns False if `until`, in `time.monotonic` seconds, passed before the end of
        the log."""
        while len(self.offsets) < _MOST:
            place = self._place
            data = self.log.read(self._place, self._piece)
            whole = data.rfind(b"\n") + 1
            if not whole and len(data) < self._piece:
                return True  # The rest is an unfinished line, see `last`.
            self._look(data[:whole] if whole else data, whole > 0)
            assert self._place > place, place  # Each step moves forward.
            if time.monotonic() > until:
                return False
        return False

    def last(self) -> list[int]:
        """Return the match in the unfinished last line, if any."""
        data = self.log.read(self._place, self._piece)
        if not data or b"\n" in data or self._is_hit:
            return []
        at = self._finder(data)(0)
        return [] if at < 0 else [self._place + at]

    def _look(self, data: bytes, has_end: bool) -> None:
        begin = data.find(b"\n") + 1 if self._is_hit else 0
        find = self._finder(data)
        if begin or not self._is_hit:
            self._is_hit = False
            while begin < len(data) and (at := find(begin)) >= 0:
                self.offsets.append(self._place + at)
                begin = data.find(b"\n", at) + 1
                if not begin:
                    self._is_hit = True
                    break
        self._place += len(data) if has_end or self._is_hit else len(data) - _OVERLAP
