"""Endpoints of components: save one, list them, and get one."""

from __future__ import annotations

import asyncio
from typing import Annotated

from ..engine.requests import parse
from ..engine.workflows.components import Component, Components, NewComponent
from .endpoint import Context, Json, Schema, TypedDict, endpoint


class ComponentsReply(TypedDict):
    """Components, newest first."""

    components: list[Annotated[Json, Schema(Component)]]


@endpoint("POST", "/components")
async def save_component(
    context: Context, body: Annotated[object, Schema(NewComponent)]
) -> Annotated[Json, Schema(Component)]:
    """Keep a job as a component, with a copy of its code. A version that exists is not replaced."""
    async with context.service.audit.entry("save_component"):
        new = await context.read(parse, NewComponent, body)
        return (await asyncio.to_thread(_components(context).save, new)).model_dump(mode="json")


@endpoint("GET", "/components")
async def list_components(
    context: Context, identifier: Annotated[str, "Only the versions of this component."] = ""
) -> ComponentsReply:
    """List the components, newest first."""
    found = await asyncio.to_thread(_components(context).all, identifier)
    return {"components": [one.model_dump(mode="json") for one in found]}


@endpoint("GET", "/components/{identifier}/versions/{version}")
async def component(context: Context, identifier: str, version: str) -> Annotated[Json, Schema(Component)]:
    """Get a component with the folder of its code."""
    return (await asyncio.to_thread(_components(context).get, identifier, version)).model_dump(mode="json")


def _components(context: Context) -> Components:
    return Components(context.service.home, context.service.profiles)
