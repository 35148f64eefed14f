"""The one grammar of ``%%pai_train``, ``%pai …``, ``jupyter pai …`` and ``python -m jupyter_pai …``.

Built when it is first used; light enough for a kernel.
"""

from __future__ import annotations

import argparse
import keyword
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

from ...core.errors import UsageError
from ...core.i18n import N_, _
from . import data as data_grammar
from . import forms as form_grammar
from . import platforms as platform_grammar
from .argparse_i18n import Parser
from .platforms import add_json

__all__ = ["VERBS", "Options", "cell_parser", "options_of", "parse", "parser"]

Options = argparse.Namespace


# What other tools call our verbs.
_SAME = "status=show describe=show jobs=list ps=list run=submit train=submit cancel=stop kill=stop upload=put"
_ELSEWHERE = dict(pair.split("=") for pair in _SAME.split())


class _Parser(Parser):
    """Raises instead of leaving the process, and names what was meant."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}", fix=_("See {prog} --help.").format(prog=self.prog))

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            raise UsageError(
                _("{prog}: there is no `{value}`.").format(prog=self.prog, value=value), fix=_meant(str(value), known)
            )


def _meant(word: str, known: Sequence[str]) -> str:
    near = [_ELSEWHERE[word]] if _ELSEWHERE.get(word) in known else get_close_matches(word, known, 1, 0.5)
    if near:
        return _("Did you mean `{name}`?").format(name=near[0])
    return _("Known are: {names}.").format(names=", ".join(known))


def parse(command: _Parser, words: Sequence[str]) -> Options:
    """The options in the words of a line.

    Raises:
        UsageError: naming what is wrong, and what was meant.
        SystemExit: after `--help` was printed.
    """
    options, unknown = command.parse_known_args(list(words))
    if unknown:
        verb = getattr(options, "verb", None)
        known = options_of(command, verb)
        word = unknown[0].split("=")[0]
        if not word.startswith("-"):
            raise UsageError(_("{prog}: what is `{word}`?").format(prog=command.prog, word=word), fix=_quote_hint())
        raise UsageError(
            _("{prog}: there is no option `{word}`.").format(prog=command.prog, word=word), fix=_meant(word, known)
        )
    return options


def _quote_hint() -> str:
    return _("Put a value with blanks in quotes.")


def options_of(command: argparse.ArgumentParser, verb: str | None = None) -> list[str]:
    """The options of a command, or of one of its verbs."""
    for action in command._actions:
        if verb and isinstance(action, argparse._SubParsersAction) and verb in action.choices:
            return options_of(action.choices[verb])
    return [name for action in command._actions for name in action.option_strings if name.startswith("--")]


def cell_parser(prog: str = "%%pai_train") -> _Parser:
    """The options of ``%%pai_train``."""
    command = _Parser(
        prog=prog,
        allow_abbrev=False,
        description=_("Train the code of this cell as a job, with the rest of the notebook's folder around it."),
    )
    _add_submit_options(command, cell=True)
    return command


def parser(prog: str = "jupyter pai") -> _Parser:
    """The verbs of ``%pai`` and ``jupyter pai``."""
    command = _Parser(prog=prog, allow_abbrev=False, description=_("Submit training jobs and look after them."))
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=_Parser)
    for name, (text, add) in VERBS.items():
        add(verbs.add_parser(name, help=_(text), description=_(text), allow_abbrev=False))
    return command


def _add_submit(command: argparse.ArgumentParser) -> None:
    _add_target(command)
    command.add_argument("--as-script", action="store_true", help=_("run a notebook's code as a plain script"))
    _add_submit_options(command, cell=False)


def _add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "target", nargs="?", default="", help=_("a folder, .py, .sh or .ipynb; else the notebook's folder")
    )


def _add_inspect(command: argparse.ArgumentParser) -> None:
    # All that a spec is made of, most of it as if it were not given.
    unset = _Parser()
    _add_submit_options(unset, cell=False)
    command.set_defaults(**vars(unset.parse_args([])))
    _add_target(command)
    _add_code(command)
    add_json(command, _("print one JSON object"))


def _several(command: argparse.ArgumentParser, name: str, form: str, text: str) -> None:
    command.add_argument(name, metavar=form, action="append", default=[], help=text)


def _add_spec_options(command: argparse.ArgumentParser) -> None:
    """What a spec is made of, and what a rerun may change of it."""
    add = command.add_argument

    def pairs(name: str, form: str, text: str) -> None:
        _several(command, name, form, text)

    where = command.add_mutually_exclusive_group()
    where.add_argument("--backend", metavar="NAME", help=_("run on this backend's default profile"))
    where.add_argument("--profile", metavar="NAME", help=_("run with this profile of the settings"))
    add("--name", help=_("the job's name; else the notebook's or script's, with the time"))
    _add_code(command)
    add("--python", metavar="NAME", help=_("the interpreter: a path, a kernel, a conda environment; else the kernel's"))
    add("--image", metavar="URI", help=_("the container image"))
    add(
        "--container",
        choices=["auto", "podman", "docker", "none"],
        help=_("on this machine, run the image by this engine; `auto` for the one that is there"),
    )
    add("--instance-type", metavar="NAME", help=_("the kind of machine"))
    add("--instance-count", metavar="N", type=int, help=_("how many of them"))
    add("--cpu", metavar="N", type=float, help=_("cores that are needed"))
    add("--gpu", metavar="N", type=int, help=_("GPUs that are needed"))
    add("--memory", metavar="SIZE", help=_("memory that is needed, like 16GiB"))
    pairs("--input", "NAME=URI", _("an input channel: a path or URI; several times"))
    pairs("--output", "NAME=URI", _("an output channel that goes to a place of its own; several times"))
    add("--output-path", metavar="URI", help=_("where all output channels go"))
    pairs("--env", "KEY=VALUE", _("an environment variable; several times"))
    pairs("--secret", "NAME", _("a secret as a variable, its value in no log; VARIABLE=NAME renames it; several times"))
    pairs("--metric", "NAME=REGEX", _("a metric to read from the log, by a pattern with one group; several times"))
    pairs("--requirement", "SPEC", _("a package to install, as in requirements.txt; several times"))
    add("--max-run-time", metavar="SECONDS", type=int, help=_("stop the job after so long"))
    pairs("--label", "KEY=VALUE", _("a label to find the job by; several times"))
    pairs("--option", "KEY=VALUE", _("an option of the backend's own, as spot.strategy=SpotAsPriceGo; several times"))
    add("--tty", action="store_true", help=_("give the job a terminal"))
    add("--yes", action="store_true", help=_("do not ask, also where it costs money"))
    add("--as", dest="variable", metavar="NAME", type=_variable, help=_("the variable that becomes the job"))
    _add_waiting(command)


def _add_submit_options(command: argparse.ArgumentParser, *, cell: bool) -> None:
    _add_spec_options(command)
    add = command.add_argument
    add("--base-name", metavar="NAME", help=_("what the name begins with; the time is added"))
    _several(command, "--include", "GLOB", _("take along only files like this; several times"))
    _several(command, "--exclude", "GLOB", _("leave out what is like this; several times"))
    add("--no-gitignore", action="store_true", help=_("take along what .gitignore leaves out"))
    _several(command, "--allow-secret", "FILE", _("take along this file although it holds keys; several times"))
    add("--spec", metavar="FILE", help=_("a job's spec as JSON, TOML or YAML; options win"))
    add("--dry-run", action="store_true", help=_("show spec, command and files, and submit nothing"))
    add("--again", action="store_true", help=_("start a new job, also if this cell's runs or has succeeded"))
    add("--json", action="store_true", help=_("print one JSON object"))
    add("--expand", action="store_true", help=_("put variables into --command and --metric too"))
    if cell:
        add("--with-above", action="store_true", help=_("take along the code of all cells above"))


def _add_code(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--source", metavar="FOLDER", help=_("the folder of code; else the notebook's"))
    add("--command", metavar="LINE", help=_("what to run, by a shell; $PAI_USER_ARGS is all hyperparameters"))
    text = _("a hyperparameter; may be given several times")
    add("--hp", metavar="KEY=VALUE", action="append", default=[], help=text)


def _variable(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise argparse.ArgumentTypeError(_("`{name}` is no name for a variable.").format(name=name))
    return name


def _add_waiting(command: argparse.ArgumentParser) -> None:
    group = command.add_mutually_exclusive_group()
    group.add_argument(
        "--wait", action="store_true", default=None, help=_("print the log, return when the job has ended")
    )
    group.add_argument("--detach", dest="wait", action="store_false", help=_("return at once"))


def _add_job(command: argparse.ArgumentParser) -> None:
    command.add_argument("job", metavar="ID", help=_("an id, the beginning of one, a name, or `last`"))


def _add_list(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--status", metavar="STATUS", action="append", default=[], help=_("only jobs of this status; several times"))
    add("--name", metavar="TEXT", default="", help=_("only jobs whose name contains this"))
    add("--label", metavar="KEY=VALUE", action="append", default=[], help=_("only jobs with this label; several times"))
    add("--backend", metavar="NAME", action="append", default=[], help=_("only jobs of this backend; several times"))
    add("--notebook", metavar="FILE", nargs="?", const="", help=_("only jobs of this notebook; without FILE, of yours"))
    add("--limit", metavar="N", type=int, default=20, help=_("how many jobs, at most 500"))
    add("--sort", metavar="KEY", default="", help=_("by submitted, name, status, took or hp:NAME, a hyperparameter"))
    add("--order", metavar="asc|desc", default="", help=_("smallest or largest first"))
    add_json(command, _("print a JSON array"))


def _add_show(command: argparse.ArgumentParser) -> None:
    _add_job(command)
    add_json(command, _("print one JSON object"))


def _add_logs(command: argparse.ArgumentParser) -> None:
    _add_job(command)
    command.add_argument("--follow", action="store_true", help=_("go on as the log grows"))
    command.add_argument("--tail", metavar="N", type=int, default=0, help=_("only the last N lines"))
    command.add_argument("--from-line", metavar="N", type=int, default=0, help=_("from line N on, the first being 1"))
    command.add_argument("--instance", metavar="NAME", default="", help=_("the log of this instance"))


def _add_metrics(command: argparse.ArgumentParser) -> None:
    _add_job(command)
    command.add_argument("name", metavar="NAME", nargs="*", help=_("only these metrics"))
    command.add_argument("--points", metavar="N", type=int, default=0, help=_("at most N points of each, thinned"))
    command.add_argument("--system", action="store_true", help=_("those of the machine's use as well"))
    add_json(command, _("print all points as one JSON object"))


def _add_rerun(command: argparse.ArgumentParser) -> None:
    _add_job(command)
    _add_spec_options(command)
    _several(command, "--remove", "WHAT", _("without what it had: hp.NAME, max-run-time …"))
    command.add_argument("--resume", action="store_true", help=_("its checkpoints become the input `checkpoints`"))
    add_json(command, _("print one JSON object"))


def _add_diff(command: argparse.ArgumentParser) -> None:
    for name in ("job", "other"):
        command.add_argument(name, metavar="ID", help=_("an id, the beginning of one, a name, or `last`"))
    add_json(command, _("print one JSON object"))


def _add_pin(command: argparse.ArgumentParser) -> None:
    command.add_argument("jobs", metavar="ID", nargs="+", help=_("ids, beginnings of ids, names, or `last`"))


def _add_label(command: argparse.ArgumentParser) -> None:
    _add_job(command)
    command.add_argument("labels", metavar="KEY=VALUE", nargs="*", help=_("labels to give it; else they are shown"))
    _several(command, "--remove", "KEY", _("a label to take away; several times"))
    add_json(command, _("print one JSON object"))


def _add_prune(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--older-than", metavar="AGE", help=_("jobs that ended longer ago: 12h, 30d, 8w"))
    add("--larger-than", metavar="SIZE", help=_("jobs that take more: 500MB"))
    add("--keep", metavar="N", type=int, help=_("of those, keep the newest N"))
    add("--status", metavar="STATUS", action="append", default=[], help=_("only jobs of this status; several times"))
    add("--label", metavar="KEY=VALUE", action="append", default=[], help=_("only jobs with this label; several times"))
    add("--environments", action="store_true", help=_("environments and fetched inputs too, all that no job uses"))
    add("--dry-run", action="store_true", help=_("show what would go, and remove nothing"))
    add("--yes", action="store_true", help=_("do not ask"))
    add_json(command, _("print one JSON object"))


def _add_disk(command: argparse.ArgumentParser) -> None:
    add_json(command, _("print one JSON object"))


def _add_delete(command: argparse.ArgumentParser) -> None:
    command.add_argument("jobs", metavar="ID", nargs="+", help=_("ids of jobs that have ended"))
    command.add_argument("--yes", action="store_true", help=_("do not ask"))
    command.add_argument("--force", action="store_true", help=_("also jobs that run on a host that is gone for good"))


def _add_stop(command: argparse.ArgumentParser) -> None:
    command.add_argument("jobs", metavar="ID", nargs="+", help=_("ids, beginnings of ids, names, or `last`"))


def _add_outputs(command: argparse.ArgumentParser) -> None:
    _add_job(command)
    command.add_argument("channel", nargs="?", default="", help=_("only this channel"))
    add_json(command, _("print a JSON array"))


def _add_tensorboard(command: argparse.ArgumentParser) -> None:
    text = _("the jobs, several to compare them; none to list what runs, or with --stop to stop all")
    command.add_argument("jobs", metavar="ID", nargs="*", help=text)
    what = command.add_mutually_exclusive_group()
    what.add_argument("--stop", action="store_true", help=_("stop it"))
    what.add_argument("--delete", action="store_true", help=_("with --on-platform: stop it and forget it"))
    command.add_argument("--on-platform", action="store_true", help=_("one that the job's platform runs"))
    where = command.add_mutually_exclusive_group()
    where.add_argument("--backend", metavar="NAME", default="", help=_("those of this backend's default profile"))
    where.add_argument("--profile", metavar="NAME", default="", help=_("those of this profile"))
    add_json(command, _("print a JSON array"))


def _add_download(command: argparse.ArgumentParser) -> None:
    _add_job(command)
    command.add_argument(
        "place", metavar="[CHANNEL] DEST", nargs="+", help=_("the channel, else `model`, and the folder")
    )
    _several(command, "--file", "PATH", _("only this file, by its path in the channel; several times"))
    command.add_argument("--overwrite", action="store_true", help=_("replace files that are there"))


def _add_secret(command: argparse.ArgumentParser) -> None:
    command.add_argument("action", choices=["list", "set", "remove"], help=_("what to do"))
    command.add_argument("name", nargs="?", default="", help=_("the secret's name; its value is asked for"))
    # What is written here by mistake may be the value: it must not come back in a message.
    command.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    add_json(command, _("print one JSON object"))


def _add_tutorial(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "folder", metavar="DEST", nargs="?", default="", help=_("where to; else the notebook's folder")
    )


VERBS = {
    "submit": (N_("Submit a job."), _add_submit),
    **form_grammar.VERBS,
    "inspect": (N_("Show the hyperparameters that code declares, without running it."), _add_inspect),
    "list": (N_("List jobs, newest first."), _add_list),
    "show": (N_("Show a job."), _add_show),
    "logs": (N_("Print a job's log."), _add_logs),
    "metrics": (N_("Print a job's metrics."), _add_metrics),
    "tensorboard": (N_("Open TensorBoard on jobs, while they run and afterwards."), _add_tensorboard),
    "stop": (N_("Stop jobs."), _add_stop),
    "rerun": (N_("Submit a job's spec and code once more, with changes."), _add_rerun),
    "diff": (N_("Show how two jobs differ."), _add_diff),
    "delete": (N_("Forget jobs that have ended, with all their files."), _add_delete),
    "pin": (N_("Keep jobs from being deleted and pruned."), _add_pin),
    "unpin": (N_("No longer keep jobs from being deleted."), _add_pin),
    "label": (N_("Give a job labels, or take some away."), _add_label),
    "prune": (N_("Delete many jobs, by age, size or status, and what was made for them."), _add_prune),
    "disk": (N_("Show what takes room on the disk."), _add_disk),
    "outputs": (N_("List the files that a job has written so far."), _add_outputs),
    "download": (N_("Copy an output channel of a job into a folder."), _add_download),
    **data_grammar.VERBS,
    **platform_grammar.VERBS,
    "secret": (N_("Keep secrets for jobs; nobody gets to see them again."), _add_secret),
    "tutorial": (N_("Copy the tutorial notebooks into a folder."), _add_tutorial),
}
