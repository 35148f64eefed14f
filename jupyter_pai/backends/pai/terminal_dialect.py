"""The messages of PAI's terminals: JSON objects. ``stdin`` and ``resize`` are sent, ``stdout`` is received."""

from __future__ import annotations

import codecs
import json

from ..terminals import TerminalDialect


class PaiDialect(TerminalDialect):
    """The messages of one connection. They are text, so a character is sent when it is complete."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def keys(self, data: bytes) -> str:
        return json.dumps({"operation": "stdin", "data": self._decode(data)})

    def size(self, columns: int, rows: int) -> str:
        return json.dumps({"operation": "resize", "cols": columns, "rows": rows})

    def output(self, message: str | bytes) -> bytes:
        """Return the output of a message; a message of an unknown form is returned unchanged."""
        try:
            content = json.loads(message)
            return str(content["data"]).encode() if content["operation"] in ("stdout", "stderr") else b""
        except (ValueError, TypeError, KeyError):
            return message.encode() if isinstance(message, str) else message
