"""`__all__` is what exists and what is public; the package's own names come lazily, and light."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import jupyter_pai

from .test_floor_plan import GRAPH, ROOT, modules

HEAVY = {
    "tornado",
    "pydantic",
    "httpx",
    "numpy",
    "pandas",
    "oss2",
    "jupyter_server",
    "sqlite3",
    "http",
    "asyncio",
    "argparse",
}


def exported(path: Path) -> list[str] | None:
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return list(ast.literal_eval(node.value))
    return None


@pytest.mark.parametrize("name", [name for name in modules() if "__" not in name and not name.startswith("locale")])
def test_what_is_exported_exists_and_is_all(name: str) -> None:
    path = modules()[name]
    tree = ast.parse(path.read_text("utf-8"))
    public = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    names = exported(path)
    if names is None:
        assert public == set(), f"{name} has public names and no __all__"
        return
    module = importlib.import_module(f"jupyter_pai.{name}")
    assert [item for item in names if not hasattr(module, item)] == []
    assert names == sorted(names, key=lambda item: (not item.isupper(), not item[0].isupper(), item)), name
    unlisted = public - set(names)
    assert {item for item in unlisted if used_elsewhere(name, item)} == set()


def used_elsewhere(module: str, item: str) -> bool:
    """Whether another module of ours uses a name of a module."""
    import re

    pattern = re.compile(rf"from \.*{module.split('.')[-1]} import [^#\n]*\b{item}\b")
    importers = [name for name, others in GRAPH.items() if module in others]
    return any(pattern.search(modules()[name].read_text("utf-8")) for name in importers)


@pytest.mark.parametrize("name", jupyter_pai.__all__)
def test_public_names_are_there(name: str) -> None:
    assert getattr(jupyter_pai, name) is not None
    assert name in dir(jupyter_pai)


def test_names_for_plug_ins_are_there_and_documented() -> None:
    names = [*" ".join(jupyter_pai._PLUGIN_HOMES.values()).split(), *jupyter_pai._MODULES]
    assert [name for name in names if getattr(jupyter_pai, name, None) is None] == []
    document = (ROOT / "docs/plugins.md").read_text("utf-8")
    assert [name for name in names if f"`{name}`" not in document] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        jupyter_pai.nonsense  # noqa: B018


def loaded_by(code: str, *command: str) -> set[str]:
    """The top-level packages that some code loads in a fresh process."""
    tell = f"import sys; before = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, *command, "-c", tell], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}


def test_import_is_light() -> None:
    assert loaded_by("import jupyter_pai") & HEAVY == set()


def test_loading_the_magics_is_light() -> None:
    code = (
        "from IPython.core.interactiveshell import InteractiveShell; shell = InteractiveShell.instance(); "
        "before = set(sys.modules)\nshell.run_line_magic('load_ext', 'jupyter_pai')"
    )
    assert loaded_by(code) & HEAVY == set()


def test_the_supervisor_is_light() -> None:
    """Every job waits for it."""
    code = f"sys.path.insert(0, {str(ROOT)!r}); import jupyter_pai.backends.local.supervisor.main"
    assert loaded_by(code, "-I", "-S") & {"typing", "re", "dataclasses", "subprocess", "pathlib", "socket"} == set()


def test_a_client_of_a_server_is_light() -> None:
    modules = ("client.connect", "client.job", "commands.parser.parser", "commands.jobs", "commands.spec_from_options")
    code = "import " + ", ".join(f"jupyter_pai.{module}" for module in modules)
    assert loaded_by(code) & {"pydantic", "tornado", "httpx", "numpy", "pandas", "sqlite3", "jupyter_server"} == set()


def test_the_sdks_names_are_light() -> None:
    """A cell that begins with them waits for them."""
    code = "import jupyter_pai.sdk.estimator, jupyter_pai.sdk.session, jupyter_pai.sdk.image, jupyter_pai.sdk.job"
    heavy = {"pydantic", "httpx", "oss2", "numpy", "pandas", "sqlite3", "tornado", "alibabacloud_credentials"}
    assert loaded_by(code) & heavy == set()
