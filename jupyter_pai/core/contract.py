"""The training contract: what a script may rely on, wherever its job runs.

Seeds of the contract are the documents of Alibaba's PAI SDK; `docs/contract.md` is the reference for users. Standard
library only: this module also runs in images that we do not own.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

__all__ = [
    "CHANNELS",
    "NOTEBOOK",
    "Layout",
    "check_channel",
    "check_name",
    "environment",
    "expand_user_args",
    "launch_line",
    "text",
    "typed",
    "user_args",
    "variables",
]

# The output channels that every job has. `logs` is the older name of `tensorboard`: both reach the same place.
CHANNELS = ("model", "checkpoints", "tensorboard")
ALIASES = {"logs": "tensorboard"}
# The one more that a job has which runs a notebook: for the executed notebook.
NOTEBOOK = "notebook"


@dataclass(frozen=True)
class Layout:
    """Where things are. `root` is ``/ml`` where the job has a private one, else the job's own folder."""

    root: str = "/ml"
    code_folder: str = "usercode"

    @property
    def code(self) -> str:
        return f"{self.root}/{self.code_folder}/"

    @property
    def config(self) -> str:
        return f"{self.root}/input/config/"

    @property
    def hyperparameters(self) -> str:
        return f"{self.config}hyperparameters.json"

    @property
    def output_parameters(self) -> str:
        return f"{self.root}/output/output_parameters/"

    def input(self, channel: str, file: str = "") -> str:
        return f"{self.root}/input/data/{channel}/{file}"

    def output(self, channel: str) -> str:
        return f"{self.root}/output/{channel}/"


def text(value: object) -> str | None:
    """A hyperparameter's value as text; None for one that is left out.

    A string is itself; numbers and booleans as `str` writes them (``True``, as PAI's SDK sends); lists and dicts as
    JSON.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def typed(value: str) -> object:
    """The JSON number or boolean that `value` spells, else `value`: what ``PAI_HPS`` holds."""
    if value in ("true", "false", "True", "False"):
        return value.lower() == "true"
    if re.fullmatch(r"-?(0|[1-9]\d{0,300})", value):
        return int(value)
    if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", value):
        number = float(value)
        return number if abs(number) != float("inf") else value
    return value


def check_name(name: str) -> str | None:
    """What is wrong with a hyperparameter's name; None if nothing is."""
    if not name:
        return "empty"
    bad = re.search(r"[\s=\x00]", name)
    return repr(bad[0]) if bad else None


def check_channel(name: str) -> str | None:
    """What is wrong with a channel's name; None if nothing is. It becomes a folder and a part of a variable."""
    if not name or name in (".", ".."):
        return repr(name)
    bad = re.search(r"[\s/\\:=\x00-\x1f]", name)
    if bad or len(name.encode("utf-8", "surrogateescape")) > 200:
        return repr(bad[0] if bad else name)
    return None


def variables(prefix: str, names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Each name's short variable ({name: variable}), and the names that can have none.

    ASCII letters and digits stay, in upper case; all else becomes ``_``. Where two names meet, or nothing but ``_``
    is left, there is no short variable: every other form still carries both.
    """
    by_variable: dict[str, list[str]] = {}
    for name in names:
        by_variable.setdefault(prefix + re.sub(r"[^A-Za-z0-9]", "_", name).upper(), []).append(name)
    found = {
        group[0]: variable
        for variable, group in by_variable.items()
        if len(group) == 1 and variable[len(prefix) :].strip("_")
    }
    return found, [name for group in by_variable.values() for name in group if name not in found]


def user_args(hyperparameters: Mapping[str, str]) -> str:
    """``--name value …``, each word quoted for a shell, in the order given.

    A value that begins with ``-`` and is no number travels as ``--name=value``: argparse takes it for an option
    otherwise.
    """
    words: list[str] = []
    for name, value in hyperparameters.items():
        if value.startswith("-") and not re.fullmatch(r"-\d*\.?\d+([eE][-+]?\d+)?", value):
            words.append(f"--{name}={value}")
        else:
            words += [f"--{name}", value]
    return " ".join(map(shlex.quote, words))


def expand_user_args(command: str, hyperparameters: Mapping[str, str]) -> str:
    """`command` with the unquoted words ``$PAI_USER_ARGS`` and ``${PAI_USER_ARGS}`` replaced by `user_args`.

    A shell does not remove quotes that come out of a variable, so the list has to be in the command before any shell
    sees it.
    """
    replacement = user_args(hyperparameters)
    return "".join(replacement if _IS_USER_ARGS(token) else token for token in _TOKENS.findall(command))


# A command's pieces: a backslash and what it guards, quoted strings, a comment (which begins a word), a run of plain
# characters with the variable in it, blanks and operators.
_TOKENS = re.compile(
    r"""(?sx) \\. | '[^']*'? | "(?:\\.|[^"\\])*"? | (?:(?<=[\s;&|()])|\A)\#[^\n]*
    | (?<![^\s;&|()<>`\n])\$(?:PAI_USER_ARGS(?!\w)|\{PAI_USER_ARGS\})(?=[\s;&|()<>`]|\Z)
    | [\s;&|()<>`] | [^\s;&|()<>`\\'"]+ | .
    """
)
_IS_USER_ARGS: Callable[[str], bool] = {"$PAI_USER_ARGS", "${PAI_USER_ARGS}"}.__contains__


_INTERPRETERS = {".sh": "sh", ".ipynb": "python -m jupyter_pai.backends.runtime.run_notebook"}


def launch_line(entry_point: str, hyperparameters: Mapping[str, str], inputs: Mapping[str, str] | None = None) -> str:
    """The command that runs a script or notebook: interpreter, script, parameters in order, then inputs as
    ``--name path``.

    Inputs are passed in the layout of PAI's older CustomJob only.
    """
    interpreter = _INTERPRETERS.get(entry_point[entry_point.rfind(".") :], "python")
    words = [interpreter, shlex.quote(entry_point), user_args({**hyperparameters, **(inputs or {})})]
    return " ".join(filter(None, words))


def environment(
    layout: Layout,
    hyperparameters: Mapping[str, str],
    inputs: Mapping[str, str],
    outputs: Iterable[str],
) -> tuple[dict[str, str], list[str]]:
    """The ``PAI_*`` variables of a job, and the names that have no short variable.

    `inputs` maps a channel to the file of the channel that its URI names ("" for the whole folder).
    """
    hps, hps_left = variables("PAI_HPS_", hyperparameters)
    ins, ins_left = variables("PAI_INPUT_", inputs)
    channels = {*outputs, *CHANNELS, *ALIASES}
    outs, outs_left = variables("PAI_OUTPUT_", sorted(channels))
    values = {name: typed(value) for name, value in hyperparameters.items()}
    return {
        "PAI_WORKING_DIR": layout.code,
        "PAI_CONFIG_DIR": layout.config,
        "PAI_HPS": json.dumps(values, ensure_ascii=False),
        "PAI_USER_ARGS": user_args(hyperparameters),
        **{variable: hyperparameters[name] for name, variable in hps.items()},
        **{variable: layout.input(name, inputs[name]) for name, variable in ins.items()},
        **{variable: layout.output(ALIASES.get(name, name)) for name, variable in outs.items()},
    }, hps_left + ins_left + outs_left
