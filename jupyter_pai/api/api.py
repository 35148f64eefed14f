"""The endpoints of all resources, and their calls by name, from the Jupyter server or from a kernel without one."""

from __future__ import annotations

from typing import Any

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
from .endpoint import ENDPOINTS as ENDPOINTS, Context  # noqa: PLC0414  # Re-exported.


async def call(context: Context, verb: str, **arguments: Any) -> Any:
    """Call a verb of `ENDPOINTS`. Returns a value for `encode`, or an iterator of chunks of bytes.

    Raises:
        PaiError: if the arguments are invalid, or the call fails.
    """
    endpoint = ENDPOINTS[verb]
    values = dict(endpoint.parse(arguments))
    values |= {name: context.service.store.jobs.find(values[name]) for name in endpoint.jobs}
    return await endpoint.function(context, **values)
