"""The stand-in's registry of models, with the official client of AIWorkSpace."""

from __future__ import annotations

from typing import Any

import pytest
from alibabacloud_aiworkspace20210204 import models
from Tea.exceptions import TeaException

from .alibaba import StandIn
from .official_clients import workspace

URI = "oss://bucket.oss-cn-shanghai.aliyuncs.com/model/"


def created(pai: StandIn, name: str, **more: Any) -> str:
    request = models.CreateModelRequest(model_name=name, workspace_id=pai.workspace_id, **more)
    return str(workspace(pai).create_model(request).body.model_id)


def added(pai: StandIn, model_id: str, **fields: Any) -> str:
    request = models.CreateModelVersionRequest(**({"uri": URI} | fields))
    return str(workspace(pai).create_model_version(model_id, request).body.version_name)


def listed(pai: StandIn, **query: Any) -> list[str]:
    reply = workspace(pai).list_models(models.ListModelsRequest(workspace_id=pai.workspace_id, **query)).body
    return [model.model_name for model in reply.models]


def refused(call: Any, *arguments: Any, **more: Any) -> tuple[int, str]:
    with pytest.raises(TeaException) as caught:
        call(*arguments, **more)
    return caught.value.data["statusCode"], str(caught.value.message)


def test_models_are_found_by_name_label_and_field(pai: StandIn) -> None:
    created(pai, "iris", domain="tabular", labels=[models.Label(key="team", value="flowers")])
    created(pai, "Iris-large", task="classification", tag=[models.Label(key="size", value="large")])
    assert listed(pai, model_name="iris") == ["iris", "Iris-large"] and listed(pai, model_name='"iris"') == ["iris"]
    assert listed(pai, model_name='"none"') == []
    assert listed(pai, label="flow") == listed(pai, domain="tabular") == listed(pai, query="TABULAR") == ["iris"]
    assert listed(pai, tag=[models.ListModelsRequestTag(key="size", value="large")]) == ["Iris-large"]
    assert listed(pai, order="DESC", page_size=1) == ["Iris-large"]
    assert refused(created, pai, "iris")[0] == 409
    assert refused(created, pai, "a" * 128)[0] == refused(created, pai, "")[0] == 400


def test_versions_are_numbered_approved_and_measured(pai: StandIn) -> None:
    client, model_id = workspace(pai), created(pai, "iris")
    assert [added(pai, model_id), added(pai, model_id, metrics={"loss": 0.5})] == ["0.1.0", "0.2.0"]
    assert [added(pai, model_id, version_name="2.3.0_best"), added(pai, model_id)] == ["2.3.0_best", "2.4.0"]
    assert refused(added, pai, model_id, version_name="0.1.0")[0] == 409
    latest = client.get_model(model_id, models.GetModelRequest()).body.latest_version
    assert (latest.version_name, latest.approval_status, latest.uri) == ("2.4.0", "Pending", URI)
    update = models.UpdateModelVersionRequest(approval_status="Approved", version_description="good")
    client.update_model_version(model_id, "0.2.0", update)
    approved = client.list_model_versions(model_id, models.ListModelVersionsRequest(approval_status="Approved")).body
    assert [(row.version_name, row.metrics) for row in approved.versions] == [("0.2.0", {"loss": 0.5})]
    assert "8192 bytes" in refused(added, pai, model_id, metrics={"text": "x" * 8200})[1]
    unfit = models.UpdateModelVersionRequest(metrics={"text": "x" * 8200})
    assert "8192 bytes" in refused(client.update_model_version, model_id, "0.1.0", unfit)[1]
    for wrong in ({"uri": "bucket/model/"}, {"approval_status": "Good"}, {"version_name": "1"}):
        assert refused(added, pai, model_id, **wrong)[0] == 400
    source = "region=cn-shanghai,workspaceId=1001,kind=ServiceJob,id=train1"
    assert added(pai, model_id, source_type="TrainingService", source_id=source) == "2.5.0"
    assert "SourceId" in refused(added, pai, model_id, source_type="TrainingService")[1]


def test_labels_are_changed_and_models_deleted(pai: StandIn) -> None:
    client, model_id = workspace(pai), created(pai, "iris", labels=[models.Label(key="a", value="1")])
    added(pai, model_id, labels=[models.Label(key="b", value="2")])
    more = [models.Label(key="c", value="3")]
    client.create_model_labels(model_id, models.CreateModelLabelsRequest(labels=more))
    client.delete_model_labels(model_id, models.DeleteModelLabelsRequest(label_keys="a"))
    client.create_model_version_labels(model_id, "0.1.0", models.CreateModelVersionLabelsRequest(labels=more))
    client.delete_model_version_labels(model_id, "0.1.0", models.DeleteModelVersionLabelsRequest(label_keys="b"))
    client.update_model(model_id, models.UpdateModelRequest(model_description="of flowers"))
    model = client.get_model(model_id, models.GetModelRequest()).body
    assert ([row.key for row in model.labels], model.model_description) == (["c"], "of flowers")
    assert [row.key for row in model.latest_version.labels] == ["c"]
    assert "The model has versions" in refused(client.delete_model, model_id, models.DeleteModelRequest())[1]
    client.delete_model_version(model_id, "0.1.0", models.DeleteModelVersionRequest())
    assert refused(client.get_model_version, model_id, "0.1.0", models.GetModelVersionRequest())[0] == 404
    client.delete_model(model_id, models.DeleteModelRequest())
    assert listed(pai) == [] and refused(client.get_model, model_id, models.GetModelRequest())[0] == 404
