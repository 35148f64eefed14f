"""The mutants of the core: small changes of its code that a test should notice."""

from __future__ import annotations

import ast
import difflib
import random
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from itertools import islice
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

__all__ = ["SUBJECTS", "Mutant", "Subject", "sample"]

ROOT = Path(__file__).parents[2]
EQUIVALENTS = Path(__file__).with_name("equivalents.toml")


@dataclass(frozen=True)
class Subject:
    """A part of the core: modules below `jupyter_pai`, and tests below `tests/integration` that use them."""

    modules: tuple[str, ...]
    integration: tuple[str, ...]


def _subject(modules: str, *integration: str) -> Subject:
    tests = [f"{folder}/test_{name}.py" for folder, *names in map(str.split, integration) for name in names]
    return Subject(tuple(modules.split()), tuple(tests))


SUBJECTS = {
    "store": _subject(
        "jobs/store/*.py", "local damaged_database shared_state_folder reruns retention network_disks", "server rest"
    ),
    "submit": _subject(
        "engine/submit.py engine/submit_plan.py engine/requests.py",
        "local reruns",
        "pai staging refused_submits billing_consent job_options datasets network_faults interrupted_submits",
        "data remote_inputs",
        "cli cli",
        "server forms",
        "plugin masked_secrets",
    ),
    "follow": _subject(
        "engine/watcher/*.py jobs/metrics/log_source.py jobs/logs/file.py",
        "local event_files jobs working_files shared_state_folder",
        "pai jobs logs platform_metrics remote_event_files event_files_in_buckets current_statuses optional_reads",
        "pai run_time_limits",
        "server slow_metric_patterns",
        "plugin masked_secrets",
    ),
    "packing": _subject(
        "source/pack.py source/ignore.py source/archive.py source/file_cache.py",
        "local reruns",
        "server forms",
        "cli cli",
    ),
    "policy": _subject(
        "config/policy.py", "local state_folder_permissions", "server policy", "pai policy billing_consent"
    ),
    "transport": _subject(
        "cloud/http.py cloud/alibaba/openapi.py", "pai credentials catalog_and_doctor jobs network_faults"
    ),
    "supervisor": _subject(
        "backends/local/supervisor/*.py",
        "local supervisor secret_logs resource_usage jobs containers queue",
        "local job_limits job_secrets state_folder_permissions shared_state_folder",
    ),
}


@dataclass(frozen=True)
class Mutant:
    """One change of one module, as Cosmic Ray counts it."""

    subject: str
    path: str
    operator: str
    occurrence: int
    place: tuple[int, int]

    @property
    def name(self) -> str:
        """The name in the file of results."""
        return f"{self.path}:{self.place[0]} {self.operator} {self.occurrence}"

    @cached_property
    def original(self) -> str:
        """The code without the change."""
        return (ROOT / self.path).read_text("utf-8")

    @cached_property
    def code(self) -> str:
        """The code with the change."""
        return str(mutate_code(self.original, get_operator(self.operator)(), self.occurrence))

    @cached_property
    def diff(self) -> list[str]:
        """The changed lines, with `-` and `+`."""
        lines = difflib.unified_diff(self.original.splitlines(), self.code.splitlines(), n=0, lineterm="")
        return [line for line in lines if not line.startswith(("---", "+++", "@@"))]

    @property
    def is_valid(self) -> bool:
        """True if Python compiles the code, to other code than the original."""
        try:
            return ast.dump(ast.parse(self.code)) != ast.dump(ast.parse(self.original))
        except (SyntaxError, AttributeError):  # The latter for exceptions with a dot, which Cosmic Ray cannot replace.
            return False

    @property
    def equivalence(self) -> str:
        """The reason why the change has no effect that a test could notice; "" for all others."""
        lines = [f"{line[0]} {line[1:].strip()}" for line in self.diff]
        for known in tomllib.loads(EQUIVALENTS.read_text("utf-8"))["equivalent"]:
            if fnmatch(self.path, f"jupyter_pai/{known['path']}") and (
                known["diff"].splitlines() == lines
                if "diff" in known
                else any(re.match(known["line"], line[2:]) for line in lines if line[0] == "-")
            ):
                return str(known["reason"])
        return ""


def sample(seed: int, count: int) -> list[Mutant]:
    """Return random mutants of all subjects, the same for the same seed and code.

    A place of the code gives at most one. Otherwise most of them would exchange arithmetic operators, which has eleven
    variants for each place.
    """
    chance = random.Random(seed)
    places: dict[tuple[str, str, object], list[Mutant]] = {}
    for name, subject in SUBJECTS.items():
        for mutant in _mutants(name, subject):
            places.setdefault((mutant.path, mutant.operator.split("_")[0], mutant.place), []).append(mutant)
    mutants = [chance.choice(variants) for variants in places.values()]
    chance.shuffle(mutants)
    valid = (mutant for mutant in mutants if mutant.is_valid)
    return list(islice(valid, count))


def _mutants(name: str, subject: Subject) -> Iterator[Mutant]:
    for pattern in subject.modules:
        for path in sorted((ROOT / "jupyter_pai").glob(pattern)):
            yield from _mutants_of(name, path)


def _mutants_of(subject: str, path: Path) -> Iterator[Mutant]:
    code = path.read_text("utf-8")
    nodes = list(ast_nodes(get_ast(code)))
    annotations = _annotations(code)
    for operator_name in operator_names():
        operator = get_operator(operator_name)
        if operator.arguments():  # Those that replace names need names.
            continue
        positions = (position for node in nodes for position in operator().mutation_positions(node))
        for occurrence, (start, _end) in enumerate(positions):
            if not any(first <= start < last for first, last in annotations):
                yield Mutant(subject, str(path.relative_to(ROOT)), operator_name, occurrence, start)


def _annotations(code: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the positions of type annotations, which are never evaluated."""
    expressions: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            expressions.append(node.returns)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            expressions.append(node.annotation)
    return [
        ((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0)) for one in expressions if one
    ]
