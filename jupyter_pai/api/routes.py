"""The verbs of the engine as HTTP has them: one table for server, client and the OpenAPI document.

Each verb is a method of `api.Api`. Light: a kernel that only talks to its server loads this and little else.
"""

from __future__ import annotations

from .data_routes import DATA_ROUTES
from .form_routes import FORM_ROUTES
from .route import Parameter, Route

__all__ = ["PREFIX", "ROUTES", "Parameter", "Route"]

PREFIX = "pai/api/v1"

_PAGE = (
    Parameter("status", list, "Only jobs with one of these statuses."),
    Parameter("name", str, "Only jobs whose name contains this text."),
    Parameter("label", list, "Only jobs with this label, KEY=VALUE."),
    Parameter("backend", list, "Only jobs of one of these backends."),
    Parameter(
        "notebook",
        str,
        "Only jobs of this notebook: its absolute path, or its path below the folder that JupyterLab shows.",
    ),
    Parameter("limit", int, "How many jobs, at most 500."),
    Parameter("offset", int, "How many of the first to pass over."),
    Parameter("sort", str, "submitted (if nothing is said), name, status, took, or hp:NAME, a hyperparameter."),
    Parameter("order", str, "desc or asc; if nothing is said, desc for times and asc for others."),
)
_PLATFORM = (
    Parameter("profile", str, "The profile; if empty, the default one, or the first that can do this."),
    Parameter("backend", str, "Or this backend's default profile."),
)
_INSTANCE = Parameter("instance", str, "The instance whose log is meant; the first if empty.")
_MERGED = Parameter("merged", bool, "All instances, by the time at which the lines came.")

_FILE = Parameter("path", str, "The file's path in the channel.")

