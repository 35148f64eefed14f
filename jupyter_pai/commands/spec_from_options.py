"""Build the JSON of a job's spec from the options of a line. Paths become absolute here: the engine never sees relative
ones.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..client.context import NotebookContext
from ..client.parameters import TABLES
from ..core.errors import UsageError
from ..core.i18n import _
from ..jobs.names import generate_name
from ..source.dataframes import is_frame
from ..source.entry_point import default_entry_point, free_name, locate, script_of
from .parser.parser import Options

# The value of `--metric` that disables the detection of metrics.
NO_DETECTION = "none"
# Fields that options of the same names set.
_PLAIN = "profile command python image instance_type instance_count cpu gpu memory max_run_time".split()
# The fields that `--remove` resets, by option.
_REMOVABLE = {
    **dict(zip(_PLAIN, _PLAIN, strict=True)),
    "requirement": "requirements",
    "output_path": "output_path",
    "role": "roles",
    "tty": "tty",
    "args": "args",
}


def spec_of(
    options: Options,
    caller: NotebookContext,
    *,
    target: str = "",
    cell: str = "",
    job_file: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the spec of a line. `cell` is the script that was converted from its cell; `job_file` the spec of a job
    file of a platform, whose values the options replace.

    Raises:
        UsageError: naming the invalid option.
        NotebookError: if the notebook to run is invalid.
    """
    spec = (job_file or {}) | (_from_file(options.spec, caller) if options.spec else {})
    for field in ("inputs", "outputs"):
        spec[field] = {name: _uri(str(value), caller) for name, value in _table(spec, field).items()}
    if spec.get("output_path"):
        spec["output_path"] = _uri(spec["output_path"], caller)
    for field, value in _fields(options, caller).items():
        if field in (*TABLES.values(), "secrets", "options"):
            value = _table(spec, field) | value
        elif field in ("metric_definitions", "requirements"):
            value = [*_list(spec, field), *value]
        spec[field] = value
    name = _add_source(spec, options, caller, target, cell)
    spec["name"] = (
        options.name or (None if options.base_name else spec.get("name")) or generate_name(options.base_name or name)
    )
    return spec


def _fields(options: Options, caller: NotebookContext) -> dict[str, Any]:
    """Return the fields of a spec that the options set."""
    patterns = [text for text in options.metric if text != NO_DETECTION]
    metrics, container = _pairs("--metric", patterns), {"container": options.container}
    fields: dict[str, Any] = {
        field: {key: _value(field, text, caller) for key, text in _pairs(f"--{name}", getattr(options, name)).items()}
        for name, field in TABLES.items()
    }
    fields |= {
        "output_path": options.output_path and _uri(options.output_path, caller),
        "metric_definitions": [{"name": name, "regex": pattern} for name, pattern in metrics.items()],
        "requirements": options.requirement,
        "roles": [_role(text) for text in options.role],
        "args": options.args,
        "secrets": {text.partition("=")[0]: text.partition("=")[2] or text for text in options.secret},
        "options": _nested(_pairs("--option", options.option)) | (container if options.container else {}),
        "tty": options.tty,
    }
    plain = {name: value for name in _PLAIN if (value := getattr(options, name)) is not None}
    if NO_DETECTION in options.metric:
        plain["detect_metrics"] = False
    return plain | {field: value for field, value in fields.items() if value}


def changes_of(options: Options, caller: NotebookContext) -> dict[str, Any]:
    """Return the changes that a line makes to an earlier job's spec; None removes a field or name.

    Raises:
        UsageError: naming the invalid option.
    """
    changes = _fields(options, caller)
    if options.name:
        changes["name"] = options.name
    if options.source:
        changes["source"] = {"folder": str(caller.path(options.source))}
    for text in options.remove:
        option, dot, name = text.partition(".")
        option = option.replace("-", "_")
        if (table := (TABLES | {"secret": "secrets"}).get(option)) and name:
            changes.setdefault(table, {})[name] = None
        elif not dot and option == "metric":
            changes |= {"metric_definitions": None, "detect_metrics": None}
        elif not dot and (field := _REMOVABLE.get(option)):
            changes[field] = None
        else:
            raise UsageError(
                _("--remove: unknown setting `{text}`.").format(text=text),
                fix=_("Pass an option such as max-run-time, or a name such as hp.lr, input.train, env.DEBUG."),
            )
    return changes


