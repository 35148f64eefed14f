"""The files of an executed notebook: `.ipynb` with outputs, and self-contained HTML."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from . import parameters

# Maximum characters of a text stream; longer ones lose their middle.
_LONGEST_TEXT = 1 << 20
_CUT = "\n[…]\n"
_OVERWRITTEN = re.compile(r"^.*\r(?=[^\r\n])", re.MULTILINE)
_REPORTED = re.compile(r"^\[pai\] \{.*\}\n?", re.MULTILINE)
# JupyterLab's style without network resources: MathJax, require.js, widgets, Mermaid.
_OFFLINE = """{% extends "lab/index.html.j2" %}
{% block html_head_js %}{% endblock %}{% block jupyter_widgets %}{% endblock %}
{% block html_head_js_mathjax %}{% endblock %}{% block html_head_js_mermaidjs %}{% endblock %}"""


class ExecutedNotebook:
    """A notebook during execution, saved under its own name in `folder`."""

    def __init__(self, path: Path, folder: Path) -> None:
        """Read the notebook.

        Raises:
            OSError: if it cannot be read.
            ValueError: if it is not a notebook.
        """
        self.path = path
        self.folder = folder
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
        tagged = place.get(parameters.TAG)
        defaults = None if tagged is None else parameters.defaults(cells[tagged].source)
        source, notes = parameters.assignments(hyperparameters, defaults)
        if source:
            cell = nbformat.v4.new_code_cell(source, metadata={"tags": [parameters.INJECTED]})
            if parameters.INJECTED in place:
                cells[place[parameters.INJECTED]] = cell  # The notebook was executed before with other parameters.
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
        """Return a readable copy. The original is unchanged, since display updates refer to its outputs."""
        node = NotebookNode(self.node)
        node.cells = [_tidy(cell) if cell.cell_type == "code" else cell for cell in node.cells]
        return node


def _tidy(cell: NotebookNode) -> NotebookNode:
    outputs = []
    for output in cell.outputs:
        if output.output_type == "stream":
            output = NotebookNode(output, text=_REPORTED.sub("", _OVERWRITTEN.sub("", output.text)))
        if output.get("text") != "":
            outputs.append(output)
    return NotebookNode(cell, outputs=outputs)


def bounded(text: str) -> str:
    """Return the text of a stream; very long text loses its middle."""
    half = _LONGEST_TEXT // 2
    return text if len(text) <= 4 * half else text[:half] + _CUT + text[-half:]
