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
        """Path and query, below the prefix, for these arguments. Those that are None, false or empty are left out."""
        path = self.path
        for name in self.names:
            path = path.replace(f"{{{name}}}", quote(str(arguments[name]), safe=""))
        query = {p.name: arguments[p.name] for p in self.parameters if _is_given(arguments.get(p.name))}
        text = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
        return f"{path}?{urlencode(text, doseq=True)}" if text else path


def _is_given(value: object) -> bool:
    return bool(value) or (isinstance(value, int) and value is not False)


_PAGE = (
    Parameter("status", list, "Only jobs with one of these statuses."),
    Parameter("name", str, "Only jobs whose name contains this text."),
    Parameter("label", list, "Only jobs with this label, KEY=VALUE."),
    Parameter("limit", int, "How many jobs, at most 500."),
    Parameter("offset", int, "How many of the first to pass over."),
    Parameter("sort", str, "submitted (if nothing is said), name, status, took, or hp:NAME, a hyperparameter."),
    Parameter("order", str, "desc or asc; if nothing is said, desc for times and asc for others."),
)
_INSTANCE = Parameter("instance", str, "The instance whose log is meant; the first if empty.")

ROUTES: dict[str, Route] = {
    "about": Route("GET", "", "The version, and what is installed.", reply="About"),
    "openapi": Route("GET", "/openapi.json", "This document."),
    "list_jobs": Route("GET", "/jobs", "A page of jobs, newest first if nothing else is said.", _PAGE, reply="Jobs"),
    "submit": Route("POST", "/jobs", "Submit a job.", body="SubmitRequest", reply="Submitted"),
    "preview": Route("POST", "/preview", "What would be submitted.", body="SubmitRequest", reply="Preview"),
    "inspect": Route(
        "POST", "/inspect", "The hyperparameters that the code declares.", body="SubmitRequest", reply="Inspection"
    ),
    "show": Route("GET", "/jobs/{job}", "A job, by id, beginning of an id, name, or `last`.", reply="JobView"),
    "delete": Route(
        "DELETE",
        "/jobs/{job}",
        "Forget a job that has ended, with all its files.",
        (Parameter("force", bool, "Also one that runs on a host of which nothing is heard any more."),),
        reply="JobView",
    ),
    "stop": Route("POST", "/jobs/{job}/stop", "Ask for a job's end.", reply="JobView"),
    "rerun": Route("POST", "/jobs/{job}/rerun", "Submit its spec and code once more.", body="Rerun", reply="Submitted"),
    "diff": Route("GET", "/jobs/{job}/diff/{other}", "How two jobs differ.", reply="Comparison"),
    "provenance": Route("GET", "/jobs/{job}/provenance", "Where a job comes from.", reply="Provenance"),
    "pin": Route("PUT", "/jobs/{job}/pin", "Keep a job from being deleted and pruned.", reply="JobView"),
    "unpin": Route("DELETE", "/jobs/{job}/pin", "No longer keep it.", reply="JobView"),
    "log": Route(
        "GET",
        "/jobs/{job}/log",
        "The bytes of a log as the job wrote them. The header X-Offset says where they begin.",
        (
            _INSTANCE,
            Parameter("offset", int, "Where to begin, in bytes."),
            Parameter("limit", int, "How many bytes at most; 0 for all that there are."),
            Parameter("tail", int, "The last so many lines instead; with a limit, the last bytes of them."),
            Parameter("line", int, "Begin at this line instead, the first being 0."),
            Parameter(
                "lines", int, "So many lines; the header X-Line is the first one's number, X-Lines how many there are."
            ),
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
            Parameter("points", int, "At most so many points of each, thinned to show what all do; 0 for all."),
            Parameter("first", int, "Only points from this step on."),
            Parameter("last", int, "Only points up to this step."),
            Parameter("system", bool, "Those of the machine's use as well: system/cpu, system/memory, …"),
        ),
        reply="Metrics",
    ),
    "texts": Route("GET", "/jobs/{job}/texts", "The texts that a job wrote for TensorBoard.", reply="Texts"),
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
    "instances": Route(
        "GET",
        "/instances",
        "The instance types that jobs of a profile can ask for.",
        (
            Parameter("profile", str, "The profile; the default one if empty."),
            Parameter("backend", str, "Or this backend's default profile."),
        ),
        reply="Instances",
    ),
    "profiles": Route("GET", "/profiles", "The profiles of the settings.", reply="Profiles"),
    "set_profile": Route("PUT", "/profiles/{profile}", "Make or change one.", body="ProfileChange", reply="Profiles"),
    "remove_profile": Route("DELETE", "/profiles/{profile}", "Remove one.", reply="Profiles"),
    "secrets": Route("GET", "/secrets", "The names of the secrets; their values never.", reply="Secrets"),
    "set_secret": Route("PUT", "/secrets/{secret}", "Keep one.", body="SecretValue", reply="Secrets"),
    "remove_secret": Route("DELETE", "/secrets/{secret}", "Forget one.", reply="Secrets"),
    "disk": Route("GET", "/disk", "What takes room on the disk.", reply="DiskUse"),
    "prune": Route("POST", "/prune", "Remove jobs that have ended, and environments.", body="Prune", reply="Pruned"),
    "tensorboards": Route("GET", "/tensorboards", "The TensorBoards that run.", reply="TensorBoards"),
    "start_tensorboard": Route(
        "POST",
        "/tensorboards",
        "Start a TensorBoard for jobs; the one that runs, if one does.",
        body="TensorBoardRequest",
        reply="TensorBoardView",
    ),
    "stop_tensorboard": Route("DELETE", "/tensorboards/{tensorboard}", "End one.", reply="TensorBoards"),
    "doctor": Route("GET", "/doctor", "Check everything that a job needs.", reply="Findings"),
    "schema": Route("GET", "/schema", "The JSON Schema of a job's spec."),
}
