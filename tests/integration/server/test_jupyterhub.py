"""Under JupyterHub: a real single-user server, whose identity and authorisation are the Hub's."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...fakes.jupyterhub import Hub
from ...support.waiting import PATIENCE
from .real_server import RealServer


class HubServer(RealServer):
    program: tuple[str, ...] = ("-m", "jupyterhub.singleuser")
    token = Hub.token

    def __init__(self, root: Path, hub: Hub, **environment: str) -> None:
        self.hub = hub
        self.more = environment
        super().__init__(root, hub.prefix)

    def arguments(self) -> list[str]:
        self.environment = self.hub.environment(self.port) | {
            "JUPYTERHUB_SINGLEUSER_APP": "jupyter_server.serverapp.ServerApp",
            **self.more,
        }
        return ["--allow-root", "--no-browser", f"--ServerApp.root_dir={self.root}"]

    def start(self) -> None:
        super().start()


@pytest.fixture
def hub_server(home: Home, tmp_path: Path) -> Iterator[HubServer]:
    hub = Hub()
    root = tmp_path / "notebooks"
    root.mkdir()
    server = HubServer(root, hub)
    yield server
    server.stop()
    hub.close()


def select_chinese() -> None:
    """Write the setting of JupyterLab's menu *Language*."""
    folder = Path(os.environ["JUPYTER_CONFIG_DIR"], "lab/user-settings/@jupyterlab/translation-extension")
    folder.mkdir(parents=True)
    (folder / "plugin.jupyterlab-settings").write_text(json.dumps({"locale": "zh_CN"}, indent=4))


@pytest.mark.slow("server")
def test_kernel_finds_its_single_user_server(hub_server: HubServer) -> None:
    select_chinese()
    notebook = hub_server.notebook()
    output = notebook.run("from jupyter_pai import connect; print(type(connect()).__name__)")
    assert output.text == "HttpClient\n"
    assert notebook.run("%pai submit --command 'echo hi' --wait").text.endswith("\nhi\n")
    assert "没有作业 `nothing`" in notebook.run("%pai show nothing", check=False).error


@pytest.mark.slow("server")
def test_hub_variables_replace_the_info_file(hub_server: HubServer) -> None:
    notebook = hub_server.notebook()
    notebook.run("import os; os.environ.pop('JUPYTER_PAI_INFO'); os.environ.pop('JPY_PARENT_PID')")
    output = notebook.run("from jupyter_pai import connect; print(type(connect()).__name__)")
    assert output.text == "HttpClient\n"
    log = notebook.run("job = %pai submit --command env --wait\nprint(job.logs())").text
    assert Hub.token not in log
    assert "JUPYTERHUB_API_TOKEN" not in log


def test_wrong_tokens_are_rejected(hub_server: HubServer) -> None:
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    for authorization in ("token wrong", "jupyter-pai wrong", ""):
        request = Request(f"{hub_server.url}/pai/api/v1/jobs", headers={"Authorization": authorization})
        with pytest.raises(HTTPError) as caught:
            urlopen(request, timeout=PATIENCE)
        caught.value.close()
        assert caught.value.code in (403, 404)
    assert "JUPYTERHUB_API_TOKEN" not in os.environ
