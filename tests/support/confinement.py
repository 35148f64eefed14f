"""Functions to run between fork and exec, which restrict a process like some machines and containers do."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

__all__ = ["no_locks", "no_locks_at_all", "no_namespaces", "own_locks"]

_MACHINE = os.uname().machine
_FLOCK = {"x86_64": 73, "aarch64": 32}
_FCNTL = {"x86_64": 72, "aarch64": 25}
_UNSHARE = {"x86_64": 272, "aarch64": 97}
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_SECOND_ARGUMENT = 24  # Its place in what a filter sees: after number, architecture, instruction, first argument.
_F_SETLK = 6
_libc = ctypes.CDLL(None, use_errno=True)


def no_namespaces() -> None:
    """Let `unshare` fail with EPERM, like the seccomp profile of container engines."""
    _answer(_UNSHARE, errno.EPERM)


def no_locks() -> None:
    """Let `flock` fail with ENOLCK, like a network disk without such locks."""
    _answer(_FLOCK, errno.ENOLCK)


def no_locks_at_all() -> None:
    """Reject POSIX locks too."""
    _answer(_FLOCK, errno.ENOSYS)
    _answer(_FCNTL, errno.ENOLCK, second=_F_SETLK)


def own_locks() -> None:
    """Let `flock` always succeed, like a network disk that separates the locks of each host."""
    _answer(_FLOCK, 0)


def _answer(numbers: dict[str, int], error: int, second: int | None = None) -> None:
    """Let a system call return without being executed; if `second` is set, only for that second argument."""
    condition = [] if second is None else [(_LOAD, 0, 0, _SECOND_ARGUMENT), (_IF_EQUAL, 0, 1, second)]
    steps = [
        (_LOAD, 0, 0, 0),  # the number of the system call
        (_IF_EQUAL, 0, len(condition) + 1, numbers[_MACHINE]),
        *condition,
        (_RETURN, 0, 0, 0x00050000 | error),
        (_RETURN, 0, 0, 0x7FFF0000),  # Let it pass.
    ]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HP", len(steps), ctypes.addressof(buffer))
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or _libc.prctl(
        _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0
    ):
        raise OSError(ctypes.get_errno(), "prctl")
