"""Job files in a notebook: by the magic, and in Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from binder.session import NotebookSession

from ...fakes.openpai import OpenPai
from ..server.real_server import RealServer
from .conftest import PASSWORD, USER
from .test_job_files import DOCUMENT

pytestmark = pytest.mark.usefixtures("private_ml")


@pytest.fixture
def notebook(server: OpenPai, tmp_path: Path) -> Iterator[NotebookSession]:
    """A notebook beside a job file, on a server whose default profile has a login."""
    root = tmp_path / "notebooks"
    root.mkdir()
    (root / "digits.pai.yaml").write_text(DOCUMENT)
    started = RealServer(root)
    started.rest("PUT", "/pai/api/v1/profiles/lab/credentials", {"username": USER, "password": PASSWORD})
    yield started.notebook()
    started.stop()


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize(
    "code",
    [
        "%pai submit digits.pai.yaml --yes --wait --as job",
        "import jupyter_pai; job = jupyter_pai.submit('digits.pai.yaml', profile='lab', confirmed=True, wait=True)",
    ],
    ids=["magic", "python"],
)
def test_file_is_submitted_in_a_notebook(notebook: NotebookSession, server: OpenPai, code: str) -> None:
    notebook.run(code)
    assert notebook.run("print(job.status, [one['name'] for one in job.instances()], end='')").text == (
        "succeeded ['ps-0', 'ps-1', 'worker-0']"
    )
    sent = server.job(notebook.run("print(job.info['remote_id'], end='')").text)
    assert sent.name == f"digits_{notebook.run('print(job.id, end=str())').text}"
    assert sent.document["taskRoles"]["ps"]["instances"] == 2
