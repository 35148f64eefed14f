"""A plug-in that cannot be used is named, with its fault, wherever its backend is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.backends import load_backends
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import NotFound, SettingsError

from ...support.waiting import until


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A plug-in whose module has an error."""
    site = tmp_path / "site"
    about = site / "jupyter_pai_cluster-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: jupyter-pai-cluster\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[jupyter_pai.backends]\ncluster = broken_cluster_module:Cluster\n")
    (site / "broken_cluster_module.py").write_text("raise RuntimeError('no client library')\n")
    monkeypatch.syspath_prepend(str(site))

    def is_found() -> bool:
        load_backends.cache_clear()
        return bool(load_backends().flaws)

    until(is_found)
    yield
    load_backends.cache_clear()


def test_profile_of_a_broken_plugin_names_its_fault(broken: None, engine: EmbeddedClient) -> None:
    finding = next(one for one in engine.call("doctor")["findings"] if "jupyter-pai-cluster" in one["text"])
    for name, values in (("cluster", {}), ("other", {"backend": "cluster"})):
        with pytest.raises(SettingsError) as caught:
            engine.call("set_profile", profile=name, body={"values": values | {"max_run_time": 1}})
        assert finding["text"] in caught.value.message
        assert finding["fix"] == caught.value.fix
    with pytest.raises(NotFound, match="no client library"):
        engine.submit({"name": "x", "command": "true", "source": {"files": {"a": ""}}}, backend="cluster")
