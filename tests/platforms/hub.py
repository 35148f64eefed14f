"""A stand-in for JupyterHub's API on loopback: what a single-user server asks of it, and nothing else."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Hub"]


class Hub:
    """Knows one user and the token of that user's server."""

    user = "ada"
    token = "hub-token-of-ada"

    def __init__(self, server_name: str = "", host: str = "127.0.0.1") -> None:
        hub = self
        # By what name servers know it.
        self.host = host
        self.server_name = server_name
        # What servers told of when they were last used.
        self.activity: list[dict[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, reply = hub.answer(self.path, self.headers.get("Authorization", ""))
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(reply).encode())

            def do_POST(self) -> None:
                said = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path.endswith("/activity"):
                    hub.activity.append(json.loads(said))
                self.do_GET()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.server.server_port}/hub/api"

    @property
    def prefix(self) -> str:
        """Where the user's server is."""
        return f"/user/{self.user}/" + (f"{self.server_name}/" if self.server_name else "")

    def answer(self, path: str, authorization: str) -> tuple[int, Any]:
        """The reply to a call."""
        if path.rstrip("/") == "/hub/api":
            return 200, {"version": "5.0.0"}
        if authorization != f"token {self.token}":
            return 403, {"status": 403, "message": "Forbidden"}
        if path.startswith("/hub/api/user"):
            scopes = [f"access:servers!server={self.user}/{self.server_name}", f"read:users!user={self.user}"]
            return 200, {"kind": "user", "name": self.user, "admin": False, "groups": [], "scopes": scopes}
        return 200, {}

    def environment(self, port: int) -> dict[str, str]:
        """What the Hub tells a single-user server that it starts."""
        prefix = self.prefix
        return {
            "JUPYTERHUB_API_TOKEN": self.token,
            "JUPYTERHUB_API_URL": self.url,
            "JUPYTERHUB_ACTIVITY_URL": f"{self.url}/users/{self.user}/activity",
            "JUPYTERHUB_BASE_URL": "/",
            "JUPYTERHUB_CLIENT_ID": f"jupyterhub-user-{self.user}",
            "JUPYTERHUB_HOST": "",
            "JUPYTERHUB_OAUTH_ACCESS_SCOPES": json.dumps([f"access:servers!server={self.user}/{self.server_name}"]),
            "JUPYTERHUB_OAUTH_CALLBACK_URL": f"{prefix}oauth_callback",
            "JUPYTERHUB_OAUTH_SCOPES": json.dumps([f"access:servers!server={self.user}/{self.server_name}"]),
            "JUPYTERHUB_SERVER_NAME": self.server_name,
            "JUPYTERHUB_SERVICE_PREFIX": prefix,
            "JUPYTERHUB_SERVICE_URL": f"http://127.0.0.1:{port}{prefix}",
            "JUPYTERHUB_USER": self.user,
        }

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
