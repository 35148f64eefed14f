"""The format of resource samples, appended to the file `usage` by the supervisor and read by `resource_usage`.

Standard library only: the supervisor imports it.
"""

from __future__ import annotations

import struct

# Seconds since 1970, then one value per metric. NaN if unknown, such as the GPU of a job without GPUs.
RECORD = struct.Struct("<5d")
# Cores; bytes of memory, shared memory counted for each process; percent of a GPU; bytes of GPU memory.
METRICS = ("system/cpu", "system/memory", "system/gpu", "system/gpu_memory")
