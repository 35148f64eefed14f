"""The terminal of a user, for commands that need one."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["UserTerminal", "answering"]


class UserTerminal:
    """A pseudo-terminal of 97 columns and 31 rows for keys and output."""

    def __init__(self) -> None:
        self.controller, self.device = pty.openpty()
        fcntl.ioctl(self.device, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 97, 0, 0))
        self._shown = ""

    def read_until(self, text: str) -> None:
        """Wait until a text appears after the output read so far."""
        while text not in self._shown:
            ready, _writable, _wrong = select.select([self.controller], [], [], 30)
            assert ready, f"{text!r} does not come after {self._shown!r}"
            self._shown += os.read(self.controller, 1 << 16).decode()
        self._shown = self._shown.partition(text)[2]

    def press(self, keys: str) -> None:
        os.write(self.controller, keys.encode())


@contextmanager
def answering(text: str) -> Iterator[int]:
    """Yield a terminal as standard input on which a user has typed an answer."""
    terminal = UserTerminal()
    try:
        terminal.press(f"{text}\n")
        yield terminal.device
    finally:
        os.close(terminal.controller)
        os.close(terminal.device)
