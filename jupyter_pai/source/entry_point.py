"""The entry point of a job: found from a target, its default names, and scripts made of notebooks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ..core.errors import UsageError
from ..core.i18n import _

# Default entry points in order of preference.
ENTRY_POINTS = ("train.py", "main.py", "run.py", "train.sh", "main.sh", "run.sh")


def locate(target: str, source: str, path_of: Callable[[str], Path]) -> tuple[Path, str]:
    """Return the folder of code and the entry point of a target: a folder, script or notebook. The entry point of a
    folder is empty (see `default_entry_point`).

    `source` is the folder of code if the user chose one. `path_of` returns the absolute path of a path that the user
    wrote.

    Raises:
        UsageError: if the target does not exist, or is of another kind.
    """
    folder, path = path_of(source or "."), path_of(target)
    if not path.exists() and source:
        path = Path(os.path.normpath(folder / target))
    if not path.exists():
        raise UsageError(
            _("{path} does not exist.").format(path=path),
            fix=_("Relative paths start at the notebook's folder, outside of notebooks at the current folder."),
        )
    if path.is_dir():
        return path, ""
    if path.suffix not in (".py", ".sh", ".ipynb"):
        raise UsageError(
            _("Unsupported target {path}: expected a folder, .py, .sh or .ipynb.").format(path=path),
            fix=_("To run it another way, pass --command."),
        )
    folder = folder if path.is_relative_to(folder) else path.parent
    return folder, path.relative_to(folder).as_posix()


def default_entry_point(folder: Path) -> str:
    """Return the script that a folder runs: one of `ENTRY_POINTS`, otherwise its only Python file.

    Raises:
        UsageError: if there are several, or none.
    """
    known = [name for name in ENTRY_POINTS if (folder / name).is_file()]
    scripts = known[:1] or [path.name for path in sorted(folder.glob("*.py"))]
    if len(scripts) == 1:
        return scripts[0]
    raise UsageError(
        _("No entry point found in {folder}.").format(folder=folder),
        fix=_("Name a script, or a command: --command 'python SCRIPT $PAI_USER_ARGS'."),
    )


def script_of(folder: Path, notebook: str) -> tuple[str, str]:
    """Convert a notebook into a script; return an unused file name and the text.

    Raises:
        NotebookError: if it cannot be read, or if a script cannot do what a kernel does.
    """
    from . import notebook as notebooks, script

    path = Path(notebook)
    name = free_name(folder, str(path.with_suffix(".py")))
    # As in a kernel, the working directory is the notebook's folder.
    cells = notebooks.read(folder / path)
    return name, script.from_cells(cells, changes_folder=path.parent != Path()).text


def free_name(folder: Path, name: str) -> str:
    """Return an unused file name in the folder."""
    path, number = Path(name), 1
    while (folder / path).exists():
        path, number = Path(name).with_stem(f"{Path(name).stem}_{number}"), number + 1
    return path.as_posix()
