"""Code of notebooks, run by a plain kernel, as a notebook job, as a script of the notebook, and as a script of its last
cell with the cells above: the output, the end and the names afterwards are the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import NotebookError
from jupyter_pai.source import notebook, script
from jupyter_pai.source.notebook import CodeCell

from ...conftest import PATIENCE, submit

# Files beside each notebook, and the cells of one.
FILES = {
    "x.py": "import sys\nfrom_x = sys.argv[1:]\nprint('x', from_x)\n",
    "inherits.py": "seen = globals().get('given', 'nothing')\nprint(seen)\n",
    "fails.py": "raise ValueError('from a script')\n",
    "leaves.py": "import sys\nsys.exit(3)\n",
    "names.py": "alpha, beta = 1, 2\n",
}
INNER = ("inner = 5\n", "print('inner', inner)\ninner + 1")


@dataclass(frozen=True)
class Snippet:
    """Cells of a notebook. `refused`: the words with which a script of them is refused, empty if it is not."""

    cells: tuple[CodeCell, ...]
    refused: str = ""


def read_snippets() -> dict[str, Snippet]:
    """Return the snippets of the data file: each after a line `=== NAME`, or `=== NAME | REFUSAL`, its cells after
    lines `# %% TAGS`."""
    snippets = {}
    text = (Path(__file__).parents[2] / "data/notebook_snippets.txt").read_text("utf-8")
    for part in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        head, _newline, code = part.rstrip("\n").partition("\n")
        name, _bar, refused = head.partition(" | ")
        cells = re.split(r"^# %%(.*)\n", code, flags=re.MULTILINE)
        pairs = zip(["", *cells[1::2]], cells[::2], strict=True)
        snippets[name] = Snippet(
            tuple(CodeCell("", one.removesuffix("\n"), tuple(tags.split())) for tags, one in pairs if one), refused
        )
    return snippets


SNIPPETS = read_snippets()
# Snippets of a test: they share a kernel, a notebook job, and a job that runs their scripts.
_TOGETHER = 10
_GROUPS = [dict([*SNIPPETS.items()][n : n + _TOGETHER]) for n in range(0, len(SNIPPETS), _TOGETHER)]
# Lines that differ from run to run, or that only a front end shows.
_VARYING = re.compile(
    r"^(?:CPU times|Wall time|Compiler)\b.*\n|^<Figure size .*>\n|^Note: you may need to restart.*\n|\x1b\[[0-9;]*m|\r"
    r"|^.*UserWarning: To exit:.*\n  warn\(.*\n|^An exception has occurred, use %tb.*\n\n(?=SystemExit)"
    r"| at 0x[0-9a-f]+",
    re.MULTILINE,
)
# IPython's traceback, up to the error.
_TRACEBACK = re.compile(r"^-{60,}\n\w+ +Traceback.*\n(?:.*\n)*?(?=\w+(?:Error|Exit)\b.*: )", re.MULTILINE)
_PYTHON_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):\n(?:.*\n)*", re.MULTILINE)
# Prints the names that a notebook has defined.
_NAMES = """
import json as _json
def _names():
    import __main__
    plain = (bool, int, float, str, list, tuple, dict, type(None))
    skipped = ("In", "Out", "exit", "quit", "open", "display", "get_ipython")
    return {name: repr(value) if isinstance(value, plain) else type(value).__name__
            for name, value in sorted(vars(__main__).items()) if name[0] != "_" and name not in skipped}
