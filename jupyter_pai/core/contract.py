"""The training contract: the paths, variables and arguments that a script finds on every backend.

The reference for users is `docs/contract.md`. Standard library only: this module also runs in other people's images.
"""

from __future__ import annotations

import ast
import json
import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

__all__ = [
    "BIDI",
    "CHANNELS",
    "NODE_VARIABLES",
    "NOTEBOOK",
    "REPEATED",
    "Layout",
    "check_channel",
    "check_name",
    "count_user_args",
    "environment",
    "expand_user_args",
    "launch_line",
    "misleading",
    "text",
    "typed",
    "user_args",
    "variables",
    "words_of",
]

# The output channels of every job. `logs` is the older name of `tensorboard`: both lead to the same folder.
CHANNELS = ("model", "checkpoints", "tensorboard")
ALIASES = {"logs": "tensorboard"}
# The additional output channels for the files that a job writes beside its code, and for the figures that it shows.
FILES = "files"
FIGURES = "figures"
# The backend of matplotlib that keeps figures; see the package's folder `backends/runtime/plots`.
MPLBACKEND = "module://jupyter_pai_figures"
# Further variables of the nodes, besides RANK, WORLD_SIZE and MASTER_ADDR.
NODE_VARIABLES = ("NODE_NUM", "INDEX", "GPU_NUM_PER_NODE", "GPU_NUM", "CHIEF_IP", "NODE_LIST")
# The additional output channel of a job that runs a notebook, for the executed notebook.
NOTEBOOK = "notebook"


@dataclass(frozen=True)
class Layout:
    """The paths of a job. `root` is ``/ml`` if the job has a private one, otherwise the job's own folder."""

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
    """Return the value of a hyperparameter as text, or None to omit it.

    A string is unchanged. Numbers and booleans are converted by `str` (``True``), lists and dicts to
    JSON.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def typed(value: str) -> object:
    """Return the JSON number or boolean that `value` spells, otherwise `value`, as in ``PAI_HPS``."""
    if value in ("true", "false", "True", "False"):
        return value.lower() == "true"
    if re.fullmatch(r"-?(0|[1-9]\d{0,300})", value):
        return int(value)
    if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", value):
        number = float(value)
        return number if abs(number) != float("inf") else value
    return value


# Part of a character class: characters that change the order in which the others are displayed.
BIDI = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_MISLEADING = re.compile(rf"[\x00-\x1f\x7f-\x9f{BIDI}]")


def misleading(name: str) -> str:
    """Return the first character for which a new name is refused, as `U+202E`; empty if there is none. Control
    characters and characters that change the order would display it as another name."""
    bad = _MISLEADING.search(name)
    return f"U+{ord(bad[0]):04X}" if bad else ""


def check_name(name: str) -> str | None:
    """Return the invalid part of a hyperparameter's name, or None if it is valid."""
    if not name:
        return "empty"
    bad = re.search(r"[\s=\x00]", name)
    return repr(bad[0]) if bad else None


def check_channel(name: str) -> str | None:
    """Return the invalid part of a channel's name, or None. The name becomes a folder and part of a variable."""
    if not name or name in (".", ".."):
        return repr(name)
    bad = re.search(r"[\s/\\:=]", name) or _MISLEADING.search(name)
    if bad or len(name.encode("utf-8", "surrogateescape")) > 200:
        return repr(bad[0] if bad else name)
    return None


