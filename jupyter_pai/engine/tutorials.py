"""The tutorial notebooks of the package, in English and Chinese."""

from __future__ import annotations

import contextlib
from pathlib import Path

from ..core.errors import Conflict, NotFound
from ..core.i18n import _

# The first notebook of each language.
FIRST = {"en": "tutorial.ipynb", "zh-CN": "tutorial.zh-CN.ipynb"}


def notebooks(language: str = "") -> list[Path]:
    """Return the tutorials, of one language or all, sorted by name with the first one first.

    Raises:
        NotFound: if they are not installed.
    """
    here = Path(__file__).parents[1]
    # The installed package, or the repository.
    for folder in (here / "_tutorial", here.parent / "binder/tutorials"):
        if (folder / FIRST["en"]).exists():
            paths = sorted(folder.glob("*.ipynb"), key=lambda path: (path.name not in FIRST.values(), path.name))
            return [path for path in paths if not language or path.stem.endswith(".zh-CN") == (language == "zh-CN")]
    raise NotFound(_("The tutorial is not installed."), fix="pip install --force-reinstall --no-deps jupyter-pai")


def give(folder: Path, language: str) -> list[str]:
    """Copy the tutorials of one language to a folder. Existing files are not overwritten.

    Returns the names of the copied files.

    Raises:
        Conflict: if the folder cannot be written.
    """
    copied = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in notebooks(language):
            with contextlib.suppress(FileExistsError), (folder / path.name).open("xb") as file:  # Keep the user's file.
                file.write(path.read_bytes())
                copied.append(path.name)
    except OSError as error:
        raise Conflict(
            _("{file} cannot be written: {error}.").format(file=folder, error=error.strerror or error),
            fix=_("Choose another folder in the file browser."),
        ) from error
    return copied
