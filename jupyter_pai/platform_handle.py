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