def variables(prefix: str, names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return each name's short variable ({name: variable}), and the names without one.

    ASCII letters and digits are kept, in upper case; other characters become ``_``. Names with the same short variable,
    or with nothing but ``_``, get none; all other forms still carry them.
    """
    by_variable: dict[str, list[str]] = {}
    for name in names:
        by_variable.setdefault(prefix + re.sub(r"[^A-Za-z0-9]", "_", name).upper(), []).append(name)
    short = {
        group[0]: variable
        for variable, group in by_variable.items()
        if len(group) == 1 and variable[len(prefix) :].strip("_")
    }
    return short, [name for group in by_variable.values() for name in group if name not in short]


# An option that is given once for each of several words.
REPEATED = "repeated"
_NUMBER = re.compile(r"-\d*\.?\d+([eE][-+]?\d+)?")


def words_of(value: str, nargs: str = "") -> list[str]:
    """Return the words of a value for an option that takes several: a list or tuple, in JSON or Python, or words
    separated by blanks. For an option that is repeated, blanks are part of a word.

    Raises:
        ValueError: if it is a list of other things than words and numbers, or has an unclosed quotation.
    """
    text = value.strip()
    if text[:1] + text[-1:] in ("[]", "()"):
        return _items(text)
    return shlex.split(text) if nargs != REPEATED and re.search(r"\s", text) else [value]


def _items(text: str) -> list[str]:
    for read in (json.loads, ast.literal_eval):
        try:
            items = read(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
        items = items if isinstance(items, (list, tuple)) else [items]
        if not all(isinstance(item, (str, int, float)) for item in items):
            raise ValueError(text)
        return list(map(str, items))
    if re.search(r"[\[\](){}]", text[1:-1]):
        raise ValueError(text)
    return [part.strip() for part in text[1:-1].split(",") if part.strip()]  # As in YAML: [adam, sgd]


def user_args(
    hyperparameters: Mapping[str, str], args: Iterable[str] = (), nargs: Mapping[str, str] | None = None
) -> str:
    """Return ``--name value …`` in the given order, then `args` unchanged, each word quoted for a shell.

    A value that begins with ``-`` and is not a number is passed as ``--name=value``, because argparse would take it for
    an option. `nargs` has the options that take several words: their values are passed as these words. Before an
    argument without a name, which would be one of them, they come last.
    """
    words: list[str] = []
    several: list[str] = []
    for name, value in hyperparameters.items():
        kind = (nargs or {}).get(name, "")
        if kind and (parts := _parts(value, kind)) is not None:
            repeats = kind == REPEATED
            several += [part for one in parts for part in (f"--{name}", one)] if repeats else [f"--{name}", *parts]
        elif value.startswith("-") and not _NUMBER.fullmatch(value):
            words.append(f"--{name}={value}")
        else:
            words += [f"--{name}", value]
    args = list(args)
    end = (args.index("--") if "--" in args else len(args)) if args and not args[0].startswith("-") else 0
    return " ".join(map(shlex.quote, [*words, *args[:end], *several, *args[end:]]))


def _parts(value: str, nargs: str) -> list[str] | None:
    """Return several words of a value; None for one word, and for words that would be options."""
    try:
        words = words_of(value, nargs)
    except ValueError:
        return None
    is_option = any(word.startswith("-") and not _NUMBER.fullmatch(word) for word in words)
    return None if words == [value] or is_option else words


def count_user_args(command: str) -> int:
    """Return how often a command passes on ``$PAI_USER_ARGS`` as `expand_user_args` replaces it."""
    return sum(map(_IS_USER_ARGS, _TOKENS.findall(command)))


def expand_user_args(
    command: str,
    hyperparameters: Mapping[str, str],
    args: Iterable[str] = (),
    nargs: Mapping[str, str] | None = None,
) -> str:
    """Return `command` with the unquoted words ``$PAI_USER_ARGS`` and ``${PAI_USER_ARGS}`` replaced by `user_args`.

    A shell does not remove quotes that come from a variable, so the arguments must be inserted before a shell parses
    the command.
    """
    replacement = user_args(hyperparameters, args, nargs)
    return "".join(replacement if _IS_USER_ARGS(token) else token for token in _TOKENS.findall(command))


# The tokens of a command: an escaped character, quoted strings, a comment (at the start of a word), the variable,
# blanks and operators, and a run of plain characters.
_TOKENS = re.compile(
    r"""(?sx) \\. | '[^']*'? | "(?:\\.|[^"\\])*"? | (?:(?<=[\s;&|()])|\A)\#[^\n]*
    | (?<![^\s;&|()<>`\n])\$(?:PAI_USER_ARGS(?!\w)|\{PAI_USER_ARGS\})(?=[\s;&|()<>`]|\Z)
    | [\s;&|()<>`] | [^\s;&|()<>`\\'"]+ | .
    """
)
_IS_USER_ARGS: Callable[[str], bool] = {"$PAI_USER_ARGS", "${PAI_USER_ARGS}"}.__contains__


_INTERPRETERS = {".sh": "sh", ".ipynb": "python -m jupyter_pai.backends.runtime.run_notebook"}


def launch_line(
    entry_point: str,
    hyperparameters: Mapping[str, str],
    inputs: Mapping[str, str] | None = None,
    args: Iterable[str] = (),
    interpreter: str = "",
    nargs: Mapping[str, str] | None = None,
    folder: str = "",
    *,
    by_exec: bool = False,
) -> str:
    """Return the command that runs a script or notebook: interpreter, script, hyperparameters in order, then inputs as
    ``--name path``, then `args` unchanged.

    Inputs are passed only in the layout of the older CustomJob. `interpreter` has the words that run the script, by
    default those of its suffix. `folder` is the folder of the code in which it runs. `by_exec`: in place of the shell.
    """
    interpreter = interpreter or _INTERPRETERS.get(entry_point[entry_point.rfind(".") :], "python")
    start = f"cd {shlex.quote(folder)} &&" if folder else ""
    script = posixpath.relpath(entry_point, folder) if folder else entry_point
    words = [start, "exec" if by_exec else "", interpreter, shlex.quote(script)]
    return " ".join(filter(None, [*words, user_args({**hyperparameters, **(inputs or {})}, args, nargs)]))


def environment(
    layout: Layout,
    hyperparameters: Mapping[str, str],
    inputs: Mapping[str, str],
    outputs: Iterable[str],
    args: Iterable[str] = (),
    nargs: Mapping[str, str] | None = None,
) -> tuple[dict[str, str], list[str]]:
    """Return the ``PAI_*`` variables of a job, and the names without a short variable.

    `inputs` maps each channel to the file named by its URI ("" for the whole folder).
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
        "PAI_USER_ARGS": user_args(hyperparameters, args, nargs),
        **{variable: hyperparameters[name] for name, variable in hps.items()},
        **{variable: layout.input(name, inputs[name]) for name, variable in ins.items()},
        **{variable: layout.output(ALIASES.get(name, name)) for name, variable in outs.items()},
    }, hps_left + ins_left + outs_left
