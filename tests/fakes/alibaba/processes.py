"""The process groups of jobs: their output, their use of resources, and their end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from .clock import Clock
from .jobs import Instance
from .settings import Settings
from .usage import sample

__all__ = ["Processes", "free_port", "launched"]

_LAUNCH = Path(__file__).with_name("launch.py")


def launched(folder: Path, root: str, *words: str) -> list[str]:
    """Return a command in a root folder of its own; see `launch.py`. `words` are its options, and the command."""
    (folder / root).mkdir()
    return [sys.executable, "-I", "-S", str(_LAUNCH), str(folder), root, *words]


def free_port() -> int:
    """Return a port of loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Processes:
    """Processes by the id of their job."""

    def __init__(self, clock: Clock, settings: Settings) -> None:
        self._clock, self._settings = clock, settings
        self._groups: dict[str, list[int]] = {}

    def variables(self, home: Path) -> dict[str, str]:
        """Return the variables that every process has, and make its home."""
        home.mkdir()
        path = f"{self._settings.path or Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8"}

    async def run(
        self,
        owner: str,
        command: list[str],
        environment: Mapping[str, str],
        instance: Instance,
        begun: Callable[[], None],
        take: Callable[[bytes], None],
    ) -> int:
        """Return the exit code of a command. `take` is called with its output, `begun` once it runs."""
        output, end = os.pipe()
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=end, stderr=end, start_new_session=True
        )
        os.close(end)
        self._groups.setdefault(owner, []).append(process.pid)
        begun()
        sampling = asyncio.create_task(sample(process.pid, instance, self._clock, self._settings.sample_every))
        reading = asyncio.create_task(_read(output, take))
        try:
            code = await process.wait()
            # Remaining processes end with the job, as in a container; one outside its group may still hold the pipe.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.wait({reading}, timeout=5)
            self._groups.get(owner, [process.pid]).remove(process.pid)
            return code
        finally:
            sampling.cancel()
            reading.cancel()

    def stop(self, owner: str) -> None:
        """Let the processes of a job end, and kill what is left of them after the grace period."""
        self._signal(owner, signal.SIGTERM)
        loop = asyncio.get_running_loop()
        loop.call_later(self._settings.grace, self._signal, owner, signal.SIGKILL)

    def kill(self, owner: str) -> None:
        """Kill and forget the processes of a job."""
        self._signal(owner, signal.SIGKILL)
        self._groups.pop(owner, None)

    def close(self) -> None:
        """Nothing is left running."""
        for owner in list(self._groups):
            self.kill(owner)

    def _signal(self, owner: str, number: int) -> None:
        for group in self._groups.get(owner, []):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)


async def _read(output: int, take: Callable[[bytes], None]) -> None:
    """Read until all writers close the pipe, or until cancelled."""
    reader = asyncio.StreamReader()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(output, "rb", buffering=0)
    )
    try:
        while data := await reader.read(1 << 18):
            take(data)
    finally:
        pipe.close()
