"""`workflow.yaml`: a workflow by hand, read and written. Relative paths start at the folder of the file."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from ...core.errors import PaiError, SpecError
from ...core.i18n import _
from ..spec import JobSpec
from .workflow import Step, Workflow

# Texts that are not paths: URIs, absolute paths, and results of steps.
_NO_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/|\{\{")
_CHANNELS = ("inputs", "outputs")


class _Loader(yaml.CSafeLoader):
    """YAML without times, and without repeated keys."""

    yaml_implicit_resolvers = {  # The declaration of the base class.
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise SpecError(
                    _("Line {line}: a key is not a text.").format(line=key.start_mark.line + 1),
                    fix=_('Write a result of a step in quotes: "{example}".').format(example="{{STEP.outputs.NAME}}"),
                )
            if key.value in seen and key.value != "<<":
                raise SpecError(
                    _("Line {line}: the key `{key}` is repeated.").format(line=key.start_mark.line + 1, key=key.value)
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


class _Dumper(yaml.CSafeDumper):
    """YAML with the lines of a text below each other."""


def _text(dumper: yaml.CSafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


@contextmanager
def in_file(path: Path) -> Iterator[None]:
    """Name a file in the user errors of this block."""
    try:
        yield
    except PaiError as error:
        if error.status < 500:
            error.message = "\n".join(f"{path.name}: {line}" for line in error.message.splitlines())
            error.args = (error.message,)
        raise


def read_document(path: Path) -> dict[str, Any]:
    """Return the workflow of a YAML or JSON file as JSON values, with absolute paths. A folder of code that a step does
    not name is that of the file.

    Raises:
        SpecError: naming the file, and the step and field, or the line.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or _("not UTF-8 text")
        raise SpecError(_("Cannot read {path}: {error}").format(path=path, error=what)) from None
    with in_file(path):
        document = _parse(text)
        _check_keys(document, "", (*Workflow.model_fields,))
        steps = document.get("steps")
        if not isinstance(steps, list):
            raise SpecError(_("`steps` must be a list of steps."), fix=_("Write: steps: [{name: …, spec: {…}}, …]")).at(
                "steps"
            )
        folder = path.parent.absolute()
        named = [_step(step, number, folder) for number, step in enumerate(steps)]
        return {"name": path.stem} | document | {"steps": named}


def _parse(text: str) -> dict[str, Any]:
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506  # A safe loader.
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
        line = _("Line {line}: {problem}.").format(line=mark.line + 1, problem=problem) if mark else str(problem)
        raise SpecError(line, fix=_("Quote texts that contain `: `, `#`, `{` or `[`.")) from None
    if not isinstance(document, dict):
        raise SpecError(_("The file contains no workflow."), fix=_("Write: name: NAME, and: steps: […]"))
    return document


def _step(step: object, number: int, folder: Path) -> dict[str, Any]:
    """Return a step with absolute paths."""
    place = f"steps.{number}"
    if not isinstance(step, dict):
        raise SpecError(_("{place} is not a mapping.").format(place=place), fix=_("Write: - name: …")).at(place)
    place = f"steps.{step.get('name', number)}"
    _check_keys(step, place, (*Step.model_fields,))
    spec = step.get("spec", {})
    if not isinstance(spec, dict):
        raise SpecError(
            _("{place}: `spec` must be a mapping.").format(place=place), fix=_("Write: spec: {command: …}")
        ).at(f"{place}.spec")
    _check_keys(spec, f"{place}.spec", (*JobSpec.model_fields,))
    return step | {"spec": _absolute(spec, folder)}


def _check_keys(table: Mapping[Any, Any], place: str, known: Collection[str]) -> None:
    """Raise for the first unknown key, with a suggestion."""
    for key in table:
        if key not in known:
            near = get_close_matches(str(key), known, 1, 0.5)
            fix = _("Did you mean `{name}`?").format(name=near[0]) if near else ""
            if not place.endswith("spec") and place and key in JobSpec.model_fields:
                fix = _("`{key}` is a field of the job: write it below `spec`.").format(key=key)
            path = f"{place}.{key}".lstrip(".")
            raise SpecError(
                _("Unknown key `{key}`.").format(key=path),
                fix=fix or _("Valid names: {names}.").format(names=", ".join(sorted(known))),
            ).at(path)


def _absolute(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a spec with absolute paths, and with the folder of the file as the default folder of code."""

    def absolute(value: Any) -> Any:
        if not isinstance(value, str) or not value.strip() or _NO_PATH.match(value):
            return value
        path = os.path.normpath(folder / os.path.expanduser(value))
        return path + "/" * (value.endswith("/") and path != "/")

    spec, source = dict(spec), spec.get("source", {})
    source = {"folder": source} if isinstance(source, str) else source
    if isinstance(source, dict):
        spec["source"] = source | {"folder": absolute(source.get("folder", "."))}
    for field in _CHANNELS:
        if isinstance(spec.get(field), dict):
            spec[field] = {name: absolute(value) for name, value in spec[field].items()}
    if "output_path" in spec:
        spec["output_path"] = absolute(spec["output_path"])
    return spec


def document_text(workflow: Workflow, folder: Path | None = None) -> str:
    """Return a workflow as YAML without default values. Paths in `folder` are relative to it."""
    document = workflow.model_dump(mode="json", exclude_defaults=True)
    steps = [_written(step, workflow.name, folder) for step in document.pop("steps")]
    return str(yaml.dump(document | {"steps": steps}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


def _written(step: dict[str, Any], workflow: str, folder: Path | None) -> dict[str, Any]:
    def relative(value: str) -> str:
        if not folder or not value.startswith("/") or not Path(value).is_relative_to(folder):
            return value
        return os.path.relpath(value, folder) + "/" * value.endswith("/")

    spec = step["spec"]
    if spec.get("name") == f"{workflow}-{step['name']}"[:128]:
        del spec["name"]
    source = spec.setdefault("source", {})
    # An empty folder packs nothing, and a missing one means the folder of the file.
    source["folder"] = relative(source.get("folder", ""))
    if source == {"folder": "."}:
        del spec["source"]
    for field in _CHANNELS:
        if field in spec:
            spec[field] = {name: relative(value) for name, value in spec[field].items()}
    if "output_path" in spec:
        spec["output_path"] = relative(spec["output_path"])
    return {
        "name": step["name"],
        **{name: step[name] for name in Step.model_fields if name in step and name != "spec"},
        "spec": spec,
    }
