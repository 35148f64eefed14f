r"""Errors caused by Windows line ends: in a script with ``\r\n``, ``\r`` is a part of the last word of each line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...core.i18n import _

# As shells and Python print it: escaped, as ^M, or as it is, before the rest of a message.
_SHOWN = re.compile(r"\\r['’]")
_IN_SHELL = re.compile(
    r"[^\r\n]{0,200}(?:\\r['’]: |\\r['’]$|`(?:\$')?[^\r\n']{0,40}\\r'|\^M: |"
    r"\r: (?:command )?(?:not found|No such|inv|bad)|Illegal option -\r|can't cd to [^\r\n]{1,200}\r)[^\r\n]{0,200}",
    re.MULTILINE,
)
_SEARCHED = 8_000


def find(tail: str) -> tuple[str, str] | None:
    r"""Return the reason and fix if a shell or interpreter rejects a word that ends with ``\r``; None for other
    logs."""
    match = [*_IN_SHELL.finditer(tail[-_SEARCHED:])][-1:]
    if not match:
        return None
    line = match[0][0].replace("\r", "\\r").strip()
    reason = _("A line of a script ends with \\r\\n, so \\r is a part of its last word: {line}").format(line=line)
    return reason, _fix()


def fix(lines: Sequence[str]) -> str:
    r"""Return the fix of an exception whose message has a text that ends with ``\r``; empty for other ones."""
    return _fix() if any(map(_SHOWN.search, lines)) else ""


def _fix() -> str:
    return _("Convert the line ends: {command}").format(command="sed -i 's/\\r$//' FILE")
