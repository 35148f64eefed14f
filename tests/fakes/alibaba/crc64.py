"""The checksum that OSS calls crc64ecma: CRC-64/XZ, of which liblzma has a fast one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache

__all__ = ["crc64", "joined"]

_POLYNOMIAL = 0xC96C5795D7870F42
_TOP = 1 << 63


def _of_liblzma() -> Callable[[bytes, int], int]:
    function = ctypes.CDLL("liblzma.so.5").lzma_crc64
    function.restype = ctypes.c_uint64
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return lambda data, so_far: int(function(data, len(data), so_far))


def _of_crcmod() -> Callable[[bytes, int], int]:
    from oss2.utils import Crc64

    def crc(data: bytes, so_far: int) -> int:
        sum_ = Crc64(so_far)
        sum_.update(data)
        return int(sum_.crc)

    return crc


try:
    crc64 = _of_liblzma()
except (OSError, AttributeError):
    crc64 = _of_crcmod()


def joined(first: int, second: int, length: int) -> int:
    """Return the checksum of two concatenated texts; `length` is that of the second, in bytes."""
    return _times(_shift(length), first) ^ second


@lru_cache(maxsize=1000)
def _shift(length: int) -> int:
    """Return x to the power of the bits of some bytes, modulo the polynomial."""
    power, square = _TOP, _TOP >> 8
    while length:
        if length & 1:
            power = _times(square, power)
        square = _times(square, square)
        length >>= 1
    return power


def _times(a: int, b: int) -> int:
    product, bit = 0, _TOP
    while bit:
        if a & bit:
            product ^= b
        b = (b >> 1) ^ _POLYNOMIAL if b & 1 else b >> 1
        bit >>= 1
    return product
