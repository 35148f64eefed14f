"""Route: how a verb of the engine is called over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode

__all__ = ["Parameter", "Route"]


@dataclass(frozen=True)
class Parameter:
    """A parameter in the query. `kind` is one of str, int, bool, list (a list of texts, given several times)."""

    name: str
    kind: type = str
    text: str = ""


@dataclass(frozen=True)
class Route:
    """How a verb is called. `body` and `reply` name the schema of what goes and comes as JSON; where `content` is set,
    bytes go as they are, where `bytes` is, they come so."""

    method: str
    path: str
    text: str
    parameters: tuple[Parameter, ...] = ()
    body: str = ""
    reply: str = ""
    bytes: bool = False
    content: bool = False

    @property
    def names(self) -> list[str]:
        """The names in the path: `/jobs/{job}` has `job`."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]

    def url(self, arguments: dict[str, object]) -> str:
        """Path and query, below the prefix, for these arguments. Those that are None, false or empty are left out."""
        path = self.path
        for name in self.names:
            path = path.replace(f"{{{name}}}", quote(str(arguments[name]), safe=""))
        query = {p.name: arguments[p.name] for p in self.parameters if _is_given(arguments.get(p.name))}
        text = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
        return f"{path}?{urlencode(text, doseq=True)}" if text else path


def _is_given(value: object) -> bool:
    return bool(value) or (isinstance(value, int) and value is not False)
