"""The folders of a project's packages: `src/`, and those of each build backend."""

from __future__ import annotations

import pytest

from jupyter_pai.source.import_paths import import_paths

PROJECT = "[project]\nname = 'a'\n"


@pytest.mark.parametrize(
    ("files", "pyproject", "expected"),
    [
        (["src/pkg/__init__.py", "train.py"], "", ("src",)),
        (["src/module.py"], "", ("src",)),
        (["src/pkg/data/deep.py"], "", ()),  # A namespace of another kind.
        (["src/__init__.py", "src/a.py"], "", ()),  # The package is `src` itself.
        (["src/data.csv", "train.py"], "", ()),
        (["pkg/__init__.py", "scripts/train.py"], "", ()),
        (["pkg/__init__.py", "scripts/train.py"], PROJECT, (".",)),
        (["src/pkg/__init__.py", "train.py"], PROJECT, ("src", ".")),
        (["lib/pkg/a.py"], "[tool.setuptools.package-dir]\n'' = 'lib'", ("lib",)),
        (["lib/pkg/a.py"], "[tool.setuptools.packages.find]\nwhere = ['lib']", ("lib",)),
        (["python/pkg/a.py"], "[tool.hatch.build.targets.wheel]\npackages = ['python/pkg']", ("python",)),
        (["lib/pkg/a.py"], "[[tool.poetry.packages]]\ninclude = 'pkg'\nfrom = 'lib'", ("lib",)),
        (["lib/pkg/a.py"], "[tool.pdm.build]\npackage-dir = 'lib'", ("lib",)),
        (["lib/pkg/a.py"], "[tool.uv.build-backend]\nmodule-root = 'lib'", ("lib",)),
        (["python/pkg/a.py"], "[tool.maturin]\npython-source = 'python'", ("python",)),
        (["a.py"], "[tool.setuptools.packages.find]\nwhere = ['../other', '/etc']", ()),
        (["src/pkg/a.py"], "not [ TOML", ("src",)),
        (["src/pkg/a.py"], "tool = 3\nproject = 4", ("src",)),
    ],
)
def test_package_folders_are_found(files: list[str], pyproject: str, expected: tuple[str, ...]) -> None:
    assert import_paths(files, pyproject) == expected
