"""The tutorial notebooks of the package, in English and Chinese."""

from __future__ import annotations

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
            found = sorted(folder.glob("*.ipynb"), key=lambda path: (path.name not in FIRST.values(), path.name))
            return [path for path in found if not language or _language(path) == language]
    raise NotFound(_("The tutorial is not installed."), fix="pip install --force-reinstall --no-deps jupyter-pai")


def give(folder: Path, language: str) -> list[str]:
    """Copy the tutorials of one language to a folder. Existing files are not overwritten.

    Returns the names of the copied files.

    Raises:
        Conflict: if the folder cannot be written.
    """
    given = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in notebooks(language):
            try:
                with (folder / path.name).open("xb") as file:
                    file.write(path.read_bytes())
                given.append(path.name)
            except FileExistsError:
                pass  # Keep the user's file.
    except OSError as error:
        raise Conflict(
            _("{file} cannot be written: {error}.").format(file=folder, error=error.strerror or error),
            fix=_("Choose another folder in the file browser."),
        ) from error
    return given


def _language(path: Path) -> str:
    return "zh-CN" if path.stem.endswith(".zh-CN") else "en"
