"""The arguments of the verbs on jobs, and of ``%%pai_train``."""

from __future__ import annotations

import argparse
import keyword

from ...core.i18n import N_, _
from .argparse_i18n import Parser
from .arguments import add_job, add_jobs, add_json, add_profile, add_repeatable

__all__ = ["VERBS", "add_submit_options"]


def _add_submit(command: argparse.ArgumentParser) -> None:
    _add_target(command, _("a folder, .py, .sh or .ipynb file; default: the notebook's folder"))
    command.add_argument(
        "--as-script", action="store_true", help=_("convert a notebook to a Python script and run that")
    )
    add_submit_options(command)


def _add_target(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("target", nargs="?", default="", help=text)


def _add_form(command: argparse.ArgumentParser) -> None:
    _add_target(command, _("a folder, .py, .sh or .ipynb file; default: the notebook itself"))
    add_profile(command, _("run on this backend's default profile"), _("run with this profile"))


def _add_inspect(command: argparse.ArgumentParser) -> None:
    # A spec is built from all options of `submit`: those that `inspect` lacks keep their defaults.
    unset = Parser()
    add_submit_options(unset)
    command.set_defaults(**vars(unset.parse_args([])))
    _add_target(command, _("a folder, .py, .sh or .ipynb file; default: the notebook's folder"))
    _add_code(command)
    add_json(command)


def _add_spec_options(command: argparse.ArgumentParser) -> None:
    """Add the options for the fields of a spec: those that a rerun may change, too."""
    add = command.add_argument
    add_profile(command, _("run on this backend's default profile"), _("run with this profile"), None)
    add("--name", help=_("the job's name; default: the notebook's or script's name and the time"))
    _add_code(command)
    add(
        "--python",
        metavar="NAME",
        help=_("the interpreter: a path, a kernel, or a conda environment; default: the kernel's"),
    )
    add("--image", metavar="URI", help=_("the container image"))
    add(
        "--container",
        choices=["auto", "podman", "docker", "none"],
        help=_("the container engine that runs the image on this machine; `auto` selects the installed one"),
    )
    add("--instance-type", metavar="NAME", help=_("the instance type"))
    add("--instance-count", metavar="N", type=int, help=_("the number of instances"))
    add("--cpu", metavar="N", type=float, help=_("the required CPU cores"))
    add("--gpu", metavar="N", type=int, help=_("the required GPUs"))
    add("--memory", metavar="SIZE", help=_("the required memory, such as 16GiB"))
    add_repeatable(command, "--input", "NAME=URI", _("an input channel: a path or URI (repeatable)"))
    add_repeatable(command, "--output", "NAME=URI", _("an output channel with its own location (repeatable)"))
    add("--output-path", metavar="URI", help=_("the location of all output channels"))
    add_repeatable(command, "--env", "KEY=VALUE", _("an environment variable (repeatable)"))
    add_repeatable(
        command,
        "--secret",
        "NAME",
        _("pass a secret as an environment variable, masked in logs; VARIABLE=NAME renames it (repeatable)"),
    )
    add_repeatable(
        command, "--metric", "NAME=REGEX", _("a metric to read from the log, by a regex with one group (repeatable)")
    )
    add_repeatable(command, "--requirement", "SPEC", _("a package to install, as in requirements.txt (repeatable)"))
    add("--max-run-time", metavar="SECONDS", type=int, help=_("stop the job after this time"))
    add_repeatable(command, "--label", "KEY=VALUE", _("a label of the job (repeatable)"))
    add_repeatable(
        command, "--option", "KEY=VALUE", _("a backend option, such as spot.strategy=SpotAsPriceGo (repeatable)")
    )
    add("--tty", action="store_true", help=_("run the job in a pseudo-terminal"))
    add("--yes", action="store_true", help=_("do not prompt, even if the job costs money"))
    add("--as", dest="variable", metavar="NAME", type=_variable, help=_("the variable to assign the job to"))
    group = command.add_mutually_exclusive_group()
    group.add_argument(
        "--wait", action="store_true", default=None, help=_("print the log and return when the job has ended")
    )
    group.add_argument("--detach", dest="wait", action="store_false", help=_("return immediately"))


def _variable(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise argparse.ArgumentTypeError(_("Invalid variable name `{name}`.").format(name=name))
    return name


def _add_code(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--source", metavar="FOLDER", help=_("the folder of code; default: the notebook's folder"))
    add("--command", metavar="LINE", help=_("the shell command to run; $PAI_USER_ARGS expands to all hyperparameters"))
    add_repeatable(command, "--hp", "KEY=VALUE", _("a hyperparameter (repeatable)"))


def add_submit_options(command: argparse.ArgumentParser, *, cell: bool = False) -> None:
    """Add the options of `submit`, or those of ``%%pai_train``."""
    _add_spec_options(command)
    add = command.add_argument
    add("--base-name", metavar="NAME", help=_("the prefix of the name; the time is appended"))
    add_repeatable(command, "--include", "GLOB", _("pack only matching files (repeatable)"))
    add_repeatable(command, "--exclude", "GLOB", _("exclude matching files (repeatable)"))
    add("--no-gitignore", action="store_true", help=_("pack files that .gitignore excludes"))
    add_repeatable(command, "--allow-secret", "FILE", _("pack this file despite detected secrets (repeatable)"))
    add("--spec", metavar="FILE", help=_("a job spec as JSON, TOML or YAML; options take precedence"))
    add("--dry-run", action="store_true", help=_("show the spec, command and files without submitting"))
    add("--again", action="store_true", help=_("submit a new job even if this cell's job is running or succeeded"))
    add_json(command)
    add("--expand", action="store_true", help=_("substitute variables in --command and --metric, too"))
    if cell:
        add("--with-above", action="store_true", help=_("include the code of all cells above"))


def _add_list(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    _add_filters(command)
    add("--name", metavar="TEXT", default="", help=_("only jobs whose name contains this text"))
    add_repeatable(command, "--backend", "NAME", _("only jobs on this backend (repeatable)"))
    add(
        "--notebook",
        metavar="FILE",
        nargs="?",
        const="",
        help=_("only jobs of this notebook; without FILE, of the current one"),
    )
    add("--limit", metavar="N", type=int, default=20, help=_("maximum number of jobs (at most 500)"))
    add(
        "--sort",
        metavar="KEY",
        default="",
        help=_("the sort key: submitted, name, status, took, or hp:NAME for a hyperparameter"),
    )
    add("--order", metavar="asc|desc", default="", help=_("the sort order: ascending or descending"))
    add_json(command, _("print a JSON array"))


def _add_filters(command: argparse.ArgumentParser) -> None:
    add_repeatable(command, "--status", "STATUS", _("only jobs with this status (repeatable)"))
    add_repeatable(command, "--label", "KEY=VALUE", _("only jobs with this label (repeatable)"))


def _add_show(command: argparse.ArgumentParser) -> None:
    add_job(command)
    add_json(command)


def _add_logs(command: argparse.ArgumentParser) -> None:
    add_job(command)
    add = command.add_argument
    add("--follow", action="store_true", help=_("continue as the log grows"))
    add("--tail", metavar="N", type=int, default=0, help=_("only the last N lines"))
    add("--from-line", metavar="N", type=int, default=0, help=_("start at line N; the first line is 1"))
    add("--instance", metavar="NAME", default="", help=_("the log of this instance"))


def _add_metrics(command: argparse.ArgumentParser) -> None:
    add_job(command)
    add = command.add_argument
    add("name", metavar="NAME", nargs="*", help=_("only these metrics"))
    add("--points", metavar="N", type=int, default=0, help=_("downsample each metric to at most N points"))
    add("--system", action="store_true", help=_("include system metrics"))
    add_json(command, _("print all points as one JSON object"))


def _add_rerun(command: argparse.ArgumentParser) -> None:
    add_job(command)
    _add_spec_options(command)
    add_repeatable(command, "--remove", "NAME", _("remove a setting of the original job: hp.NAME, max-run-time …"))
    command.add_argument("--resume", action="store_true", help=_("pass its checkpoints as the input `checkpoints`"))
    add_json(command)


def _add_diff(command: argparse.ArgumentParser) -> None:
    add_job(command, "job", "other")
    add_json(command)


def _add_label(command: argparse.ArgumentParser) -> None:
    add_job(command)
    command.add_argument("labels", metavar="KEY=VALUE", nargs="*", help=_("labels to set; default: show the labels"))
    add_repeatable(command, "--remove", "KEY", _("a label to remove (repeatable)"))
    add_json(command)


def _add_prune(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--older-than", metavar="AGE", help=_("jobs that ended longer ago: 12h, 30d, 8w"))
    add("--larger-than", metavar="SIZE", help=_("jobs that use more space: 500MB"))
    add("--keep", metavar="N", type=int, help=_("keep the newest N of these jobs"))
    _add_filters(command)
    add("--environments", action="store_true", help=_("also remove environments and downloaded inputs that are unused"))
    add("--dry-run", action="store_true", help=_("show the jobs without removing them"))
    add("--yes", action="store_true", help=_("do not prompt"))
    add_json(command)


def _add_delete(command: argparse.ArgumentParser) -> None:
    command.add_argument("jobs", metavar="ID", nargs="+", help=_("IDs of finished jobs"))
    command.add_argument("--yes", action="store_true", help=_("do not prompt"))
    command.add_argument("--force", action="store_true", help=_("also delete a job whose host is unreachable"))


def _add_outputs(command: argparse.ArgumentParser) -> None:
    add_job(command)
    command.add_argument("channel", nargs="?", default="", help=_("only this channel"))
    add_json(command, _("print a JSON array"))


def _add_tensorboard(command: argparse.ArgumentParser) -> None:
    text = _("the jobs; several to compare them; none to list running TensorBoards, or with --stop to stop all")
    command.add_argument("jobs", metavar="ID", nargs="*", help=text)
    group = command.add_mutually_exclusive_group()
    group.add_argument("--stop", action="store_true", help=_("stop it"))
    group.add_argument("--delete", action="store_true", help=_("with --on-platform: stop and delete it"))
    command.add_argument("--on-platform", action="store_true", help=_("use the TensorBoard of the job's platform"))
    add_profile(command, _("list for this backend's default profile"), _("list for this profile"))
    add_json(command, _("print a JSON array"))


def _add_download(command: argparse.ArgumentParser) -> None:
    add_job(command)
    command.add_argument(
        "place", metavar="[CHANNEL] DEST", nargs="+", help=_("the channel (default: `model`) and the target folder")
    )
    add_repeatable(command, "--file", "PATH", _("only this file, by its path in the channel (repeatable)"))
    command.add_argument("--overwrite", action="store_true", help=_("replace existing files"))


VERBS = {
    "submit": (N_("Submit a job."), _add_submit),
    "form": (N_("Show a form that submits a job, in a notebook."), _add_form),
    "inspect": (N_("Show the hyperparameters that code declares, without running it."), _add_inspect),
    "list": (N_("List jobs, newest first."), _add_list),
    "show": (N_("Show a job."), _add_show),
    "logs": (N_("Print a job's log."), _add_logs),
    "metrics": (N_("Print a job's metrics."), _add_metrics),
    "tensorboard": (N_("Open TensorBoard for running or finished jobs."), _add_tensorboard),
    "stop": (N_("Stop jobs."), add_jobs),
    "rerun": (N_("Submit a job's spec and code again, with changes."), _add_rerun),
    "diff": (N_("Compare two jobs."), _add_diff),
    "delete": (N_("Delete finished jobs and all their files."), _add_delete),
    "pin": (N_("Protect jobs from being deleted and pruned."), add_jobs),
    "unpin": (N_("Remove the protection of pinned jobs."), add_jobs),
    "label": (N_("Set, remove or show a job's labels."), _add_label),
    "prune": (N_("Delete jobs by age, size or status, with their environments."), _add_prune),
    "disk": (N_("Show disk usage."), add_json),
    "outputs": (N_("List the files that a job has written so far."), _add_outputs),
    "download": (N_("Copy an output channel of a job into a folder."), _add_download),
}
