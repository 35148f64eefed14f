"""The feature folders of the JupyterLab extension: imports go downhill, and folders stay small."""

from __future__ import annotations

import posixpath
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from jupyter_pai.client import parameters

from .messages import texts

SOURCE = Path(__file__).parents[2] / "labextension/src"
ROOMS = [
    "api host",
    "ui",
    "logs metrics outputs tensorboard",
    "job",
    "compare jobs profiles storage train workflows",
    "anywidget platforms",
    "plugins",
    "index",
]
FLOORS = {room: floor for floor, line in enumerate(ROOMS) for room in line.split()}
# Static, type and dynamic imports, and exports from another module.
_IMPORT = re.compile(r"""(?:from|import)\(?\s*['"](\.[^'"]+)\.js['"]""")
_MOST_ENTRIES = 20


def modules() -> dict[str, Path]:
    """Return each module by its path below `src`, without the suffix. Declarations of foreign files are left out."""
    paths = (path for path in SOURCE.rglob("*.ts*") if not path.name.endswith(".d.ts"))
    return {path.relative_to(SOURCE).with_suffix("").as_posix(): path for path in paths}


def imports(name: str, path: Path) -> set[str]:
    """Return the modules of the extension that a module imports."""
    folder = posixpath.dirname(name)
    return {posixpath.normpath(posixpath.join(folder, other)) for other in _IMPORT.findall(path.read_text("utf-8"))}


def room_of(module: str) -> str:
    """Return the room of a module: the first segment of its path."""
    return module.split("/")[0]


def test_every_folder_is_a_room() -> None:
    assert {room_of(name) for name in modules()} == FLOORS.keys()


def test_room_imports_lower_rooms_only() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, path in modules().items()
        for other in imports(name, path)
        if room_of(other) != room_of(name) and FLOORS[room_of(other)] >= FLOORS[room_of(name)]
    ]
    assert wrong == []


def test_files_of_a_room_import_each_other_without_a_cycle() -> None:
    graph = {name: imports(name, path) for name, path in modules().items()}
    assert set().union(*graph.values()) <= graph.keys()
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_folder_has_few_entries() -> None:
    folders = [SOURCE, *(path for path in SOURCE.rglob("*") if path.is_dir())]
    sizes = {path.relative_to(SOURCE).as_posix(): len(list(path.iterdir())) for path in folders}
    assert {folder: size for folder, size in sizes.items() if size > _MOST_ENTRIES} == {}


# Options of other programs, and of lines and cells that the views replace: notebooks, cells, copies of files.
_WITHOUT_LABEL = set(
    "add-subuids as-script dependency nodes overwrite partition rdzv-endpoint version with-above".split()
)


def test_options_in_messages_have_labels_in_the_views() -> None:
    """Otherwise a view shows the option itself. Messages of magics and terminal are not shown in views."""
    source = (SOURCE / "ui/messagetext.tsx").read_text("utf-8")
    known = set(re.findall(r"^    '?([a-z-]+)'?: trans\.__", source, re.MULTILINE)) | _WITHOUT_LABEL
    fields = set(
        re.findall(r"^  '?([a-z-]+)'?: [a-z]+\('", (SOURCE / "api/options.ts").read_text("utf-8"), re.MULTILINE)
    )
    assert "allow-secret" in fields <= known
    named = {
        match["option"]: text
        for text, places in texts().items()
        if isinstance(text, str) and not all(file.startswith("jupyter_pai/commands/") for file, _line in places)
        for match in parameters._OPTION.finditer(text)
        if match["option"]
    }
    assert {option: text for option, text in named.items() if option not in known} == {}
