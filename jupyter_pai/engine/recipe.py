"""A spec as a cell, a command line, Python and JSON, which submit it again.

Each form yields an equal spec when it runs in the folder of the code. Values without an option (a backend's own
options, files made of a notebook) are passed with ``--spec`` on the command line, and as Python in a cell. A spec
contains only the names of secrets.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from math import inf, isfinite
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ..core.errors import NotebookError
from ..jobs.spec import SET_BY_SUBMIT, JobSpec, Role
from ..source.entry_point import SUFFIXES

_PLAIN = (
    "name", "profile", "command", "python", "image", "instance_type", "instance_count", "cpu", "gpu", "memory",
    "max_run_time",
)  # fmt: skip
_TABLES = {
    "hyperparameters": "hp", "inputs": "input", "outputs": "output", "environment": "env", "labels": "label",
}  # fmt: skip
_LISTS = {"include": "include", "exclude": "exclude", "allow_secret": "allow-secret"}
_CONTAINERS = ("auto", "preferred", "podman", "docker", "none")
# Texts that a magic replaces by variables, except in the values of these options.
_VARIABLE = re.compile(r"\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*")
_VERBATIM = ("--metric", "--command", "--role")


# Options with their values, empty for flags; None if options cannot express the spec.
_Pairs = list[tuple[str, str]] | None


class Recipe(NamedTuple):
    """One spec in four forms: for a cell, for a terminal, for a script, and for `--spec`."""

    cell: str
    cli: str
    python: str
    json: str


def recipe(
    spec: JobSpec, backend: str = "", *, profile: str = "", named: bool = True, script: JobSpec | None = None
) -> Recipe:
    """Return the forms of a spec, for a backend if one is given. JSON has the `profile` instead of a backend. Without
    `named`, each submit generates a name. `script` is the spec with a script made of its notebook: lines have an option
    for it, the other forms have the script.
    """
    values = (script or spec).model_dump(mode="json", exclude_defaults=True, exclude=SET_BY_SUBMIT)
    if not named:
        del values["name"]
    if not spec.source.folder:
        values["source"] = {"folder": ""} | values.get("source", {})  # The default is the caller's folder.
    arguments = values | ({"backend": backend} if backend else {})
    fields = "".join(f"    {name}={_literal(value, 1)},\n" for name, value in arguments.items())
    python = f"import jupyter_pai\n\njob = jupyter_pai.submit(\n{fields})"
    options = _options(spec)
    if options is not None:
        options = [pair for pair in options if named or pair[0] != "--name"]
        options += [("--backend", backend)] * bool(backend) + [("--as-script", "")] * bool(script)
    cli = _cli(spec, values, options, backend)
    return Recipe(
        _cell(spec, options) or python, cli, python, _json(values | ({"profile": profile} if profile else {}))
    )


def _cell(spec: JobSpec, pairs: _Pairs) -> str:
    """Return the magic; empty if it cannot express the spec."""
    if pairs is None or not all(_is_plain(option, value) for option, value in pairs):
        return ""
    # After `--`, variables are not replaced.
    args = ["--", *spec.args] if spec.args else []
    if not all(map(str.isprintable, args)):
        return ""
    if code := _code_of(spec):
        return f"{shlex.join(['%%pai_train', *_words(pairs), *args])}\n{code}"
    target = _target(spec)
    if target is None or not _is_plain("", target):
        return ""
    return shlex.join(["%pai", "submit", *filter(None, [target]), *_words(pairs), *args])


def _cli(spec: JobSpec, values: Mapping[str, Any], pairs: _Pairs, backend: str) -> str:
    target = _target(spec)
    if pairs is not None and target is not None:
        words = [*filter(None, [target]), *_words(pairs), *(["--", *spec.args] if spec.args else [])]
        if all(word.replace("\n", "").isprintable() for word in words):
            return shlex.join(["jupyter", "pai", "submit", *words])
    # No line of indented JSON is the end marker.
    also = f"--backend {shlex.quote(backend)} " if backend else ""
    return f"jupyter pai submit {also}--spec /dev/stdin <<'JSON'\n{_json(values)}\nJSON"


def _is_plain(option: str, value: str) -> bool:
    """Return whether a value has the same meaning in a magic's line."""
    return value.isprintable() and (option in _VERBATIM or not _VARIABLE.search(value))


