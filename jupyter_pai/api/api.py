"""Api: the endpoints of all resources over one engine."""

from __future__ import annotations

from typing import Any

from ..config.contents_root import ServerRoot
from ..engine.service import JobService
from ..engine.tensorboard.tensorboards import TensorBoards
from . import (  # noqa: F401  # Each module registers its endpoints; the OpenAPI document has them in this order.
    data,
    forms,
    jobs,
    outputs,
    page,
    platforms,
    profiles,
    telemetry,
    tensorboards,
)
from .endpoint import ENDPOINTS, Context, encode

__all__ = ["ENDPOINTS", "Api", "encode"]


class Api:
    """Calls endpoints by name. The Jupyter server serves it; a kernel without a server calls it directly."""

    def __init__(
        self,
        service: JobService,
        root: ServerRoot | None = None,
        boards: TensorBoards | None = None,
        base_url: str = "/",
    ) -> None:
        self.service = service
        self._context = Context(service, root, boards, base_url)

    async def call(self, verb: str, **arguments: Any) -> Any:
        """Call a verb of `ENDPOINTS`. Returns a value for `encode`, or an iterator of chunks of bytes.

        Raises:
            PaiError: if the arguments are invalid, or the call fails.
        """
        endpoint = ENDPOINTS[verb]
        return await endpoint.function(self._context, **endpoint.parse(arguments))
