"""The tutorial notebooks, as they come with the package: in English, and in Chinese with another name."""

from __future__ import annotations

from pathlib import Path

from ..core.errors import Conflict, NotFound
from ..core.i18n import _

__all__ = ["FIRST", "give", "notebooks"]

# What each language begins with.
FIRST = {"en": "tutorial.ipynb", "zh-CN": "tutorial.zh-CN.ipynb"}


def notebooks(language: str = "") -> list[Path]:
    """All of them, or those in one language; by name, the first one first.

    Raises:
        NotFound: if they were not installed.
    """
    here = Path(__file__).parents[1]
    # In the installed package, or in the repository that it runs from.
    for folder in (here / "_tutorial", here.parent / "binder/tutorials"):
        if (folder / FIRST["en"]).exists():
            found = sorted(folder.glob("*.ipynb"), key=lambda path: (path.name not in FIRST.values(), path.name))
            return [path for path in found if not language or _language(path) == language]
    raise NotFound(_("The tutorial is not installed."), fix="pip install --force-reinstall --no-deps jupyter-pai")


def give(folder: Path, language: str) -> list[str]:
    """Put those in one language into a folder, which is made. What is there already is the user's, and stays as it is.

    Returns the names of those that were put there.

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
                pass  # Never over what the user has.
    except OSError as error:
        raise Conflict(
            _("{file} cannot be written: {error}.").format(file=folder, error=error.strerror or error),
            fix=_("Go to another folder in the file browser."),
        ) from error
    return given


def _language(path: Path) -> str:
    return "zh-CN" if path.stem.endswith(".zh-CN") else "en"
