"""The parameters of `submit` and its kin: a spec from Python values, and messages in the caller's language.

Messages of the engine name options of the command line, such as `--instance-type`. Where Python code called it, the
errors name the parameter instead: one table, applied to every message at one border (`parameter_names`). Its notes and
fixes have commands as a cell has them; outside a notebook, `offered` writes them as a shell has them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..core import contract
from ..core.errors import PaiError, SpecError
from ..core.file_uri import scheme_of
from ..core.i18n import _
from .context import current_shell

# The fields of `JobSpec`, whose module takes long to import.
FIELDS = frozenset(
    """args command cpu detect_metrics entry_point environment gpu hyperparameters image inputs instance_count
    instance_type interpreter labels layout max_run_time memory metric_definitions name nargs options output_path
    outputs profile python requirements roles script_folder secrets source tty""".split()
)
# The tables of a spec, by the option that sets one of their names.
TABLES = {
    "hp": "hyperparameters", "env": "environment", "label": "labels", "input": "inputs", "output": "outputs",
}  # fmt: skip
_TEXTS = """backend command image instance-type memory name output-path profile python source""".split()
_NUMBERS = "cpu gpu instance-count max-run-time".split()
_SWITCHES = "anyway as-script force overwrite resume tty wait".split()
# Each option as Python; NAME and VALUE stand for the value of the option.
_EXPRESSIONS = {
    **{option: field + '={"NAME": "VALUE"}' for option, field in TABLES.items()},
    **{option: option.replace("-", "_") + '="VALUE"' for option in _TEXTS},
    **{option: option.replace("-", "_") + "=VALUE" for option in _NUMBERS},
    **{option: option.replace("-", "_") + "=True" for option in _SWITCHES},
    "again": "%%pai_train --again",
    "allow-secret": 'source={"allow_secret": ["VALUE"]}',
    "container": 'options={"container": "VALUE"}',
    "dry-run": "%pai submit --dry-run",
    "exclude": 'source={"exclude": ["VALUE"]}',
    "include": 'source={"include": ["VALUE"]}',
    "metric": 'metric_definitions=[{"name": "NAME", "regex": "VALUE"}]',
    "no-gitignore": 'source={"gitignore": False}',
    "option": 'options={"NAME": "VALUE"}',
    "requirement": 'requirements=["VALUE"]',
    "role": 'roles=[{"name": "VALUE"}]',
    "secret": 'secrets={"VALUE": "VALUE"}',
    "yes": "confirmed=True",
}
# Options whose next word is a value. After others, a value is in quotes, in capitals, a number, a path or a pattern.
_TAKES_WORD = ("allow-secret", "container", "requirement", "role")
# Names of other interfaces, and the parameters they mean.
_SYNONYMS = {
    **TABLES,
    **dict.fromkeys(("hps", "hparams", "params", "parameters"), "hyperparameters"),
    **dict.fromkeys(("instance", "machine", "machine_type"), "instance_type"),
    **dict.fromkeys(("script", "notebook", "file", "entrypoint"), "target"),
    **dict.fromkeys(("source_dir", "folder", "code"), "source"),
    **dict.fromkeys(("job_name", "base_job_name", "base_name"), "name"),
    **dict.fromkeys(("environments", "environment_variables"), "environment"),
    **dict.fromkeys(("metric", "metrics"), "metric_definitions"),
    "image_uri": "image",
    "requirement": "requirements",
    "secret": "secrets",
    "timeout": "max_run_time",
    "yes": "confirmed",
    "option": "options",
    "gpus": "gpu",
    "cpus": "cpu",
}
# A command with its options, which stay, also any other between backticks; an option with the next word.
_OPTION = re.compile(
    r"(?:%{1,2}pai(?:_train)?|jupyter pai|pip install|torchrun)\b[^.,;:()`\n，。；：（）]*|`[a-z%][^`\n]*`"
    r"|`?--(?P<option>[a-z]+(?:-[a-z]+)*)(?![\w-])`?"
    r"(?P<gap>[ =](?P<word>'[^']*'(?:\"'\"'[^']*')*|(?:[^\s,;:()`，。；：（）]|[,:](?=[\w/]))+))?"
)
_VALUE = re.compile(r"'.*'|[A-Z]{2,}|\d[\w.]*|\S*[/*?\[]\S*", re.DOTALL)
# The verb that only notebooks have.
OF_NOTEBOOKS = "form"
_MAGIC = re.compile(rf"(?<!%)%pai (?!{OF_NOTEBOOKS}\b)(?=[a-z])")
_options_shown: ContextVar[bool] = ContextVar("options_shown", default=False)


@contextmanager
def option_names() -> Iterator[None]:
    """Keep the names of options in errors of this block: a line of a magic or of a terminal is the caller."""
    token = _options_shown.set(True)
    try:
        yield
    finally:
        _options_shown.reset(token)


def options_shown() -> bool:
    """Return whether a line of a magic or of a terminal is the caller, rather than Python code."""
    return _options_shown.get()


@contextmanager
def parameter_names(names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Raise errors of this block with the names of parameters. `names` maps parameters of `submit` to the caller's."""
    try:
        yield
    except PaiError as error:
        if not _options_shown.get():
            error.message = as_parameters(error.message, names)
            error.fix = offered(as_parameters(error.fix, names))
            error.args = (error.message,)
        raise


