"""A spec as the line that asks for it: the way back from `submission`.

Each form gives an equal spec when it is run where the folder of code lies. What no option can say (a backend's own
options, files made of a notebook) goes with ``--spec`` on the command line, and as Python in a cell. Of secrets there
are only names in a spec.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ..core.errors import NotebookError
from ..jobs.spec import JobSpec
from ..source import script

_PLAIN = ("name", "profile", "command", "python", "image", "instance_type", "instance_count", "cpu", "gpu", "memory")
_TABLES = {
    "hyperparameters": "hp", "inputs": "input", "outputs": "output", "environment": "env", "labels": "label",
}  # fmt: skip
_LISTS = {"include": "include", "exclude": "exclude", "allow_secret": "allow-secret"}
_CONTAINERS = ("auto", "podman", "docker", "none")
_HEADER = "# %%pai_train\n"
# What a magic would take for a variable; not in the values of these options.
_VARIABLE = re.compile(r"\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*")
_VERBATIM = ("--metric", "--command")


# Options with their values, flags with none; None where no options can say it.
_Pairs = list[tuple[str, str]] | None


class Recipe(NamedTuple):
    """The same spec in four forms: for a cell, for a terminal, for a script, for `--spec`."""

    cell: str
    cli: str
    python: str
    json: str


def recipe(
    spec: JobSpec, backend: str = "", *, profile: str = "", named: bool = True, script: JobSpec | None = None
) -> Recipe:
    """How to ask for a spec once more, on a backend's default `profile` if one is given. JSON has no word for a
    backend, and gets the profile. Unless it is `named`, each submit of it gets a name of its own. `script` is the spec
    with a script made of its notebook, if that is to run: lines say so, and the other forms have it.
    """
    values = (script or spec).model_dump(mode="json", exclude_defaults=True)
    if not named:
        del values["name"]
    if not spec.source.folder:
        values["source"] = {"folder": ""} | values.get("source", {})  # Not said, it would be that of who asks.
    python = _python(values | ({"backend": backend} if backend else {}))
    options = _options(spec)
    if options is not None:
        options = [pair for pair in options if named or pair[0] != "--name"]
        options += [("--backend", backend)] * bool(backend) + [("--as-script", "")] * bool(script)
    cli = _cli(spec, values, options, backend)
    return Recipe(
        _cell(spec, options) or python, cli, python, _json(values | ({"profile": profile} if profile else {}))
    )


def _cell(spec: JobSpec, pairs: _Pairs) -> str:
    """The magic; empty if it cannot say this."""
    if pairs is None or not all(_is_plain(option, value) for option, value in pairs):
        return ""
    if code := _code_of(spec):
        return f"{shlex.join(['%%pai_train', *_words(pairs)])}\n{code}"
    target = _target(spec)
    if target is None or not _is_plain("", target):
        return ""
    return shlex.join(["%pai", "submit", *filter(None, [target]), *_words(pairs)])


def _cli(spec: JobSpec, values: Mapping[str, Any], pairs: _Pairs, backend: str) -> str:
    target = _target(spec)
    if pairs is not None and target is not None:
        words = [*filter(None, [target]), *_words(pairs)]
        if all(word.replace("\n", "").isprintable() for word in words):
            return shlex.join(["jupyter", "pai", "submit", *words])
    # No line of indented JSON is the word that ends it.
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
    """Each option with its value, flags with none; None if there is something that options cannot say."""
    source = spec.source
    container = str(spec.options.get("container", ""))
    if spec.layout != "usercode" or not source.folder or not _are_pairs(spec):
        return None
    if spec.options and (len(spec.options) > 1 or container not in _CONTAINERS):
        return None
    given = [("--source", source.folder), *_plain(spec)]
    for field, option in _TABLES.items():
        given += [(f"--{option}", f"{name}={value}") for name, value in getattr(spec, field).items()]
    given += [("--secret", name if name == kept else f"{name}={kept}") for name, kept in spec.secrets.items()]
    given += [("--metric", f"{one.name}={one.regex}") for one in spec.metric_definitions]
    given += [("--requirement", text) for text in spec.requirements]
    for field, option in _LISTS.items():
        given += [(f"--{option}", text) for text in getattr(source, field)]
    given += [("--output-path", spec.output_path)] * bool(spec.output_path)
    given += [("--container", container)] * bool(container)
    if not all(value for _option, value in given):
        return None
    return given + [("--tty", "")] * spec.tty + [("--no-gitignore", "")] * (not source.gitignore)


def _plain(spec: JobSpec) -> Iterator[tuple[str, str]]:
    defaults = {name: field.default for name, field in JobSpec.model_fields.items()}
    for name in (*_PLAIN, "max_run_time"):
        value = getattr(spec, name)
        if value != defaults[name]:
            yield f"--{name.replace('_', '-')}", f"{value:g}" if value == float("inf") else str(value)


def _are_pairs(spec: JobSpec) -> bool:
    """Return whether all names can be written as NAME=VALUE."""
    names = [name for field in _TABLES for name in getattr(spec, field)]
    return all(name and "=" not in name for name in [*names, *(one.name for one in spec.metric_definitions)])


def _target(spec: JobSpec) -> str | None:
    """The script as `submit` takes it: empty if there is none, None if it cannot."""
    if spec.source.files:
        return None
    if not spec.entry_point:
        return ""
    path = PurePosixPath(spec.entry_point)
    if path.is_absolute() or ".." in path.parts or path.suffix not in (".py", ".sh", ".ipynb"):
        return None
    return os.path.join(spec.source.folder, path) if str(path) == spec.entry_point else None


def _code_of(spec: JobSpec) -> str:
    """Return the code of the cell below `%%pai_train`, if the script was made of one."""
    files = spec.source.files
    text = files.get(spec.entry_point, "")
    if len(files) != 1 or not re.fullmatch(r"pai_cell(_\d+)?\.py", spec.entry_point) or not text.startswith(_HEADER):
        return ""
    code = text.removeprefix(_HEADER)[:-1]
    try:
        return code if script.from_cell(code).text == text else ""
    except NotebookError:
        return ""


def _json(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, ensure_ascii=False, indent=2)
    # What cannot be seen is escaped: pasted into a terminal, it would do things there.
    return re.sub(r"[^\n -~]", lambda one: one[0] if one[0].isprintable() else json.dumps(one[0])[1:-1], text)


def _python(values: Mapping[str, Any]) -> str:
    fields = "".join(f"    {name}={_literal(value, 1)},\n" for name, value in values.items())
    return f"import jupyter_pai\n\njob = jupyter_pai.submit(\n{fields})"


def _literal(value: object, depth: int) -> str:
    """A JSON value as Python writes it, one entry a line."""
    if (isinstance(value, float) and value in (float("inf"), float("-inf"))) or value != value:
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