def _words(pairs: list[tuple[str, str]]) -> Iterator[str]:
    for option, value in pairs:
        if not value:
            yield option
        elif value.startswith("-"):
            yield f"{option}={value}"
        else:
            yield from (option, value)


def _options(spec: JobSpec) -> _Pairs:
    """Return the options of a spec; None if options cannot express it."""
    source = spec.source
    container = str(spec.options.get("container", ""))
    if spec.layout != "usercode" or not source.folder:
        return None
    if spec.options and (len(spec.options) > 1 or container not in _CONTAINERS):
        return None
    values = spec.model_dump(include={*_PLAIN} - ({"instance_count"} if spec.roles else set()), exclude_defaults=True)
    values = {name: f"{value:g}" if value == inf else str(value) for name, value in values.items()}
    pairs = [(option, name, value) for field, option in _TABLES.items() for name, value in getattr(spec, field).items()]
    pairs += [("metric", one.name, one.regex) for one in spec.metric_definitions]
    options = [("--source", source.folder)]
    options += [(f"--{name.replace('_', '-')}", values[name]) for name in _PLAIN if name in values]
    options += [(f"--{option}", f"{name}={value}") for option, name, value in pairs]
    options += [("--role", _role(role)) for role in spec.roles]
    options += [("--metric", "none")] * (not spec.detect_metrics)
    options += [("--secret", name if name == kept else f"{name}={kept}") for name, kept in spec.secrets.items()]
    options += [("--requirement", text) for text in spec.requirements]
    options += [(f"--{option}", text) for field, option in _LISTS.items() for text in getattr(source, field)]
    options += [("--output-path", spec.output_path)] * bool(spec.output_path)
    options += [("--container", container)] * bool(container)
    are_pairs = all(name and "=" not in name for _option, name, _value in pairs)
    if not are_pairs or not all(value for _option, value in options):
        return None
    return options + [("--tty", "")] * spec.tty + [("--no-gitignore", "")] * (not source.gitignore)


def _role(role: Role) -> str:
    fields = role.model_dump(exclude={"name"}, exclude_defaults=True)
    return shlex.join([role.name, *(f"{name}={value}" for name, value in fields.items())])


def _target(spec: JobSpec) -> str | None:
    """Return the script as an argument of `submit`: empty if there is none, None if `submit` does not accept it."""
    if spec.source.files:
        return None
    if not spec.entry_point:
        return ""
    path = PurePosixPath(spec.entry_point)
    is_known = path.suffix in SUFFIXES or spec.interpreter
    if path.is_absolute() or ".." in path.parts or not is_known:
        return None
    return os.path.join(spec.source.folder, path) if str(path) == spec.entry_point else None


def _code_of(spec: JobSpec) -> str:
    """Return the code of the cell below `%%pai_train`, if the script was made of one."""
    files = spec.source.files
    text = files.get(spec.entry_point, "")
    if len(files) != 1 or not re.fullmatch(r"pai_cell(_\d+)?\.py", spec.entry_point):
        return ""
    from ..source import script  # Imported on first use.

    if script.is_large(text):
        return ""
    header, _newline, code = text[:-1].partition("\n")
    if not header.endswith(script.HEADER):
        return ""
    try:
        return code if script.from_cell(code).text == text else ""
    except NotebookError:
        return ""


def _json(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, ensure_ascii=False, indent=2)
    # Escape invisible characters: pasted into a terminal, they would control it.
    return re.sub(r"[^\n -~]", lambda one: one[0] if one[0].isprintable() else json.dumps(one[0])[1:-1], text)


def _literal(value: object, depth: int) -> str:
    """Return a JSON value as Python code, one entry per line."""
    if isinstance(value, float) and not isfinite(value):
        return f'float("{value}")'
    if not isinstance(value, (dict, list)) or not value:
        return repr(value)
    if isinstance(value, dict):
        entries = [f"{name!r}: {_literal(item, depth + 1)}" for name, item in value.items()]
    else:
        entries = [_literal(item, depth + 1) for item in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    inner = "".join(f"{'    ' * (depth + 1)}{entry},\n" for entry in entries)
    return f"{begin}\n{inner}{'    ' * depth}{end}"
