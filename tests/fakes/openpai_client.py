"""A user of the stand-in of OpenPAI, over plain HTTP, and documents for it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, Self

import httpx

from ..support.waiting import PATIENCE
from .openpai import OpenPai

__all__ = ["Client", "document", "eventually", "role"]


def eventually(check: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Return as soon as a check passes. Raises AssertionError after the seconds."""
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


class Client:
    """A user of a server, logged in."""

    def __init__(self, server: OpenPai, user: str = "admin") -> None:
        self.http = httpx.Client(base_url=f"{server.url}/rest-server/api/v2", timeout=PATIENCE, trust_env=False)
        self.login = self.http.post("/authn/basic/login", json={"username": user, "password": "password"})
        self.http.headers["Authorization"] = f"Bearer {self.login.json()['token']}"
        self.user = user

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def submit(self, name: str, *commands: str, roles: dict[str, Any] | None = None, **fields: Any) -> httpx.Response:
        return self.send(document(name, *commands, roles=roles, **fields))

    def send(self, text: str, content_type: str = "text/yaml") -> httpx.Response:
        return self.http.post("/jobs", content=text, headers={"Content-Type": content_type})

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get(f"/jobs/{self.user}~{name}").json()["jobStatus"]
        return found

    def wait(self, name: str, *states: str) -> dict[str, Any]:
        eventually(lambda: self.status(name)["state"] in (states or ("SUCCEEDED", "FAILED", "STOPPED")))
        found: dict[str, Any] = self.http.get(f"/jobs/{self.user}~{name}").json()
        return found

    def stop(self, name: str, value: str = "STOP") -> httpx.Response:
        return self.http.put(f"/jobs/{self.user}~{name}/executionType", json={"value": value})


def role(*commands: str, **fields: Any) -> dict[str, Any]:
    resources = {"cpu": 1, "memoryMB": 1024, "gpu": 0} | fields.pop("resources", {})
    return {"dockerImage": "image", "resourcePerInstance": resources, "commands": [*commands]} | fields


def document(name: str, *commands: str, roles: dict[str, Any] | None = None, **fields: Any) -> str:
    value = {"protocolVersion": 2, "name": name, "type": "job", "jobRetryCount": 0}
    value |= {"prerequisites": [{"type": "dockerimage", "name": "image", "uri": "python:3.11"}]}
    value |= {"taskRoles": roles or {"main": role(*commands, instances=1, completion={"minFailedInstances": 1})}}
    return json.dumps(value | {"defaults": {"virtualCluster": "default"}} | fields)
