"""The files of an executed notebook: `.ipynb` with outputs, and self-contained HTML. Secrets in them are masked."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from ...core.secret_filter import SHORTEST_ENCODED, SecretFilter
from ...source.notebook import INJECTED, PARAMETERS
from . import parameters

# Maximum characters of a text stream; longer ones lose their middle.
_LONGEST_TEXT = 1 << 20
_CUT = "\n[…]\n"
_OVERWRITTEN = re.compile(r"^.*\r(?=[^\r\n])", re.MULTILINE)
# The variable with the names of the variables that hold secrets.
SECRETS = "JUPYTER_PAI_SECRETS"
# Outputs whose text is not base64.
_TEXT = re.compile(r"text/|application/(?:[^+]*\+)?(?:json|xml|javascript)$|image/svg\+xml$")
# Fields of outputs with a fixed set of values.
_FIXED = ("output_type", "name", "execution_count")
_REPORTED = re.compile(r"^\[pai\] \{.*\}\n?", re.MULTILINE)
# JupyterLab's style without network resources: MathJax, require.js, widgets, Mermaid.
_OFFLINE = """{% extends "lab/index.html.j2" %}
{% block html_head_js %}{% endblock %}{% block jupyter_widgets %}{% endblock %}
{% block html_head_js_mathjax %}{% endblock %}{% block html_head_js_mermaidjs %}{% endblock %}"""


class ExecutedNotebook:
    """A notebook during execution, saved under its own name in `folder`. `secrets` has the values to mask."""

    def __init__(self, path: Path, folder: Path, secrets: Mapping[str, bytes] | None = None) -> None:
        """Read the notebook.

        Raises:
            OSError: if it cannot be read.
            ValueError: if it is not a notebook.
        """
        self.path = path
        self.folder = folder
        self.secrets = SecretFilter(secrets) if secrets else None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Warnings about missing ids, which are added below.
                self.node: NotebookNode = nbformat.read(path, as_version=4)
            # Add the fields required by format 4.5.
            self.node.nbformat_minor = max(self.node.get("nbformat_minor", 0), 5)
            self.node.metadata.setdefault("language_info", {"name": "python"})
            for cell in self.node.cells:
                cell.setdefault("metadata", NotebookNode())
                cell.setdefault("id", nbformat.v4.new_code_cell().id)
                if cell.cell_type == "code":
                    cell.outputs, cell.execution_count = [], None
        except (AttributeError, KeyError, TypeError, nbformat.ValidationError) as error:
            raise ValueError(str(error)) from None

    def set_parameters(self, hyperparameters: Mapping[str, str]) -> list[str]:
        """Insert the cell that sets hyperparameters, at papermill's position; return notes."""
        cells = self.node.cells
        place = {tag: n for n, cell in reversed([*enumerate(cells)]) for tag in cell.metadata.get("tags", [])}
        tagged = place.get(PARAMETERS)
        defaults = None if tagged is None else parameters.defaults(cells[tagged].source)
        source, notes = parameters.assignments(hyperparameters, defaults)
        if source:
            cell = nbformat.v4.new_code_cell(source, metadata={"tags": [INJECTED]})
            if INJECTED in place:
                cells[place[INJECTED]] = cell  # The notebook was executed before with other parameters.
            else:
                cells.insert(0 if tagged is None else tagged + 1, cell)
        return notes

    def save(self) -> None:
        """Replace the file atomically.

        Raises:
            OSError: if it cannot be written.
        """
        self._write(self.path.name, nbformat.writes(self._tidy()))

    def save_html(self) -> None:
        """Write the HTML file.

        Raises:
            ImportError: without nbconvert.
            Exception: if nbconvert or one of its filters fails.
        """
        import nbconvert
        from jinja2 import DictLoader
        from nbconvert.exporters import HTMLExporter

        # nbconvert may be installed in a parent environment: add the path of its templates.
        share = str(Path(nbconvert.__file__).parents[4] / "share" / "jupyter")
        paths = os.environ.get("JUPYTER_PATH", "").split(os.pathsep)
        os.environ["JUPYTER_PATH"] = os.pathsep.join(dict.fromkeys([*filter(None, paths), share]))
        node = self._tidy()
        node.metadata.pop("widgets", None)  # Without scripts, the text output of widgets is more useful.
        exporter = HTMLExporter(  # type: ignore[no-untyped-call]
            extra_loaders=[DictLoader({"offline.html.j2": _OFFLINE})],
            template_file="offline.html.j2",
            embed_images=True,
        )
        resources = {"metadata": {"name": self.path.stem, "path": str(self.path.parent)}}
        self._write(f"{self.path.stem}.html", exporter.from_notebook_node(node, resources=resources)[0])

    def _write(self, name: str, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / ".new"
        temporary.write_text(text, "utf-8", "backslashreplace")
        os.replace(temporary, self.folder / name)

    def _tidy(self) -> NotebookNode:
        """Return a readable copy without secrets. The original is unchanged, since display updates refer to its
        outputs."""
        node = NotebookNode(self.node)
        node.cells = [_tidy(cell) if cell.cell_type == "code" else cell for cell in node.cells]
        return _masked_notebook(node, self.secrets) if self.secrets else node

    def bounded(self, text: str) -> str:
        """Return the text of a stream; very long text loses its middle. Secrets in long text are masked first, because
        a cut one is not recognised."""
        half = _LONGEST_TEXT // 2
        if len(text) <= 4 * half:
            return text
        text = self.secrets.mask(text) if self.secrets else text
        return text[:half] + _CUT + text[-half:]


def _tidy(cell: NotebookNode) -> NotebookNode:
    outputs = []
    for output in cell.outputs:
        if output.output_type == "stream":
            output = NotebookNode(output, text=_REPORTED.sub("", _OVERWRITTEN.sub("", output.text)))
        if output.get("text") != "":
            outputs.append(output)
    return NotebookNode(cell, outputs=outputs)


def _masked_notebook(node: NotebookNode, secrets: SecretFilter) -> NotebookNode:
    """Return a copy in which sources, outputs and metadata have no secrets."""
    cells = []
    for cell in node.cells:
        metadata = _masked_fields(cell.metadata, secrets.mask)
        cell = NotebookNode(cell, source=secrets.mask(cell.source), metadata=metadata)
        if cell.cell_type == "code":
            cell.outputs = [_masked_output(output, secrets) for output in cell.outputs]
        cells.append(cell)
    return NotebookNode(node, cells=cells, metadata=_masked_fields(node.metadata, secrets.mask))


def _masked_output(output: NotebookNode, secrets: SecretFilter) -> NotebookNode:
    def mask_picture(text: str) -> str:
        return secrets.mask(text, SHORTEST_ENCODED)  # A shorter form occurs by chance.

    masked = _masked_fields(output, secrets.mask, (*_FIXED, "data"))
    if "data" in output:
        masks = {kind: secrets.mask if _TEXT.match(kind) else mask_picture for kind in output.data}
        masked.data = NotebookNode({kind: _masked(data, masks[kind]) for kind, data in output.data.items()})
    return masked


def _masked_fields(fields: Mapping[str, Any], mask: Callable[[str], str], keep: Collection[str] = ()) -> NotebookNode:
    """Mask the values of an object. Its keys, and the fields `keep`, are those of the notebook format."""
    return NotebookNode({name: value if name in keep else _masked(value, mask) for name, value in fields.items()})


def _masked(value: Any, mask: Callable[[str], str]) -> Any:
    match value:
        case str():
            return mask(value)
        case list():
            return [_masked(item, mask) for item in value]
        case dict():
            return NotebookNode({mask(name): _masked(item, mask) for name, item in value.items()})
    return value
