"""Endpoints of secrets."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..core.secret import Secret
from .endpoint import Context, Json, Schema, TypedDict, endpoint


class SecretValue(BaseModel):
    """The value of a secret. Only jobs receive it."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    value: str = Field(json_schema_extra={"format": "password", "writeOnly": True})


class SecretView(TypedDict):
    name: str
    place: Literal["keyring", "file"]


class SecretsReply(TypedDict):
    """`file` is the file of secrets without a keyring. Only its user can read it; it is not encrypted."""

    secrets: list[SecretView]
    file: str


SecretNames = Annotated[Json, Schema(SecretsReply)]


@endpoint("GET", "/secrets")
async def secrets(context: Context) -> SecretNames:
    """List the names of the secrets, never their values."""
    store = context.service.secrets
    places = await asyncio.to_thread(store.places)
    return {"secrets": [{"name": name, "place": place} for name, place in places.items()], "file": str(store.path)}


@endpoint("PUT", "/secrets/{secret}")
async def set_secret(context: Context, secret: str, body: SecretValue) -> SecretNames:
    """Store a secret."""
    value = Secret(body.value)
    await asyncio.to_thread(context.service.secrets.keep, secret, value)
    return await secrets(context)


@endpoint("DELETE", "/secrets/{secret}")
async def remove_secret(context: Context, secret: str) -> SecretNames:
    """Delete a secret."""
    await asyncio.to_thread(context.service.secrets.forget, secret)
    return await secrets(context)
