"""References of a workflow to the results of a step: `train.outputs.accuracy` in a condition, `{{train.channel.model}}`
in a spec."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.errors import SpecError
from ...core.i18n import _

if TYPE_CHECKING:
    from ..spec import JobSpec

# The name of a step. It is part of references, so it has no dots.
STEP_NAME = r"[A-Za-z][A-Za-z0-9_-]{0,62}"
# What a reference names: an output parameter, a metric's last value, or an output channel.
OUTPUTS, METRICS, CHANNEL = "outputs", "metrics", "channel"
# Fields of a spec in which references are not replaced.
_LITERAL = frozenset({"name", "profile", "source", "secrets", "metric_definitions", "labels"})
_TEMPLATE = re.compile(rf"\{{\{{\s*({STEP_NAME})\.([^{{}}\n]+?)\s*\}}\}}")


def check_step_name(name: str) -> None:
    """Check the name of a step.

    Raises:
        SpecError: if it is invalid.
    """
    if not re.fullmatch(STEP_NAME, name):
        raise SpecError(
            _("`{name}` is not a name: use letters, digits, `-` and `_`, and begin with a letter.").format(name=name)
        )


class Reference(NamedTuple):
    """A result of a step. `kind` is `outputs`, `metrics`, `channel`, or empty for an output parameter that may also be
    a metric."""

    step: str
    kind: str
    name: str

    @staticmethod
    def parse(text: str) -> Reference:
        """Parse `STEP.NAME` or `STEP.KIND.NAME`.

        Raises:
            SpecError: if it has another form.
        """
        match = re.fullmatch(rf"({STEP_NAME})\.(?:({OUTPUTS}|{METRICS}|{CHANNEL})\.)?(.+)", text)
        if not match:
            raise SpecError(
                _("`{text}` is not a result of a step.").format(text=text),
                fix=_("Write STEP.NAME, STEP.outputs.NAME, STEP.metrics.NAME or STEP.channel.NAME."),
            )
        return Reference(match[1], match[2] or "", match[3])

    def __str__(self) -> str:
        return ".".join(filter(None, self))


def references(spec: JobSpec) -> dict[Reference, str]:
    """Return the references in a spec, each with the first field that has it."""
    found: dict[Reference, str] = {}
    for field, text in _texts(spec.model_dump(mode="json", exclude={*_LITERAL}), ""):
        for match in _TEMPLATE.finditer(text):
            found.setdefault(Reference.parse(f"{match[1]}.{match[2]}"), field)
    return found


def replaced(spec: JobSpec, value: Callable[[Reference], str]) -> JobSpec:
    """Return a spec with the values of its references.

    Raises:
        SpecError: if the result is not a valid spec.
    """

    def replace(node: Any) -> Any:
        if isinstance(node, str):
            return _TEMPLATE.sub(lambda match: value(Reference.parse(f"{match[1]}.{match[2]}")), node)
        if isinstance(node, dict):
            return {name: replace(item) for name, item in node.items()}
        return [replace(item) for item in node] if isinstance(node, (list, tuple)) else node

    from ..spec import parse_spec  # Imports pydantic, which a notebook that only names results does not need.

    values = spec.model_dump(mode="python")
    return parse_spec({name: item if name in _LITERAL else replace(item) for name, item in values.items()})


def without_references(spec: JobSpec) -> JobSpec:
    """Return a spec without the inputs, outputs and texts that are results of other steps: they cannot be checked
    before these ran. Values of hyperparameters, arguments and variables stay."""
    changes: dict[str, object] = {}
    for field in ("inputs", "outputs"):
        values: dict[str, str] = getattr(spec, field)
        changes[field] = {channel: uri for channel, uri in values.items() if not _TEMPLATE.search(uri)}
    for field in ("output_path", "image", "instance_type", "python"):
        if _TEMPLATE.search(getattr(spec, field)):
            changes[field] = ""
    return spec.model_copy(update=changes)


def _texts(node: Any, field: str) -> Iterator[tuple[str, str]]:
    """Return the texts of a JSON value, each with its path."""
    if isinstance(node, str):
        yield field, node
    elif isinstance(node, (dict, list)):
        for name, item in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _texts(item, f"{field}.{name}" if field else str(name))
