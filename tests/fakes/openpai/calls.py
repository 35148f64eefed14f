"""A request and its reply."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ..alibaba.service_errors import Refusal
from .accounts import Account

__all__ = ["Call", "Reply", "json_reply", "object_of", "refused"]

JSON = "application/json; charset=utf-8"


@dataclass
class Call:
    """A request whose path matched a route; `user` is set where the route needs a login."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    words: dict[str, str] = field(default_factory=dict)
    user: Account | None = None
    token: str = ""
    claims: dict[str, Any] = field(default_factory=dict)

    @property
    def account(self) -> Account:
        """The user that is logged in."""
        assert self.user is not None
        return self.user


@dataclass
class Reply:
    """Status, body and headers."""

    status: int
    body: bytes
    headers: dict[str, str]


def json_reply(value: Any, status: int = 200, content_type: str = JSON) -> Reply:
    """Return a reply with JSON."""
    return Reply(status, json.dumps(value).encode(), {"Content-Type": content_type})


def refused(refusal: Refusal) -> Reply:
    """Return an error; errors that the server does not foresee have no code."""
    body = {"code": refusal.code} if refusal.code else {}
    reply = json_reply(body | {"message": refusal.message}, refusal.status)
    reply.headers |= refusal.headers
    return reply


def object_of(call: Call) -> dict[str, Any]:
    """Return the JSON object of a body. Raises Refusal."""
    try:
        value = json.loads(call.body or b"{}")
    except ValueError as error:
        raise Refusal(400, "", str(error)) from error
    if not isinstance(value, dict):
        raise Refusal(400, "InvalidParametersError", '"value" must be an object')
    return value
