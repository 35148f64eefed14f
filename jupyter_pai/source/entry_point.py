"""The file of a folder that a job runs."""

from __future__ import annotations

from pathlib import Path

__all__ = ["ENTRY_POINTS", "free_name", "script_of"]

# Names that are tried in this order when no entry point is given.
ENTRY_POINTS = ("train.py", "main.py", "run.py", "train.sh", "main.sh", "run.sh")


def script_of(folder: Path, notebook: str) -> tuple[str, str]:
    """A notebook's code as a script: a name that the folder does not have, and the text.

    Raises:
        NotebookError: if it cannot be read, or one of its cells is no Python.
    """
    from . import notebook as notebooks
    from . import script

    name = free_name(folder, str(Path(notebook).with_suffix(".py")))
    return name, script.from_cells(notebooks.read(folder / notebook)).text


def free_name(folder: Path, name: str) -> str:
    """A name for a file that the folder has not."""
    path, number = Path(name), 1
    while (folder / path).exists():
        path, number = Path(name).with_stem(f"{Path(name).stem}_{number}"), number + 1
    return path.as_posix()
