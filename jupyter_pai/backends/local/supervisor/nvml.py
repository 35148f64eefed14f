"""NVIDIA GPUs of this machine, by the driver's library NVML.

Uses `ctypes` instead of the package nvidia-ml-py: the supervisor has only the standard library. A machine without NVML
has no NVIDIA GPUs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

_OK = 0
_NAME_BYTES = 96


class _Memory(ctypes.Structure):
    _fields_ = [
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    ]


class _Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class Gpu:
    """A GPU: its index in CUDA's default order, name, and memory in bytes."""

    def __init__(self, index: int, name: str, memory: int) -> None:
        self.index = index
        self.name = name
        self.memory = memory


class Nvml:
    """The opened library. Raises OSError without library or driver."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        if self.library.nvmlInit_v2() != _OK:
            raise OSError("nvmlInit")

    def close(self) -> None:
        self.library.nvmlShutdown()

    def gpus(self) -> list[Gpu]:
        count = ctypes.c_uint()
        self.library.nvmlDeviceGetCount_v2(ctypes.byref(count))
        return [self._gpu(index) for index in range(count.value)]

    def use(self, indices: tuple[int, ...]) -> tuple[float, float]:
        """Return the total use of these GPUs: percent (200 for two busy GPUs) and bytes of memory.

        Memory includes all processes on these GPUs; assigned GPUs run only the job's.
        """
        percent, used = 0.0, 0.0
        for index in indices:
            device, rates = self._device(index), _Utilization()
            if self.library.nvmlDeviceGetUtilizationRates(device, ctypes.byref(rates)) == _OK:
                percent += rates.gpu
            used += self._memory(device).used
        return percent, used

    def _gpu(self, index: int) -> Gpu:
        device, name = self._device(index), ctypes.create_string_buffer(_NAME_BYTES)
        self.library.nvmlDeviceGetName(device, name, _NAME_BYTES)
        return Gpu(index, name.value.decode("utf-8", "replace"), self._memory(device).total)

    def _device(self, index: int) -> ctypes.c_void_p:
        device = ctypes.c_void_p()
        self.library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device))
        return device

    def _memory(self, device: ctypes.c_void_p) -> _Memory:
        memory = _Memory()
        self.library.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory))
        return memory


def gpus() -> list[Gpu]:
    """Return the GPUs that jobs may use: all, or those in ``CUDA_VISIBLE_DEVICES``."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    with contextlib.suppress(OSError), contextlib.closing(Nvml()) as nvml:
        return [gpu for gpu in nvml.gpus() if visible is None or str(gpu.index) in visible.replace(" ", "").split(",")]
    return []
