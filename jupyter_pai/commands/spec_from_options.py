"""From the options of a line to the JSON of a job's spec. Paths become absolute here: the engine knows no notebook."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..client.context import Place
from ..core.errors import UsageError
from ..core.i18n import _
from ..jobs.names import generate_name
from ..source.dataframes import is_frame
from ..source.entry_point import ENTRY_POINTS, free_name, script_of
from .parser.parser import Options

__all__ = ["changes_of", "spec_of"]

_PLAIN = {
    "profile": "profile",
    "command": "command",
    "python": "python",
    "image": "image",
    "instance_type": "instance_type",
    "instance_count": "instance_count",
    "cpu": "cpu",
    "gpu": "gpu",
    "memory": "memory",
    "max_run_time": "max_run_time",
}
# Fields that hold names and values, by the option that gives one of them.
_TABLES = {
    "hp": "hyperparameters", "env": "environment", "label": "labels", "input": "inputs", "output": "outputs",
}  # fmt: skip
# Further fields that `--remove` may name.
_OTHERS = {"metric": "metric_definitions", "requirement": "requirements", "output_path": "output_path", "tty": "tty"}


def spec_of(
    options: Options, place: Place, *, target: str = "", cell: str = "", document: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The spec that a line asks for; `cell` is the script made of its cell, `document` what the file of `--spec` says,
    where that is known already.

    Raises:
        UsageError: naming the option that is wrong.
        NotebookError: if a notebook that is to be run cannot be.
    """
    if document is None:
        document = _from_file(options.spec, place) if options.spec else {}
    spec = dict(document)
    for field in ("inputs", "outputs"):
        spec[field] = {name: _uri(str(value), place) for name, value in _table(spec, field).items()}
    if spec.get("output_path"):
        spec["output_path"] = _uri(spec["output_path"], place)
    for field, value in _given(options, place).items():
        if field in (*_TABLES.values(), "secrets", "options"):
            value = _table(spec, field) | value
        elif field in ("metric_definitions", "requirements"):
            value = [*_list(spec, field), *value]
        spec[field] = value
    name = _add_source(spec, options, place, target, cell)
    spec["name"] = (
        options.name or (None if options.base_name else spec.get("name")) or generate_name(options.base_name or name)
    )
    return spec


def _given(options: Options, place: Place) -> dict[str, Any]:
    """The fields of a spec that options give."""
    found = {field: value for name, field in _PLAIN.items() if (value := getattr(options, name)) is not None}
    for name, field in _TABLES.items():
        if values := _pairs(f"--{name}", getattr(options, name)):
            is_uri = field in ("inputs", "outputs")
            found[field] = {key: _uri(text, place) for key, text in values.items()} if is_uri else values
            if field == "inputs":
                found[field] |= {
                    key: frame for key, text in values.items() if (frame := _frame(text, place)) is not None
                }
    if options.output_path:
        found["output_path"] = _uri(options.output_path, place)
    if metrics := _pairs("--metric", options.metric):
        found["metric_definitions"] = [{"name": name, "regex": pattern} for name, pattern in metrics.items()]
    if options.requirement:
        found["requirements"] = options.requirement
    if options.secret:
        found["secrets"] = _secrets(options.secret)
    own = _nested(_pairs("--option", options.option))
    if options.container:
        own["container"] = options.container
    if own:
        found["options"] = own
    if options.tty:
        found["tty"] = True
    return found


def changes_of(options: Options, place: Place) -> dict[str, Any]:
    """What a line changes of an earlier job's spec, as `request.Rerun` has it: None removes.

    Raises:
        UsageError: naming the option that is wrong.
    """
    changes = _given(options, place)
    if options.name:
        changes["name"] = options.name
    if options.source:
        changes["source"] = {"folder": str(place.path(options.source))}
    for what in options.remove:
        option, dot, name = what.partition(".")
        option = option.replace("-", "_")
        if (table := (_TABLES | {"secret": "secrets"}).get(option)) and name:
            changes.setdefault(table, {})[name] = None
        elif not dot and (field := (_PLAIN | _OTHERS).get(option)):
            changes[field] = None
        else:
            raise UsageError(
                _("--remove: what is `{text}`?").format(text=what),
                fix=_("Name an option, like max-run-time, or one of its names, like hp.lr, input.train, env.DEBUG."),
            )
    return changes


def _add_source(spec: dict[str, Any], options: Options, place: Place, target: str, cell: str) -> str:
    """The folder, and what of it is run; what the job is called after."""
    source = _table(spec, "source")
    is_whole = bool(spec.get("command") or spec.get("entry_point"))
    if source.get("folder") == "" and is_whole and not (options.source or target or cell):
        return spec["name"] if spec.get("name") else place.name  # A spec says so that wants no folder.
    folder = place.path(options.source or source.get("folder") or ".")
    files = _table(source, "files")
    name = place.name or folder.name
    as_script = getattr(options, "as_script", False)
    if cell:
        spec["entry_point"] = free_name(folder, "pai_cell.py")
        files[spec["entry_point"]] = cell
    elif target:
        path = _target(target, folder, place, bool(options.source))
        if path.is_dir():
            folder, name = path, path.name
        else:
            folder = folder if path.is_relative_to(folder) else path.parent
            spec["entry_point"], name = path.relative_to(folder).as_posix(), path.stem
    if spec.get("entry_point", "").endswith(".ipynb"):
        _add_notebook(spec, folder, files, as_script=as_script)
    elif as_script:
        raise UsageError(_("--as-script is for notebooks."), fix=_("Name one, or leave the option out."))
    if not spec.get("command") and not spec.get("entry_point"):
        spec["entry_point"] = _entry_point(folder)
    spec["source"] = {
        "folder": str(folder),
        "files": files,
        "include": [*_list(source, "include"), *options.include],
        "exclude": [*_list(source, "exclude"), *options.exclude],
        "gitignore": source.get("gitignore", True) and not options.no_gitignore,
        "allow_secret": [*_list(source, "allow_secret"), *options.allow_secret],
    }
    return name


