"""The endpoints of all resources, and their calls by name, from the Jupyter server or from a kernel without one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from . import jobs, page  # noqa: F401  # Each module registers its endpoints.
from .endpoint import ENDPOINTS, Context, Endpoint

# An idle server does not need them.
_ON_FIRST_USE = (
    "components",
    "data",
    "forms",
    "models",
    "openapi",
    "outputs",
    "platforms",
    "profiles",
    "telemetry",
    "tensorboards",
    "workflows",
)


def endpoints() -> Mapping[str, Endpoint]:
    """Return all endpoints by verb."""
    for name in _ON_FIRST_USE:
        import_module(f".{name}", __package__)
    return ENDPOINTS


async def call(context: Context, verb: str, **arguments: Any) -> Any:
    """Call a verb of `endpoints`. Returns a value for `encode`, or an iterator of chunks of bytes.

    Raises:
        PaiError: if the arguments are invalid, or the call fails.
    """
    endpoint = ENDPOINTS.get(verb) or endpoints()[verb]
    # A body may have many faults, each of which gets a message.
    parsed = await context.read(endpoint.parse, arguments) if "body" in arguments else endpoint.parse(arguments)
    values = dict(parsed)
    values |= {name: context.service.store.jobs.find(values[name]) for name in endpoint.jobs}
    return await endpoint.function(context, **values)
