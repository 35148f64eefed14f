"""Jobs that end with the Hub's server, and jobs that outlive it."""

from __future__ import annotations

import pytest

from jupyter_pai.config.jupyterhub import ends_with_server

POD = {"JUPYTERHUB_API_URL": "http://hub:8081/hub/api"}
BESIDE = {"JUPYTERHUB_API_URL": "http://127.0.0.1:8081/hub/api"}
UNIT = "0::/system.slice/jupyter-ada-singleuser.service\n"


@pytest.mark.parametrize(
    ("environment", "in_container", "groups", "ends"),
    [
        ({}, True, "0::/\n", False),
        (POD, True, "0::/\n", True),
        (POD, False, "0::/\n", False),
        (POD | {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, False, "", True),
        (POD | {"container": "podman"}, False, "", True),
        (BESIDE, True, "0::/\n", False),
        ({"JUPYTERHUB_API_URL": "http://localhost:8081/hub/api"}, True, "", False),
        (BESIDE, False, UNIT, True),
        (BESIDE, False, "1:name=systemd:/system.slice/jupyter-ada.service\n0::/\n", True),
        (BESIDE, False, "0::/system.slice/jupyterhub.service\n", False),
        ({}, False, UNIT, False),
    ],
)
def test_jobs_end_with_the_server_on_known_hub_spawners(
    environment: dict[str, str], in_container: bool, groups: str, ends: bool
) -> None:
    assert ends_with_server(environment, in_container=in_container, groups=groups) is ends
