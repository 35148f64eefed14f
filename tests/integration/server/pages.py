"""The calls of pages to a real server with all its logs, kept for a search for secrets."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from jupyter_pai.api.routes import ROUTES

from ...conftest import PATIENCE, until
from ...support.system_file import command
from .real_server import RealServer

__all__ = ["Pages", "in_all_forms"]


class Pages:
    """The calls of pages about a profile. Keeps all that they get.

    The server has an audit log in a file. `choice` names a list of choices of the profile.
    """

    def __init__(self, folder: Path, profile: str, choice: str) -> None:
        system, root = folder / "system", folder / "notebooks"
        self.audit, self.profile, self.choice = folder / "audit.jsonl", profile, choice
        self.shown: dict[str, bytes] = {}
        system.mkdir()
        root.mkdir()
        (system / "jupyter_pai.toml").write_text(f"[policy]\naudit_file = '{self.audit}'\n")

        class Verbose(RealServer):
            program = (*command(system)[1:], "-m", "jupyter_server", "--debug")

        self.server = Verbose(root)

    def call(self, verb: str, body: object = None, **arguments: object) -> Any:
        """Return the reply to a verb, also a refusal."""
        route = ROUTES[verb]
        address = route.url(arguments)
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.server.token}", "Content-Type": "application/json"}
        request = Request(f"{self.server.url}/pai/api/v1{address}", data, headers, method=route.method)
        try:
            with urlopen(request, timeout=PATIENCE) as reply:
                text = reply.read()
        except HTTPError as error:
            text = error.read()
            assert error.code < 500 or verb in ("instances", "remote_jobs"), (address, text)
        self.shown[f"{len(self.shown)} {verb} {address}"] = text
        return text.decode("utf-8", "replace") if route.sends_bytes else json.loads(text)

    def all(self, job: str, uri: str) -> None:
        """Get all that a page may show of a job."""
        names = {"job": job, "other": job, "profile": self.profile, "channel": "model", "path": "model.txt", "uri": uri}
        more = {
            "name": self.choice,
            "text": "key",
            "kernel": "none",
            "copy": "none",
            "model": "none",
            "version": "none",
            "run": "none",
            "step": "none",
            "identifier": "none",
            "key": "none",
        }
        for verb, route in ROUTES.items():
            if route.method == "GET" and verb not in ("catalogue", "schema", "openapi"):
                self.call(verb, **{**names, **more, "path": "form.pai.yaml" if verb == "form" else "model.txt"})

    def ended(self, job: str) -> Any:
        """Return a job when it has ended, and its log is complete."""
        return until(lambda: (found := self.call("show", job=job))["ended_at"] and found)

    def run(self, spec: Mapping[str, Any]) -> str:
        """Submit a job that prints its secret KEY, and wait for its end. Return its id."""
        request = {"spec": {**spec, "profile": self.profile}, "confirmed": True}
        self.call("preview", request)
        self.call("recipe", request)
        reply = self.call("submit", request)
        assert "job" in reply, reply
        job: str = reply["job"]["id"]
        assert self.ended(job)["status"] == "succeeded", self.call("log", job=job)
        assert "the key is [secret KEY]" in self.call("log", job=job)
        return job

    def places(self, values: Mapping[str, str], texts: Mapping[str, bytes]) -> list[tuple[str, str]]:
        """Return which values are in which replies, files of the server or other texts."""
        found = {**self.shown, **texts}
        for place in (self.audit, self.server.log, *self.server.root.rglob("*")):
            if place.is_file():
                found[str(place)] = place.read_bytes()
        return [
            (name, place) for name, value in values.items() for place, text in found.items() if value.encode() in text
        ]


def in_all_forms(values: Mapping[str, str]) -> dict[str, str]:
    """Return values by name, as they are, in base64 and in addresses."""
    coded = {f"{name} in base64": base64.b64encode(value.encode()).decode() for name, value in values.items()}
    return {**values, **coded, **{f"{name} in addresses": quote(value) for name, value in values.items()}}
