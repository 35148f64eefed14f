"""The verbs of the engine as HTTP has them: one table for server, client and the OpenAPI document.

Each verb is a method of `api.Api`. Light: a kernel that only talks to its server loads this and little else.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode

__all__ = ["PREFIX", "ROUTES", "Parameter", "Route"]

PREFIX = "pai/api/v1"


@dataclass(frozen=True)
class Parameter:
    """A parameter in the query. `kind` is one of str, int, bool, list (a list of texts, given several times)."""

    name: str
    kind: type = str
    text: str = ""


@dataclass(frozen=True)
class Route:
    """How a verb is called. `body` and `reply` name the schema of what goes and comes as JSON."""

    method: str
    path: str
    text: str
    parameters: tuple[Parameter, ...] = ()
    body: str = ""
    reply: str = ""
    bytes: bool = False

    @property
    def names(self) -> list[str]:
        """The names in the path: `/jobs/{job}` has `job`."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]

    def url(self, arguments: dict[str, object]) -> str:
        """Path and query, below the prefix, for these arguments. Those that are None or empty are left out."""
        path = self.path
        for name in self.names:
            path = path.replace(f"{{{name}}}", quote(str(arguments[name]), safe=""))
        query = {p.name: arguments[p.name] for p in self.parameters if arguments.get(p.name)}
        text = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
        return f"{path}?{urlencode(text, doseq=True)}" if text else path


_PAGE = (
    Parameter("status", list, "Only jobs with one of these statuses."),
    Parameter("name", str, "Only jobs whose name contains this text."),
    Parameter("label", list, "Only jobs with this label, KEY=VALUE."),
    Parameter("limit", int, "How many jobs, at most 500."),
    Parameter("offset", int, "How many of the newest to pass over."),
)
_INSTANCE = Parameter("instance", str, "The instance whose log is meant; the first if empty.")

ROUTES: dict[str, Route] = {
    "about": Route("GET", "", "The version, and what is installed.", reply="About"),
    "openapi": Route("GET", "/openapi.json", "This document."),
    "list_jobs": Route("GET", "/jobs", "Jobs, newest first.", _PAGE, reply="Jobs"),
    "submit": Route("POST", "/jobs", "Submit a job.", body="SubmitRequest", reply="Submitted"),
    "preview": Route("POST", "/preview", "What would be submitted.", body="SubmitRequest", reply="Preview"),
    "show": Route("GET", "/jobs/{job}", "A job, by id, beginning of an id, name, or `last`.", reply="JobView"),
    "delete": Route("DELETE", "/jobs/{job}", "Forget a job that has ended, with all its files.", reply="JobView"),
    "stop": Route("POST", "/jobs/{job}/stop", "Ask for a job's end.", reply="JobView"),
    "rerun": Route("POST", "/jobs/{job}/rerun", "Submit its spec and code once more.", body="Rerun", reply="Submitted"),
    "log": Route(
        "GET",
        "/jobs/{job}/log",
        "The bytes of a log as the job wrote them. The header X-Offset says where they begin.",
        (
            _INSTANCE,
            Parameter("offset", int, "Where to begin, in bytes."),
            Parameter("limit", int, "How many bytes at most; 0 for all that there are."),
            Parameter("tail", int, "Begin at the last so many lines instead."),
            Parameter("follow", bool, "Go on as the log grows, until the job has ended."),
        ),
        bytes=True,
    ),
    "metrics": Route(
        "GET",
        "/jobs/{job}/metrics",
        "The points of a job's metrics.",
        (
            Parameter("name", list, "Only these metrics."),
            Parameter("start", int, "Pass over that many points of each."),
        ),
        reply="Metrics",
    ),
    "events": Route(
        "GET",
        "/events",
        "What happened to jobs, oldest first.",
        (Parameter("after", int, "Only events after this one."), Parameter("job", str, "Only this job's.")),
        reply="Events",
    ),
    "download": Route(
        "POST", "/jobs/{job}/download", "Copy an output channel into a folder.", body="Download", reply="Downloaded"
    ),
    "profiles": Route("GET", "/profiles", "The profiles of the settings.", reply="Profiles"),
    "set_profile": Route("PUT", "/profiles/{profile}", "Make or change one.", body="ProfileChange", reply="Profiles"),
    "remove_profile": Route("DELETE", "/profiles/{profile}", "Remove one.", reply="Profiles"),
    "doctor": Route("GET", "/doctor", "Check everything that a job needs.", reply="Findings"),
    "schema": Route("GET", "/schema", "The JSON Schema of a job's spec."),
}
