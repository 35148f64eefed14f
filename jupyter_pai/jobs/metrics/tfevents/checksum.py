"""The checksum of event files: the masked CRC-32C of bytes, one by one or of many records at once."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

_MASK = 0xFFFFFFFF


@cache
def _table() -> NDArray[np.uint32]:
    """Return the CRC-32C table."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ 0x82F63B78, table >> 1).astype(np.uint32)
    return table


def checksums(rows: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return the checksum of each row of bytes."""
    table, crc = _table(), np.full(len(rows), _MASK, np.uint32)
    for column in rows.T:
        crc = table[(crc ^ column) & 0xFF] ^ crc >> 8
    crc ^= np.uint32(_MASK)
    masked: NDArray[np.uint32] = (crc >> np.uint32(15) | crc << np.uint32(17)) + np.uint32(0xA282EAD8)
    return masked


def checksum(data: bytes) -> int:
    """Return the checksum of some bytes."""
    return int(checksums(np.frombuffer(data, np.uint8)[None, :])[0])
