"""Settings of a stand-in."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Defaults are those of most tests."""

    region: str = "cn-shanghai"
    workspace_id: str = "1001"
    workspace_name: str = "stand_in"
    bucket: str = "pai-stand-in"
    # Whether the workspace has that bucket as its default storage.
    default_storage: bool = True
    # Without MD5 sums an upload costs half; ETags are then made of the CRC.
    md5: bool = True
    # Seconds by which the services' clocks are ahead.
    clock_offset: float = 0.0
    # Of the faults with a probability.
    seed: int = 20
    # Seconds between the statuses before Running; the service takes minutes.
    pause: float = 0.02
    # Jobs that really run at the same time; the others wait in the status Creating.
    slots: int = 16
    # Seconds between two copies of the outputs to OSS, and between two measurements of a job's processes.
    save_every: float = 0.5
    sample_every: float = 0.5
    # Seconds that a job has to end by itself when it is stopped.
    grace: float = 2.0
    # Whether a single archive in the code is unpacked, as the service did in former times.
    unpack: bool = False
    # Whether requirements are really installed; they are noted anyway.
    install: bool = False
    # Where a job finds its programs first; by default beside the interpreter of the stand-in.
    path: str = ""
    # Seconds that a throttled client is told to wait.
    retry_after: float = 0.2
    # Seconds until a TensorBoard runs, and until its page then answers.
    board_start: float = 0.2
    board_warm: float = 0.2
