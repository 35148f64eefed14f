"""What a job uses of its machine, as its supervisor notes it: records that are appended to the file `usage`, and are
read by `usage`.

Standard library only: the supervisor imports it.
"""

from __future__ import annotations

import struct

__all__ = ["METRICS", "RECORD"]

# Seconds since 1970, then a value for each of the metrics; NaN where nothing is known, as of the GPUs of a job without.
RECORD = struct.Struct("<5d")
# Cores; bytes of memory, what processes share counting for each of them; percent of a GPU; bytes of GPU memory.
METRICS = ("system/cpu", "system/memory", "system/gpu", "system/gpu_memory")
