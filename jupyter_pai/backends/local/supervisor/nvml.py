"""NVIDIA's GPUs of this machine, as the driver's own library tells.

By `ctypes` rather than the package nvidia-ml-py: the supervisor, which samples the use of GPUs, has the standard
library only. A machine without that library has no such GPUs.
"""

from __future__ import annotations

import ctypes
import os

__all__ = ["Gpu", "Nvml", "gpus"]

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
    """A GPU: its index as CUDA counts by default within this machine, its name, its memory in bytes."""

    def __init__(self, index: int, name: str, memory: int) -> None:
        self.index = index
        self.name = name
        self.memory = memory


class Nvml:
    """The library, opened. Raises OSError where there is none, or no driver."""

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
        """The use of these GPUs together: percent (of one GPU: 200 for two that are busy), and bytes of memory.

        Memory counts all processes on them, which with assigned GPUs are the job's.
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
    """The GPUs that jobs may use: all, or those that ``CUDA_VISIBLE_DEVICES`` leaves us."""
    try:
        nvml = Nvml()
    except OSError:
        return []
    try:
        found = nvml.gpus()
    finally:
        nvml.close()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return found
    wanted = [word.strip() for word in visible.split(",")]
    return [gpu for gpu in found if str(gpu.index) in wanted]
