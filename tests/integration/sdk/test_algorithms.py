"""Algorithms that are registered with the platform."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_pai.core.errors import SpecError, Unsupported
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.sdk.estimator import AlgorithmEstimator

from ...fakes.alibaba import StandIn
from ...fakes.alipai import run_alipai

RUN = """
    from PACKAGE.estimator import AlgorithmEstimator

    bucket = session.oss_bucket_name
    session.oss_bucket.put_object("one/train.csv", "1,2\\n")
    est = AlgorithmEstimator(algorithm_name="copy", algorithm_version="0.10.0", algorithm_provider="pai",
                             instance_type="ecs.c6.large", hyperparameters={"epochs": 7, "note": "short"})
    results["definitions"] = [
        [one.name for one in est.hyperparameter_definitions], [one.name for one in est.input_channel_definitions],
        [one.name for one in est.output_channel_definitions], est.supported_instance_types]
    est.fit({"train": f"oss://{bucket}/one/"}, wait=False)
    est.wait(interval=1, show_logs=False)
    results["outputs"] = sorted(est.get_outputs_data())
    results["ended"] = est.latest_job.is_succeeded()
    try:
        AlgorithmEstimator(algorithm_name="none", algorithm_provider="pai")
    except ValueError:
        results["unknown"] = True
"""
SENT = ("AlgorithmName", "AlgorithmVersion", "AlgorithmProvider", "AlgorithmSpec", "HyperParameters", "InputChannels")


@pytest.mark.slow("processes")
def test_registered_algorithm_means_the_same(home: Home, keys: StandIn, folder: Any) -> None:
    from .both_packages import Here

    keys.clear()
    before = len(keys.jobs)
    ours = Here(folder, keys).run_script(RUN.replace("PACKAGE", "jupyter_pai.sdk"))
    theirs = run_alipai(keys, RUN.replace("PACKAGE", "pai"))
    for reply in (ours, theirs):
        del reply["output"]
    assert ours == theirs
    assert ours["ended"] and ours["unknown"]
    mine, other = (job["request"] for job in keys.jobs[before:])
    assert [mine.get(name) for name in SENT] == [other.get(name) for name in SENT]
    assert [one["Name"] for one in mine["OutputChannels"]] == [one["Name"] for one in other["OutputChannels"]]


def test_newest_version_is_the_default(pai: StandIn) -> None:
    estimator = AlgorithmEstimator("copy", algorithm_provider="pai", profile="pai", hyperparameters={"epochs": 5})
    with pytest.raises(SpecError, match="requires the input channel `train`"):
        estimator.fit(show_logs=False)
    pai.objects.write("one/train.csv", b"1,2\n")
    job = estimator.fit({"train": f"oss://{pai.bucket}/one/"}, show_logs=False)
    assert "copy 0.10 with --epochs 5" in "".join(job.logs())
    assert list(estimator.get_outputs_data()) == ["model"]
    assert job.info["spec"]["options"]["algorithm"]["version"] == "0.10.0"
    mine = AlgorithmEstimator("copy", profile="pai")
    assert "my copy" in mine.algorithm_spec.command[2]


def test_errors_name_what_is_registered(pai: StandIn) -> None:
    with pytest.raises(ValueError, match=r"No algorithm `copy-m` is registered") as caught:
        AlgorithmEstimator("copy-m", algorithm_provider="pai")
    assert "provider `pai`" in str(caught.value.fix)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"`copy` has no version `9`") as caught:
        AlgorithmEstimator("copy", "9", "pai")
    assert "0.9.0, 0.10.0" in str(caught.value.fix)  # type: ignore[attr-defined]
    estimator = AlgorithmEstimator("copy", algorithm_provider="pai", instance_type="local")
    with pytest.raises(Unsupported, match="`local` cannot run the registered algorithm copy") as refused:
        estimator.fit({"train": "x"}, show_logs=False)
    assert "algorithm_spec" in refused.value.fix
