"""The verbs on jobs, and the options of ``%%pai_train``."""

from __future__ import annotations

import argparse
import keyword

from ...core.i18n import N_, _
from ...core.text import parse_duration
from .arguments import JOB, JOBS, JSON, YES, Argument, Defaults, OneOf, Verb, json_option, profile_options, repeatable
from .workflows import STEP_OPTIONS


def _variable(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise argparse.ArgumentTypeError(_("Invalid variable name `{name}`.").format(name=name))
    return name


def _flag(name: str, text: str) -> Argument:
    return Argument(name, text, action="store_true")


def _number(name: str, text: str, default: int | None = None, metavar: str = "N") -> Argument:
    return Argument(name, text, metavar=metavar, type=int, default=default)


def _target(text: str) -> Argument:
    return Argument("target", text, nargs="?", default="")


def _seconds(text: str) -> int:
    if text.isdecimal():
        return int(text)
    try:
        return int(parse_duration(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


_JOB_OR_LAST = Argument(
    "job", N_("an ID, an ID prefix, or a name; default: the last job"), metavar="ID", nargs="?", default="last"
)
_ARRAY = json_option(N_("print a JSON array"))
_TARGET = _target(N_("a folder, .py, .sh or .ipynb file; default: the notebook's folder"))
_CODE = (
    Argument("--source", N_("the folder of code; default: the project or the folder of the file"), metavar="FOLDER"),
    Argument(
        "--command", N_("the shell command to run; $PAI_USER_ARGS expands to all hyperparameters"), metavar="LINE"
    ),
    repeatable("--hp", "KEY=VALUE", N_("a hyperparameter (repeatable)")),
)
# The options for the fields of a spec. A rerun can change the same fields.
_SPEC_OPTIONS = (
    profile_options(N_("run on this backend's default profile"), N_("run with this profile"), None),
    Argument("--name", N_("the job's name; default: the notebook's or script's name and the time")),
    *_CODE,
    Argument(
        "--python",
        N_("the interpreter: a path, a kernel, or a conda environment; default: the kernel's"),
        metavar="NAME",
    ),
    Argument("--image", N_("the container image"), metavar="URI"),
    Argument(
        "--container",
        N_("the container engine that runs the image on this machine; `auto` selects the installed one"),
        choices=["auto", "preferred", "podman", "docker", "none"],
    ),
    Argument("--instance-type", N_("the instance type"), metavar="NAME"),
    _number("--instance-count", N_("the number of instances")),
    Argument("--cpu", N_("the required CPU cores"), metavar="N", type=float),
    _number("--gpu", N_("the required GPUs")),
    Argument("--memory", N_("the required memory, such as 16GiB"), metavar="SIZE"),
    repeatable(
        "--role",
        "ROLE",
        N_("a role of the instances: `NAME count=2 gpu=1 command='python serve.py'` (repeatable, in rank order)"),
    ),
    repeatable("--input", "NAME=URI", N_("an input channel: a path or URI (repeatable)")),
    repeatable("--output", "NAME=URI", N_("an output channel with its own location (repeatable)")),
    Argument("--output-path", N_("the location of all output channels"), metavar="URI"),
    repeatable("--env", "KEY=VALUE", N_("an environment variable (repeatable)")),
    repeatable(
        "--secret",
        "NAME",
        N_("pass a secret as an environment variable, masked in logs; VARIABLE=NAME renames it (repeatable)"),
    ),
    repeatable(
        "--metric",
        "NAME=REGEX",
        N_("a metric to read from the log, by a regex with one group; `none` disables detection (repeatable)"),
    ),
    repeatable("--requirement", "SPEC", N_("a package to install, as in requirements.txt (repeatable)")),
    Argument(
        "--max-run-time", N_("stop the job after this time: seconds, 10m, 2h or 1d"), metavar="TIME", type=_seconds
    ),
    repeatable("--label", "KEY=VALUE", N_("a label of the job (repeatable)")),
    repeatable("--option", "KEY=VALUE", N_("a backend option, such as spot.strategy=SpotAsPriceGo (repeatable)")),
    _flag("--tty", N_("run the job in a pseudo-terminal")),
    _flag("--yes", N_("do not prompt, even if the job costs money")),
    _flag("--anyway", N_("submit although the script will reject its hyperparameters or arguments")),
    Argument("--as", N_("the variable to assign the job to"), dest="variable", metavar="NAME", type=_variable),
    OneOf(
        Argument("--wait", N_("print the log and return when the job has ended"), action="store_true", default=None),
        Argument("--detach", N_("return immediately"), dest="wait", action="store_false"),
    ),
)
_SUBMIT_OPTIONS = (
    *_SPEC_OPTIONS,
    Argument("--base-name", N_("the prefix of the name; the time is appended"), metavar="NAME"),
    repeatable("--include", "GLOB", N_("pack only matching files (repeatable)")),
    repeatable("--exclude", "GLOB", N_("exclude matching files (repeatable)")),
    _flag("--no-gitignore", N_("pack files that .gitignore excludes")),
    repeatable("--allow-secret", "FILE", N_("pack this file despite detected secrets (repeatable)")),
    Argument("--spec", N_("a job spec as JSON, TOML or YAML; options take precedence"), metavar="FILE"),
    _flag("--dry-run", N_("show the spec, command and files without submitting")),
    _flag("--mend", N_("apply the fixes that warnings about a job document offer")),
    _flag("--again", N_("submit a new job even if this cell's job is running or succeeded")),
    JSON,
    _flag("--expand", N_("substitute variables in --command and --metric, too")),
    *STEP_OPTIONS,
)
# The verbs that pass the words after `--` to the script.
WITH_ARGS = ("submit", "rerun", "inspect")
# A terminal has neither cells nor variables, and gathers no steps.
NOTEBOOK_OPTIONS = ("--as", "--again", "--expand", *(option.name for option in STEP_OPTIONS))
CELL_OPTIONS = (*_SUBMIT_OPTIONS, _flag("--with-above", N_("include the code of all cells above")))
_FILTERS = (
    repeatable("--status", "STATUS", N_("only jobs with this status (repeatable)")),
    repeatable("--label", "KEY=VALUE", N_("only jobs with this label (repeatable)")),
)

VERBS: dict[str, Verb] = {
    "submit": (
        N_("Submit a job."),
        _TARGET,
        _flag("--as-script", N_("convert a notebook to a Python script and run that")),
        *_SUBMIT_OPTIONS,
    ),
    "form": (
        N_("Show a form that submits a job, in a notebook."),
        _target(N_("a folder, .py, .sh or .ipynb file; default: the notebook itself")),
        profile_options(N_("run on this backend's default profile"), N_("run with this profile")),
    ),
    # A spec is built from all options of `submit`. `inspect` accepts some; the others keep their defaults.
    "inspect": (
        N_("Show the hyperparameters that code declares, without running it."),
        Defaults(_SUBMIT_OPTIONS),
        _TARGET,
        *_CODE,
        JSON,
    ),
    "list": (
        N_("List jobs, newest first."),
        *_FILTERS,
        Argument("--name", N_("only jobs whose name contains this text"), metavar="TEXT", default=""),
        repeatable("--backend", "NAME", N_("only jobs on this backend (repeatable)")),
        Argument(
            "--notebook",
            N_("only jobs of this notebook; without FILE, of the current one"),
            metavar="FILE",
            nargs="?",
            const="",
        ),
        _number("--limit", N_("maximum number of jobs (at most 500)"), 20),
        Argument(
            "--sort",
            N_("the sort key: submitted, name, status, took, or hp:NAME for a hyperparameter"),
            metavar="KEY",
            default="",
        ),
        Argument("--order", N_("the sort order: ascending or descending"), metavar="asc|desc", default=""),
        _ARRAY,
    ),
    "show": (N_("Show a job."), _JOB_OR_LAST, JSON),
    "logs": (
        N_("Print a job's log."),
        _JOB_OR_LAST,
        _flag("--follow", N_("continue as the log grows")),
        _number("--tail", N_("only the last N lines"), 0),
        _number("--from-line", N_("start at line N; the first line is 1"), 0),
        Argument("--instance", N_("the log of this instance"), metavar="NAME", default=""),
        _flag("--raw", N_("print the bytes unchanged, with control characters, also on a terminal")),
    ),
    "metrics": (
        N_("Print a job's metrics."),
        JOB,
        Argument("name", N_("only these metrics"), metavar="NAME", nargs="*"),
        _number("--points", N_("downsample each metric to at most N points"), 0),
        _flag("--system", N_("include system metrics")),
        json_option(N_("print all points as one JSON object")),
    ),
    "tensorboard": (
        N_("Open TensorBoard for running or finished jobs."),
        Argument(
            "jobs",
            N_("the jobs; several to compare them; none to list running TensorBoards, or with --stop to stop all"),
            metavar="ID",
            nargs="*",
        ),
        OneOf(
            _flag("--stop", N_("stop it")),
            _flag("--delete", N_("with --on-platform: stop and delete it")),
        ),
        _flag("--on-platform", N_("use the TensorBoard of the job's platform")),
        profile_options(N_("list for this backend's default profile"), N_("list for this profile")),
        _ARRAY,
    ),
    "stop": (
        N_("Stop jobs."),
        JOBS,
        Argument(
            "--timeout",
            N_("wait at most this long for the end of the jobs; 0: as long as it takes; default: 30s"),
            metavar="TIME",
            type=_seconds,
            default=30,
        ),
    ),
    "rerun": (
        N_("Submit a job's spec and code again, with changes."),
        JOB,
        *_SPEC_OPTIONS,
        repeatable("--remove", "WHAT", N_("remove a setting of the original job: hp.NAME, max-run-time …")),
        _flag("--resume", N_("pass its checkpoints as the input `checkpoints`")),
        JSON,
    ),
    "diff": (N_("Compare two jobs."), JOB, Argument("other", JOB.text, metavar="ID"), JSON),
    "delete": (
        N_("Delete finished jobs and all their files."),
        Argument("jobs", N_("IDs of finished jobs"), metavar="ID", nargs="+"),
        YES,
        _flag("--force", N_("also delete a job whose host is unreachable")),
    ),
    "pin": (N_("Protect jobs from being deleted and pruned."), JOBS),
    "unpin": (N_("Remove the protection of pinned jobs."), JOBS),
    "label": (
        N_("Set, remove or show a job's labels."),
        JOB,
        Argument("labels", N_("labels to set; default: show the labels"), metavar="KEY=VALUE", nargs="*"),
        repeatable("--remove", "KEY", N_("a label to remove (repeatable)")),
        JSON,
    ),
    "prune": (
        N_("Delete jobs by age, size or status, with their environments."),
        Argument("--older-than", N_("jobs that ended longer ago: 12h, 30d, 8w"), metavar="AGE"),
        Argument("--larger-than", N_("jobs that use more space: 500MB"), metavar="SIZE"),
        _number("--keep", N_("keep the newest N of these jobs")),
        *_FILTERS,
        _flag("--environments", N_("also remove environments and downloaded inputs that are unused")),
        _flag("--dry-run", N_("show the jobs without removing them")),
        YES,
        JSON,
    ),
    "disk": (N_("Show disk usage."), JSON),
    "outputs": (
        N_("List the files that a job has written so far."),
        _JOB_OR_LAST,
        Argument("channel", N_("only this channel"), nargs="?", default=""),
        _ARRAY,
    ),
    "download": (
        N_("Copy an output channel of a job into a folder."),
        JOB,
        Argument(
            "place", N_("the channel (default: `model`) and the target folder"), metavar="[CHANNEL] DEST", nargs="+"
        ),
        repeatable("--file", "PATH", N_("only this file, by its path in the channel (repeatable)")),
        _flag("--overwrite", N_("replace existing files")),
    ),
}
