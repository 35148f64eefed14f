"""A stand-in for the part of JupyterHub's API, on loopback, that a single-user server calls."""

from __future__ import annotations

import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

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
        # The activity reports of servers.
        self.activity: list[dict[str, Any]] = []
        # With which browsers that have logged in go back.
        self.codes: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.startswith("/hub/api/oauth2/authorize"):
                    self.send_response(302)
                    self.send_header("Location", hub.logged_in(self.path))
                    self.end_headers()
                    return
                status, reply = hub.answer(self.path, self.headers.get("Authorization", ""))
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(reply).encode())

            def do_POST(self) -> None:
                output = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path.endswith("/activity"):
                    hub.activity.append(json.loads(output))
                if self.path == "/hub/api/oauth2/token" and hub.is_code(output):
                    self.headers["Authorization"] = f"token {hub.token}"
                self.do_GET()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"{self.address}/hub/api"

    @property
    def address(self) -> str:
        return f"http://{self.host}:{self.server.server_port}"

    @property
    def prefix(self) -> str:
        """The path of the user's server."""
        return f"/user/{self.user}/" + (f"{self.server_name}/" if self.server_name else "")

    def logged_in(self, path: str) -> str:
        """Return the URL to which a browser is redirected after the login, with a code."""
        request = parse_qs(urlsplit(path).query)
        self.codes.append(code := secrets.token_urlsafe(8))
        return f"{request['redirect_uri'][0]}?{urlencode({'code': code, 'state': request['state'][0]})}"

    def is_code(self, form: bytes) -> bool:
        """Return whether a token request has the right secret and an unused code."""
        fields = parse_qs(form.decode())
        if fields["client_secret"] != [self.token] or fields["code"][0] not in self.codes:
            return False
        self.codes.remove(fields["code"][0])
        return True

    def answer(self, path: str, authorization: str) -> tuple[int, Any]:
        """The reply to a call."""
        if path.rstrip("/") == "/hub/api":
            return 200, {"version": "5.0.0"}
        if authorization != f"token {self.token}":
            return 403, {"status": 403, "message": "Forbidden"}
        if path == "/hub/api/oauth2/token":
            return 200, {"access_token": self.token, "token_type": "Bearer"}
        if path.startswith("/hub/api/user"):
            scopes = [f"access:servers!server={self.user}/{self.server_name}", f"read:users!user={self.user}"]
            return 200, {"kind": "user", "name": self.user, "admin": False, "groups": [], "scopes": scopes}
        return 200, {}

    def environment(self, port: int) -> dict[str, str]:
        """Return the environment of a single-user server started by the Hub."""
        prefix = self.prefix
        return {
            "JUPYTERHUB_API_TOKEN": self.token,
            "JUPYTERHUB_API_URL": self.url,
            "JUPYTERHUB_ACTIVITY_URL": f"{self.url}/users/{self.user}/activity",
            "JUPYTERHUB_BASE_URL": "/",
            "JUPYTERHUB_CLIENT_ID": f"jupyterhub-user-{self.user}",
            "JUPYTERHUB_HOST": self.address,
            "JUPYTERHUB_OAUTH_ACCESS_SCOPES": json.dumps([f"access:servers!server={self.user}/{self.server_name}"]),
            "JUPYTERHUB_OAUTH_CALLBACK_URL": f"http://127.0.0.1:{port}{prefix}oauth_callback",
            "JUPYTERHUB_OAUTH_SCOPES": json.dumps([f"access:servers!server={self.user}/{self.server_name}"]),
            "JUPYTERHUB_SERVER_NAME": self.server_name,
            "JUPYTERHUB_SERVICE_PREFIX": prefix,
            "JUPYTERHUB_SERVICE_URL": f"http://127.0.0.1:{port}{prefix}",
            "JUPYTERHUB_USER": self.user,
        }

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
