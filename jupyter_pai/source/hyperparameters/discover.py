"""Finds the hyperparameters that a job's code declares, and checks those of the spec."""

from __future__ import annotations

import ast
import posixpath
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ...core.i18n import _
from ...jobs.spec import JobSpec
from .. import hyperparameters, script
from ..jupyter_pai_shell import INVALID, typed
from . import Hyperparameter, Module
from .programs import Code, InspectedFile, declared_by, scripts
from .syntax import assigned
from .words import nargs_of

_inspecting = threading.Lock()
# A value of each type.
_EXAMPLES: dict[str, object] = {"int": 0, "float": 0.0, "bool": False, "list": [], "dict": {}}


@dataclass(frozen=True)
class Inspection:
    """The declared hyperparameters. `closed`: others are rejected. `notes` name problems of those in the spec;
    `refused` has the errors with which the script certainly exits, by field of the spec. `nargs` has the options
    of the started scripts that take several words."""

    hyperparameters: tuple[Hyperparameter, ...]
    files: tuple[InspectedFile, ...]
    closed: bool
    notes: tuple[str, ...]
    refused: dict[str, str] = field(default_factory=dict)
    nargs: dict[str, str] = field(default_factory=dict)


def inspect(spec: JobSpec) -> Inspection:
    """Parse the scripts of a job and the local modules that they import. No code runs."""
    return inspect_modules(spec)[0]


def inspect_modules(spec: JobSpec) -> tuple[Inspection, tuple[Module, ...]]:
    """Return the inspection with the parsed modules. One thread inspects at a time: others wait for one only."""
    with _inspecting:
        return _inspect(spec)


def _inspect(spec: JobSpec) -> tuple[Inspection, tuple[Module, ...]]:
    code = Code(spec.source.folder, spec.source.files)
    declared: dict[str, Hyperparameter] = {}
    notes: dict[str, None] = {}
    refused: dict[str, str] = {}
    closed = []
    started: list[list[Hyperparameter]] = []
    for path, takes_options in dict.fromkeys(scripts(code, spec.command, spec.entry_point)):
        program, options, is_closed = declared_by(path, code)
        # Hyperparameters replace the values of a notebook's parameters cell.
        is_script = script.sets_parameters(code.files.get(path, ""))
        is_set = spec.runs_notebook or is_script
        notes |= dict.fromkeys(_notes(options, spec.hyperparameters) if is_script else ())
        if spec.runs_notebook and not any(option.origin == "cell" for option in options):
            notes |= dict.fromkeys(_set_again(program.modules.get(path), spec.hyperparameters))
        for option in options:
            is_option = is_set and option.origin == "cell"
            declared.setdefault(option.name, replace(option, form="option") if is_option else option)
        if takes_options:
            closed.append(is_closed)
            started.append(options)
        if takes_options and is_closed:
            wrong = dict(hyperparameters.check_values(options, spec.hyperparameters))
            # Our own launch line.
            if not spec.command.strip() and path == posixpath.normpath(spec.entry_point):
                with suppress(RecursionError, AttributeError, TypeError, ValueError):  # Unusual code is not refused.
                    refused = hyperparameters.refusals(program, options, spec.hyperparameters, spec.args, wrong)
            notes |= dict.fromkeys(text for text in wrong.values() if text not in refused.values())
    inspection = Inspection(
        tuple(declared.values()), tuple(code.inspected.values()), bool(closed) and all(closed), tuple(notes), refused,
        nargs_of(started),
    )  # fmt: skip
    return inspection, tuple(code.modules.values())


def _set_again(module: Module | None, values: Mapping[str, str]) -> Iterator[str]:
    """Yield notes on the values that the code of a notebook without a cell `parameters` replaces by constants."""
    lines: dict[str, list[int]] = {}
    for statement in module.tree.body if module else ():
        for name, value in assigned(statement):
            # Other values may depend on the hyperparameters: `lr = lr or 0.1`, `lr = args.lr`.
            is_constant = not any(isinstance(node, ast.Name) for node in ast.walk(value))
            lines.setdefault(name, []).append(statement.lineno if is_constant else 0)
    for name in values:
        if module and all(found := lines.get(name, [0])):
            yield _(
                "The code sets `{name}` again ({place}), after the hyperparameters. Add the tag `parameters` to its "
                "cell to replace this value."
            ).format(name=name, place=module.place(found[0]))


def _notes(declared: Sequence[Hyperparameter], values: Mapping[str, str]) -> Iterator[str]:
    """Yield notes on the values that do not fit the cell `parameters` of a script."""
    cell = {one.name: one for one in declared if one.origin == "cell"}
    has_parser = any(one.origin in ("argparse", "click", "typer") for one in declared)
    for name, value in values.items():
        if name not in cell:
            if not has_parser:
                yield _("The cell `parameters` does not define `{name}`.").format(name=name)
            continue
        try:
            typed(value, _EXAMPLES.get(cell[name].type))
        except (KeyError, *INVALID):
            text = _("`{name}` is passed as text: it is not a valid {type}, the type of its default.")
            yield text.format(name=name, type=cell[name].type)