"""


@dataclass
class Run:
    """The output of a notebook on the two streams, with the values that it showed; its exit code, and its names."""

    out: str = ""
    err: str = ""
    code: int = 0
    names: Mapping[str, str] | None = None

    def add(self, output: Mapping[str, Any]) -> None:
        """Add an output of a cell, as messages and notebooks have it."""
        if "text" in output:
            self.out += output["text"] * (output["name"] == "stdout")
            self.err += output["text"] * (output["name"] == "stderr")
        elif "ename" in output:
            self.fail(output["ename"], output["evalue"])
        elif "data" in output:
            self.out += output["data"].get("text/plain", "") + "\n"

    def fail(self, name: str, value: str) -> None:
        self.out += f"{name}: {value}\n"

    def plain(self) -> Run:
        """Return it without what varies from run to run."""
        texts = (_TRACEBACK.sub("", _VARYING.sub("", text)) for text in (self.out, self.err))
        out, err = (re.sub(r"\n+", "\n", text) for text in texts)
        return Run(out, err, self.code, self.names)


def write_notebook(path: Path, cells: Iterable[CodeCell]) -> None:
    nodes = [nbformat.v4.new_code_cell(cell.code, metadata={"tags": [*cell.tags]}) for cell in cells]
    nbformat.write(nbformat.v4.new_notebook(cells=nodes), path)


def write_folder(folder: Path) -> str:
    """Write the files beside a notebook. Return the cell that moves into the folder, as a new kernel would be."""
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    write_notebook(folder / "inner.ipynb", [CodeCell("", code) for code in INNER])
    return dedent(f"""
        %reset -f
        import os, sys
        os.chdir({str(folder)!r})
        get_ipython().compile.reset_compiler_flags()
        for name in [*sys.modules]:
            if name in ("made", "names"):
                del sys.modules[name]
        del os, sys, name
    """)


@contextmanager
def plain_kernel() -> Iterator[BlockingKernelClient]:
    manager, client = start_new_kernel(startup_timeout=PATIENCE)
    try:
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def by_kernel(client: BlockingKernelClient, snippet: Snippet, folder: Path) -> Run:
    """Run the cells in a plain kernel, up to the first error."""
    run = Run()
    execute(client, write_folder(folder), Run())
    for cell in snippet.cells:
        if notebook.SKIPPED in cell.tags:
            continue
        reply = execute(client, cell.code, run)
        if reply["status"] == "error" and notebook.MAY_FAIL not in cell.tags:
            value = reply["evalue"]
            run.code = int(value) if reply["ename"] == "SystemExit" and value.isdecimal() else 1
            break
    named = Run()
    execute(client, f"{_NAMES}\nprint(_json.dumps(_names()))", named)
    run.names = json.loads(named.out)
    return run


def execute(client: BlockingKernelClient, code: str, run: Run) -> dict[str, Any]:
    def add(message: dict[str, Any]) -> None:
        run.add(message["content"])

    reply = client.execute_interactive(code, output_hook=add, allow_stdin=False, timeout=PATIENCE)
    return dict(reply["content"])


def as_notebook(engine: EmbeddedClient, group: Mapping[str, Snippet], folder: Path, places: Path) -> dict[str, Run]:
    """Run snippets as one notebook job, each in a folder and with variables of its own."""
    cells: list[CodeCell] = []
    kept = {}
    for name, snippet in group.items():
        begin = CodeCell("", write_folder(places / name.replace(" ", "_")))
        own = [CodeCell("", one.code, one.tags or (notebook.MAY_FAIL,)) for one in snippet.cells]
        end = CodeCell("", f"{_NAMES}\nprint(_json.dumps(_names()))")
        kept[name] = range(len(cells) + 1, len(cells) + 1 + len(own))
        cells += [begin, *own, end]
    write_notebook(folder / "all.ipynb", cells)
    handle = submit(engine, folder=folder, entry_point="all.ipynb").wait()
    assert handle.status == "succeeded", handle.logs()
    node = nbformat.read(Path(handle.outputs["notebook"].removeprefix("file://")) / "all.ipynb", as_version=4)
    runs = {}
    for name, places_of in kept.items():
        run = runs[name] = Run()
        for place in places_of:
            for output in node.cells[place].outputs:
                run.add(output)
        run.names = json.loads(node.cells[places_of.stop].outputs[0].text)
    return runs


def as_scripts(engine: EmbeddedClient, scripts: Mapping[str, str], places: Path) -> dict[str, Run]:
    """Run scripts by one job, each in a folder with the files beside a notebook."""
    places.mkdir(parents=True)
    inner = places / "inner.ipynb"
    write_notebook(inner, [CodeCell("", code) for code in INNER])
    files: dict[str, str] = {}
    lines = []
    for name, text in scripts.items():
        place = name.replace(" ", "_")
        beside = {**FILES, "inner.ipynb": inner.read_text(), "train.py": text}
        files |= {f"{place}/{path}": content for path, content in beside.items()}
        where = places / place
        lines += [f"(cd {place}; NAMES={where}.json python train.py >{where}.out 2>{where}.err; echo $? >{where}.code)"]
    handle = submit(engine, "\n".join(lines), source={"files": files}).wait()
    assert handle.status == "succeeded", handle.logs()
    return {name: _read(places / name.replace(" ", "_")) for name in scripts}


def _read(path: Path) -> Run:
    out, err, code, names = (Path(f"{path}.{kind}") for kind in ("out", "err", "code", "json"))
    run = Run(out.read_text(), err.read_text(), int(code.read_text()))
    run.names = json.loads(names.read_text()) if names.exists() else None
    if run.code and (traceback := _PYTHON_TRACEBACK.search(run.err)):
        name, _colon, value = traceback[0].rstrip().rpartition("\n")[2].partition(": ")
        name = name.rpartition(".")[2]
        if name == "UsageError":  # A kernel shows no traceback of it.
            run.err += f"{name}: {value}\n"
        else:
            run.fail(name, value)
        run.err = run.err.replace(traceback[0], "")
    elif run.code:
        run.fail("SystemExit", str(run.code))
    return run


def scripts_of(snippet: Snippet, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the ways of a script, with its text."""
    ends = "import atexit as _atexit, os as _os\n" + _NAMES + (
        "_place = _os.environ.pop('NAMES')\n"
        "_atexit.register(lambda: open(_place, 'w').write(_json.dumps(_names())));"
    )  # fmt: skip
    cells = [*([] if snippet.refused else [CodeCell("", ends)]), *snippet.cells]
    path = folder / "one.ipynb"
    write_notebook(path, cells)
    yield "script", _script(lambda: script.from_cells(notebook.read(path)))
    *before, last = cells
    yield "cell", _script(lambda: script.from_cell(last.code, before))


