"""Imports go downhill only, lazy ones counted. The rooms are those of docs/architecture.md."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "jupyter_pai"
# Rooms by floor, ground first. Rooms of one floor do not know each other.
FLOORS = (
    ("core",),
    ("jobs",),
    ("source", "config"),
    ("cloud",),
    ("storage", "backends"),
    ("engine",),
    ("api",),
    ("server", "client"),
    ("commands", "sdk"),
)
RANK = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# Beside the rooms: what every room may import, and what may import every room.
GROUND = ("report",)
ROOF = ("__init__", "__main__", "locale")


def room_of(module: str) -> str:
    """Return the first segment of a module's name below the package."""
    return module.partition(".")[0]


@cache
def modules() -> dict[str, Path]:
    """Return every module by its name below the package."""
    paths = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        paths[name.removesuffix(".__init__") if name != "__init__" else name] = path
    return paths


def imports(name: str, path: Path) -> set[str]:
    """Return our modules that a module imports, in functions and for types too."""
    package = ["jupyter_pai", *name.split(".")]
    if path.name != "__init__.py":
        package.pop()
    known = modules()
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            full = ".".join([*base, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                inner = f"{full}.{alias.name}".removeprefix("jupyter_pai.")
                names.add(f"jupyter_pai.{inner}" if inner in known else full)
    return {item.removeprefix("jupyter_pai.") for item in names if item.startswith("jupyter_pai.")}


@cache
def graph() -> dict[str, set[str]]:
    """Return the imports of every module of the rooms."""
    return {name: imports(name, path) for name, path in modules().items() if room_of(name) not in ROOF}


def test_package_has_these_rooms_and_no_others() -> None:
    assert {room_of(name) for name in graph()} == {*RANK, *GROUND}


def test_room_imports_lower_rooms_only() -> None:
    uphill = [
        f"{name} imports {other}"
        for name, others in graph().items()
        for other in others
        if room_of(other) not in (room_of(name), *GROUND) and RANK[room_of(other)] >= RANK.get(room_of(name), -1)
    ]
    assert uphill == []


def test_no_room_has_a_circle() -> None:
    for room in RANK:
        # A package stands for its `__init__.py`, which its modules run before they do anything.
        within = {
            name: {o for o in others if room_of(o) == room} for name, others in graph().items() if room_of(name) == room
        }
        try:
            TopologicalSorter(within).prepare()
        except CycleError as error:
            raise AssertionError(f"{room}: {' -> '.join(error.args[1])}") from None


def test_modules_inside_jobs_use_only_the_standard_library() -> None:
    import sys

    ours = ["core.contract", "core.errors", "core.secret_filter", "report", "source.magic_line", "source.entry_point"]
    ours += ["sdk.tikit.in_job", "source.hyperparameters.programs", "source.import_paths"]
    ours += [f"backends.runtime.{name}" for name in ("conda", "launcher", "uv_install", "in_place", "recorded_output")]
    supervisor = "main guard output process_tree arguments namespaces".split()
    light = [f"backends.local.supervisor.{name}" for name in supervisor]
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
        allowed = {"jupyter_pai", "packaging", "pip"} if name.startswith("backends") else set()
        assert tops - sys.stdlib_module_names - allowed == set(), name


def test_traitlets_is_imported_by_server_and_widgets_only() -> None:
    for name, path in modules().items():
        if not name.startswith(("server", "client.widgets")):
            assert "traitlets" not in path.read_text("utf-8"), name


def test_one_module_reads_and_makes_file_uris() -> None:
    """A second reader may find another path in the same URI."""
    # The code in jobs has the standard library only.
    exceptions = {"core.file_uri", "backends.runtime.in_place"}
    ways = {"as_uri", "url2pathname", "pathname2url"}
    for name, path in modules().items():
        found = {
            (node.lineno, word)
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, (ast.Attribute, ast.Name, ast.Constant))
            for word in [getattr(node, "attr", getattr(node, "id", getattr(node, "value", "")))]
            if isinstance(word, str) and (word in ways or word.lower().startswith("file://"))
        }
        assert name in exceptions or not found, name


def test_files_are_at_most_400_lines() -> None:
    lengths = {name: len(path.read_text("utf-8").splitlines()) for name, path in modules().items()}
    assert {name: lines for name, lines in lengths.items() if lines > 400} == {}


def test_folder_has_at_most_20_modules() -> None:
    sizes = Counter(path.parent for path in modules().values() if path.name != "__init__.py")
    assert {str(folder): size for folder, size in sizes.items() if size > 20} == {}


def test_callers_of_a_backend_test_its_capabilities_not_its_class() -> None:
    """Only the room itself, and the suite that plug-ins inherit, may name `RemoteBackend`."""
    names = {
        name
        for name, path in modules().items()
        if not name.startswith(("backends", "engine.testing", "__init__"))
        and any(
            isinstance(node, ast.Name) and node.id in ("RemoteBackend", "LocalBackend", "PaiBackend")
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
        )
    }
    assert names == set()
