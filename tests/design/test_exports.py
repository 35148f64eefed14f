"""Modules for users and plug-ins have `__all__`; the names of `jupyter_pai` are imported on demand, and light."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jupyter_pai

from .test_floor_plan import ROOT, modules

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
    text = path.read_text("utf-8")
    for node in ast.parse(text).body if "__all__" in text else ():
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return list(ast.literal_eval(node.value))
    return None


EXPORTING = [name for name, path in modules().items() if exported(path) is not None and "__" not in name]


@pytest.mark.parametrize("name", EXPORTING)
def test_exported_names_exist_in_order(name: str) -> None:
    names = exported(modules()[name]) or []
    module = importlib.import_module(f"jupyter_pai.{name}")
    assert [item for item in names if not hasattr(module, item)] == []
    assert names == sorted(names, key=lambda item: (not item.isupper(), not item[0].isupper(), item)), name


def test_public_functions_are_used_in_another_module() -> None:
    """A function of one module only has an underscore. The build hook is not imported."""
    words = {path: set(re.findall(r"\w+", path.read_text("utf-8"))) for path in (ROOT / "tests").rglob("*.py")}
    words |= {path: set(re.findall(r"\w+", path.read_text("utf-8"))) for path in modules().values()}
    unused = [
        f"{name}.{node.name}"
        for name, path in modules().items()
        if name not in EXPORTING and not name.startswith("locale")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
        if not any(node.name in used for other, used in words.items() if other != path)
    ]
    assert unused == []


@pytest.mark.parametrize("name", jupyter_pai.__all__)
def test_public_names_exist(name: str) -> None:
    assert getattr(jupyter_pai, name) is not None
    assert name in dir(jupyter_pai)


def test_plugin_names_exist_and_are_documented() -> None:
    names = [*" ".join(jupyter_pai._PLUGIN_HOMES.values()).split(), *jupyter_pai._MODULES]
    assert [name for name in names if getattr(jupyter_pai, name, None) is None] == []
    document = (ROOT / "docs/plugins.md").read_text("utf-8")
    assert [name for name in names if f"`{name}`" not in document] == []


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        jupyter_pai.nonsense  # noqa: B018


def loaded_by(code: str, *command: str) -> set[str]:
    """The top-level packages that some code loads in a fresh process."""
    tell = f"import sys; before = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, *command, "-c", tell], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}


def test_package_import_is_light() -> None:
    assert loaded_by("import jupyter_pai") & HEAVY == set()


def test_magics_import_is_light() -> None:
    code = (
        "from IPython.core.interactiveshell import InteractiveShell; shell = InteractiveShell.instance(); "
        "before = set(sys.modules)\nshell.run_line_magic('load_ext', 'jupyter_pai')"
    )
    assert loaded_by(code) & HEAVY == set()


def test_supervisor_import_is_light() -> None:
    """Every job waits for it."""
    code = f"sys.path.insert(0, {str(ROOT)!r}); import jupyter_pai.backends.local.supervisor.main"
    assert loaded_by(code, "-I", "-S") & {"typing", "re", "dataclasses", "subprocess", "pathlib", "socket"} == set()


def test_client_import_is_light() -> None:
    modules = ("client.connect", "client.job", "commands.parser.parser", "commands.jobs", "commands.spec_from_options")
    code = "import " + ", ".join(f"jupyter_pai.{module}" for module in modules)
    assert loaded_by(code) & {"pydantic", "tornado", "httpx", "numpy", "pandas", "sqlite3", "jupyter_server"} == set()


def test_sdk_import_is_light() -> None:
    """A cell that begins with them waits for them."""
    names = ("estimator", "session", "image", "job", "tikit.client", "tikit.models")
    code = "import " + ", ".join(f"jupyter_pai.sdk.{name}" for name in names)
    heavy = {"pydantic", "httpx", "oss2", "numpy", "pandas", "sqlite3", "tornado", "alibabacloud_credentials"}
    heavy |= {"qcloud_cos", "tencentcloud"}
    assert loaded_by(code) & heavy == set()
