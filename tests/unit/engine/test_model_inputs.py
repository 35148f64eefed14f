"""Locations of registered versions that are inputs of a job, and the choice of a version."""

from __future__ import annotations

import pytest

from jupyter_pai.backends.registry import Model, ModelVersion
from jupyter_pai.core.errors import Conflict, NotFound
from jupyter_pai.engine.data.model_inputs import location_of
from jupyter_pai.engine.models import one_of

NET = Model("m-1", "net")


@pytest.mark.parametrize("uri", ["", "/home/me/.ssh", "file:///home/me/.ssh/", "FILE:///etc/", "model://other"])
def test_registry_cannot_select_files_of_this_machine(uri: str) -> None:
    with pytest.raises(Conflict, match="no files in a storage") as caught:
        location_of(NET, ModelVersion(id="1", version="0.1.0", uri=uri))
    assert "%pai models register net" in caught.value.fix


def test_version_that_is_being_imported_is_refused() -> None:
    with pytest.raises(Conflict, match=r"0\.1\.0 of the model net is not ready: importing"):
        location_of(NET, ModelVersion(id="1", version="0.1.0", uri="oss://b/m/", status="importing"))
    assert location_of(NET, ModelVersion(id="1", uri="oss://b/m/")) == "oss://b/m/"


def test_newest_version_that_is_ready_is_chosen() -> None:
    versions = [ModelVersion(id="3", status="importing"), ModelVersion(id="2"), ModelVersion(id="1", version="0.1.0")]
    assert one_of(NET, versions).id == "2"
    assert one_of(NET, versions, "0.1.0").id == one_of(NET, versions, "1").id == "1"
    with pytest.raises(NotFound, match="no version that is ready"):
        one_of(NET, versions[:1])
    with pytest.raises(NotFound, match="no version `9`"):
        one_of(NET, versions, "9")
