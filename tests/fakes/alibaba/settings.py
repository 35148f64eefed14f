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
    # The bucket is the default storage of the workspace.
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
    # Unpack a single archive in the code, as the service formerly did.
    unpack: bool = False
    # Install requirements; they are recorded in any case.
    install: bool = False
    # First folder of a job's PATH. Default: that of the stand-in's interpreter.
    path: str = ""
    # Seconds in a minute of DLC's limits: of the running time, and of the reservation after the end.
    minute: float = 60.0
    # Of more log lines than DLC returns at once, return the last ones; the documents do not say which.
    log_end: bool = False
    # Seconds in the retry-after header of throttled requests.
    retry_after: float = 0.2
    # Seconds until a TensorBoard runs, and until its page then answers.
    board_start: float = 0.2
    board_warm: float = 0.2
