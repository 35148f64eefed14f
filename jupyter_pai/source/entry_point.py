"""The entry point of a job: its default names, and scripts made of notebooks."""

from __future__ import annotations

from pathlib import Path

# Default entry points in order of preference.
ENTRY_POINTS = ("train.py", "main.py", "run.py", "train.sh", "main.sh", "run.sh")


def script_of(folder: Path, notebook: str) -> tuple[str, str]:
    """Convert a notebook into a script; return an unused file name and the text.

    Raises:
        NotebookError: if it cannot be read, or a cell is not valid Python.
    """
    from . import notebook as notebooks, script

    name = free_name(folder, str(Path(notebook).with_suffix(".py")))
    return name, script.from_cells(notebooks.read(folder / notebook)).text


def free_name(folder: Path, name: str) -> str:
    """Return an unused file name in the folder."""
    path, number = Path(name), 1
    while (folder / path).exists():
        path, number = Path(name).with_stem(f"{Path(name).stem}_{number}"), number + 1
    return path.as_posix()
