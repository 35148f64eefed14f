"""Imports go downhill only, lazy ones counted. The plan is the one in docs/architecture.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "jupyter_pai"
# The hooks and the entry of the command line, above all floors.
ROOF = ("__init__", "__main__", "locale")


def plan() -> dict[str, int]:
    """Each room's floor."""
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    block = re.search(r"```floor-plan\n(.*?)```", text, re.DOTALL)
    assert block
    return {room: floor for floor, line in enumerate(block[1].splitlines()) for room in line.split()}


FLOORS = plan()


def room_of(module: str) -> str:
    """The room that a module (`backends.local.process`) is in: the longest name in the plan that it begins with."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in FLOORS:
            return ".".join(parts[:length])
    return parts[0]


def modules() -> dict[str, Path]:
    """Every module, by its name below the package."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        found[name.removesuffix(".__init__") if name != "__init__" else name] = path
    return found


def imports(name: str, path: Path) -> set[str]:
    """The modules of ours that a module imports, wherever in it."""
    package = ["jupyter_pai", *name.split(".")]
    if path.name != "__init__.py":
        package.pop()
    known = modules()
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            full = ".".join([*base, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                inner = f"{full}.{alias.name}".removeprefix("jupyter_pai.")
                found.add(f"jupyter_pai.{inner}" if inner in known else full)
    return {item.removeprefix("jupyter_pai.") for item in found if item.startswith("jupyter_pai.")}


def test_every_module_has_a_floor() -> None:
    rooms = {room_of(name) for name in modules() if name.split(".")[0] not in ROOF}
    assert rooms - FLOORS.keys() == set()
    assert FLOORS.keys() - rooms == set()


def test_imports_go_downhill() -> None:
    wrong = []
    for name, path in modules().items():
        if name.split(".")[0] in ROOF:
            continue
        here = room_of(name)
        for other in imports(name, path):
            there = room_of(other)
            if there != here and FLOORS[there] >= FLOORS[here]:
                wrong.append(f"{name} ({here}, floor {FLOORS[here]}) imports {other} (floor {FLOORS[there]})")
    assert wrong == []


def test_platforms_and_storages_know_nothing_of_each_other() -> None:
    for here, there in (("backends", "storage"), ("storage", "backends")):
        for name, path in modules().items():
            if name.split(".")[0] == here:
                assert {other for other in imports(name, path) if other.split(".")[0] == there} == set(), name


def test_the_standard_library_is_enough_where_we_own_no_packages() -> None:
    import sys

    ours = ("contract", "report", "launcher")
    light = [f"backends.local.{name}" for name in ("supervisor", "guard", "output", "tree", "plan", "namespaces")]
    for name in (*ours, *light):
        path = modules()[name]
        tree = ast.parse(path.read_text("utf-8"))
        tops = {
            alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        tops |= {
            (node.module or "").split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and not node.level
        }
        allowed = {"jupyter_pai", "packaging", "pip"} if name == "launcher" or name.startswith("backends") else set()
        assert tops - sys.stdlib_module_names - allowed == set(), name


def test_traitlets_stops_at_the_server_and_the_widget() -> None:
    for name, path in modules().items():
        if not name.startswith("server") and name != "widget":
            assert "traitlets" not in path.read_text("utf-8"), name


def test_files_are_short_enough_to_read() -> None:
    lengths = {name: len(path.read_text("utf-8").splitlines()) for name, path in modules().items()}
    assert {name: lines for name, lines in lengths.items() if lines > 370} == {}
