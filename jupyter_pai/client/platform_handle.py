"""What a job in the user's hands can be asked that its platform alone knows."""

from __future__ import annotations

from typing import Any

__all__ = ["PlatformHandle"]


class PlatformHandle:
    """A part of `handle.JobHandle`."""

    def _call(self, verb: str, *, body: object = None, **arguments: object) -> Any:
        raise NotImplementedError

    def output_models(self) -> list[dict[str, Any]]:
        """The models that the job has made, as its platform notes them: uri, channel, labels, metrics.

        Raises:
            Unsupported: on a platform that notes none; see `files` for what the job has written.
        """
        return list(self._call("output_models")["models"])

    def terminal(self, instance: str = "") -> str:
        """The address of a terminal in an instance of the job, which must run; in the first if none is named. It is
        made anew each time, and lets in whoever has it, for a moment.

        Raises:
            Conflict: if the job has ended, or has no instance yet.
            NotFound: if it has no instance of that name.
            Unsupported: on a platform that opens none.
        """
        return str(self._call("open_terminal", instance=instance)["url"])
