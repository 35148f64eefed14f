"""Route: the HTTP method, path and parameters of a verb of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode

PREFIX = "pai/api/v1"
# The address below it where a server proves its identity; the only one without login.
PROOF = "/proof"


class Route(NamedTuple):
    """How to call a verb over HTTP.

    `parameters` are those in the query, by kind: str, int, bool or list (a text, repeated). `body` and `reply` name the
    schemas of the JSON that is sent and received. `takes_bytes` and `sends_bytes`: the request or the reply is bytes.
    """

    method: str
    path: str
    parameters: Mapping[str, type] = {}
    body: str = ""
    reply: str = ""
    takes_bytes: bool = False
    sends_bytes: bool = False

    @property
    def names(self) -> list[str]:
        """The names in the path: `/jobs/{job}` has `job`."""
        return path_names(self.path)

    def url(self, arguments: Mapping[str, object]) -> str:
        """Return path and query, below the prefix. Arguments that are None, false or empty are left out."""
        path = self.path
        for name in self.names:
            path = path.replace(f"{{{name}}}", quote(str(arguments[name]), safe=""))
        values = {name: arguments.get(name) for name in self.parameters}
        query = {name: value for name, value in values.items() if value or (value == 0 and value is not False)}
        text = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
        return f"{path}?{urlencode(text, doseq=True)}" if text else path


def path_names(path: str) -> list[str]:
    """Return the names in the path of a route."""
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]