def _target(target: str, folder: Path, place: Place, has_source: bool) -> Path:
    """What TARGET names: relative to where the line was written, or to --source."""
    path = place.path(target)
    if not path.exists() and has_source:
        path = Path(os.path.normpath(folder / target))
    if not path.exists():
        raise UsageError(
            _("There is no {path}.").format(path=path),
            fix=_("Relative paths start at the notebook's folder, on the command line at the current one."),
        )
    if path.is_file() and path.suffix not in (".py", ".sh", ".ipynb"):
        raise UsageError(
            _("{path} is no folder, .py, .sh or .ipynb.").format(path=path), fix=_("Say how to run it: --command.")
        )
    return path


def _entry_point(folder: Path) -> str:
    found = [name for name in ENTRY_POINTS if (folder / name).is_file()]
    scripts = found[:1] or [path.name for path in sorted(folder.glob("*.py"))]
    if len(scripts) == 1:
        return scripts[0]
    raise UsageError(
        _("What shall run in {folder}?").format(folder=folder),
        fix=_("Name a script, or a command: --command 'python SCRIPT $PAI_USER_ARGS'."),
    )


def _add_notebook(spec: dict[str, Any], folder: Path, files: dict[str, str], *, as_script: bool) -> None:
    """See that a notebook can be run, as it is or as a script that is made of it."""
    from ..source import notebook as notebooks

    if spec.get("command") and not as_script:
        return  # Which runs it in a way of its own, if at all.
    if as_script:
        spec["entry_point"], text = script_of(folder, spec["entry_point"])
        files[spec["entry_point"]] = text
    else:
        notebooks.read(folder / spec["entry_point"])


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(
                _("{option}: `{text}` is not of the form NAME=VALUE.").format(option=option, text=text),
                fix=_("Put a value with blanks in quotes."),
            )
        if name in found:
            raise UsageError(
                _("{option}: `{name}` is given twice.").format(option=option, name=name),
                fix=_("Leave one of the two out."),
            )
        found[name] = value
    return found


def _nested(given: dict[str, str]) -> dict[str, Any]:
    """Options as a table: dots in their names lead into tables of it; a value that is JSON is what JSON says."""
    found: dict[str, Any] = {}
    for name, text in given.items():
        *tables, last = name.split(".")
        place = found
        for table in tables:
            place = place.setdefault(table, {})
            if not isinstance(place, dict):
                raise UsageError(_("--option: `{name}` is a value and a table.").format(name=name))
        try:
            place[last] = json.loads(text)
        except ValueError:
            place[last] = text
    return found


def _secrets(given: Sequence[str]) -> dict[str, str]:
    """Variable to the name of its secret."""
    return {text.partition("=")[0]: text.partition("=")[2] or text for text in given}


def _table(values: dict[str, Any], field: str) -> dict[str, Any]:
    found = values.get(field) or {}
    if not isinstance(found, dict):
        raise UsageError(_("--spec: `{field}` is no table.").format(field=field))
    return dict(found)


def _list(values: dict[str, Any], field: str) -> list[Any]:
    found = values.get(field) or []
    if not isinstance(found, list):
        raise UsageError(_("--spec: `{field}` is no list.").format(field=field))
    return found


def _uri(text: str, place: Place) -> str:
    """A URI as it is; a path made absolute. A slash at the end means a folder, and stays."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text):
        return text
    if not text:
        raise UsageError(_("An input or output needs a path or URI."))
    path = str(place.path(text))
    return path + "/" if text.endswith("/") and path != "/" else path


def _frame(text: str, place: Place) -> object:
    """The data frame in a variable of the notebook; None if there is none, or a file has that name."""
    found = getattr(place.shell, "user_ns", {}).get(text) if text.isidentifier() else None
    return found if is_frame(found) and not place.path(text).exists() else None


def _from_file(name: str, place: Place) -> dict[str, Any]:
    path = place.path(name)
    try:
        text = path.read_text("utf-8")
        found = _parse(text, path.suffix)
    except (OSError, ValueError) as error:
        raise UsageError(_("--spec: {path} cannot be read: {error}").format(path=path, error=error)) from None
    if not isinstance(found, dict):
        raise UsageError(_("--spec: {path} holds no table of fields.").format(path=path))
    return found


def _parse(text: str, suffix: str) -> object:
    if suffix == ".toml":
        import tomllib

        return tomllib.loads(text)
    if suffix in (".yaml", ".yml"):
        import yaml

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from None
    return json.loads(text)
