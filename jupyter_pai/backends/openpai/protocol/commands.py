"""The entry point of each role: its commands with those of the deployment around them, and the templates filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ....core.i18n import _
from .problems import Path, entry
from .references import items, pairs
from .scalars import Value
from .schema import Fault
from .templates import BadTemplate, Rendered, render

__all__ = ["BadCommand", "EntryPoint", "entry_points"]


@dataclass(frozen=True)
class EntryPoint:
    """The script that bash runs in each instance of a role. `pieces`: the commands with their paths, in order."""

    text: str
    rendered: Rendered
    pieces: tuple[tuple[Path, str], ...]

    def path(self, pattern: str) -> Path:
        """Return the path of the first command that matches a pattern; of the first command if none does."""
        return next((path for path, command in self.pieces if re.search(pattern, command)), self.pieces[0][0])


class BadCommand(ValueError):
    """Templates that the server cannot fill in. `faults`: one for each role."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(faults)
        self.faults = faults


def entry_points(document: Mapping[str, Value]) -> dict[str, EntryPoint]:
    """Return the entry point of each role. The schema must hold.

    Raises `BadCommand` for commands that the server cannot fill in.
    """
    points: dict[str, EntryPoint] = {}
    faults: list[Fault] = []
    for role, value in pairs(document.get("taskRoles")):
        pieces = _pieces(document, role, value)
        try:
            rendered = render("\n".join(command for _path, command in pieces), _values(document, value))
        except BadTemplate as error:
            faults.append(_unclosed(pieces, error.position))
        except OverflowError:
            text = _("The parameters make a command of more than a million characters.")
            faults.append(Fault(("taskRoles", role, "commands"), text, _("Shorten the parameters.")))
        else:
            points[role] = EntryPoint(rendered.text, rendered, pieces)
    if faults:
        raise BadCommand(faults)
    return points


def _pieces(document: Mapping[str, Value], role: str, value: Value) -> tuple[tuple[Path, str], ...]:
    lists: list[tuple[Path, Value]] = [(("taskRoles", role, "commands"), entry(value, "commands"))]
    chosen = entry(document, "defaults", "deployment")
    for n, item in items(document.get("deployments")):
        if chosen is not None and item.get("name") == chosen:
            path: Path = ("deployments", n, "taskRoles", role)
            around = entry(item, "taskRoles", role)
            lists.insert(0, ((*path, "preCommands"), entry(around, "preCommands")))
            lists.append(((*path, "postCommands"), entry(around, "postCommands")))
    return tuple(
        ((*path, n), str(command).strip())
        for path, commands in lists
        for n, command in enumerate(commands if isinstance(commands, list) else ())
    )


def _values(document: Mapping[str, Value], role: Value) -> dict[str, Value]:
    """Return the values that the templates of a role can name."""
    values: dict[str, Value] = {"$parameters": document.get("parameters")}
    for kind in ("script", "output", "data"):
        for _n, item in items(document.get("prerequisites")):
            if item.get("type") == kind and item.get("name") == entry(role, kind):
                values[f"${kind}"] = item
    return values


def _unclosed(pieces: tuple[tuple[Path, str], ...], position: int) -> Fault:
    while position > len(pieces[0][1]):
        position -= len(pieces[0][1]) + 1
        pieces = pieces[1:]
    text = _("The server reads `<%` as the start of a template, and this one has no valid end.")
    return Fault(pieces[0][0], text, _("Close it by `%>`, or write the command without `<%`, for example in a script."))
