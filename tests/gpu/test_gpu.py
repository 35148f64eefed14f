"""Jobs on a machine with an NVIDIA GPU: `make test-gpu`."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from jupyter_pai.backends.local.supervisor import nvml
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.jobs.metrics.resource_samples import RECORD

from ..conftest import script, submit, until
from ..integration.local.supervised_job import MODES, Started

pytestmark = pytest.mark.gpu

# A gigabyte of GPU memory, and work on it, by the driver alone: no package that brings CUDA is needed.
BUSY = """
    import ctypes, os

    cuda = ctypes.CDLL("libcuda.so.1")

    def check(code):
        assert code == 0, code

    check(cuda.cuInit(0))
    count = ctypes.c_int()
    check(cuda.cuDeviceGetCount(ctypes.byref(count)))
    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 30)))
    print("devices", count.value, os.environ.get("CUDA_VISIBLE_DEVICES"), flush=True)
    while not os.path.exists(os.environ["GO"]):
        check(cuda.cuMemsetD8_v2(memory, 1, ctypes.c_size_t(1 << 30)))
        check(cuda.cuCtxSynchronize())
"""


def test_gpus_are_listed_as_instance_types(engine: EmbeddedClient) -> None:
    result = nvml.gpus()
    assert result
    kinds = {kind["name"]: kind for kind in engine.call("instances")["instances"]}
    assert kinds["local_gpu"]["gpu"] == 1
    assert kinds["local_gpu"]["gpu_name"] == result[0].name
    assert kinds["local_gpu"]["available"]
    assert result[0].memory > 1 << 30


def test_second_gpu_job_waits_for_the_first(engine: EmbeddedClient, folder: Path, tmp_path: Path) -> None:
    script(folder, BUSY)
    engine.call("set_profile", profile="local", body={"values": {"backend": "local", "max_gpu": 1}})
    gates = [tmp_path / name for name in "ab"]
    first, second = (
        submit(engine, folder=folder, entry_point="train.py", instance_type="local_gpu", environment={"GO": str(gate)})
        for gate in gates
    )
    index = nvml.gpus()[0].index
    until(lambda: first.logs() == f"devices 1 {index}\n")
    until(lambda: second.status == "queued")
    assert not any(kind["available"] for kind in engine.call("instances")["instances"] if kind["gpu"])
    usage = engine._context.service.home.job(first.id).path / "usage"
    # A gigabyte of memory and a GPU that works are seen in the samples.
    until(lambda: any(gpu > 50 and memory > 1 << 30 for *_, gpu, memory in samples(usage)))
    gates[0].touch()
    assert first.wait().status == "succeeded", first.logs()
    until(lambda: second.logs() == f"devices 1 {index}\n")
    gates[1].touch()
    assert second.wait().status == "succeeded"


def samples(path: Path) -> list[tuple[float, ...]]:
    data = path.read_bytes()
    return list(struct.iter_unpack(RECORD.format, data[: len(data) // RECORD.size * RECORD.size]))


def test_gpu_0_hides_the_gpu(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, BUSY.replace("def check(code):", "def check(code):\n        if code == 100: print('none'); exit()"))
    job = submit(engine, folder=folder, entry_point="train.py", gpu=0, environment={"GO": os.devnull}).wait()
    assert job.logs() == "none\n"


@pytest.mark.parametrize("mode", MODES)
def test_gpu_devices_are_visible_in_every_mode(tmp_path: Path, mode: str) -> None:
    started = Started(tmp_path / "job", "ls /dev/nvidia0 && nvidia-smi -L", mode)
    result = started.end()
    assert result and result.exit_code == 0
    assert started.log.startswith(b"/dev/nvidia0\nGPU 0: ")
