"""Runs the tutorial as a person would: a real Jupyter server, the notebook's real kernel, cell by cell.

python -m binder.demo           run it, and print its results
python -m binder.demo --lab     open JupyterLab on it

The jobs are stored in `build/state` of the checkout, unless JUPYTER_PAI_HOME is set. Without --lab, the profiles of the
user are not read, so no job is billed. The output of its server goes to `build/log/server.txt`.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from .session import NotebookSession

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "binder" / "tutorials"
LOG = ROOT / "build" / "log" / "server.txt"


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--lab", action="store_true", help="open JupyterLab instead")
    parser.add_argument("--notebook", default="tutorial.ipynb", help="which of the notebooks")
    options = parser.parse_args()
    os.environ.setdefault("JUPYTER_PAI_HOME", str(ROOT / "build/state"))
    if options.lab:
        open_lab(options.notebook)
    with tempfile.TemporaryDirectory(prefix="jupyter-pai-demo-") as folder:
        os.environ["JUPYTER_CONFIG_DIR"] = f"{folder}/.config"
        shutil.copy(TUTORIALS / options.notebook, folder)
        with server(Path(folder)) as (url, token):
            run(NotebookSession(url, token, options.notebook), Path(folder, options.notebook))


def run(session: NotebookSession, notebook: Path) -> None:
    """Run all cells, then print the job of the notebook."""
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            print(f"In: {source.splitlines()[0]}", flush=True)
            outputs = session.run(source, cell["id"])
            print(outputs.text, end="")
            for data in outputs.data:
                print(data.get("text/plain", ""))
    print()
    summary = session.run(
        "print('job:   ', job.id)\n"
        "print('status:', job.status)\n"
        "for name, point in job.info['metrics'].items(): print('metric:', name, point['value'])\n"
        "print('model: ', job.outputs['model'])"
    )
    print(summary.text, end="")
    session.close()


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, str]]:
    """Run a Jupyter server on a folder; yield its address and token."""
    token = secrets.token_urlsafe(16)
    port = _free_port()
    command = [
        *(sys.executable, "-m", "jupyter_server", "--no-browser", "--ServerApp.log_level=WARN"),
        *(f"--ServerApp.root_dir={folder}", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
        *(["--allow-root"] if os.getuid() == 0 else []),
    ]
    # By the environment: every user of the machine can read a command line.
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open("wb") as log:
        environment = {**os.environ, "JUPYTER_TOKEN": token}
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    try:
        while not _answers(url):
            if process.poll() is not None:
                end = "\n".join(LOG.read_text("utf-8", "replace").splitlines()[-20:])
                sys.exit(f"{end}\nThe Jupyter server ended with exit code {process.returncode} (log: {LOG})")
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                pass
        yield url, token
    finally:
        process.terminate()
        process.wait()


def open_lab(notebook: str) -> None:
    """Become JupyterLab, on a persistent copy of the tutorials."""
    folder = ROOT / "build" / "lab"
    folder.mkdir(parents=True, exist_ok=True)
    for path in TUTORIALS.glob("*.ipynb"):
        if not (folder / path.name).exists():
            shutil.copy(path, folder)
    root = ["--allow-root"] if os.getuid() == 0 else []
    place = [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url=/lab/tree/{notebook}"]
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *root, *place])


def _answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/api", timeout=5) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
