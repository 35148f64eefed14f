"""Names of the SDK without a counterpart: the error names the alternative."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import PaiError, Unsupported
from jupyter_pai.sdk import exception
from jupyter_pai.sdk.estimator import AlgorithmEstimator, Estimator
from jupyter_pai.sdk.session import Session

# Modules and names of alipai 0.4.13. Below them, everything is absent too.
MODULES = (
    "api dataset dsw experiment huggingface libs modelscope pipeline.component pipeline.run "
    "predictor processor serializers toolkit tracking toolkit.config"
).split()


@pytest.mark.parametrize("name", MODULES)
def test_import_of_an_absent_module_names_the_alternative(name: str) -> None:
    with pytest.raises(ImportError) as caught:
        importlib.import_module(f"jupyter_pai.sdk.{name}")
    assert isinstance(caught.value, Unsupported) and caught.value.fix
    assert f"`{name}`" in caught.value.message or f"`{name.partition('.')[0]}`" in caught.value.message


def test_unknown_modules_and_names_are_reported_as_always() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        importlib.import_module("jupyter_pai.sdk.no_such_module")
    for module in ("estimator", "job", "common.utils"):
        assert not hasattr(importlib.import_module(f"jupyter_pai.sdk.{module}"), "no_such_name")


def test_absent_names_of_modules_name_the_alternative() -> None:
    with pytest.raises(ImportError, match="HyperParameterType"):
        from jupyter_pai.sdk.estimator import HyperParameterType  # noqa: F401
    with pytest.raises(ImportError, match=r"Estimator\(instance_type='local'\)"):
        from jupyter_pai.sdk.job import LocalTrainingJob  # noqa: F401
    with pytest.raises(ImportError, match=r"as a dict"):
        from jupyter_pai.sdk.model import InferenceSpec  # noqa: F401
    with pytest.raises(ImportError, match=r"packaging\.version"):
        from jupyter_pai.sdk.common.utils import to_semantic_version  # noqa: F401


def test_absent_methods_and_attributes_name_the_alternative(engine: EmbeddedClient, folder: Path) -> None:
    session = Session("cn-shanghai")
    assert not hasattr(session, "training_job_api") and not hasattr(session, "no_such_name")
    with pytest.raises(AttributeError, match=r"Session\.training_job_api.*Estimator"):
        session.training_job_api  # noqa: B018
    estimator = Estimator(command="true", instance_type="local")
    with pytest.raises(Unsupported, match=r"Estimator\.model_data\(\)"):
        estimator.deploy()
    with pytest.raises(ValueError, match="algorithm_spec"):
        AlgorithmEstimator()
    job = estimator.fit(show_logs=False)
    with pytest.raises(AttributeError, match=r"job\.spec\['hyperparameters'\]"):
        job.hyperparameters  # noqa: B018
    with pytest.raises(Unsupported, match=r"jupyter_pai\.list_jobs"):
        job.list()


def test_errors_have_the_names_of_the_sdk(engine: EmbeddedClient) -> None:
    with pytest.raises(exception.UnexpectedStatusException, match="exit code 3") as caught:
        Estimator(command="exit 3", instance_type="local").fit(show_logs=False)
    assert isinstance(caught.value, RuntimeError)
    assert exception.PAIException is PaiError