@contextmanager
def offered_fixes() -> Iterator[None]:
    """Raise errors of this block with the commands of their fixes as the caller runs them."""
    try:
        yield
    except PaiError as error:
        error.fix = offered(error.fix)
        raise


def program() -> str:
    """Return what stands before a verb: `%pai` in a notebook, else `jupyter pai`."""
    return "%pai" if current_shell() else "jupyter pai"


def offered(text: str) -> str:
    """Return a note or a fix with its commands as the caller runs them. Names that users chose are no such texts."""
    return text if current_shell() else _MAGIC.sub("jupyter pai ", text)


def as_parameters(text: str, names: Mapping[str, str] | None = None) -> str:
    """Return a message with each option replaced by its parameter: `--hp lr=1` by `hyperparameters={"lr": "1"}`."""
    return _OPTION.sub(lambda match: _parameter(match, names or {}), text)


def _parameter(match: re.Match[str], names: Mapping[str, str]) -> str:
    option, gap, word = match["option"], match["gap"] or "", (match["word"] or "").rstrip(".")
    expression = _EXPRESSIONS.get(option or "")
    if not expression:
        return match[0]
    parameter, equals, form = expression.partition("=")
    parameter = names.get(parameter, parameter)
    if "VALUE" not in form:
        return f"`{parameter}{equals}{form}`{gap}"
    plain = shlex.split(word)[0] if word.startswith("'") else word
    name, is_pair, value = plain.partition("=")
    if "NAME" not in form:
        name, is_pair, value = "", _VALUE.fullmatch(word) or (option in _TAKES_WORD and word), plain
    if not is_pair:
        return f"`{parameter}=`{gap}"
    rest = gap[1 + len(word) :]
    return f"`{parameter}={form.replace('NAME', name).replace('VALUE', value)}`{rest}"


def check_names(names: Collection[str], known: Collection[str], renamed: Mapping[str, str] | None = None) -> None:
    """Check the names of keywords. `renamed` maps parameters of `submit` to the caller's.

    Raises:
        SpecError: naming the first unknown one, with a suggestion.
    """
    for name in names:
        if name not in known:
            meant = _SYNONYMS.get(name, name)
            meant = (renamed or {}).get(meant, meant)
            near = [meant] if meant in known else get_close_matches(name, sorted(known), 1, 0.5)
            fix = _("Did you mean `{name}`?").format(name=near[0]) if near else ""
            fix = fix or _("Valid names: {names}.").format(names=", ".join(sorted(known)))
            raise SpecError(_("Unknown parameter `{name}`.").format(name=name), fix=fix, fields=[name])


def absolute(uri: str | os.PathLike[str]) -> str:
    """Return a URI and a result of a step (`{{STEP.channel.NAME}}`) unchanged, and a path as an absolute path, from the
    current folder. A trailing slash is kept."""
    text = os.fspath(uri)
    if scheme_of(text) or not text or text.startswith("{{"):
        return text
    path = os.path.normpath(Path(text).expanduser().absolute())
    return path + "/" if text.endswith("/") and path != "/" else path


def plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a spec as JSON values, with absolute paths. None removes a field. Data frames stay: they are
    saved when the job is submitted.
    """
    spec = {name: value for name, value in fields.items() if value is not None}
    for name in ("inputs", "outputs"):
        if isinstance(spec.get(name), Mapping):
            spec[name] = {
                channel: absolute(value) if isinstance(value, str | os.PathLike) else value
                for channel, value in spec[name].items()
            }
    for name in ("hyperparameters", "labels"):
        if isinstance(spec.get(name), Mapping):
            spec[name] = {key: value if value is None else contract.text(value) for key, value in spec[name].items()}
    if isinstance(spec.get("output_path"), str | os.PathLike):
        spec["output_path"] = absolute(spec["output_path"])
    if isinstance(spec.get("args"), list | tuple):
        spec["args"] = list(map(str, spec["args"]))
    if isinstance(spec.get("command"), list | tuple):
        spec["command"] = shlex.join(map(str, spec["command"]))
    if isinstance(spec.get("source"), str | os.PathLike):
        spec["source"] = {"folder": absolute(spec["source"])}
    elif isinstance(spec.get("source"), Mapping) and spec["source"].get("folder"):
        spec["source"] = {**spec["source"], "folder": absolute(spec["source"]["folder"])}
    return spec
