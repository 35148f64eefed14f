"""A document of the user's own, from a job file or edited: the fields of a spec in it, its secrets, and the few changes
that are made to it before it is sent.

Its secrets are no part of a spec, which is stored: they are masked in it, and come from the job file at the submit.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path as File
from typing import Any

import yaml

from ...core.errors import SpecError
from ...core.field_errors import fields
from ...core.i18n import _
from ...core.secret import Secret
from ...jobs.spec import RESOURCES, JobSpec, parse_spec
from ..base import parse_options
from ..job_files import LONGEST_JOB_FILE, Document, Problem
from .names import our_roles
from .options import OpenPaiOptions
from .protocol import problems as protocol
from .protocol.advice import renamed_roles
from .protocol.check import Checked, Cluster, check_document
from .protocol.mending import mend
from .protocol.problems import Path, entry, path_text
from .protocol.reader import parse
from .protocol.references import items, pairs
from .protocol.scalars import Value
from .protocol.writer import write

__all__ = [
    "MASK",
    "applied",
    "as_document",
    "as_problems",
    "filled",
    "idle_note",
    "masked",
    "problems",
    "replaced",
    "role_names",
    "secrets_of",
    "spec_fields",
    "with_code",
]

MASK = "******"
"""Stands for the value of a secret, as in the replies of the server."""

# Fields of a spec that a document replaces, or that it cannot take in.
_IDLE = ("hyperparameters", "args", "inputs", "outputs", "output_path", "environment", "requirements")
# Limits of a spec.
_MOST_INSTANCES = 10_000


def as_document(text: str, name: str = "") -> Document:
    """Return a document for users. Its mended text is empty if there is nothing to mend."""
    mended = mend(text)
    return Document(name or "job.pai.yaml", text, "yaml", "" if mended == text else mended)


def problems(
    text: str, file: File | None = None, secrets: Collection[str] = (), cluster: Cluster | None = None
) -> tuple[Problem, ...]:
    """Return the errors of a document, then its warnings. `file`: the job file that has the values of its secrets;
    `secrets`: the names of others that have a value. `cluster`: check names against its facts too."""
    checked = check_document(text, cluster)
    known = {path_text(path) for path, _value in _secrets(_values_of(file))} if file else set()
    known |= {path_text(("secrets", name)) for name in secrets}
    warnings = [one for one in checked.warnings if one.path not in known]
    return (*as_problems(checked.errors), *_shown_secrets(text), *as_problems(warnings, is_error=False))


def as_problems(found: Iterable[protocol.Problem], *, is_error: bool = True) -> list[Problem]:
    """Return the faults that the protocol names as those of a document."""
    return [Problem(one.line, one.path, one.text, one.fix, is_error) for one in found]


def _shown_secrets(text: str) -> Iterator[Problem]:
    """Yield an error for each secret whose value is in a document: it would be stored with the job."""
    parsed = parse(text)
    nodes = dict(_scalars(parsed.root, ())) if parsed.root is not None else {}
    for path, value in _secrets(parsed.value):
        if value != MASK and path != ("secrets",):
            node = nodes.get(path)
            line = node.start_mark.line + 1 if node and node.start_mark else 0
            said = _("The value would be stored with the job, where it can be read.")
            fix = _("Write `{mask}` there, store the value, and pass it: %pai secret set NAME, then --secret NAME.")
            yield Problem(line, path_text(path), said, fix.format(mask=MASK), True)


def idle_note(spec: JobSpec) -> tuple[str, ...]:
    """Return a note on the fields of a spec that do not change its own document, if there are any."""
    names = [name for name in _IDLE if getattr(spec, name)]
    text = _("The document is sent as it is. These fields do not change it: {fields}")
    return (text.format(fields=", ".join(names)),) if names else ()


# The fields of a spec.


def applied(spec: JobSpec, *, is_generated: bool) -> JobSpec:
    """Return a spec with image, sizes and roles of its document; unchanged if that has errors. It has their commands
    too, except those of a document that was generated from the spec (`is_generated`).

    Raises:
        SpecError: if a spec cannot have such roles.
    """
    checked = check_document(parse_options(OpenPaiOptions, spec.options).document)
    if checked.errors:
        return spec
    changes = spec_fields(checked)
    if is_generated:
        changes = _without_commands(spec, changes, checked.document or {})
    with fields("options.document"):
        return parse_spec({**spec.model_dump(), **changes})


def _without_commands(spec: JobSpec, changes: dict[str, Any], document: Mapping[str, Value]) -> dict[str, Any]:
    """Return image, sizes and roles of a document that was generated from a spec, with the commands of the spec."""
    names = our_roles(document)
    commands = {role.name: role.command for role in spec.roles}
    roles = [{**role, "name": names.get(role["name"], role["name"])} for role in changes["roles"]]
    if not spec.roles and len(roles) == 1:
        sizes = {field: value for field, value in roles[0].items() if field in RESOURCES}
        return {"image": changes["image"], "instance_count": roles[0]["count"], **sizes}
    return {"image": changes["image"], "roles": [{**one, "command": commands.get(one["name"], "")} for one in roles]}


def role_names(document: Mapping[str, Value]) -> dict[str, str]:
    """Return the name of each role in a spec, and on the cluster, by its name in the document."""
    renamed = renamed_roles(document)
    return {role: renamed.get(role, role) for role, _value in pairs(document.get("taskRoles"))}


def spec_fields(checked: Checked) -> dict[str, Any]:
    """Return image and roles of a document without errors, as fields of a spec. Bash runs their commands in the
    container, and not those of the spec: these are for display."""
    document = checked.document or {}
    images = {str(item.get("name")): item.get("uri") for _n, item in items(document.get("prerequisites"))}
    roles = []
    for role, name in role_names(document).items():
        value = entry(document, "taskRoles", role)
        roles.append(
            {
                "name": name,
                "count": min(_whole(entry(value, "instances"), 1), _MOST_INSTANCES),
                "command": checked.entry_points[role].strip() or ":",
                "image": str(images.get(str(entry(value, "dockerImage"))) or ""),
                **_sizes(entry(value, "resourcePerInstance")),
            }
        )
    # The values of the first role are those of the job.
    shared = {field: roles[0][field] for field in ("command", "image")}
    return shared | {"roles": [_without(one, shared) for one in roles]}


def _without(role: dict[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in role.items() if shared.get(field) != value}


def _sizes(resources: Value) -> dict[str, Any]:
    cpu, gpu, memory = (_whole(entry(resources, name), 0) for name in ("cpu", "gpu", "memoryMB"))
    sizes: dict[str, Any] = {"gpu": max(gpu, 0)}
    return sizes | ({"cpu": cpu} if cpu > 0 else {}) | ({"memory": f"{memory}MiB"} if memory > 0 else {})


def _whole(value: Value, default: int) -> int:
    return int(value) if isinstance(value, int | float) else default


# Secrets.


def masked(text: str) -> str:
    """Return a document with a mask in place of the value of each secret."""
    value = parse(text).value
    found = {path: MASK for path, secret in _secrets(value) if secret != MASK}
    return replaced(text, found)


def filled(text: str, file: File | None = None, values: Mapping[str, str] | None = None) -> str:
    """Return a document with the values of its masked secrets: those in `values`, by the name of the secret, else those
    of the job file that it is from. May block.

    Raises:
        SpecError: naming the secrets without a value.
    """
    wanted = [path for path, secret in _secrets(parse(text).value) if secret == MASK]
    if not wanted:
        return text
    own = dict(_secrets(_values_of(file))) if file else {}
    found = {path: (values or {}).get(str(path[-1]), own.get(path, MASK)) for path in wanted}
    if missing := [path_text(path) for path, value in found.items() if value == MASK]:
        raise SpecError(
            _("The value of `{name}` is masked in the document.").format(name="`, `".join(missing)),
            fix=_("Write it into the job file, or store it and pass it: %pai secret set NAME, then --secret NAME."),
        ).at("options.document")
    return replaced(text, found)


def secrets_of(file: File) -> dict[str, Secret]:
    """Return the secrets in a job file by their places in it; none if it cannot be read. May block."""
    return {path_text(path): Secret(str(value)) for path, value in _secrets(_values_of(file)) if value != MASK}


def _values_of(file: File) -> Value:
    try:
        with file.open("rb") as opened:
            return parse(opened.read(LONGEST_JOB_FILE).decode("utf-8")).value
    except (OSError, UnicodeDecodeError):
        return None


def _secrets(document: Value) -> Iterator[tuple[Path, Value]]:
    """Yield the values of secrets with their paths."""
    yield from _leaves(entry(document, "secrets"), ("secrets",))
    for n, item in items(entry(document, "prerequisites")):
        password = entry(item, "auth", "password")
        if isinstance(password, str) and "<%" not in password:
            yield ("prerequisites", n, "auth", "password"), password


def _leaves(value: Value, path: Path, depth: int = 8) -> Iterator[tuple[Path, Value]]:
    if isinstance(value, Mapping) and depth:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key), depth - 1)
    elif isinstance(value, list) and depth:
        for n, inner in enumerate(value):
            yield from _leaves(inner, (*path, n), depth - 1)
    elif value is not None:
        yield path, value


# Changes.


def replaced(text: str, values: Mapping[Path, Value]) -> str:
    """Return a document with other scalars at these paths, and all else as it is written, with its comments.

    A document in which that is not possible, as with aliases of such a value, is written anew with the same values.
    """
    if not values:
        return text
    parsed = parse(text)
    wanted = _with(parsed.value, values, ())
    nodes = dict(_scalars(parsed.root, ())) if parsed.root is not None else {}
    changed = text
    for path in sorted(values.keys() & nodes.keys(), key=lambda path: -_span(nodes[path])[0]):
        start, end = _span(nodes[path])
        changed = changed[:start] + json.dumps(values[path], ensure_ascii=False) + changed[end:]
    if parse(changed).value == wanted:
        return changed
    assert isinstance(wanted, Mapping)
    return write(wanted)


def _span(node: yaml.Node) -> tuple[int, int]:
    assert node.start_mark
    assert node.end_mark
    return node.start_mark.index, node.end_mark.index


def _with(value: Value, values: Mapping[Path, Value], path: Path) -> Value:
    if path in values:
        return values[path]
    if isinstance(value, Mapping):
        return {key: _with(inner, values, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with(inner, values, (*path, n)) for n, inner in enumerate(value)]
    return value


def _scalars(node: yaml.Node, path: Path) -> Iterator[tuple[Path, yaml.ScalarNode]]:
    """Yield the scalars of a node, except keys, with their paths."""
    if isinstance(node, yaml.ScalarNode):
        yield path, node
    elif isinstance(node, yaml.SequenceNode):
        for n, item in enumerate(node.value):
            yield from _scalars(item, (*path, n))
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _scalars(value, (*path, str(key.value)))


def with_code(document: Mapping[str, Value], commands: Sequence[str]) -> dict[str, Value]:
    """Return a document whose roles begin with these commands, before all others of theirs."""
    changed: dict[str, Any] = _with(document, {}, ())  # type: ignore[assignment]
    chosen = entry(document, "defaults", "deployment")
    for role, value in changed["taskRoles"].items():
        value["commands"] = [*commands, *value["commands"]]
        for _n, deployment in items(changed.get("deployments")):
            around = entry(deployment, "taskRoles", role)
            if deployment.get("name") == chosen and isinstance(around, dict) and around.get("preCommands"):
                around["preCommands"] = [*commands, *around["preCommands"]]
                value["commands"] = value["commands"][len(commands) :]
    return changed
