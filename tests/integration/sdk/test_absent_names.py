"""Names of the SDK without a counterpart: they can be imported, and the error of a use names the alternative."""

from __future__ import annotations

import importlib
import subprocess
import sys
from operator import attrgetter, methodcaller
from pathlib import Path
from textwrap import dedent

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import JobFailed, PaiError, Unsupported
from jupyter_pai.sdk import exception
from jupyter_pai.sdk.absent import AbsentName
from jupyter_pai.sdk.estimator import AlgorithmEstimator, Estimator
from jupyter_pai.sdk.job import TrainingJobStatus
from jupyter_pai.sdk.session import Session

from ...fakes.alipai import python_of_alipai
from ...support.own_environments import run_script

# Modules and names of alipai 0.4.13. Below them, everything is absent too.
MODULES = (
    "api dataset dsw experiment huggingface libs modelscope pipeline.component pipeline.run "
    "predictor processor serializers toolkit tracking toolkit.config"
).split()


# The classes and functions of each public module, read from the files of the installed SDK.
PUBLIC_NAMES = """
    import ast, pathlib, pai
    top = pathlib.Path(pai.__file__).parent
    for path in top.rglob("*.py"):
        parts = path.relative_to(top).with_suffix("").parts
        if parts[0] != "libs" and not any(part.startswith("_") for part in parts if part != "__init__"):
            nodes = ast.parse(path.read_text()).body
            results[".".join(part for part in parts if part != "__init__")] = [
                node.name for node in nodes
                if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")]
"""


def test_each_public_name_of_the_sdk_can_be_imported(tmp_path: Path) -> None:
    names = run_script(python_of_alipai(), dedent(PUBLIC_NAMES), {}, tmp_path / "home")
    del names["output"]
    assert len(names) > 60
    for module, members in names.items():
        ours = importlib.import_module(f"jupyter_pai.sdk.{module}".rstrip("."))
        for member in members:
            getattr(ours, member)


@pytest.mark.parametrize("name", MODULES)
def test_use_of_an_absent_module_names_the_alternative(name: str) -> None:
    module = importlib.import_module(f"jupyter_pai.sdk.{name}")
    for use in (methodcaller("Anything", 1), attrgetter("Anything.VALUE")):
        with pytest.raises(AbsentName) as caught:
            use(module)
        assert isinstance(caught.value, Unsupported) and caught.value.fix
        assert f"`{name}.Anything" in caught.value.message


def test_a_program_that_does_not_use_an_absent_name_runs(tmp_path: Path) -> None:
    program = dedent(
        """
        import jupyter_pai.sdk.serializers, jupyter_pai.sdk.libs.alibabacloud_pai.models
        from typing import Optional
        from jupyter_pai.sdk import predictor
        from jupyter_pai.sdk.job import LocalTrainingJob
        from jupyter_pai.sdk.serializers import JsonSerializer, SerializerBase

        class Own(SerializerBase):
            pass

        def serve(how: Optional[JsonSerializer], other: "predictor.Predictor | None" = None) -> "JsonSerializer | None":
            return how

        assert not isinstance(serve(None), (JsonSerializer, LocalTrainingJob)) and not hasattr(predictor, "__path_x__")
        print("trained")
        Own()
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == "trained\n" and done.returncode == 1
    assert "does not have `serializers.SerializerBase` of the PAI SDK" in done.stderr


def test_unknown_modules_and_names_are_reported_as_always() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        importlib.import_module("jupyter_pai.sdk.no_such_module")
    for module in ("estimator", "job", "common.utils"):
        assert not hasattr(importlib.import_module(f"jupyter_pai.sdk.{module}"), "no_such_name")


@pytest.mark.parametrize(
    ("module", "name", "fix"),
    [
        ("estimator", "HyperParameterType", "`type` of its definition"),
        ("job", "LocalTrainingJob", r"Estimator\(instance_type='local'\)"),
        ("model", "InferenceSpec", "as a dict"),
        ("common.utils", "to_semantic_version", r"packaging\.version"),
    ],
)
def test_use_of_an_absent_name_of_a_module_names_the_alternative(module: str, name: str, fix: str) -> None:
    absent = getattr(importlib.import_module(f"jupyter_pai.sdk.{module}"), name)
    with pytest.raises(AbsentName, match=f"{name}.*{fix}"):
        absent()


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


def test_errors_have_the_names_of_the_sdk(engine: EmbeddedClient) -> None:
    with pytest.raises(exception.UnexpectedStatusException, match="exit code 3") as caught:
        Estimator(command="exit 3", instance_type="local").fit(show_logs=False)
    error = caught.value
    assert {RuntimeError, JobFailed} < set(type(error).mro())
    assert str(error.status) == "Failed" and error.status in TrainingJobStatus.failed_status()
    assert (error.status, error.details["status"], error.details["exit_code"]) == ("failed", "failed", 3)
    assert exception.PAIException is PaiError
    assert exception.UnexpectedStatusException("message", "Stopped").status == "Stopped"