def _add_source(spec: dict[str, Any], options: Options, caller: NotebookContext, target: str, cell: str) -> str:
    """Add the folder and the entry point to the spec. Return the base of the job's name."""
    source = _table(spec, "source")
    is_whole = bool(spec.get("command") or spec.get("entry_point"))
    if source.get("folder") == "" and is_whole and not (options.source or target or cell):
        return spec["name"] if spec.get("name") else caller.name  # A spec without a folder says so.
    folder = caller.path(options.source or source.get("folder") or ".")
    files = _table(source, "files")
    name = caller.name or folder.name
    as_script = getattr(options, "as_script", False)
    if cell:
        spec["entry_point"] = free_name(folder, "pai_cell.py")
        files[spec["entry_point"]] = cell
    elif target:
        path = caller.path(target)
        # The folder of a spec is a default only: the user chose the target.
        default = source.get("folder") or ""
        folder, spec["entry_point"] = locate(target, options.source or "", caller.path, spec, default)
        name = path.name if path.is_dir() else path.stem
    if spec.get("entry_point", "").endswith(".ipynb"):
        _add_notebook(spec, folder, files, as_script=as_script)
    elif as_script:
        raise UsageError(_("--as-script requires a notebook."), fix=_("Name a notebook, or omit the option."))
    if not spec.get("command") and not spec.get("entry_point"):
        spec["entry_point"] = default_entry_point(folder)
    spec["source"] = {
        "folder": str(folder),
        "files": files,
        "include": [*_list(source, "include"), *options.include],
        "exclude": [*_list(source, "exclude"), *options.exclude],
        "gitignore": source.get("gitignore", True) and not options.no_gitignore,
        "allow_secret": [*_list(source, "allow_secret"), *options.allow_secret],
    }
    return name


def _add_notebook(spec: dict[str, Any], folder: Path, files: dict[str, str], *, as_script: bool) -> None:
    """Validate the notebook to run, or convert it to a script."""
    from ..source import notebook as notebooks

    if spec.get("command") and not as_script:
        return  # The command runs it, in its own way.
    if as_script:
        spec["entry_point"], text = script_of(folder, spec["entry_point"])
        files[spec["entry_point"]] = text
    else:
        notebooks.read(folder / spec["entry_point"])


def _pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(
                _("{option}: `{text}` is not of the form NAME=VALUE.").format(option=option, text=text),
                fix=_("Quote a value that contains spaces."),
            )
        if name in pairs:
            raise UsageError(
                _("{option}: duplicate name `{name}`.").format(option=option, name=name),
                fix=_("Remove one of them."),
            )
        pairs[name] = value
    return pairs


def _role(text: str) -> dict[str, str]:
    """Return the role that a text describes: its name, then fields as NAME=VALUE, with the quotes of a shell."""
    try:
        name, *words = shlex.split(text)
    except ValueError:
        name, words = "", []
    fields = dict(word.partition("=")[::2] for word in words)
    if not name or "=" in name or "" in fields.values() or "name" in fields or len(fields) != len(words):
        raise UsageError(
            _("--role: `{text}` is not of the form NAME FIELD=VALUE ….").format(text=text),
            fix=_("Write for example: --role \"worker count=2 gpu=1 command='python train.py'\""),
        )
    return {"name": name, **fields}


def _nested(values: dict[str, str]) -> dict[str, Any]:
    """Return options as nested tables: dots in a name separate levels, and a value is parsed as JSON if possible."""
    nested: dict[str, Any] = {}
    for name, text in values.items():
        *tables, last = name.split(".")
        target = nested
        for table in tables:
            target = target.setdefault(table, {})
            if not isinstance(target, dict):
                raise UsageError(_("--option: `{name}` is both a value and a table.").format(name=name))
        try:
            target[last] = json.loads(text)
        except ValueError:
            target[last] = text
    return nested


def _table(values: dict[str, Any], field: str) -> dict[str, Any]:
    table = values.get(field) or {}
    if not isinstance(table, dict):
        raise UsageError(_("--spec: `{field}` must be a table.").format(field=field))
    return dict(table)


def _list(values: dict[str, Any], field: str) -> list[Any]:
    items = values.get(field) or []
    if not isinstance(items, list):
        raise UsageError(_("--spec: `{field}` must be a list.").format(field=field))
    return items


def _uri(text: str, caller: NotebookContext) -> str:
    """Return a URI and a result of a step unchanged, and a path as an absolute path. A trailing slash denotes a folder
    and is kept."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://|\{\{", text):
        return text
    if not text:
        raise UsageError(_("An input or output requires a path or URI."))
    path = str(caller.path(text))
    return path + "/" if text.endswith("/") and path != "/" else path


def _value(field: str, text: str, caller: NotebookContext) -> object:
    """Return a value of a table: of a channel its URI, or the data frame in the notebook's variable of this name unless
    a file has the name.
    """
    if field == "inputs" and text.isidentifier():
        value = getattr(caller.shell, "user_ns", {}).get(text)
        if is_frame(value) and not caller.path(text).exists():
            return value
    return _uri(text, caller) if field in ("inputs", "outputs") else text


def _from_file(name: str, caller: NotebookContext) -> dict[str, Any]:
    path = caller.path(name)
    try:
        document = _parse(path.read_text("utf-8"), path.suffix)
    except (OSError, ValueError) as error:
        raise UsageError(_("--spec: cannot read {path}: {error}").format(path=path, error=error)) from None
    if not isinstance(document, dict):
        raise UsageError(_("--spec: {path} does not contain a table of fields.").format(path=path))
    return document


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
