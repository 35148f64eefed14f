"""The check of a job document: the server's verdict before the submit, and what ends the job later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ....core.i18n import _
from .advice import advice
from .commands import BadCommand, entry_points
from .problems import Problem, path_text
from .reader import Parsed, parse
from .references import Cluster, Sku, broken_references, refused_by_cluster
from .scalars import Value
from .schema import Fault, faults

__all__ = ["LIMIT", "Checked", "Cluster", "Sku", "check_document"]

LIMIT = 102_400
"""The largest document that the server takes, in bytes."""


@dataclass(frozen=True)
class Checked:
    """The result of a check.

    `document`: the values of a document that could be read. `errors`: the server refuses the document because of them;
    empty if it takes it. `warnings`: the server takes the document, and the job probably fails. `entry_points`: the
    command of each role, with the templates filled in; empty if there are errors.
    """

    document: Mapping[str, Value] | None
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    entry_points: Mapping[str, str] = field(default_factory=dict)


def check_document(text: str, cluster: Cluster | None = None) -> Checked:
    """Check a document as it is sent. `cluster`: check names against its facts too."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > LIMIT:
        return Checked(None, (_too_large(size),))
    parsed = parse(text)
    if parsed.error:
        return Checked(None, (parsed.error,))
    document = parsed.value if isinstance(parsed.value, Mapping) else None
    if errors := _problems(parsed, faults(parsed.value)):
        return Checked(document, errors)
    assert document is not None
    errors = _problems(parsed, broken_references(document))
    try:
        points = entry_points(document)
    except BadCommand as error:
        errors += _problems(parsed, error.faults)
        points = {}
    if cluster:
        errors += _problems(parsed, refused_by_cluster(document, cluster))
    warnings = _problems(parsed, advice(document, points))
    return Checked(document, errors, warnings, {} if errors else {name: point.text for name, point in points.items()})


def _problems(parsed: Parsed, found: Iterable[Fault]) -> tuple[Problem, ...]:
    return tuple(
        Problem(path_text(fault.path), fault.text, fault.fix, parsed.line(fault.path), fault.mendable)
        for fault in found
    )


def _too_large(size: int) -> Problem:
    text = _("The document has {size} bytes, and the server takes {limit}.")
    return Problem("", text.format(size=f"{size:,}", limit=f"{LIMIT:,}"), _("Move code and data out of the commands."))