ROUTES: dict[str, Route] = {
    "about": Route("GET", "", "The version, and what is installed.", reply="About"),
    "openapi": Route("GET", "/openapi.json", "This document."),
    "list_jobs": Route("GET", "/jobs", "A page of jobs, newest first if nothing else is said.", _PAGE, reply="Jobs"),
    "submit": Route("POST", "/jobs", "Submit a job.", body="SubmitRequest", reply="Submitted"),
    "bring": Route(
        "POST",
        "/bring",
        "Begin to bring the inputs of a spec to where it would run, as submitting it does.",
        body="SubmitRequest",
        reply="CopyView",
    ),
    **FORM_ROUTES,
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
    "remote_jobs": Route(
        "GET",
        "/remote-jobs",
        "The jobs of a profile's account on its platform, newest first, wherever they were submitted.",
        (
            Parameter("profile", str, "The profile; the default one if empty."),
            Parameter("backend", str, "Or this backend's default profile."),
            Parameter("before", str, "Only jobs older than this: seconds since 1970, or an ISO time."),
            Parameter("limit", int, "How many at most, up to 500; 50 if nothing is said."),
        ),
        reply="RemoteJobs",
    ),
    "adopt": Route("POST", "/adopt", "Follow a job of the platform from now on.", body="Adopt", reply="JobView"),
    "diff": Route("GET", "/jobs/{job}/diff/{other}", "How two jobs differ.", reply="Comparison"),
    "provenance": Route("GET", "/jobs/{job}/provenance", "Where a job comes from.", reply="Provenance"),
    "pin": Route("PUT", "/jobs/{job}/pin", "Keep a job from being deleted and pruned.", reply="JobView"),
    "unpin": Route("DELETE", "/jobs/{job}/pin", "No longer keep it.", reply="JobView"),
    "label": Route("PATCH", "/jobs/{job}/labels", "Give it labels, or take some away.", body="Labels", reply="JobView"),
    "code": Route("GET", "/jobs/{job}/code", "Its spec as cell, command line, Python and JSON.", reply="Code"),
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
    "lines": Route(
        "GET",
        "/jobs/{job}/lines",
        "A page of lines of a log, as text. Of a very long line a part, and how long it is.",
        (
            _INSTANCE,
            _MERGED,
            Parameter("line", int, "The first line, from 0 on."),
            Parameter("lines", int, "How many at most, up to 5000; 0 to learn only how many there are."),
            Parameter("before", int, "The lines before this one instead; a number that is too large is the log's end."),
            Parameter("at", str, "Begin at the line that came then: seconds since 1970, or an ISO time."),
        ),
        reply="LogPage",
    ),
    "search": Route(
        "GET",
        "/jobs/{job}/search",
        "The lines of a whole log that have a text: how many, and where the next ones are.",
        (
            Parameter("text", str, "What to look for."),
            Parameter("regex", bool, "It is a pattern, in RE2's syntax; it has its time, and is cut short after that."),
            Parameter("case", bool, "Small and capital letters are different."),
            Parameter("errors", bool, "Look for what looks like an error instead."),
            _INSTANCE,
            _MERGED,
            Parameter("line", int, "Give hits from this line on."),
            Parameter("back", bool, "Give the last hits before that line instead."),
            Parameter("limit", int, "How many hits to give, up to 1000; 1 if nothing is said."),
        ),
        reply="LogHits",
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
    "outputs": Route(
        "GET",
        "/jobs/{job}/outputs",
        "What a job has written so far, by channels.",
        (
            Parameter("channel", str, "Only this channel."),
            Parameter("match", str, "Only files whose path contains this text."),
            Parameter("sort", str, "path (if nothing is said), bytes or modified."),
            Parameter("order", str, "asc or desc."),
            Parameter("limit", int, "How many files of each channel, at most 500."),
            Parameter("offset", int, "How many of the first to pass over."),
        ),
        reply="Outputs",
    ),
    "file": Route(
        "GET",
        "/jobs/{job}/outputs/{channel}",
        "The bytes of a file of a channel. The header X-Size says how many it has.",
        (
            _FILE,
            Parameter("offset", int, "Where to begin, in bytes."),
            Parameter("limit", int, "How many bytes at most; 0 for all that there are."),
        ),
        bytes=True,
    ),
    "peek": Route(
        "GET",
        "/jobs/{job}/outputs/{channel}/text",
        "The beginning of a file of a channel, as text.",
        (_FILE,),
        reply="FileText",
    ),
    "output_models": Route(
        "GET", "/jobs/{job}/models", "The models that a job has made, as its platform notes them.", reply="OutputModels"
    ),
    "open_terminal": Route(
        "POST",
        "/jobs/{job}/terminal",
        "The address of a terminal in an instance of a job that runs. It lets in whoever has it, for a moment.",
        (Parameter("instance", str, "The instance; the first one if none is named."),),
        reply="TerminalLink",
    ),
    "download": Route(
        "POST",
        "/jobs/{job}/download",
        "Begin to copy files of an output channel into a folder.",
        body="Download",
        reply="CopyView",
    ),
    "copies": Route("GET", "/jobs/{job}/copies", "A job's copies, also those that are over.", reply="Copies"),
    "copy": Route("GET", "/copies/{copy}", "How far a copy is.", reply="CopyView"),
    "cancel_copy": Route("DELETE", "/copies/{copy}", "End a copy; nothing is left of it.", reply="CopyView"),
    **DATA_ROUTES,
    "instances": Route(
        "GET",
        "/instances",
        "The instance types that jobs of a profile can ask for, and the account's quotas.",
        (
            Parameter("profile", str, "The profile; the default one if empty."),
            Parameter("backend", str, "Or this backend's default profile."),
        ),
        reply="Instances",
    ),
    "images": Route(
        "GET",
        "/images",
        "The images that jobs of a profile can run in, newest version first.",
        (
            Parameter("profile", str, "The profile; if empty, the default one, or the first that has images."),
            Parameter("backend", str, "Or this backend's default profile."),
            Parameter("framework", str, "Only those of this framework."),
            Parameter("version", str, "Only this version, or those that begin with it; `latest` for the newest alone."),
            Parameter("accelerator", str, "Only those for CPU, or for GPU."),
            Parameter(
                "scope",
                str,
                "What they are for: training (if nothing is said), develop, inference; own for those of the workspace.",
            ),
        ),
        reply="Images",
    ),
    "profiles": Route("GET", "/profiles", "The profiles of the settings.", reply="Profiles"),
    "set_profile": Route("PUT", "/profiles/{profile}", "Make or change one.", body="ProfileChange", reply="Profiles"),
    "remove_profile": Route("DELETE", "/profiles/{profile}", "Remove one.", reply="Profiles"),
    "set_credentials": Route(
        "PUT",
        "/profiles/{profile}/credentials",
        "Keep credentials of its own for a profile: what its backend's `credentials` ask for. Never shown again.",
        body="CredentialsValue",
        reply="Profiles",
    ),
    "remove_credentials": Route(
        "DELETE", "/profiles/{profile}/credentials", "Forget a profile's own credentials.", reply="Profiles"
    ),
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
    "platform_boards": Route(
        "GET",
        "/platform-tensorboards",
        "The TensorBoards that a platform runs itself.",
        (*_PLATFORM, Parameter("job", str, "Only those of this job.")),
        reply="PlatformBoards",
    ),
    "open_platform_board": Route(
        "POST",
        "/platform-tensorboards",
        "Let a job's platform start a TensorBoard for it; the one that there is, if there is one.",
        body="PlatformBoardRequest",
        reply="PlatformBoard",
    ),
    "stop_platform_board": Route(
        "DELETE",
        "/platform-tensorboards/{board}",
        "Stop one of them.",
        (*_PLATFORM, Parameter("delete", bool, "And forget it.")),
        reply="PlatformBoards",
    ),
    "catalogue": Route(
        "GET",
        "/catalogue",
        "The page's texts in a language, where JupyterLab has none of ours.",
        (Parameter("language", str, "A tag like zh-CN; that of the request if empty."),),
        reply="Catalogue",
    ),
    "engine_settings": Route(
        "GET", "/settings", "How much is kept, and how long, by the settings file.", reply="EngineSettings"
    ),
    "set_engine_settings": Route(
        "PUT",
        "/settings",
        "Write that into the user's settings file.",
        body="EngineTables",
        reply="EngineSettings",
    ),
    "give_tutorials": Route(
        "POST",
        "/tutorials",
        "Put the tutorial notebooks, in the language of the request, into a folder of their own; what is there stays.",
        body="TutorialPlace",
        reply="Tutorials",
    ),
    "doctor": Route(
        "GET",
        "/doctor",
        "Check everything that a job needs.",
        (
            Parameter("profile", str, "Only what the jobs of this profile need."),
            Parameter("backend", str, "Only what those of this backend's default profile need."),
        ),
        reply="Findings",
    ),
    "trials": Route("GET", "/trials", "What a person with an account should try once.", reply="Trials"),
    "schema": Route("GET", "/schema", "The JSON Schema of a job's spec."),
}
