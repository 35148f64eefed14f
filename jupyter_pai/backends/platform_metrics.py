"""The part of a backend that concerns metrics on the platform: points that it stores, and points sent to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..core.errors import Unsupported
from ..core.i18n import _
from ..jobs.events import MetricPoint
from ..jobs.spec import JobSpec
from .reports import PointPage


class PlatformMetrics:
    """The metrics of a backend's jobs on the platform. By default, it stores none and takes none."""

    async def metric_names(self, remote_id: str) -> Collection[str]:
        """Return the metrics whose points the platform stores. Not called for a job that `publishes`."""
        return ()

    async def points(self, remote_id: str, name: str, known: int) -> PointPage:
        """Fetch the points of such a metric after the first `known` ones, oldest first."""
        return PointPage(())

    def publishes(self, spec: JobSpec) -> bool:
        """Return whether the user wants the metrics of a job to be sent to the platform. Sends no requests."""
        return False

    async def publish(self, remote_id: str, points: Sequence[MetricPoint], *, again: bool) -> None:
        """Send metric points of a job to the platform. For jobs that `publishes`, also after their end.

        The points of a metric are in order. Values may be infinite or NaN. `again`: the platform may have some of the
        points, from an earlier call without a reply or of another process. Skip those if it would store them twice and
        if it lists them.

        Raises:
            PaiError: if they were not sent. The engine sends them again later.
        """
        raise Unsupported(_("The platform takes no metrics."))