def _script(make: Any) -> str:
    try:
        return str(make().text)
    except NotebookError as error:
        return f"# refused\n{error}"


def difference(snippet: Snippet, way: str, run: Run, kernel: Run) -> str:
    """Return how a run differs from that of a kernel; empty if it does not."""
    if way == "notebook":
        run.code = kernel.code  # The kernel's reply is not in the notebook.
    a, b = run.plain(), kernel.plain()
    return "" if a == b else f"\n{way}:   {a}\nkernel: {b}"


def run_group(engine: EmbeddedClient, group: Mapping[str, Snippet], folder: Path, places: Path) -> dict[str, list[str]]:
    """Return the differences of each snippet."""
    found: dict[str, list[str]] = {name: [] for name in group}
    whole = {name: snippet for name, snippet in group.items() if not snippet.refused}
    scripts: dict[str, dict[str, str]] = {"script": {}, "cell": {}}
    for name, snippet in group.items():
        for way, text in scripts_of(snippet, folder):
            if snippet.refused:
                words = snippet.refused.partition(": ")[2] if way == "cell" else snippet.refused
                found[name] += [] if "refused" in text and words in text else [f"{way}: not refused: {text}"]
            elif text.startswith("# refused"):
                found[name].append(f"{way}: {text}")
            else:
                scripts[way][name] = text
    with plain_kernel() as client:
        kernel = {name: by_kernel(client, snippet, places / "kernel" / name) for name, snippet in whole.items()}
    runs = {"notebook": as_notebook(engine, whole, folder, places / "notebook")}
    runs |= {way: as_scripts(engine, texts, places / way) for way, texts in scripts.items()}
    for way, made in runs.items():
        for name, run in made.items():
            if differs := difference(whole[name], way, run, kernel[name]):
                found[name].append(differs)
    return found


@pytest.mark.slow("snippets", first=1)
@pytest.mark.parametrize("number", range(len(_GROUPS)))
def test_snippets_run_as_in_a_kernel(
    engine: EmbeddedClient, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # With it, a kernel does not capture the output of child processes.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    found = run_group(engine, _GROUPS[number], folder, tmp_path / "places")
    differing = {name: texts for name, texts in found.items() if texts}
    assert not differing, "\n".join(f"--- {name}{''.join(texts)}" for name, texts in differing.items())


def test_script_requires_ipython_where_it_uses_it(engine: EmbeddedClient, folder: Path) -> None:
    for code, requirements in (("print(1)", []), ("!true", ["ipython"])):
        text = script.from_cell(code).text
        spec = {"name": "a", "entry_point": "a.py", "source": {"folder": str(folder), "files": {"a.py": text}}}
        assert engine.preview(spec)["spec"]["requirements"] == requirements
        own = engine.preview(spec | {"requirements": ["IPython<9"]})["spec"]
        assert own["requirements"] == ["IPython<9"]
