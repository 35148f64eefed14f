"""A request to a service, and its reply."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from .blobs import Blob
from .keys import Key

__all__ = ["Answer", "Call"]


@dataclass
class Call:
    """A request: raw path as it was sent, query without percent signs, headers by lower-case name."""

    request: web.BaseRequest
    service: str
    action: str = ""
    id: str = field(default_factory=lambda: secrets.token_hex(12).upper())
    key: Key | None = None
    received: int = 0

    def __post_init__(self) -> None:
        self.method = self.request.method
        self.path, _, query = self.request.raw_path.partition("?")
        self.query = dict(parse_qsl(query, keep_blank_values=True))
        self.headers = {name.lower(): value for name, value in self.request.headers.items()}

    @property
    def user(self) -> Key:
        """The signing user."""
        assert self.key is not None, "the signature has been looked at"
        return self.key

    async def body(self) -> bytes:
        """Read the complete body, for small ones."""
        await self.go_on()
        data = await self.request.content.read()
        self.received = len(data)
        return data

    async def go_on(self) -> None:
        """Answer a client that waits for `100 Continue`."""
        if self.headers.get("expect", "").lower() == "100-continue" and self.request._payload_writer is not None:
            await self.request._payload_writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")


@dataclass
class Answer:
    """A reply: a body in memory, or a range of a blob."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    blob: Blob | None = None
    start: int = 0
    length: int = 0

    @property
    def size(self) -> int:
        """Return the size of the body in bytes."""
        return self.length if self.blob else len(self.body)

    @classmethod
    def of_json(cls, value: Any, status: int = 200) -> Answer:
        """Return a JSON reply."""
        body = json.dumps(value, ensure_ascii=False).encode()
        return cls(status, body, {"Content-Type": "application/json;charset=utf-8"})
