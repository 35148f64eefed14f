"""Models of estimators and of the registry: the names of the official SDK register what the SDK registers."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.core.errors import Conflict, SpecError, Unsupported
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.sdk.estimator import Estimator
from jupyter_pai.sdk.model import Model, RegisteredModel

from ...fakes.alibaba import StandIn
from ...fakes.alipai import run_alipai
from .snippet_platforms import IMAGE

REGISTER = """
    from PACKAGE.estimator import Estimator
    from PACKAGE.model import Model, RegisteredModel

    est = Estimator(arguments["image"], "echo trained > $PAI_OUTPUT_MODEL/m.txt", instance_type="ecs.c6.large",
                    hyperparameters={"lr": 0.1})
    est.fit(wait=False)
    est.wait(interval=1, show_logs=False)
    name = arguments["name"]
    model = est.create_model({"processor": "xgboost"})
    # The registry of the stand-in requires the endpoint, which the official SDK leaves out.
    model.model_data = session.patch_oss_endpoint(model.model_data)
    first = model.register(
        name, version_labels={"stage": "test"}, version_description="a version", format_type="XGBoost",
        framework_type="XGBoost", approval_status="Approved", metrics={"auc": 0.5}, accessibility="PUBLIC",
        model_labels={"team": "one"}, model_description="a model", origin="own", domain="nlp", task="qa",
        training_spec={"AlgorithmName": "a"})
    results["first"] = [first.model_name == name, first.model_version, first.version_labels, first.format_type,
                        first.uri.endswith("/model/"), first.model_data == first.uri]
    second = Model(session.patch_oss_endpoint(f"oss://{session.oss_bucket_name}/m/")).register(name)
    results["second"] = [second.model_version, second.uri]
    results["newest"] = RegisteredModel(name).model_version
    results["versions"] = sorted(one.model_version for one in first.list_versions())
    results["listed"] = [one.model_version for one in RegisteredModel.list(name)]
    results["same"] = [RegisteredModel(name, "0.1.0") == first, first == second, second != 3]
    second.delete()
    results["left"] = [one.model_version for one in RegisteredModel.list(name)]
"""

READ = """
    from pai.model import RegisteredModel
    for name in ("ours", "theirs"):
        one = RegisteredModel(name)
        info = one._model_info, one._model_version_info
        results[name] = [
            one.task, one.domain, one.framework_type, one.format_type, one.model_labels, one.version_labels,
            one.inference_spec.to_dict(), one.training_spec, info[0]["Accessibility"], info[0]["ModelDescription"],
            info[0]["Origin"], info[1]["VersionDescription"], info[1]["ApprovalStatus"], info[1]["Metrics"]]
        results[name + " source"] = [one.source_type, one.source_id]
"""


@pytest.mark.slow("environment")
def test_same_program_registers_the_same_model(home: Home, keys: StandIn, folder: Path) -> None:
    from .both_packages import Here

    keys.clear()
    before = len(keys.jobs)
    ours = Here(folder, keys).run_script(REGISTER.replace("PACKAGE", "jupyter_pai.sdk"), name="ours", image=IMAGE)
    theirs = run_alipai(keys, REGISTER.replace("PACKAGE", "pai"), name="theirs", image=IMAGE)
    for reply in (ours, theirs):
        del reply["output"]
    assert ours == theirs
    read = run_alipai(keys, READ)
    assert read["ours"] == read["theirs"]
    # The official SDK records no training.
    source_type, source = read["ours source"]
    assert source_type == "TrainingService" and source.endswith(f"id={keys.jobs[before]['id']}")


def test_model_of_a_local_job_is_uploaded_first(pai: StandIn, folder: Path) -> None:
    estimator = Estimator(command="echo weights > $PAI_OUTPUT_MODEL/m.txt", instance_type="local")
    estimator.fit(show_logs=False)
    registered = estimator.create_model().register("mine", approval_status="APPROVED", metrics={"f1": 0.5})
    assert (registered.model_name, registered.model_version, registered.approval_status) == (
        "mine",
        "0.1.0",
        "Approved",
    )
    assert repr(registered) == "RegisteredModel(model_name='mine', model_version='0.1.0')"
    assert registered.metrics == {"f1": 0.5}
    registered.download(folder / "copy")
    assert (folder / "copy/m.txt").read_text() == "weights\n"
    reader = Estimator(command="cat $PAI_INPUT_BASE/m.txt", instance_type="local")
    job = reader.fit({"base": registered.input_uri}, show_logs=False)
    assert "weights" in "".join(job.logs())
    registered.delete(delete_all_version=True)
    assert list(RegisteredModel.list("mine")) == []


def test_invalid_registrations_are_explained(pai: StandIn) -> None:
    with pytest.raises(ValueError, match="no files"):
        Model("").register("m")
    with pytest.raises(ValueError, match="no files"):
        Model("").download("x")
    with pytest.raises(SpecError, match="accessibility") as caught:
        Model(f"oss://{pai.bucket}/m/").register("m", accessibility="SECRET")
    assert "options.accessibility" in str(caught.value.details["faults"])
    assert pai.count("aiworkspace", "CreateModel") == 0
    Model(f"oss://{pai.bucket}/m/").register("m", version="1.0.0")
    with pytest.raises(Conflict):
        Model(f"oss://{pai.bucket}/m/").register("m", version="1.0.0")
    with pytest.raises(RuntimeError, match="no model `none`"):
        RegisteredModel("none")
    with pytest.raises(RuntimeError, match="no version `9"):
        RegisteredModel("m", "9.0.0")
    with pytest.raises(Unsupported, match="provider pai"):
        RegisteredModel("m", model_provider="pai")
    with pytest.raises(Unsupported, match="console"):
        RegisteredModel("m").deploy("service")
    with pytest.raises(Unsupported, match="not in OSS"):
        Model("nas://x/y").download("z")
