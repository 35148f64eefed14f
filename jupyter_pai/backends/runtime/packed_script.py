"""A script in the command of a platform: compressed, and without a character that has a meaning there."""

from __future__ import annotations

import base64
import gzip

__all__ = ["packed", "unpacking"]

_DECODE = """\
if command -v base64 > /dev/null; then base64 -d
else python3 -c 'import base64, sys; sys.stdout.buffer.write(base64.b64decode(sys.stdin.read()))'; fi"""


def packed(script: str) -> str:
    """Return a script in gzip and base64."""
    # Without a time, the same script has the same bytes.
    return base64.b64encode(gzip.compress(script.encode("utf-8", "surrogateescape"), mtime=0)).decode()


def unpacking(script: str) -> list[str]:
    """Return the commands of the shell that unpack a packed script into a new folder, `$pai_here`, as `script`."""
    return [
        'pai_here=$(mktemp -d "${TMPDIR:-/tmp}/jupyter-pai.XXXXXX")\nexport pai_here',
        f"pai_decode() {{\n{_DECODE}\n}}",
        f"pai_decode <<'PAI_END' | gzip -dc > \"$pai_here/script\"\n{script}\nPAI_END",
    ]
