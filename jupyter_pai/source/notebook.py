"""Notebook files: their code cells, and the notebook as it is packed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import DAMAGED, NotebookError
from ..core.i18n import _

# Cells with this tag precede the code of every job made of a cell.
TAG = "pai"
# Cells with these tags have the parameters, or those of an earlier execution, as in papermill.
PARAMETERS, INJECTED = "parameters", "injected-parameters"
# Cells with these tags do not run, and may fail, as in nbclient.
SKIPPED, MAY_FAIL = "skip-execution", "raises-exception"


@dataclass(frozen=True)
class CodeCell:
    """A code cell of a notebook."""

    id: str
    code: str
    tags: tuple[str, ...] = ()


def read(path: Path) -> list[CodeCell]:
    """Return the code cells of a notebook, in order.

    Raises:
        NotebookError: if the file is not a Python notebook.
    """
    try:
        notebook = json.loads(path.read_text("utf-8"))
        cells = list(notebook["cells"])
        metadata = notebook.get("metadata", {})
        # Some front ends write the language in one of the two only.
        languages = metadata.get("kernelspec", {}).get("language"), metadata.get("language_info", {}).get("name")
        language = str(next(filter(None, languages), "python"))
    except FileNotFoundError:
        raise NotebookError(
            _("Notebook not found: {path}.").format(path=path), fix=_("Save it first, or check the path.")
        ) from None
    except DAMAGED as error:
        raise NotebookError(
            _("{path} is not a valid notebook: {error}").format(path=path, error=error),
            fix=_("Open it in Jupyter and save it again."),
        ) from None
    if language.lower() not in ("python", "python3", "ipython"):
        raise NotebookError(
            _("The language of {path} is {language}, not Python.").format(path=path, language=language),
            fix=_("Run it with --command."),
        )
    return [_code_cell(cell) for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]


def _code_cell(cell: dict[str, object]) -> CodeCell:
    source = cell.get("source") or ""
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return CodeCell(
        str(cell.get("id") or ""),
        "".join(map(str, source)) if isinstance(source, list) else str(source),
        tuple(map(str, tags)) if isinstance(tags, list) else (),
    )


def above(cells: list[CodeCell], cell_id: str, code: str, *, all_above: bool) -> list[CodeCell]:
    """Return the cells that precede a submitted cell: those tagged `pai`, or with `all_above` all cells above.

    The cell is found by its id or code in the saved notebook.

    Raises:
        NotebookError: if `all_above` is set and the saved notebook does not have the cell.
    """
    same_id = [n for n, cell in enumerate(cells) if cell_id and cell.id == cell_id]
    place = (same_id or [n for n, cell in enumerate(cells) if cell.code.strip() == code.strip()] or [len(cells)])[0]
    if not all_above:
        return [cell for n, cell in enumerate(cells) if TAG in cell.tags and n != place]
    if place == len(cells):
        raise NotebookError(
            _("The saved notebook does not contain this cell, so the cells above it are unknown."),
            fix=_("Save the notebook and run the cell again."),
        )
    return cells[:place]


def as_code(data: bytes) -> str | None:
    """Return the code of a notebook's file, cell by cell; None if it is not a notebook."""
    try:
        cells = [_code_cell(cell) for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"]
    except DAMAGED:
        return None
    return "".join(f"# %% [{number}]\n{cell.code.rstrip()}\n\n" for number, cell in enumerate(cells, 1))


def without_outputs(data: bytes) -> bytes:
    """Return a notebook's file without outputs and execution counts; other data unchanged."""
    try:
        notebook = json.loads(data)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"], cell["execution_count"] = [], None
    except DAMAGED:
        return data
    return json.dumps(notebook, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass") + b"\n"
