"""Text for display, without the control characters and escape sequences that a terminal obeys, and sizes in bytes.

Characters that change the order of the others are escaped, because a name could be displayed as another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import islice

from .contract import BIDI
from .i18n import _

_LINES = 12
_LONGEST = 2_000
# Escape sequences of terminals: CSI, OSC, and two-character ones; then all other control characters except tab, and
# surrogates, which stand for invalid bytes in file names.
_SEQUENCE = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
_SEQUENCES = re.compile(_SEQUENCE)
_REPORT = b"[pai] {"
# Bytes of a record: the largest output parameter, escaped.
_LONGEST_REPORT = 1 << 18
_REPORTED = re.compile(r"\[pai\] \{.*\}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_ORDER = re.compile(f"[{BIDI}]")
# In a log: a colour; a sequence, bell or backspace to remove; a control character to replace.
_IN_LOG = re.compile(rf"(\x1b\[[0-9;:]*m)|({_SEQUENCE}|[\x07\x08])|[\x00-\x06\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# The beginning of a sequence, which may continue in the next part of a log.
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b\r\n]*\x1b?)?\Z")
_LONGEST_BEGUN = 4_096
_RESET = "\x1b[0m"
# Characters of a name, and names, that are compared for a suggestion. The time grows with their product.
_LONGEST_NAME, _MOST_NAMES = 100, 200


def closest(name: str, known: Iterable[str], least: float = 0.6) -> str:
    """Return the known name that is most like another one; empty if none is. `least`: the least ratio of `difflib`."""
    names = [one for one in islice(known, _MOST_NAMES) if len(one) <= _LONGEST_NAME]
    near = get_close_matches(name, names, 1, least) if len(name) <= _LONGEST_NAME else []
    return near[0] if near else ""


def printable(log: str, lines: int = _LINES) -> list[str]:
    """Return the last lines of a log as a terminal would show them, without colours and `report` lines.

    Lines are cut to 2,000 characters.
    """
    shown = []
    for row in _SEQUENCES.sub("", log).split("\n"):
        # Text after a carriage return overwrites the line, as in a progress bar.
        row = row.rstrip("\r").rsplit("\r", 1)[-1]
        if not _REPORTED.fullmatch(row):
            shown.append(_CONTROL.sub("�", row[:_LONGEST]).rstrip())
    while shown and not shown[-1]:
        shown.pop()
    return shown[-lines:]


def plain(text: str) -> str:
    """Remove escape sequences, replace control characters except tab and line end by U+FFFD, and escape characters that
    change the order of others, as in ``\\u202e``.

    A text without them is returned itself: a `Message` stays one.
    """
    if not _CONTROL.search(text) and not _ORDER.search(text):
        return text
    return _escape_order(_CONTROL.sub("�", _SEQUENCES.sub("", text.replace("\r\n", "\n"))))


def _escape_order(text: str) -> str:
    """Escape the characters of a text that change the order in which others are displayed."""
    return _ORDER.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class LogText:
    """The text of a log for a terminal, part by part. Colours, tabs, line ends and carriage returns are kept. All other
    escape sequences are removed, and other control characters are replaced by U+FFFD."""

    def __init__(self) -> None:
        self._begun = ""
        self._is_coloured = False

    def feed(self, text: str) -> str:
        """Return the next part as a terminal may show it. The beginning of a sequence is kept for the next call."""
        text = self._begun + text
        begun = _BEGUN.search(text, max(len(text) - _LONGEST_BEGUN, 0))
        self._begun = text[begun.start() :] if begun else ""
        return _IN_LOG.sub(self._replacement, text[: begun.start()] if begun else text)

    def finish(self) -> str:
        """Return the end of the log, which resets the colours."""
        rest, self._begun = _CONTROL.sub("�", self._begun), ""
        return rest + (_RESET if self._is_coloured else "")

    def _replacement(self, match: re.Match[str]) -> str:
        self._is_coloured |= bool(match[1])
        return match[1] or ("" if match[2] else "�")


def without_reports(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a log without the records that `report` and the job script write: ``[pai] {…}`` up to the end of the line.
    Text before a record, such as a progress bar, continues with the next line. The beginning of a record is kept until
    its line ends."""
    kept = b""
    for data in chunks:
        *lines, rest = (kept + data).split(b"\n")
        shown = b"".join(map(_before_report, lines))
        begun = _begun_report(rest)
        # A longer one is not a record.
        begun = len(rest) if len(rest) - begun > _LONGEST_REPORT else begun
        shown, kept = shown + rest[:begun], rest[begun:]
        if shown:
            yield shown
    if kept and not kept.rstrip(b"\r").endswith(b"}"):
        yield kept


def end_of_log(data: bytes, lines: int) -> bytes:
    """Return the last lines of a log without records."""
    rows = b"".join(without_reports([data])).split(b"\n")
    return b"\n".join(rows[-lines - (not rows[-1]) :])


def _before_report(line: bytes) -> bytes:
    """Return a line with its end, or the part before a record without it."""
    place = line.find(_REPORT)
    return line[:place] if place >= 0 and line.rstrip(b"\r").endswith(b"}") else line + b"\n"


def _begun_report(line: bytes) -> int:
    """Return the place in an unfinished line where a record begins or may begin."""
    place = line.find(_REPORT)
    if place >= 0:
        return place
    return next((len(line) - n for n in range(len(_REPORT) - 1, 0, -1) if line.endswith(_REPORT[:n])), len(line))


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_size(text: str) -> int:
    """Parse `100MB`, `1.5GiB` or `4096` into bytes.

    Raises:
        ValueError: if it is not a size.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i?)?B?\s*", text, re.IGNORECASE)
    if not match:
        raise ValueError(_("Invalid size `{text}`: expected a value such as 100MB or 1.5GiB.").format(text=text))
    return int(float(match[1]) * _UNITS[(match[2] or "").lower()])


def parse_duration(text: str) -> float:
    """Parse `90s`, `10m`, `12h`, `30d` or `8w` into seconds.

    Raises:
        ValueError: if it is not a duration with a unit.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)([smhdw])\s*", text)
    if not match:
        raise ValueError(_("Invalid duration `{text}`: expected a value such as 10m, 12h or 30d.").format(text=text))
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}[match[2]]


def size_or_nothing(text: str) -> str:
    """Validate the text of a setting that is a size or empty.

    Raises:
        ValueError: if it is neither.
    """
    if text.strip():
        parse_size(text)
    return text


def show_memory(size: float) -> str:
    """Format bytes of memory in binary units, as machines are sold: `16 GiB`."""
    return f"{size / (1 << 30):.4g} GiB"


def show_size(size: float) -> str:
    """Format bytes for display: `312 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
